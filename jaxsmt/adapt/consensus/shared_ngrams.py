"""The n-grams that translations of a list share, as entries of 0/1 matrices whose products count clipped matches.

The k-th occurrence of an n-gram in a translation is an item; two translations share min(c, c') items of an n-gram that
they have c and c' times, so Σ over n-grams of min(c, c') is the inner product of two rows of 0 and 1.
"""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranks_in_runs


@dataclass(frozen=True)
class SharedItems:
    """Items of n-grams of one order, of B lists with K segments: a segment is a translation as ids.

    items: [E] int64, those that segments have, numbered from 0 in each list; what one segment of a list alone has, or
      all have, is left out. offsets: [K + 1] int64: the items of segment k are at offsets[k]:offsets[k + 1].
    num_items: [B] int64; num_common: [B] int64, how many items all segments of a list have.
    """

    items: np.ndarray
    offsets: np.ndarray
    num_items: np.ndarray
    num_common: np.ndarray


def shared_items(segments: Ragged, lists: np.ndarray, num_lists: int, max_order: int) -> list[SharedItems]:
    """For n = 1..max_order the items of K segments of ids; lists: [K] int64 ascending, the list of each segment."""
    left = np.repeat(segments.offsets[1:], segments.lengths) - np.arange(len(segments.values))  # to the row's end
    values, rows = segments.values.astype(np.int64), segments.row_index
    base = int(values.max(initial=0)) + 1
    starts, keys = np.arange(len(values)), lists[rows]  # [T] an n-gram is the number of its first n − 1 ids, and an id
    found = []
    for order in range(1, max_order + 1):
        fits = left[starts] >= order
        starts, keys = starts[fits], keys[fits]
        keys = np.unique(keys * base + values[starts + order - 1], return_inverse=True)[1]
        found.append(_items(rows[starts], keys, lists, num_lists))
    return found


def _items(rows: np.ndarray, keys: np.ndarray, lists: np.ndarray, num_lists: int) -> SharedItems:
    """rows, keys: [T] int64, the segment and the n-gram of each occurrence; an n-gram is of one list."""
    num_rows = len(lists)
    order = np.lexsort((rows, keys))
    rows, keys = rows[order], keys[order]
    occurrence = ranks_in_runs(keys * max(num_rows, 1) + rows)  # of the n-gram in its segment
    order = np.lexsort((rows, occurrence, keys))
    rows, keys, occurrence = rows[order], keys[order], occurrence[order]
    is_new = np.ones(len(keys), bool)
    is_new[1:] = (np.diff(keys) != 0) | (np.diff(occurrence) != 0)
    item = np.cumsum(is_new) - 1  # [T], numbered over all lists
    had_by, owner = np.bincount(item), lists[rows[is_new]]  # [I] each
    size = np.bincount(lists, minlength=num_lists)
    is_kept = (had_by > 1) & (had_by < size[owner])
    by_list = np.argsort(owner[is_kept], kind="stable")
    number = np.zeros(len(had_by), np.int64)
    number[np.flatnonzero(is_kept)[by_list]] = ranks_in_runs(owner[is_kept][by_list])
    kept = np.flatnonzero(is_kept[item])
    kept = kept[np.argsort(rows[kept], kind="stable")]
    return SharedItems(
        number[item[kept]],
        offsets_of(np.bincount(rows[kept], minlength=num_rows)),
        np.bincount(owner[is_kept], minlength=num_lists),
        np.bincount(owner[had_by == size[owner]], minlength=num_lists),
    )
