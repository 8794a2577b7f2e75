"""Words as numbers. Strings stop here."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text

PAD = 0  # fills rows; as a word it is NULL, the partner of unaligned words
UNKNOWN = 1
SENTENCE_START = 2
SENTENCE_END = 3
NONTERMINALS = (4, 5)  # X1, X2: gaps in rules, numbered in source order
NUM_RESERVED = 6  # the first id of an ordinary word


@dataclass(frozen=True)
class Vocabulary:
    """Words of one language; word w has id NUM_RESERVED + its place in `words`."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        """V: the number of ids, reserved ones included."""
        return NUM_RESERVED + len(self.words)

    @cached_property
    def id_of(self) -> dict[str, int]:
        return {word: NUM_RESERVED + place for place, word in enumerate(self.words)}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens, UNKNOWN for words that are not in the vocabulary."""
        return [self.id_of.get(token, UNKNOWN) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Words of ordinary ids."""
        return [self.words[i - NUM_RESERVED] for i in ids]

    def ids_in(self, other: "Vocabulary", missing: int = UNKNOWN) -> np.ndarray:
        """[V] int32: for every id the id in another vocabulary, `missing` for words it lacks; reserved ids stay."""
        known = (other.id_of.get(word, missing) for word in self.words)
        return np.array([*range(NUM_RESERVED), *known], np.int32)

    def save(self, path: str | Path) -> None:
        """One word a line, in id order."""
        write_text(path, "".join(word + "\n" for word in self.words))


def build_vocabulary(counts: Counter[str]) -> Vocabulary:
    """The most frequent word first; words of equal count in code-point order."""
    return Vocabulary(tuple(sorted(counts, key=lambda word: (-counts[word], word))))


def load_vocabulary(path: str | Path) -> Vocabulary:
    """Reads what `Vocabulary.save` wrote."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"vocabulary '{path}' does not exist: the model folder is incomplete, run train.py again")
    return Vocabulary(tuple(path.read_text(encoding="utf-8").split("\n")[:-1]))


def merge_vocabularies(vocabularies: Sequence[Vocabulary]) -> tuple[Vocabulary, list[np.ndarray]]:
    """One vocabulary for several components, and for each component its ids in the merged one.

    Words keep the order in which the components list them. Returns the merged vocabulary and, per
    component, an array [V_d] int32 that maps its ids to merged ids (reserved ids to themselves).
    """
    merged = Vocabulary(tuple(dict.fromkeys(word for part in vocabularies for word in part.words)))
    reserved = list(range(NUM_RESERVED))
    maps = [np.array(reserved + [merged.id_of[word] for word in part.words], np.int32) for part in vocabularies]
    return merged, maps
