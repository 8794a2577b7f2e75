"""Group-by on rows of small non-negative integers: packed keys, distinct rows, positions in a sorted list."""

import numpy as np

_KEY_BITS = 63  # of a signed 64-bit key, so that comparing keys as int64 compares the packed columns


def packed_keys(rows: np.ndarray) -> list[np.ndarray]:
    """Packs the columns of [N, L] non-negative integers into as few int64 keys [N] as hold them.

    The first key is the most significant: comparing the keys in turn compares the rows lexicographically.
    """
    keys: list[np.ndarray] = []
    bits_used = 0
    for column in rows.T:
        bits = int(column.max(initial=0)).bit_length()
        if not keys or bits_used + bits > _KEY_BITS:
            keys.append(column.astype(np.int64))
            bits_used = bits
        else:
            keys[-1] <<= bits
            keys[-1] |= column
            bits_used += bits
    return keys


def row_order(rows: np.ndarray) -> np.ndarray:
    """[N] int64: the order that sorts rows [N, L] lexicographically; equal rows keep their order."""
    keys = packed_keys(rows)
    if not keys:
        return np.arange(len(rows))
    return np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of [N, L] in lexicographic order [U, L], and for each row its place there [N] int64."""
    keys = packed_keys(rows)
    if not keys:
        return rows[:1], np.zeros(len(rows), np.int64)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0])
    is_first = np.ones(len(rows), bool)
    is_first[1:] = False
    for key in keys:
        in_order = key[order]
        is_first[1:] |= in_order[1:] != in_order[:-1]
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(is_first) - 1
    return rows[order[is_first]], place


def sorted_distinct(keys: np.ndarray) -> np.ndarray:
    """The distinct values of keys [N], ascending."""
    keys = np.sort(keys)  # np.unique hashes first, which takes ten times as long and more
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys[is_first]


def positions_in(sorted_keys: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """[N] int64: where each key is in the distinct sorted keys [U]; U where it is not there."""
    place = np.searchsorted(sorted_keys, keys)
    if not len(sorted_keys):
        return place
    found = sorted_keys[np.minimum(place, len(sorted_keys) - 1)] == keys
    return np.where(found, place, len(sorted_keys))


def widened(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows [N, L] filled with zeros on the right to [N, width]."""
    if rows.shape[1] == width:
        return rows
    wide = np.zeros((len(rows), width), rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide
