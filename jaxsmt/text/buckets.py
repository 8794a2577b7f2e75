"""Length buckets: rows of unequal length in few static padded shapes, so that a kernel compiles once per shape.

    for batch in make_batches(bitext.source.lengths, bitext.target.lengths):
        source = batch.padded(bitext.source, batch.width_source)  # [B, N]
        target = batch.padded(bitext.target, batch.width_target)  # [B, M]

All batches of one bucket have one shape (B, N, M); the last one is filled up with rows of index EMPTY_ROW.
"""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged

EMPTY_ROW = -1  # an index in `Batch.rows` that stands for no row


@dataclass(frozen=True)
class Batch:
    """B rows of one bucket.

    rows: [B] int64 row indexes, ascending, then EMPTY_ROW up to the bucket's batch size.
    width_source: N, at least the length of the longest source row.
    width_target: M, likewise; 0 where the rows have one side only.
    """

    rows: np.ndarray
    width_source: int
    width_target: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, N, M)."""
        return len(self.rows), self.width_source, self.width_target

    @property
    def is_row(self) -> np.ndarray:
        """[B] bool: False where the batch was filled up."""
        return self.rows >= 0

    @property
    def real_rows(self) -> np.ndarray:
        """[≤ B] int64: the row indexes without the filling."""
        return self.rows[self.is_row]

    def padded(self, ragged: Ragged, width: int, fill: int = 0) -> np.ndarray:
        """[B, width, ...]: the batch's rows of `ragged`, `fill` after each row's end and in empty rows."""
        gathered = np.full((len(self.rows), width, *ragged.values.shape[1:]), fill, ragged.values.dtype)
        real = self.real_rows  # they come first
        gathered[: len(real)] = ragged.padded(real, width, fill)
        return gathered

    def take(self, values: np.ndarray, fill: int = 0) -> np.ndarray:
        """[B, ...]: values [R, ...] of the batch's rows, `fill` in empty rows; lengths for instance."""
        gathered = np.full((len(self.rows), *values.shape[1:]), fill, values.dtype)
        real = self.real_rows
        gathered[: len(real)] = values[real]
        return gathered


def bucket_widths(lengths: np.ndarray, step: int = 8) -> np.ndarray:
    """[R] int64: the padded width of each length.

    Widths go in steps of `step` up to 8 steps, in steps of 2 up to 16, of 4 up to 32 and so on: at most
    a quarter of padding from the second octave on, and few shapes however long the longest row is.
    """
    lengths = np.maximum(np.asarray(lengths, np.int64), 1)
    octave = np.maximum(np.ceil(np.log2(lengths / (8 * step))).astype(np.int64), 0)
    octave += lengths > (8 * step) << octave  # the logarithm is inexact; the shifts are not
    octave -= (octave > 0) & (lengths <= (8 * step) << np.maximum(octave - 1, 0))
    unit = step << octave
    return -(-lengths // unit) * unit


def make_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray | None = None,
    *,
    step: int = 8,
    cells_per_batch: int = 1 << 20,
    max_shapes: int | None = 16,
    max_rows: int | None = None,
) -> list[Batch]:
    """Puts every row in exactly one batch; the same lengths always give the same batches.

    Args:
      source_lengths: [R] lengths of the source rows.
      target_lengths: [R] lengths of the target rows, None where there is one side only (M = 0, cells = B·N).
      step: the finest step between widths.
      cells_per_batch: B·N·M stays within it, unless one row alone (B = 1) is already larger.
      max_shapes: buckets are merged, those first that cost the fewest cells of padding, until no more than
        this many are left; None keeps all, so that shapes do not depend on which other rows there are.
      max_rows: an upper limit for B.

    B is a power of two. Batches come by ascending (N, M), rows within a bucket in ascending order.
    """
    width_source = bucket_widths(source_lengths, step)
    width_target = np.zeros_like(width_source) if target_lengths is None else bucket_widths(target_lengths, step)
    keys, bucket, counts = np.unique(width_source << 32 | width_target, return_inverse=True, return_counts=True)
    shapes = np.stack([keys >> 32, keys & 0xFFFFFFFF], 1)  # [K, 2]: N, M
    if max_shapes is not None:
        shapes, bucket = _merge(shapes, bucket, counts, max_shapes)
    batches: list[Batch] = []
    order = np.argsort(bucket, kind="stable")
    starts = np.searchsorted(bucket[order], np.arange(len(shapes) + 1))
    for (wide, high), start, end in zip(shapes.tolist(), starts[:-1], starts[1:], strict=True):
        rows = order[start:end]
        size = _batch_size(len(rows), wide * max(high, 1), cells_per_batch, max_rows)
        full = np.full(-(-len(rows) // size) * size, EMPTY_ROW, np.int64)
        full[: len(rows)] = rows
        batches += [Batch(part, wide, high) for part in full.reshape(-1, size)]
    return batches


def _batch_size(num_rows: int, cells_per_row: int, cells_per_batch: int, max_rows: int | None) -> int:
    limit = max(cells_per_batch // cells_per_row, 1)
    limit = limit if max_rows is None else max(min(limit, max_rows), 1)
    return min(1 << limit.bit_length() - 1, 1 << (num_rows - 1).bit_length())


def _merge(
    shapes: np.ndarray, bucket: np.ndarray, counts: np.ndarray, max_shapes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merges buckets [K, 2] greedily down to `max_shapes`; returns the shapes left and each row's new bucket [R]."""
    owner = np.arange(len(shapes))
    shapes, counts = shapes.copy(), counts.copy()
    alive = list(range(len(shapes)))
    while len(alive) > max(max_shapes, 1):
        here, num = shapes[alive], counts[alive]
        union = np.maximum(here[:, None], here[None])  # [K, K, 2]
        cells = num * here[:, 0] * np.maximum(here[:, 1], 1)
        both = (num[:, None] + num[None]) * union[..., 0] * np.maximum(union[..., 1], 1)
        extra = (both - cells[:, None] - cells[None]).astype(np.float64)
        extra[np.tril_indices(len(alive))] = np.inf
        first, second = np.unravel_index(np.argmin(extra), extra.shape)  # ties: the first pair in order
        keep, gone = alive[first], alive[second]
        shapes[keep] = union[first, second]
        counts[keep] += counts[gone]
        owner[owner == gone] = keep
        alive.remove(gone)
    shapes_left, place = np.unique(shapes[owner], axis=0, return_inverse=True)
    return shapes_left, place.reshape(-1)[bucket]
