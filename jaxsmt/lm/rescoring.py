"""Language models that only the host can ask, as scorers of whole translations.

A KenLM file that is too large for the device, or whose n-grams cannot be listed (a trie, a quantised binary), cannot
take part in the search; it can say what it thinks of the translations that the search found.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import check_ranges
from jaxsmt.lm.kenlm_model import kenlm_sentence_log_probs, load_kenlm

_SUFFIXES = (".gz", ".bz2", ".xz", ".arpa", ".bin", ".binary", ".klm", ".blm", ".lm", ".mmap", ".probing", ".trie")


@dataclass(frozen=True)
class RescoringFiles:
    """kenlm: KenLM binaries or ARPA files, each of which becomes a feature."""

    kenlm: tuple[str, ...] = ()


@dataclass(frozen=True)
class RescoringConfig(RescoringFiles):
    """Rescoring while a model translates.

    nbest: length of the lists that are rescored.
    """

    nbest: int = 100

    def __post_init__(self) -> None:
        check_ranges(self, "rescore", {"nbest": (1, 100_000)})


@dataclass(frozen=True)
class Rescorer:
    """M opened models: names of their features, and KenLM's own objects."""

    names: tuple[str, ...]
    models: tuple[Any, ...]

    def log_probs(self, texts: Sequence[str]) -> np.ndarray:
        """[K, M] float64: natural log p of K texts, tokens separated by spaces, </s> included.

        A text is scored once, however often it is there; its value depends on no other text.
        """
        place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        tokens = [text.split() for text in place]
        columns = [kenlm_sentence_log_probs(model, tokens) for model in self.models]
        rows = np.array([place[text] for text in texts], np.int64)
        return np.array(columns).reshape(len(columns), len(place)).T[rows]


def rescoring_feature(path: str | Path) -> str:
    """The feature that a file becomes: lm/news.5.bin → kenlm-news-5_0, a name that Moses' n-best format can hold."""
    stem = Path(path).name
    while stem.endswith(_SUFFIXES) and "." in stem[1:]:
        stem = stem.rpartition(".")[0]
    return f"kenlm-{re.sub(r'[^0-9A-Za-z]+', '-', stem).strip('-') or 'model'}_0"


def files_by_feature(paths: Sequence[str | Path]) -> dict[str, str | Path]:
    """The files by the features that they become, in their order."""
    by_name: dict[str, str | Path] = {}
    for path in paths:
        name = rescoring_feature(path)
        if name in by_name:
            raise UserError(
                f"rescore.kenlm has '{by_name[name]}' and '{path}', which would both be '{name}': rename a file"
            )
        by_name[name] = path
    return by_name


def open_rescorer(paths: Sequence[str | Path]) -> Rescorer:
    """Opens files, none or several; the features are in their order."""
    by_name = files_by_feature(paths)
    return Rescorer(tuple(by_name), tuple(load_kenlm(path) for path in by_name.values()))
