"""Rows in memory as long as they fit, otherwise in temporary files by ranges of the source side."""

import itertools
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import release_pages
from jaxsmt.common.ragged import ranges
from jaxsmt.extract.phrases import Rows

MIN_BLOCK_ROWS, MAX_BLOCK_ROWS, MAX_PART_ROWS = 1 << 12, 1 << 18, 1 << 20
SIDE_COLUMNS = ("source_key", "source_rest", "num_rows")  # of `Rows`, one entry for each source side; others: each row
SAMPLE_ROWS = 1 << 16
RANGE_SLACK = 1.5  # ranges are planned this much smaller than they may be


@dataclass(frozen=True)
class Workspace:
    """Where counting may put things: how many rows at once, and the folder for what exceeds them (None: memory)."""

    max_rows: int
    folder: Path | None

    @property
    def block_rows(self) -> int:
        """Rows that are worked on, or moved to or from files, at once."""
        return min(max(self.max_rows // 4, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    @property
    def part_rows(self) -> int:
        """Rows that are counted at once: few, so that they are sorted near the processor."""
        return min(self.max_rows, max(self.max_rows // 4, MIN_BLOCK_ROWS), MAX_PART_ROWS)

    def blocks(self, num_rows: int, *columns: np.ndarray) -> Iterator[slice]:
        """Slices that cover the rows; one empty slice where there are none.

        Of the columns that are named, if they lie in files, no more than a block stays resident.
        """
        for start in range(0, max(num_rows, 1), self.block_rows):
            yield slice(start, min(start + self.block_rows, num_rows))
            for column in columns:
                release_pages(column)

    def spool(self, name: str) -> "Spool":
        """New columns that grow, in memory or in the folder."""
        return Spool(self.folder, name)


class RowStore:
    """Collects rows and gives them back as parts that fit in memory, by ascending ranges of source sides.

    All rows of a source side are in one part, so that parts can be counted one after the other. Rows stay in memory
    as long as no more than `space.max_rows` were added; then files take over, one for each range of source sides.
    """

    def __init__(self, space: Workspace):
        assert space.folder is not None
        self.max_rows, self.part_rows, self.folder = space.max_rows, space.part_rows, space.folder
        self.flush_rows = max(space.part_rows, space.block_rows)
        self.pieces: list[Rows] = []
        self.num_held = 0
        self.num_rows = 0
        self.bounds: np.ndarray | None = None  # the first source key of each range but the first
        self.paths: list[Path] = []

    @property
    def is_spilled(self) -> bool:
        return self.bounds is not None

    def add(self, rows: Rows, fraction_done: float) -> None:
        """Takes rows; `fraction_done` of all rows, roughly, have then been added."""
        num_rows = len(rows["detail"])
        if not num_rows:
            return
        self.pieces.append(rows)
        self.num_held += num_rows
        self.num_rows += num_rows
        if not self.is_spilled and self.num_held > self.max_rows:
            num_ranges = RANGE_SLACK * self.num_rows / max(fraction_done, 1e-3) / self.part_rows
            self.bounds = _bounds_of(self.pieces, int(np.ceil(num_ranges)))
            self.paths = [self.folder / f"range-{number}" for number in range(len(self.bounds) + 1)]
        if self.is_spilled and self.num_held > self.flush_rows:
            self._flush()

    def parts(self) -> Iterator[Rows]:
        """The rows in parts, by ascending source side; the store is empty afterwards."""
        if not self.is_spilled:
            if self.pieces:
                bounds = _bounds_of(self.pieces, -(-self.num_rows // self.part_rows))
                yield from (part for part in cut_rows(self._take_pieces(), bounds) if len(part["detail"]))
            return
        self._flush()
        for path in self.paths:
            if path.exists():
                yield from self._parts_of(path)

    def _take_pieces(self) -> Rows:
        pieces, self.pieces, self.num_held = self.pieces, [], 0
        return join_rows(pieces)

    def _flush(self) -> None:
        assert self.bounds is not None
        waiting, self.pieces, self.num_held = self.pieces, [], 0
        while waiting:
            block = [waiting.pop()]
            while waiting and sum(len(piece["detail"]) for piece in block) < self.flush_rows:
                block.append(waiting.pop())
            _write_ranges(join_rows(block), self.bounds, self.paths)

    def _parts_of(self, path: Path) -> Iterator[Rows]:
        """The rows of one file; split again where they are too many."""
        num_rows = sum(int(sizes[1]) for sizes, _ in _stored_blocks(path, ()))
        finer = self._split(path, num_rows) if num_rows > self.max_rows else []
        for part in finer:
            yield from self._parts_of(part)
        if not finer:
            rows = join_rows([rows for _, rows in _stored_blocks(path)])
            path.unlink()
            yield rows

    def _split(self, path: Path, num_rows: int) -> list[Path]:
        """Moves the rows of a file to files of finer ranges; none, and nothing is moved, if all have one source key."""
        sides = [rows for _, rows in _stored_blocks(path, ("source_key",))]
        bounds = _bounds_of(sides, int(np.ceil(RANGE_SLACK * num_rows / self.part_rows)))
        if not len(bounds):
            return []
        paths = [path.with_name(f"{path.name}-{number}") for number in range(len(bounds) + 1)]
        for _, rows in _stored_blocks(path):
            _write_ranges(rows, bounds, paths)
        path.unlink()
        return [part for part in paths if part.exists()]


def range_bounds(keys: np.ndarray, num_ranges: int) -> np.ndarray:
    """At most num_ranges - 1 distinct keys that cut the given ones into ranges of about equal size."""
    if num_ranges <= 1 or not len(keys):
        return np.zeros(0, np.int64)
    ordered = np.sort(keys[:: max(len(keys) // SAMPLE_ROWS, 1)])
    bounds = np.unique(ordered[np.arange(1, num_ranges) * len(ordered) // num_ranges])
    return bounds[bounds > ordered[0]]


def _bounds_of(pieces: list[Rows], num_ranges: int) -> np.ndarray:
    return range_bounds(np.concatenate([piece["source_key"] for piece in pieces]), num_ranges)


def join_rows(pieces: list[Rows]) -> Rows:
    """One after the other; the pieces are emptied column by column, so that no column is there twice for long."""
    return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in list(pieces[0])}


def sides_in_order(rows: Rows, order: np.ndarray) -> Rows:
    """The source sides in another order [O], each with its rows."""
    size = rows["num_rows"].astype(np.int64)
    place, _ = ranges((np.cumsum(size) - size)[order], size[order])
    return {name: column[order if name in SIDE_COLUMNS else place] for name, column in rows.items()}


def cut_rows(rows: Rows, bounds: np.ndarray) -> Iterator[Rows]:
    """The rows of each range of source keys, bounds [Q] being the first of all but the first: Q + 1 parts."""
    number = np.searchsorted(bounds, rows["source_key"], side="right").astype(np.uint16 if len(bounds) < 65535 else int)
    order = np.argsort(number, kind="stable")
    side_ends = np.cumsum(np.bincount(number, minlength=len(bounds) + 1))
    row_ends = np.concatenate([[0], np.cumsum(rows["num_rows"][order], dtype=np.int64)])[side_ends]
    moved = sides_in_order(rows, order)
    sides, of_rows = (itertools.pairwise(np.concatenate([[0], ends]).tolist()) for ends in (side_ends, row_ends))
    for side, row in zip(sides, of_rows, strict=True):
        yield {name: column[slice(*(side if name in SIDE_COLUMNS else row))] for name, column in moved.items()}


def _write_ranges(rows: Rows, bounds: np.ndarray, paths: list[Path]) -> None:
    """Appends the rows of each range to its file, as a block: a line that names the columns, then these."""
    for path, part in zip(paths, cut_rows(rows, bounds), strict=True):
        if len(part["detail"]):
            form = " ".join(f"{name}:{column.dtype.str}:{len(column)}" for name, column in part.items())
            with open(path, "ab") as stream:
                stream.write(form.encode() + b"\n" + b"".join(column.tobytes() for column in part.values()))


def _stored_blocks(path: Path, names: Collection[str] | None = None) -> Iterator[tuple[tuple[int, int], Rows]]:
    """The blocks of a file: numbers of sides and rows, and the columns asked for, all if None."""
    with open(path, "rb") as stream:
        while form := stream.readline().split():
            rows, sizes = {}, (0, 0)
            for name, dtype, size in (field.decode().split(":") for field in form):
                sizes = (int(size), sizes[1]) if name in SIDE_COLUMNS else (sizes[0], int(size))
                if names is None or name in names:
                    rows[name] = np.frombuffer(stream.read(int(size) * np.dtype(dtype).itemsize), dtype)
                else:
                    stream.seek(int(size) * np.dtype(dtype).itemsize, os.SEEK_CUR)
            yield sizes, rows


class Spool:
    """Columns that grow block by block: lists in memory, or files in a folder that are mapped at the end.

    The files are removed when `finish` has mapped them; the space is free when the last array on them is.
    """

    def __init__(self, folder: Path | None, name: str):
        self.folder, self.name = folder, name
        self.blocks: dict[str, list[np.ndarray]] = {}
        self.forms: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}

    def append(self, columns: dict[str, np.ndarray]) -> None:
        for name, column in columns.items():
            self.forms.setdefault(name, (column.dtype, column.shape[1:]))
            if self.folder is None:
                self.blocks.setdefault(name, []).append(column)
            else:
                with open(self.folder / f"{self.name}-{name}", "ab") as stream:
                    np.ascontiguousarray(column).tofile(stream)

    def finish(self) -> dict[str, np.ndarray]:
        """All columns; those in files are mapped copy-on-write."""
        return {name: self._finish(name) for name in self.forms}

    def _finish(self, name: str) -> np.ndarray:
        if self.folder is None:
            blocks = self.blocks.pop(name)
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        dtype, shape = self.forms[name]
        path = self.folder / f"{self.name}-{name}"
        if not path.stat().st_size:
            return np.zeros((0, *shape), dtype)
        mapped = np.memmap(path, dtype, "c")
        path.unlink()
        return mapped.reshape(-1, *shape)
