"""The sparse translation table: which word pairs occur together, and where each of them stands in the text.

A cell is a (source position, target position) of a sentence pair. All cells of a corpus get the number of their
word pair once, before training; an EM pass is then a gather, arithmetic and a scatter over these numbers.
Pair numbers of the most frequent words of both sides come first (`num_hot`): their sums are kept apart, because a
count of a hundred thousand in float32 would swallow small increments.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

HOT_WORDS = 256  # per side; their pairs form a full grid of HOT_WORDS² numbers
_DENSE_CELLS = 2000  # words with fewer cells are handled in groups by sorting, the others by a table over targets
_GROUP_CELLS = 1 << 21


@dataclass(frozen=True)
class WordPairs:
    """P numbered word pairs: first the grid of hot words, then the others sorted by source, target word.

    source_word, target_word: [P] int32.
    is_seen: [P] bool; False for pairs of the grid that never occur together.
    hot_source, hot_target: [V], [V'] int32, the place of a word in the grid, -1 for ordinary words.
    """

    source_word: np.ndarray
    target_word: np.ndarray
    is_seen: np.ndarray
    hot_source: np.ndarray
    hot_target: np.ndarray

    def __len__(self) -> int:
        return len(self.source_word)

    @property
    def num_hot(self) -> int:
        return int(self.hot_source.max(initial=-1) + 1) * int(self.hot_target.max(initial=-1) + 1)


@dataclass(frozen=True)
class Cells:
    """The pair numbers of a corpus in the padded shapes of its batches, end to end.

    batches: the batches; batch k has shape (B, N, M).
    index: [Σ B·N·M] int32 pair numbers; 0 in padding, -1 (only in `find_cells`) for pairs that are not known.
    starts: [number of batches + 1] where each batch starts in `index`.
    """

    batches: list[Batch]
    index: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: int) -> tuple[Batch, np.ndarray]:
        """A batch and its pair numbers [B, N, M]."""
        if not 0 <= number < len(self.batches):
            raise IndexError(number)
        start, end = self.starts[number : number + 2]
        return self.batches[number], self.index[start:end].reshape(self.batches[number].shape)


def number_cells(
    bitext: Bitext, batches: list[Batch], num_source_words: int, num_target_words: int,
    memory_limit: int, hot_words: int = HOT_WORDS,
) -> tuple[WordPairs, Cells]:  # fmt: skip
    """Finds all word pairs that occur together and numbers the cells; above `memory_limit` bytes on disk."""
    hot_source = _hot_places(bitext.source, num_source_words, hot_words)
    hot_target = _hot_places(bitext.target, num_target_words, hot_words)
    pairs = _Numbering(hot_source, hot_target)
    cells = _allocate(batches, memory_limit)
    for words, target_word, destination in _cells_by_source_word(bitext, cells):
        cells.index[destination] = pairs.number(words, target_word)
    return pairs.finish(), cells


def find_cells(bitext: Bitext, batches: list[Batch], pairs: WordPairs, memory_limit: int) -> Cells:
    """Numbers the cells of a text by known pairs; -1 where a pair is not known."""
    cells = _allocate(batches, memory_limit)
    lookup = _Lookup(pairs)
    for words, target_word, destination in _cells_by_source_word(bitext, cells):
        find = lookup.one if isinstance(words, int) else lookup.several
        cells.index[destination] = find(words, target_word)
    return cells


def _grid_number(
    hot_source: np.ndarray, hot_target: np.ndarray, source_word: int | np.ndarray, target_word: np.ndarray
) -> np.ndarray:
    """Pair numbers of hot pairs, -1 for the others."""
    row, column = hot_source[source_word], hot_target[target_word]
    number = row * (int(hot_target.max(initial=-1)) + 1) + column
    return np.where((row >= 0) & (column >= 0), number, -1)


def _hot_places(text: Ragged, num_words: int, hot_words: int) -> np.ndarray:
    """[V] int32: the most frequent words get 0, 1, …; ties go to the smaller id."""
    counts = np.bincount(text.values, minlength=num_words)
    order = np.argsort(-counts, kind="stable")[:hot_words]
    order = order[counts[order] > 0]
    places = np.full(num_words, -1, np.int32)
    places[order] = np.arange(len(order))
    return places


def _allocate(batches: list[Batch], memory_limit: int) -> Cells:
    starts = offsets_of(np.array([np.prod(batch.shape) for batch in batches], np.int64))
    size = int(starts[-1])
    if size * 4 <= memory_limit:
        return Cells(batches, np.zeros(size, np.int32), starts)
    with tempfile.TemporaryFile() as stream:  # the mapping keeps the unnamed file alive
        return Cells(batches, np.memmap(stream, np.int32, "w+", shape=(size,)), starts)


def _row_places(cells: Cells, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """[R], [R]: where a row's cells start in `index`, and the distance between its source positions (M)."""
    place, stride = np.zeros(num_rows, np.int64), np.zeros(num_rows, np.int64)
    for batch, start in zip(cells.batches, cells.starts[:-1], strict=True):
        _, width, height = batch.shape
        rows = batch.real_rows
        place[rows] = start + np.arange(len(rows)) * width * height
        stride[rows] = height
    return place, stride


def _cells_by_source_word(bitext: Bitext, cells: Cells) -> Iterator[tuple]:
    """Yields (source word or words [C], target word [C], place in `index` [C]), source words ascending.

    One source word at a time (an int) where it has many cells, groups of several (an array) otherwise.
    """
    source, target = bitext.source, bitext.target
    row_place, stride = _row_places(cells, len(bitext))
    row = source.row_index
    order = np.argsort(source.values, kind="stable")
    word, row_sorted = source.values[order], row[order]
    length = target.lengths[row_sorted]
    target_start = target.offsets[:-1][row_sorted]
    position = order - source.offsets[:-1][row_sorted]
    place = row_place[row_sorted] + position * stride[row_sorted]
    for start, end in _word_groups(word, length):
        lengths = length[start:end]
        offsets = offsets_of(lengths)
        step = np.arange(offsets[-1])
        target_word = target.values[np.repeat(target_start[start:end] - offsets[:-1], lengths) + step]
        destination = np.repeat(place[start:end] - offsets[:-1], lengths) + step
        if start < end and word[start] == word[end - 1]:
            yield int(word[start]), target_word, destination
        else:
            yield np.repeat(word[start:end], lengths), target_word, destination


def _word_groups(word: np.ndarray, length: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cuts sorted tokens [T] into runs: one word with many cells, or several words with few."""
    if not len(word):
        return
    starts = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    ends = np.append(starts[1:], len(word))
    total = offsets_of(length)
    cells = total[ends] - total[starts]
    group_start, group_cells = -1, 0
    for start, end, num in zip(starts.tolist(), ends.tolist(), cells.tolist(), strict=True):
        if group_start >= 0 and (num >= _DENSE_CELLS or group_cells >= _GROUP_CELLS):
            yield group_start, start
            group_start, group_cells = -1, 0
        if num >= _DENSE_CELLS:
            yield start, end
        elif group_start < 0:
            group_start, group_cells = start, num
        else:
            group_cells += num
    if group_start >= 0:
        yield group_start, len(word)


class _Numbering:
    """Hands out pair numbers while source words come in ascending order."""

    def __init__(self, hot_source: np.ndarray, hot_target: np.ndarray):
        self.hot_source, self.hot_target = hot_source, hot_target
        self.source_places = int(hot_source.max(initial=-1)) + 1
        self.target_places = int(hot_target.max(initial=-1)) + 1
        self.next = self.source_places * self.target_places
        self.grid_seen = np.zeros(self.next, bool)
        self.sources: list[np.ndarray] = []
        self.targets: list[np.ndarray] = []
        self.table = np.zeros(len(hot_target), np.int32)  # target word → number, for one source word
        self.hot_words = np.flatnonzero(hot_target >= 0)

    def number(self, words: int | np.ndarray, target_word: np.ndarray) -> np.ndarray:
        """[C] int32 numbers of the cells of one source word, or of several."""
        return self._one(words, target_word) if isinstance(words, int) else self._several(words, target_word)

    def _one(self, word: int, target_word: np.ndarray) -> np.ndarray:
        is_target = np.zeros(len(self.hot_target), bool)
        is_target[target_word] = True
        place = self.hot_source[word]
        if place >= 0:
            grid = place * self.target_places + self.hot_target[self.hot_words]
            self.grid_seen[grid] = is_target[self.hot_words]
            self.table[self.hot_words] = grid
            is_target[self.hot_words] = False
        targets = np.flatnonzero(is_target)
        self.table[targets] = self._append(np.full(len(targets), word), targets)
        return self.table[target_word]

    def _several(self, words: np.ndarray, target_word: np.ndarray) -> np.ndarray:
        number = _grid_number(self.hot_source, self.hot_target, words, target_word)
        is_hot = number >= 0
        self.grid_seen[number[is_hot]] = True
        num_targets = len(self.hot_target)
        keys, inverse = np.unique(words[~is_hot].astype(np.int64) * num_targets + target_word[~is_hot],
                                  return_inverse=True)  # fmt: skip
        number[~is_hot] = self._append(keys // num_targets, keys % num_targets)[inverse]
        return number

    def _append(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        numbers = np.arange(self.next, self.next + len(source), dtype=np.int32)
        self.next += len(source)
        self.sources.append(source.astype(np.int32))
        self.targets.append(target.astype(np.int32))
        return numbers

    def finish(self) -> WordPairs:
        order_source = np.argsort(self.hot_source, kind="stable")[len(self.hot_source) - self.source_places :]
        order_target = np.argsort(self.hot_target, kind="stable")[len(self.hot_target) - self.target_places :]
        grid_source = np.repeat(order_source, self.target_places).astype(np.int32)
        grid_target = np.tile(order_target, self.source_places).astype(np.int32)
        source = np.concatenate([grid_source, *self.sources])
        is_seen = np.ones(len(source), bool)
        is_seen[: len(grid_source)] = self.grid_seen
        target = np.concatenate([grid_target, *self.targets])
        return WordPairs(source, target, is_seen, self.hot_source, self.hot_target)


class _Lookup:
    """Finds the numbers of known pairs, -1 for others."""

    def __init__(self, pairs: WordPairs):
        self.pairs = pairs
        self.source, self.target = pairs.source_word[pairs.num_hot :], pairs.target_word[pairs.num_hot :]
        self.grid_words = np.flatnonzero(pairs.hot_target >= 0)
        self.starts = offsets_of(np.bincount(self.source, minlength=len(pairs.hot_source)))

    def one(self, word: int, target_word: np.ndarray) -> np.ndarray:
        """[C] numbers for one source word, by a table over target words."""
        pairs = self.pairs
        table = np.full(len(pairs.hot_target), -1, np.int32)
        start, end = self.starts[word : word + 2]
        table[self.target[start:end]] = pairs.num_hot + np.arange(start, end)
        if pairs.hot_source[word] >= 0:
            grid = _grid_number(pairs.hot_source, pairs.hot_target, word, self.grid_words)
            table[self.grid_words] = np.where(pairs.is_seen[grid], grid, -1)
        return table[target_word]

    def several(self, words: np.ndarray, target_word: np.ndarray) -> np.ndarray:
        """[C] numbers for several source words in ascending order, one after the other."""
        if not len(words):
            return np.zeros(0, np.int32)
        starts = np.flatnonzero(np.concatenate([[True], words[1:] != words[:-1]]))
        parts = np.split(target_word, starts[1:])
        return np.concatenate([self.one(int(word), part) for word, part in zip(words[starts], parts, strict=True)])
