"""Sizes of padded arrays: rounded up, so that a program compiled for one text or model serves the next."""

import numpy as np

_SMALL_SIZE = 1 << 15


def rounded_size(size: int, smallest: int = 1) -> int:
    """The size rounded up: by an eighth at most; small ones to a power of two, and to `smallest` at least."""
    if size <= _SMALL_SIZE:
        return max(1 << max(size - 1, 0).bit_length(), smallest)
    unit = 1 << max(size.bit_length() - 4, 0)
    return -(-size // unit) * unit


def padded_rows(array: np.ndarray, smallest: int = 1, fill: float = 0) -> np.ndarray:
    """[rounded P, ...]: the array [P, ...] with `fill` behind it."""
    missing = rounded_size(len(array), smallest) - len(array)
    return np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1), constant_values=fill)
