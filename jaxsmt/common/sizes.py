"""Sizes of padded arrays: rounded up, so that a program compiled for one text or model serves the next."""

import numpy as np

_SMALL_SIZE = 1 << 15


def power_of_two(size: int, smallest: int = 1) -> int:
    """The power of two that holds the size; `smallest`, a power of two, at least."""
    return max(1 << max(size - 1, 0).bit_length(), smallest)


def power_of_four(size: int, smallest: int = 2) -> int:
    """`smallest` times the power of four that holds the size: half as many sizes as powers of two."""
    return smallest if size <= smallest else 4 * power_of_four(-(-size // 4), smallest)


def within_an_eighth(size: int, unit: int = 8) -> int:
    """The size rounded up by at most an eighth, or to a multiple of `unit`, a power of two."""
    unit = max(unit, 1 << max(size.bit_length() - 4, 0))
    return -(-size // unit) * unit


def rounded_size(size: int, smallest: int = 1) -> int:
    """The size rounded up: by an eighth at most; small ones to a power of two, and to `smallest` at least."""
    return power_of_two(size, smallest) if size <= _SMALL_SIZE else within_an_eighth(size)


def padded_rows(array: np.ndarray, smallest: int = 1, fill: float = 0) -> np.ndarray:
    """[rounded P, ...]: the array [P, ...] with `fill` behind it."""
    return filled_rows(array, rounded_size(len(array), smallest), fill)


def filled_rows(array: np.ndarray, size: int, fill: float = 0) -> np.ndarray:
    """[size, ...]: the array [P, ...] with `fill` behind it."""
    if len(array) > size:
        raise AssertionError(f"{len(array)} rows in an array made for {size}")
    shape = (size, *array.shape[1:])
    full = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)  # zeros are free
    full[: len(array)] = array
    return full
