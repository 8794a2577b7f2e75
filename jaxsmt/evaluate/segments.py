"""From strings to the ids that statistics are counted on, cut up as sacrebleu cuts them."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, offsets_of


class Interner:
    """Gives every different token a number from 0, in the order of appearance."""

    def __init__(self) -> None:
        self._id_of: dict[str, int] = {}

    def encode(self, segments: Iterable[Sequence[str]]) -> Ragged:
        """Segments of tokens (or characters) as ids [T] int32."""
        ids: list[int] = []
        lengths: list[int] = []
        id_of = self._id_of
        for tokens in segments:
            ids.extend([id_of.setdefault(token, len(id_of)) for token in tokens])
            lengths.append(len(tokens))
        return Ragged(np.array(ids, np.int32), offsets_of(np.array(lengths, np.int64)))


@cache
def _bleu_tokenizer(name: str) -> Callable[[str], str]:
    try:
        return _get_tokenizer(name)()
    except KeyError:
        raise UserError(f"BLEU tokeniser '{name}' is unknown: use '13a', 'none', 'intl', 'char', …") from None


@cache
def _ter_tokenizer() -> TercomTokenizer:
    return TercomTokenizer(normalized=False, no_punct=False, asian_support=False, case_sensitive=False)


def bleu_tokens(text: str, tokenize: str = "13a") -> list[str]:
    """The tokens BLEU counts; 'none' takes words between spaces."""
    return _bleu_tokenizer(tokenize)(text.rstrip()).split()


def ter_tokens(text: str) -> list[str]:
    """The tokens TER counts: words between spaces, lowercased (sacrebleu's default)."""
    return _ter_tokenizer()(text.rstrip()).split()


def characters(text: str) -> str:
    """What chrF counts: everything but white space."""
    return "".join(text.split())
