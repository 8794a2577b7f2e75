"""Counting: rows of extracted pairs grouped by sorting packed integer keys.

Sums are taken over whole numbers (fractions as multiples of 2^-36), so that neither the order of the rows nor the
way they were split changes a bit of the result.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from jaxsmt.common.ragged import ranges
from jaxsmt.extract.alignments import transpose_alignments
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.ngrams import dense_rank
from jaxsmt.extract.phrases import Rows
from jaxsmt.extract.spill import range_bounds

UNIT_BITS = 36  # a fractional count is a multiple of 2^-36: sums of 2^27 units, shares exact to 1e-8
TIE_BITS = 12  # alignments whose fractional counts agree to 2^-24 count as tied
SOURCE_COLUMNS, TARGET_COLUMNS = ("source_key", "source_rest"), ("target_key", "target_rest")
ROW_COLUMNS = (*TARGET_COLUMNS, "alignment", "detail")
CHUNK_ROWS = 1 << 15  # rows sorted at once: what is sorted in the processor's cache is sorted two times faster
SORT_ROWS = 1 << 17  # likewise of fewer columns
MIN_SIDE_BITS, MAX_SIDE_BITS = 8, 30
Pairs = dict[str, np.ndarray]


def unit_of(config: ExtractConfig) -> int:
    """What one whole count is in the integers that are summed."""
    return 1 << UNIT_BITS if config.is_hiero and config.fractional else 1


def group_rows(rows: Rows, config: ExtractConfig) -> Pairs:
    """Distinct pairs of the rows, sorted by source side, then target side.

    Columns [P]: the key columns of `rows`; joint (int64, in units of `unit_of`); by_target and by_source, the
    alignments chosen for the two lexical weights (uint64, both laid out over target symbols); orientations
    [P, 6] uint32 where they are asked for; where rare ones are left out, how often the pair was seen and in how many
    places its source side stands (seen, places: int32).
    """
    sources = {name: rows[name] for name in SOURCE_COLUMNS if name in rows}
    order, is_new = sort_columns(list(sources.values()))
    size = rows["num_rows"].astype(np.int64)
    begin, size = (np.cumsum(size) - size)[order], size[order]
    first = np.append(np.flatnonzero(is_new), len(order))  # of each source side, the first place in `order`; the end
    sides = {name: column[order[first[:-1]]] for name, column in sources.items()}
    chunks = []
    for low, high in itertools.pairwise(_cut_sides(first, size, num_bits(rows["target_key"]))):
        here = slice(first[low], first[high])
        place, occurrence = ranges(begin[here], size[here])
        side = (np.cumsum(is_new[here]) - 1)[occurrence]
        chunk = {name: rows[name][place] for name in ROW_COLUMNS if name in rows}
        number, pairs = _group_chunk(side, chunk, config)
        if config.leaves_out:
            pairs["places"] = np.diff(first[low : high + 1])[number].astype(np.int32)
        chunks.append({name: column[low:high][number] for name, column in sides.items()} | pairs)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _cut_sides(first: np.ndarray, size: np.ndarray, target_bits: int) -> np.ndarray:
    """Where the source sides are cut into chunks that have few rows, and so few sides that keys fit in 64 bits."""
    num_sides = len(first) - 1
    if not num_sides:
        return np.zeros(2, np.int64)
    rows_before = np.append(0, np.cumsum(size))[first]  # of each side; all
    by_rows = np.searchsorted(rows_before, np.arange(0, rows_before[-1], CHUNK_ROWS))
    by_sides = np.arange(0, num_sides, 1 << min(max(64 - target_bits, MIN_SIDE_BITS), MAX_SIDE_BITS))
    return np.unique(np.concatenate([by_rows, by_sides, [num_sides]]))


def _group_chunk(side: np.ndarray, rows: Rows, config: ExtractConfig) -> tuple[np.ndarray, Pairs]:
    """The pairs of source sides numbered by `side` [R] and rows without source columns: their sides [P], columns."""
    targets = {name: rows[name] for name in TARGET_COLUMNS if name in rows}
    order, is_new = sort_columns([side, *targets.values()])
    starts = np.flatnonzero(is_new)
    sizes = np.diff(starts, append=len(order))
    pairs = {name: column[order[starts]] for name, column in targets.items()}
    detail = rows["detail"][order]
    weights = share_table(unit_of(config))[detail] if config.is_hiero else np.ones(len(order), np.int64)
    pairs["joint"] = np.add.reduceat(weights, starts) if len(starts) else np.zeros(0, np.int64)
    if config.leaves_out:
        pairs["seen"] = sizes.astype(np.int32)
    pairs |= choose_alignments(rows["alignment"][order], weights, starts, sizes, config)
    if config.orientations and not config.is_hiero:
        pairs["orientations"] = _count_orientations(detail, sizes)
    return side[order[starts]], pairs


def sort_columns(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The order [R] that sorts rows by columns [R] of whole numbers ≥ 0, and where in it [R] bool another row begins.

    Many rows are first put into ranges of the first column, each of which is then sorted. Equal rows come in any order.
    """
    bounds = range_bounds(columns[0], min(len(columns[0]) // SORT_ROWS, 1 << 16))
    if not len(bounds):
        return _sort_range(columns)
    number = np.searchsorted(bounds, columns[0], side="right").astype(np.uint16)
    order, is_new = np.argsort(number, kind="stable"), np.empty(len(number), bool)
    ends = np.append(0, np.cumsum(np.bincount(number)))
    for low, high in itertools.pairwise(ends):
        here = order[low:high]
        turn, is_new[low:high] = _sort_range([column[here] for column in columns])
        order[low:high] = here[turn]
    return order, is_new


def _sort_range(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """As many columns as 64 bits hold are sorted as one key; where later ones differ between rows that are equal so
    far, these rows alone are sorted by them.
    """
    key, num_packed = columns[0].astype(np.uint64), 1
    key -= key.min() if len(key) else np.uint64(0)
    for column in columns[1:]:
        if num_bits(key) + num_bits(column) > 64:
            break
        key, num_packed = key << np.uint64(num_bits(column)) | column.astype(np.uint64), num_packed + 1
    order = np.argsort(key)
    is_new = _starts_runs(key[order])
    for column in columns[num_packed:]:
        _sort_within_runs(order, is_new, column)
    return order, is_new


def _sort_within_runs(order: np.ndarray, is_new: np.ndarray, column: np.ndarray) -> None:
    """Sorts the runs in which the column is not constant by it, in place, and marks the finer runs."""
    values = column[order]
    differs = np.flatnonzero((values[1:] != values[:-1]) & ~is_new[1:]) + 1
    run = np.cumsum(is_new) - 1
    is_mixed = np.zeros(len(run) and run[-1] + 1, bool)
    is_mixed[run[differs]] = True
    mixed = np.flatnonzero(is_mixed[run])
    run, values = run[mixed], values[mixed]
    if num_bits(run) + num_bits(values) > 64:
        values = dense_rank(values)
    key = run.astype(np.uint64) << np.uint64(num_bits(values)) | values.astype(np.uint64)
    turn = np.argsort(key)
    order[mixed] = order[mixed[turn]]
    is_new[mixed] = _starts_runs(key[turn])


def _starts_runs(values: np.ndarray) -> np.ndarray:
    """[R] bool: whether each value differs from the one before; the first one does."""
    is_new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return is_new


def num_bits(column: np.ndarray) -> int:
    """Bits that hold every number of the column."""
    return int(column.max(initial=0)).bit_length()


@lru_cache(maxsize=2)
def share_table(unit: int) -> np.ndarray:
    """[65536] int64: the count of one of n rules that share a whole count of so many units."""
    num_sharers = np.maximum(np.arange(1 << 16), 1)
    return (2 * unit + num_sharers) // (2 * num_sharers) if unit > 1 else np.ones(1 << 16, np.int64)


def _count_orientations(detail: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[P, 6] uint32: mono, swap, other to the previous phrase, the same to the next."""
    pair = np.repeat(np.arange(len(sizes)) * 3, sizes)
    counts = [np.bincount(pair + code, minlength=3 * len(sizes)) for code in (detail // 3, detail % 3)]
    return np.concatenate([part.reshape(-1, 3).astype(np.uint32) for part in counts], axis=1)


def choose_alignments(
    alignment: np.ndarray, weights: np.ndarray, starts: np.ndarray, sizes: np.ndarray, config: ExtractConfig
) -> Pairs:
    """The most frequent alignment of each group of rows, for both directions.

    Ties: laid out as a list over the symbols being explained (target symbols for lex(t|s), source symbols for
    lex(s|t)) of the sorted places each is linked to, the lexicographically largest wins.
    """
    by_target = alignment[starts]
    by_source = by_target.copy()
    is_first = np.zeros(len(alignment), bool)
    is_first[starts] = True
    differs = np.flatnonzero((alignment[1:] != alignment[:-1]) & ~is_first[1:]) + 1
    mixed = np.unique(np.searchsorted(starts, differs, side="right") - 1)  # groups with several alignments
    if len(mixed):
        place, row = ranges(starts[mixed], sizes[mixed])
        group, links, total = _sum_alignments(mixed[row], alignment[place], weights[place])
        total = (total + (1 << TIE_BITS >> 1)) >> TIE_BITS if unit_of(config) > 1 else total
        turned = transpose_alignments(links, config.source_width, config.target_width)
        by_target[mixed] = links[_best_of_group(group, total, links)]
        by_source[mixed] = links[_best_of_group(group, total, turned)]
    return {"by_target": by_target, "by_source": by_source}


def _sum_alignments(
    group: np.ndarray, links: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (group, links), sorted, and the sum of their weights."""
    order = np.lexsort((links, group))
    group, links = group[order], links[order]
    is_new = np.concatenate([[True], (group[1:] != group[:-1]) | (links[1:] != links[:-1])])
    starts = np.flatnonzero(is_new)
    return group[starts], links[starts], np.add.reduceat(weights[order], starts)


def _best_of_group(group: np.ndarray, total: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """The index of the row with the largest (total, tie) in each group, groups ascending."""
    order = np.lexsort((tie, total, group))
    ordered = group[order]
    return order[np.concatenate([ordered[1:] != ordered[:-1], [True]])]
