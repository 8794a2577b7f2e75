"""Rows of unequal length as two flat arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """R rows laid end to end: sentences as token ids, or alignments as (source, target) links.

    values: [T, ...] all rows' items, one after the other.
    offsets: [R + 1] int64; row r is values[offsets[r]:offsets[r + 1]].
    """

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """[R] int64."""
        return np.diff(self.offsets)

    @property
    def row_index(self) -> np.ndarray:
        """[T] int64: the row each item belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: np.ndarray) -> "Ragged":
        """The given rows, in the given order."""
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        shift = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return Ragged(self.values[shift + np.arange(offsets[-1])], offsets)

    def padded(self, rows: np.ndarray, width: int, fill: int = 0) -> np.ndarray:
        """[len(rows), width, ...]: the given rows cut or filled to one width."""
        columns = np.arange(width)
        inside = columns < self.lengths[rows][:, None]
        position = np.where(inside, self.offsets[:-1][rows][:, None] + columns, 0)
        if not len(self.values):
            return np.full((len(rows), width, *self.values.shape[1:]), fill, self.values.dtype)
        gathered = self.values[position]
        gathered[~inside] = fill
        return gathered


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """[R + 1] int64 offsets of rows with the given lengths."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def ranges(first: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """first[r], first[r] + 1, … of size[r] numbers for all r, end to end [T], and the r of each [T]."""
    row = np.repeat(np.arange(len(size)), size)
    begin = np.cumsum(size) - size
    return np.repeat(first - begin, size) + np.arange(len(row)), row


def numbered_runs(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs of sizes [R] end to end: the run of each item [T], and its number in the run, from 0 [T]."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def ranks_in_runs(values: np.ndarray) -> np.ndarray:
    """[T] int64: the number of each value in its run of equal ones, from 0."""
    is_first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))


def ragged_from_rows(rows: Iterable[Sequence], dtype: type = np.int32, width: int | None = None) -> Ragged:
    """Packs Python rows; `width` gives items a second axis (2 for links)."""
    rows = list(rows)
    shape = (-1,) if width is None else (-1, width)
    flat: list[np.ndarray] = [np.asarray(row, dtype).reshape(shape) for row in rows]
    empty: np.ndarray = np.zeros((0,) if width is None else (0, width), dtype)
    return Ragged(np.concatenate([empty, *flat]), offsets_of(np.array([len(row) for row in flat], np.int64)))


def concatenate(parts: Sequence[Ragged]) -> Ragged:
    """All rows of all parts, in order."""
    values = np.concatenate([part.values for part in parts])
    return Ragged(values, offsets_of(np.concatenate([part.lengths for part in parts])))
