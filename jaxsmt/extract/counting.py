"""Counting: rows of extracted pairs grouped by sorting packed integer keys.

Sums are taken over whole numbers (fractions as multiples of 2^-36), so that neither the order of the rows nor the
way they were split changes a bit of the result.
"""

import numpy as np

from jaxsmt.common.ragged import ranges
from jaxsmt.extract.alignments import transpose_alignments
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.ngrams import dense_rank
from jaxsmt.extract.phrases import Rows

UNIT_BITS = 36  # a fractional count is a multiple of 2^-36: sums of 2^27 units, shares exact to 1e-8
TIE_BITS = 12  # alignments whose fractional counts agree to 2^-24 count as tied
KEY_COLUMNS = ("source_key", "source_rest", "target_key", "target_rest")
Pairs = dict[str, np.ndarray]


def unit_of(config: ExtractConfig) -> int:
    """What one whole count is in the integers that are summed."""
    return 1 << UNIT_BITS if config.is_hiero and config.fractional else 1


def group_rows(rows: Rows, config: ExtractConfig) -> Pairs:
    """Distinct pairs of the rows, sorted by source side, then target side.

    Columns [P]: the key columns of `rows`; joint (int64, in units of `unit_of`); by_target and by_source, the
    alignments chosen for the two lexical weights (uint64, both laid out over target symbols); orientations
    [P, 6] uint32 where they are asked for.
    """
    key = pack_columns([rows[name] for name in KEY_COLUMNS if name in rows])
    order = np.argsort(key)
    key = key[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]]))
    del key
    sizes = np.diff(np.append(starts, len(order)))
    pairs = {name: rows[name][order[starts]] for name in KEY_COLUMNS if name in rows}
    detail = rows["detail"][order]
    weights = _share_table(config)[detail] if config.is_hiero else np.ones(len(order), np.int64)
    pairs["joint"] = np.add.reduceat(weights, starts) if len(starts) else np.zeros(0, np.int64)
    pairs |= choose_alignments(rows["alignment"][order], weights, starts, sizes, config)
    if config.orientations and not config.is_hiero:
        pairs["orientations"] = _count_orientations(detail, sizes)
    return pairs


def pack_columns(columns: list[np.ndarray]) -> np.ndarray:
    """[R] int64 keys that compare as the columns [R] of whole numbers do, the first column most significant."""
    key, *rest = columns
    key = key.astype(np.int64)
    for column in rest:
        if _num_bits(key) + _num_bits(column) > 63:
            key = dense_rank(key)
        if _num_bits(key) + _num_bits(column) > 63:
            column = dense_rank(column)
        key = key << _num_bits(column) | column
    return key


def _num_bits(column: np.ndarray) -> int:
    return int(column.max(initial=0)).bit_length()


def _share_table(config: ExtractConfig) -> np.ndarray:
    """[65536] int64: the count of one of n rules that share a whole count."""
    num_sharers = np.maximum(np.arange(1 << 16), 1)
    unit = unit_of(config)
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
