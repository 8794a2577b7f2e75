"""Rows of sorted tables, found by binary search, all at once; tables may be memory-mapped and are never copied."""

import numpy as np

from jaxsmt.common.arrays import ROWS_AT_ONCE, release_pages
from jaxsmt.common.grouping import row_order, widened
from jaxsmt.tm.merged_words import NOT_THERE


def narrowed(
    column: np.ndarray, first: np.ndarray, last: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of rows first[n]..last[n] − 1, in which the column ascends, those with value[n]: their first and last [N].

    column: [R] non-negative integers; first, last, value: [N]; ranges that begin together also end together. Where no
    row has the value both are the same.
    """
    key = first.astype(np.int64) << 32 | value  # rows of a table that begin alike are one range: few are distinct
    one, place = _distinct(key)
    begin, end, wanted = first[one], last[one], value[one]
    begin = _lower_bound(column, begin, end, wanted)
    return begin[place], _lower_bound(column, begin, end, wanted + 1)[place]


def _distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows [U] of keys [N] that are all different, and for each key the place [N] of its like there."""
    order = None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys)
    ascending = keys if order is None else keys[order]
    is_first = np.ones(len(keys), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    one, place = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    if order is None:
        return one, place
    scattered = np.empty_like(place)
    scattered[order] = place
    return order[one], scattered


def _lower_bound(column: np.ndarray, first: np.ndarray, last: np.ndarray, value: np.ndarray) -> np.ndarray:
    """[N]: the first of rows first..last − 1 whose value is not below the one given, `last` if there is none."""
    low, high = first.astype(np.int64), last.astype(np.int64)
    open_rows = np.flatnonzero(low < high)
    while len(open_rows):
        middle = (low[open_rows] + high[open_rows]) >> 1
        is_below = column[middle] < value[open_rows]
        low[open_rows] = np.where(is_below, middle + 1, low[open_rows])
        high[open_rows] = np.where(is_below, high[open_rows], middle)
        open_rows = open_rows[low[open_rows] < high[open_rows]]
    return low


def find_rows(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """[N] int64: where each of the rows [N, L'] is in a table [R, L], or NOT_THERE.

    table: distinct rows in lexicographic order, filled with 0 on the right; negative numbers are in no table.
    """
    width = table.shape[1]
    rows = widened(rows, max(width, rows.shape[1]))
    left = np.flatnonzero((rows >= 0).all(1) & ~rows[:, width:].any(1))
    left = left[row_order(rows[left])]  # in their order few steps are needed to see which are alike
    found = np.full(len(rows), NOT_THERE, np.int64)
    for start in range(0, len(left) if len(table) else 0, ROWS_AT_ONCE):
        some = left[start : start + ROWS_AT_ONCE]
        found[some] = _find_sorted(table, rows[some, :width])
        release_pages(table)
    return found


def _find_sorted(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`find_rows` of rows [N, L] in their order, none of them negative."""
    left = np.arange(len(rows))
    first, last = np.zeros(len(rows), np.int64), np.full(len(rows), len(table), np.int64)
    for column in range(table.shape[1]):
        first, last = narrowed(table[:, column], first, last, rows[left, column])
        there = np.flatnonzero(first < last)
        left, first, last = left[there], first[there], last[there]
    found = np.full(len(rows), NOT_THERE, np.int64)
    found[left] = first
    return found
