"""Rows in memory as long as they fit, otherwise in temporary files by ranges of the source side."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.extract.phrases import Rows

MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 1 << 12, 1 << 18
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

    def blocks(self, num_rows: int) -> Iterator[slice]:
        """Slices that cover the rows; one empty slice where there are none."""
        for start in range(0, max(num_rows, 1), self.block_rows):
            yield slice(start, min(start + self.block_rows, num_rows))

    def spool(self, name: str) -> "Spool":
        """New columns that grow, in memory or in the folder."""
        return Spool(self.folder, name)


class RowStore:
    """Collects rows and gives them back as parts that fit in memory, by ascending ranges of source sides.

    All rows of a source side are in one part, so that parts can be counted one after the other. A single part in
    memory is given as long as no more than `space.max_rows` rows were added; then files take over.
    """

    def __init__(self, space: Workspace):
        assert space.folder is not None
        self.max_rows, self.block_rows, self.folder = space.max_rows, space.block_rows, space.folder
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
        num_rows = len(rows["source_key"])
        if not num_rows:
            return
        self.pieces.append(rows)
        self.num_held += num_rows
        self.num_rows += num_rows
        if not self.is_spilled and self.num_held > self.max_rows:
            num_ranges = RANGE_SLACK * self.num_rows / max(fraction_done, 1e-3) / self.max_rows
            keys = np.concatenate([piece["source_key"] for piece in self.pieces])
            self.bounds = range_bounds(keys, int(np.ceil(num_ranges)))
            self.paths = [self.folder / f"range-{number}" for number in range(len(self.bounds) + 1)]
        if self.is_spilled and self.num_held > self.block_rows:
            self._flush()

    def parts(self) -> Iterator[Rows]:
        """The rows in parts, by ascending source side; the store is empty afterwards."""
        if not self.is_spilled:
            if self.pieces:
                yield self._take_pieces()
            return
        self._flush()
        for path in self.paths:
            if path.exists():
                yield from self._parts_of(path)

    def _take_pieces(self) -> Rows:
        names = list(self.pieces[0])
        joined = {}
        for name in names:  # column by column, so that no column is there twice for long
            joined[name] = np.concatenate([piece.pop(name) for piece in self.pieces])
        self.pieces, self.num_held = [], 0
        return joined

    def _flush(self) -> None:
        assert self.bounds is not None
        waiting, self.pieces, self.num_held = self.pieces, [], 0
        while waiting:
            block = [waiting.pop()]
            while waiting and sum(len(piece["detail"]) for piece in block) < self.block_rows:
                block.append(waiting.pop())
            rows = {name: np.concatenate([piece[name] for piece in block]) for name in block[0]}
            _write_ranges(_to_records(rows), self.bounds, self.paths)

    def _parts_of(self, path: Path) -> Iterator[Rows]:
        """The rows of one file; split again where they are too many."""
        header = path.with_suffix(".dtype").read_text()
        dtype = np.dtype([tuple(field.split(":")) for field in header.split()])
        finer = self._split(path, dtype) if path.stat().st_size > self.max_rows * dtype.itemsize else []
        for part in finer:
            yield from self._parts_of(part)
        if not finer:
            loaded = np.fromfile(path, dtype)
            path.unlink()
            rows = {name: np.ascontiguousarray(loaded[name]) for name in loaded.dtype.names or ()}
            del loaded
            yield rows

    def _split(self, path: Path, dtype: np.dtype) -> list[Path]:
        """Moves the rows of a file to files of finer ranges; none, and nothing is moved, if all have one source key."""
        records = np.memmap(path, dtype, "r")
        sample = np.ascontiguousarray(records["source_key"][:: max(len(records) // SAMPLE_ROWS, 1)])
        bounds = range_bounds(sample, int(np.ceil(RANGE_SLACK * len(records) / self.max_rows)))
        if not len(bounds):
            return []
        paths = [path.with_name(f"{path.name}-{number}") for number in range(len(bounds) + 1)]
        for start in range(0, len(records), self.block_rows):
            _write_ranges(np.array(records[start : start + self.block_rows]), bounds, paths)
        path.unlink()
        return [part for part in paths if part.exists()]


def range_bounds(keys: np.ndarray, num_ranges: int) -> np.ndarray:
    """At most num_ranges - 1 distinct keys that cut the given ones into ranges of about equal size."""
    if num_ranges <= 1 or not len(keys):
        return np.zeros(0, np.int64)
    ordered = np.sort(keys[:: max(len(keys) // SAMPLE_ROWS, 1)])
    bounds = np.unique(ordered[np.arange(1, num_ranges) * len(ordered) // num_ranges])
    return bounds[bounds > ordered[0]]


def _to_records(rows: Rows) -> np.ndarray:
    dtype = np.dtype([(name, column.dtype) for name, column in rows.items()])
    records = np.empty(len(rows["source_key"]), dtype)
    for name, column in rows.items():
        records[name] = column
    return records


def _write_ranges(records: np.ndarray, bounds: np.ndarray, paths: list[Path]) -> None:
    """Appends each record to the file of its range."""
    number = np.searchsorted(bounds, records["source_key"], side="right")
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(paths)))
    records = records[order]
    fields = " ".join(f"{name}:{records.dtype[name].str}" for name in records.dtype.names or ())
    for path, start, end in zip(paths, np.concatenate([[0], ends[:-1]]), ends, strict=True):
        if end > start:
            if not path.exists():
                path.with_suffix(".dtype").write_text(fields)
            with open(path, "ab") as stream:
                records[start:end].tofile(stream)


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
