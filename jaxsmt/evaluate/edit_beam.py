"""Edit distances inside sacrebleu's beam, for the few pairs of long and very different sentences where it matters.

Cells too far from the diagonal from corner to corner are never reached, so the count may be higher than the least.
"""

import math
from functools import lru_cache

import numpy as np

from jaxsmt.evaluate.edit_bits import EditOperations, WordTables, match_bits, packed_bits

BEAM = 25  # columns on each side of the diagonal
_UNREACHED = 1 << 28


def beam_columns(length: int, reference_length: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last + 1 column of rows 0..length, [length + 1] int64 each; row 0 is whole."""
    ratio = reference_length / max(length, 1)
    beam = math.ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM
    diagonal = np.floor(np.arange(length + 1) * ratio).astype(np.int64)
    begin = np.maximum(diagonal - beam, 0)
    end = np.minimum(diagonal + beam, reference_length + 1)
    begin[0], end[0], end[-1] = 0, reference_length + 1, reference_length + 1
    return begin, end


@lru_cache(maxsize=1 << 16)
def least_outside_beam(length: int, reference_length: int) -> int:
    """A lower bound of the edits of any way through the table that leaves the beam."""
    begin, end = beam_columns(length, reference_length)
    row, column = np.arange(length + 1)[:, None], np.arange(reference_length + 1)[None]
    outside = (column < begin[:, None]) | (column >= end[:, None])
    through = np.abs(row - column) + np.abs((reference_length - column) - (length - row))
    return int(through[outside].min()) if outside.any() else length + reference_length + 1


def beam_matters(distances: np.ndarray, lengths: np.ndarray, reference_lengths: np.ndarray) -> np.ndarray:
    """[N] bool: a way of least edits might leave the beam."""
    matters = np.zeros(len(distances), bool)
    for row in np.flatnonzero((reference_lengths >= BEAM) & (distances >= BEAM)):
        matters[row] = distances[row] >= least_outside_beam(int(lengths[row]), int(reference_lengths[row]))
    return matters


def beams(lengths: np.ndarray, reference_lengths: np.ndarray, height: int) -> tuple[np.ndarray, np.ndarray]:
    """beam_columns of N pairs, [N, height + 1] each; nothing beyond the last row of a pair."""
    begin = np.full((len(lengths), height + 1), _UNREACHED)
    end = np.zeros((len(lengths), height + 1), np.int64)
    for pair, (length, reference_length) in enumerate(zip(lengths.tolist(), reference_lengths.tolist(), strict=True)):
        begin[pair, : length + 1], end[pair, : length + 1] = beam_columns(length, reference_length)
    return begin, end


def first_row(num: int, width: int) -> np.ndarray:
    """[N, R + 1] int32: the row of the empty hypothesis."""
    return np.tile(np.arange(width + 1, dtype=np.int32), (num, 1))


def next_beam_row(
    words: np.ndarray, references: np.ndarray, row: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """One row further: words [N], references [N, R], row [N, R + 1], beam [N] → [N, R + 1]."""
    further = np.full_like(row, _UNREACHED)
    first, last = int(begin.min(initial=_UNREACHED)), int(end.max(initial=0))
    if first >= last:
        return further
    column = np.arange(first, last, dtype=np.int32)[None]
    best = row[:, first:last] + 1
    left = max(first, 1)  # column 0 has no left neighbour
    differs = words[:, None] != references[:, left - 1 : last - 1]
    np.minimum(best[:, left - first :], row[:, left - 1 : last - 1] + differs, out=best[:, left - first :])
    outside = (column < begin[:, None]) | (column >= end[:, None])
    best[outside] = _UNREACHED
    best = np.minimum.accumulate(best - column, 1) + column
    best[outside | (best > _UNREACHED)] = _UNREACHED
    further[:, first:last] = best
    return further


def beam_rows(hypotheses: np.ndarray, references: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """[H + 1, N, R + 1] int32: the whole tables of ids [N, H] and [N, R]."""
    rows = np.empty((hypotheses.shape[1] + 1, len(hypotheses), references.shape[1] + 1), np.int32)
    rows[0] = first_row(len(hypotheses), references.shape[1])
    for place in range(hypotheses.shape[1]):
        rows[place + 1] = next_beam_row(
            hypotheses[:, place], references, rows[place], begin[:, place + 1], end[:, place + 1]
        )
    return rows


def beam_distances(
    pairs: WordTables, start: np.ndarray, rows: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """[C] int64: distances of C pairs whose tables are known up to row start [C], which is given [C, R + 1]."""
    order = np.argsort(start, kind="stable")  # those under way are always the first ones
    words, lengths, references, reference_lengths = pairs.take(order)
    start, rows, begin, end = (part[order] for part in (start, rows, begin, end))
    found = np.zeros(len(order), np.int64)
    for place in range(int(start.min(initial=0)), words.shape[1]):
        now = slice(int(np.searchsorted(start, place, "right")))
        beam = begin[now, place + 1], end[now, place + 1]
        rows[now] = next_beam_row(words[now, place], references[now], rows[now], *beam)
        ends = np.flatnonzero(lengths[now] == place + 1)
        found[order[ends]] = rows[ends, reference_lengths[ends]]
    return found


def beam_operations(hypotheses: np.ndarray, references: np.ndarray, rows: np.ndarray) -> EditOperations:
    """The operations chosen in tables [H + 1, N, R + 1]."""
    is_match = (hypotheses[:, :, None] == references[:, None, :]).transpose(1, 0, 2)
    is_pair = rows[:-1, :, :-1] + ~is_match == rows[1:, :, 1:]
    is_drop = (rows[:-1, :, 1:] + 1 == rows[1:, :, 1:]) & ~is_pair
    return EditOperations(match_bits(hypotheses, references), packed_bits(is_pair), packed_bits(is_drop))
