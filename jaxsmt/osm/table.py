"""Operations as words of a vocabulary of their own.

Spelled out, the operations are `insert gap`, `jump forward`, `jump back 2`, `continue`, and source words and target
words with a tab between: `hat gelesen<tab>read`.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.osm.operations import BACK, CONTINUE, FORWARD, GAP, NUM_KINDS, SOURCE, TARGET, Operations
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary

SPELLED = {"insert gap": GAP, "jump forward": FORWARD, "continue": CONTINUE}
_PLAIN = {symbol: text for text, symbol in SPELLED.items()}
_JUMP_BACK = "jump back "
_SHIFT = 32  # bits of a symbol in the key of a node


@dataclass(frozen=True)
class OperationTable:
    """Operations with words of two vocabularies, by number.

    spelled: the operations; operation n is word NUM_RESERVED + n of it.
    """

    spelled: Vocabulary
    source: Vocabulary
    target: Vocabulary

    def ids_of(self, operations: Operations) -> Ragged:
        """The operations of each pair as ids, UNKNOWN for those that are not in the table."""
        found = self._trie.find(operations.symbols)
        return Ragged(np.where(found < 0, UNKNOWN, found + NUM_RESERVED).astype(np.int32), operations.offsets)

    @cached_property
    def move_ids(self) -> np.ndarray:
        """[J] int32: ids of insert gap, jump forward, jump back 1, 2, …, and UNKNOWN for all that is further."""
        numbers = [int(text.removeprefix(_JUMP_BACK)) for text in self.spelled.words if text.startswith(_JUMP_BACK)]
        texts = [
            *(_PLAIN[symbol] for symbol in (GAP, FORWARD)),
            *(f"{_JUMP_BACK}{n + 1}" for n in range(max([0, *numbers]))),
        ]
        return np.array([*self.spelled.encode(texts), UNKNOWN], np.int32)

    @cached_property
    def _trie(self) -> "_Trie":
        rows = [_symbols(text, self.source, self.target) for text in self.spelled.words]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values = np.fromiter((symbol for row in rows for symbol in row), np.int64, int(lengths.sum()))
        return _Trie.of(Ragged(values, offsets_of(lengths)))[0]


def rarity_by_place(target: Vocabulary) -> np.ndarray:
    """[V] int64 of ids whose words are sorted by falling frequency; an unknown word is the rarest."""
    rarity = np.arange(len(target))
    rarity[UNKNOWN] = len(target)
    return rarity


def number_operations(operations: Operations, source: Vocabulary, target: Vocabulary) -> tuple[Ragged, OperationTable]:
    """The operations of each pair as ids, and all that occur by number."""
    _, same = _Trie.of(operations.symbols)
    first, number = np.unique(same, return_inverse=True)
    spelled = Vocabulary(tuple(_texts(operations.symbols.take(first), source, target)))
    table = OperationTable(spelled, source, target)
    return Ragged((number + NUM_RESERVED).astype(np.int32), operations.offsets), table


def source_words(spelled: Vocabulary) -> Vocabulary:
    """All words of the source sides of operations."""
    sides = (text.split("\t")[0].split(" ") for text in spelled.words if "\t" in text)
    return Vocabulary(tuple(dict.fromkeys(word for side in sides for word in side if word)))


@dataclass(frozen=True)
class _Trie:
    """Rows of symbols by number.

    keys: of each level, ascending [nodes] int64: the node above and a symbol; node n of a level has key n.
    ends: of each level, [nodes] int64 the number of the row that ends in a node, or -1.
    """

    keys: tuple[np.ndarray, ...]
    ends: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, rows: Ragged) -> "tuple[_Trie, np.ndarray]":
        """Also: [R] the first row that is the same as each. No row is empty."""
        keys, ends, same = [], [], np.zeros(len(rows), np.int64)
        nodes, lengths = np.zeros(len(rows), np.int64), rows.lengths
        for level in range(int(lengths.max(initial=0))):
            here = np.flatnonzero(lengths > level)
            wanted = nodes[here] << _SHIFT | rows.values[rows.offsets[here] + level]
            own, nodes[here] = np.unique(wanted, return_inverse=True)
            last = here[lengths[here] == level + 1]
            end = np.full(len(own), -1)
            end[nodes[last][::-1]] = last[::-1]  # the first one stays
            same[last] = end[nodes[last]]
            keys.append(own)
            ends.append(end)
        return cls(tuple(keys), tuple(ends)), same

    def find(self, rows: Ragged) -> np.ndarray:
        """[R] int64: the numbers of rows, -1 where there is no such row."""
        found, nodes, here = np.full(len(rows), -1), np.zeros(len(rows), np.int64), np.arange(len(rows))
        for level, (keys, ends) in enumerate(zip(self.keys, self.ends, strict=True)):
            wanted = nodes[here] << _SHIFT | rows.values[rows.offsets[here] + level]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            nodes[here] = place
            here = here[keys[place] == wanted]
            is_last = rows.lengths[here] == level + 1
            found[here[is_last]] = ends[nodes[here[is_last]]]
            here = here[~is_last]
        return found


def _symbols(text: str, source: Vocabulary, target: Vocabulary) -> list[int]:
    if text in SPELLED:
        return [SPELLED[text]]
    if "\t" not in text:
        return [int(text.removeprefix(_JUMP_BACK)) * NUM_KINDS + BACK]
    sides = zip(text.split("\t"), (source.id_of, target.id_of), (SOURCE, TARGET), strict=True)
    return [ids.get(word, UNKNOWN) * NUM_KINDS + kind for side, ids, kind in sides for word in side.split(" ") if word]


def _texts(rows: Ragged, source: Vocabulary, target: Vocabulary) -> list[str]:
    values, kinds = np.divmod(rows.values, NUM_KINDS)
    symbols = list(zip(rows.values.tolist(), values.tolist(), kinds.tolist(), strict=True))
    bounds = rows.offsets.tolist()
    return [_text(symbols[begin:end], source.words, target.words) for begin, end in pairwise(bounds)]


def _text(symbols: list[tuple[int, int, int]], source: tuple[str, ...], target: tuple[str, ...]) -> str:
    symbol, value, kind = symbols[0]
    if kind == BACK:
        return f"{_JUMP_BACK}{value}"
    if kind not in (SOURCE, TARGET):
        return _PLAIN[symbol]
    sides = ((SOURCE, source), (TARGET, target))
    return "\t".join(
        " ".join(words[value - NUM_RESERVED] for _, value, own in symbols if own == kind) for kind, words in sides
    )
