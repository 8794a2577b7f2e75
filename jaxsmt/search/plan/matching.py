"""Which source sides occur where in a sentence: an array trie, walked by all positions at once."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, ranges
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD

NO_MATCH = -1


@dataclass(frozen=True)
class TrieLevel:
    """The prefixes of one length.

    keys: [n] int64, sorted: (node of the prefix without its last word) << 32 | last word.
    side_index: [n] int32: the source side that ends here, or NO_MATCH.
    A prefix's node is its place in `keys`.
    """

    keys: np.ndarray
    side_index: np.ndarray


def build_trie(sides: np.ndarray) -> list[TrieLevel]:
    """The trie of the sides, gaps included, one level per length.

    sides: [Ps, Ls] int32 padded with PAD, distinct.
    """
    index = np.arange(len(sides), dtype=np.int32)
    node = np.zeros(len(index), np.int64)
    levels = []
    for column in range(sides.shape[1]):
        alive = sides[index, column] != PAD
        index, node = index[alive], node[alive]
        keys, node = np.unique(node << 32 | sides[index, column], return_inverse=True)
        side_index = np.full(len(keys), NO_MATCH, np.int32)
        ends = sides[index, column + 1] == PAD if column + 1 < sides.shape[1] else np.ones(len(index), bool)
        side_index[node[ends]] = index[ends]
        levels.append(TrieLevel(keys, side_index))
    return levels


def _step(keys: np.ndarray, node: np.ndarray, word: np.ndarray) -> np.ndarray:
    wanted = np.where((node >= 0) & (word >= NUM_RESERVED), node << 32 | word, -1)
    place = np.searchsorted(keys, wanted)
    found = _take(keys, np.minimum(place, len(keys) - 1)) == wanted
    return np.where(found & (wanted >= 0), place, NO_MATCH)


def _take(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    return values[index] if len(values) else np.full(index.shape, NO_MATCH, values.dtype)


@dataclass(frozen=True)
class Matches:
    """Source sides that occur in sentences, A of them, sorted by (sentence, start, end, side, gaps).

    sentence, start, end, side: [A] int32; the side covers words start..end-1.
    gaps: [A, 2, 2] int32: start and end of X1 and X2; (0, 0) where there is none.
    """

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    side: np.ndarray
    gaps: np.ndarray

    def __len__(self) -> int:
        return len(self.side)

    def take(self, rows: np.ndarray) -> "Matches":
        return Matches(*(values[rows] for values in vars(self).values()))


class _Walk(NamedTuple):
    """Prefixes found so far; [n] each, gaps [n, 2, 2]."""

    sentence: np.ndarray
    start: np.ndarray
    position: np.ndarray
    node: np.ndarray
    gaps: np.ndarray

    def pick(self, rows: np.ndarray) -> "_Walk":
        return _Walk(*(values[rows] for values in self))


def match_patterns(trie: list[TrieLevel], sentences: Ragged, max_span: int) -> Matches:
    """All (span, gaps) at which a source side occurs, in spans of at most `max_span` words.

    trie: of `build_trie(sides)`. A gap covers at least one word.
    """
    words, ends = sentences.values, sentences.offsets[1:]
    first = np.arange(len(words), dtype=np.int64)
    nothing = np.zeros((len(words), 2, 2), np.int32)
    walk = _Walk(sentences.row_index, first, first, np.zeros(len(words), np.int64), nothing)
    found = []
    for level in trie:
        walk = _next_symbol(level, walk, words, ends, max_span)
        side = _take(level.side_index, walk.node)
        found.append((side, walk))
    sides = np.concatenate([side for side, _ in found] or [np.zeros(0, np.int32)])
    everything = (
        _Walk(*(np.concatenate(parts) for parts in zip(*(walk for _, walk in found), strict=True))) if found else walk
    )
    keep = np.flatnonzero(sides != NO_MATCH)
    return _sorted_matches(everything.pick(keep), sides[keep], sentences.offsets)


def _next_symbol(level: TrieLevel, walk: _Walk, words: np.ndarray, ends: np.ndarray, max_span: int) -> _Walk:
    """The prefixes one symbol longer: a word, or a gap of every length."""
    walk = walk.pick(np.flatnonzero(walk.position < np.minimum(ends[walk.sentence], walk.start + max_span)))
    by_word = _step(level.keys, walk.node, words[walk.position])
    here = np.flatnonzero(by_word >= 0)
    parts = [walk.pick(here)._replace(node=by_word[here], position=walk.position[here] + 1)]
    for number, symbol in enumerate(NONTERMINALS):
        key = walk.node << 32 | symbol
        place = np.minimum(np.searchsorted(level.keys, key), max(len(level.keys) - 1, 0))
        here = np.flatnonzero(_take(level.keys, place) == key)
        part = walk.pick(here)._replace(node=place[here])
        parts.append(_open_gap(part, number, np.minimum(ends[part.sentence], part.start + max_span)))
    return _Walk(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _open_gap(walk: _Walk, number: int, limit: np.ndarray) -> _Walk:
    """Gap `number` from the position to every end up to `limit`."""
    sizes = np.maximum(limit - walk.position, 0)
    position, row = ranges(walk.position + 1, sizes)
    longer = walk.pick(row)
    gaps = longer.gaps
    gaps[:, number, 0], gaps[:, number, 1] = walk.position[row], position
    return longer._replace(position=position, gaps=gaps)


def _sorted_matches(walk: _Walk, side: np.ndarray, offsets: np.ndarray) -> Matches:
    shift = offsets[walk.sentence]
    gaps = np.where(walk.gaps[:, :, 1:] > 0, walk.gaps - shift[:, None, None], 0)
    start, end = walk.start - shift, walk.position - shift
    # the first gap's end and the second one's start settle the rest: the side tells the words between
    low = (side.astype(np.int64) << 20) | (gaps[:, 0, 1] << 10) | gaps[:, 1, 0]
    order = np.lexsort((low, walk.sentence << 20 | start << 10 | end))
    columns = (walk.sentence, start, end, side, gaps)
    return Matches(*(values[order].astype(np.int32) for values in columns))
