"""From lines of text to translated lines: batches in, order kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.pipeline.glossary import Glossary, find_terms
from jaxsmt.pipeline.model import Model
from jaxsmt.search.decoder import Decoder, Request, SearchConfig, make_decoder
from jaxsmt.search.moses_nbest import nbest_lines
from jaxsmt.search.rescoring import rescore
from jaxsmt.search.rules import mixed_rules
from jaxsmt.search.translation import Translation, translate, translate_nbest
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary

LINES_PER_BLOCK = 500  # read, translated and written at a time
_BREAKS = (".", ";", ":", ",", "!", "?", ")", "…")  # a sentence that is too long may be cut after these


@dataclass(frozen=True)
class TranslatedLine:
    """One line: its text, and the derivation it comes from."""

    text: str
    words: list[str]
    alignment: list[tuple[int, int]] = field(default_factory=list)  # source token, target token
    unknown: list[str] = field(default_factory=list)  # source tokens that nobody could translate
    score: float = 0.0


@dataclass(frozen=True)
class LineTranslator:
    """Translates raw lines with one model and one setting of all weights.

    words: the target words by id; behind the model's come those that only the glossary has.
    mixture: [4, D] component weights λ; lm_mixture: [D] weights of the language models.
    """

    model: Model
    decoder: Decoder
    words: Vocabulary
    weights: SearchWeights
    mixture: np.ndarray
    lm_mixture: np.ndarray | None
    glossary: Glossary

    def translate(self, lines: Sequence[str]) -> list[TranslatedLine]:
        """One translated line for each line; an empty line stays empty."""
        request, tokens = self.request(lines)
        found = translate(self.decoder, request, self._break_ids)
        return [self._line(*item) for item in zip(lines, tokens, found, strict=True)]

    def nbest(self, lines: Sequence[str], size: int, first_number: int = 0) -> Iterator[str]:
        """Lines of an n-best list in Moses' format, sentences numbered from `first_number`."""
        request, tokens = self.request(lines)
        lists = translate_nbest(self.decoder, request, size, break_ids=self._break_ids)
        # a sentence that was cut has no single derivation, an empty one has nothing to list
        listed = {row: found for row, found in enumerate(lists) if tokens[row] and len(found[0].parts) == 1}
        flat = [(row, item) for row, found in listed.items() for item in found]
        features = rescore(self.decoder, request, [item.parts[0] for _, item in flat], [row for row, _ in flat])
        first = 0
        for row, found in listed.items():
            outputs, links = (
                [self.output(tokens[row], item.tokens) for item in found],
                [item.alignment for item in found],
            )
            yield from nbest_lines(first_number + row, outputs, features, first, alignments=links)
            first += len(found)

    @property
    def _break_ids(self) -> list[int]:
        return [i for i in self.model.source.vocabulary.encode(_BREAKS) if i != UNKNOWN]

    def request(self, lines: Sequence[str]) -> tuple[Request, list[list[str]]]:
        """What the decoder is asked for raw lines, and their tokens."""
        tokens = [self.model.source.preprocess(line) for line in lines]
        forced = find_terms(self.glossary, tokens, self.words.id_of)
        sentences = self.model.source.encode_lines(lines)
        copies = self._copy_ids(tokens)
        return Request(sentences, copies, self.weights, self.mixture, self.lm_mixture, forced), tokens

    def _copy_ids(self, tokens: list[list[str]]) -> np.ndarray:
        ids = self.model.lm_vocabulary.id_of
        return np.array([ids.get(token, UNKNOWN) for line in tokens for token in line], np.int32)

    def _line(self, line: str, tokens: list[str], found: Translation) -> TranslatedLine:
        output = self.output(tokens, found.tokens)
        unknown = [tokens[place] for place in found.unknown_positions]
        text = self.model.target.postprocess(output, line) if output else ""
        return TranslatedLine(text, output, found.alignment, unknown, found.score)

    def output(self, tokens: Sequence[str], ids: Iterable[int]) -> list[str]:
        """The words of output ids; −1 − n is source word n, copied."""
        return [tokens[-1 - token] if token < 0 else self.words.decode([token])[0] for token in ids]


def blocks_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines in blocks of LINES_PER_BLOCK."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == LINES_PER_BLOCK:
            yield block
            block = []
    if block:
        yield block


def make_line_translator(
    model: Model, mixture: np.ndarray, lm_mixture: np.ndarray, config: SearchConfig, weights: SearchWeights,
    glossary: Glossary | None = None,
) -> LineTranslator:  # fmt: skip
    """Makes a model ready for component weights λ [4, D] and language-model weights [D]."""
    glossary = glossary or {}
    known = model.union.target_vocabulary
    extra = dict.fromkeys(word for target in glossary.values() for word in target if word not in known.id_of)
    words = Vocabulary((*known.words, *extra))
    decoder = make_decoder(mixed_rules(model.union), model.automaton, config, _lm_ids(words, model.lm_vocabulary.id_of))
    single = model.automaton.num_models == 1
    return LineTranslator(model, decoder, words, weights, mixture, None if single else lm_mixture, glossary)


def _lm_ids(words: Vocabulary, id_of: Mapping[str, int]) -> np.ndarray:
    """[V] int32: the language model's ids of the target words."""
    return np.array([*range(NUM_RESERVED), *(id_of.get(word, UNKNOWN) for word in words.words)], np.int32)
