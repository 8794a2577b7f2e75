"""Sorting by several columns against numpy's, and the cutting of rows into ranges."""

import numpy as np
import pytest

from jaxsmt.extract import counting
from jaxsmt.extract.counting import sort_columns
from jaxsmt.extract.spill import cut_rows


@pytest.mark.parametrize("num_bits", [[3], [40, 20], [3, 5, 2], [61, 31], [12, 62, 31], [2, 62, 62], [62, 62, 3]])
@pytest.mark.parametrize("num_rows", [0, 1, 4000])
@pytest.mark.parametrize("at_once", [100, 1 << 17])
def test_sorting_by_columns(num_bits, num_rows, at_once, monkeypatch):
    monkeypatch.setattr(counting, "SORT_ROWS", at_once)
    rng = np.random.default_rng(sum(num_bits) + num_rows)
    # few different values of many bits, so that there are equal rows, and rows equal in some columns
    choices = [rng.integers(0, 1 << bits, 12) for bits in num_bits]
    columns = [values[rng.integers(0, 12, num_rows)] for values in choices]
    order, is_new = sort_columns(columns)
    expected = np.stack(columns, axis=1)[np.lexsort(columns[::-1])]
    found = np.stack(columns, axis=1)[order]
    assert np.array_equal(np.sort(order), np.arange(num_rows))
    assert np.array_equal(found, expected)
    assert np.array_equal(is_new[1:], (expected[1:] != expected[:-1]).any(axis=1))
    assert is_new[:1].all()


def test_rows_go_with_their_source_sides_into_ranges():
    rng = np.random.default_rng(0)
    key, num_rows = rng.integers(0, 50, 200), rng.integers(1, 5, 200).astype(np.int32)
    owner = np.repeat(np.arange(200), num_rows)
    rows = {"source_key": key, "source_rest": key % 3, "num_rows": num_rows, "target_key": owner, "detail": owner % 7}
    parts = list(cut_rows(rows, np.array([10, 11, 40])))
    for part, (low, high) in zip(parts, [(0, 10), (10, 11), (11, 40), (40, 50)], strict=True):
        sides = np.flatnonzero((key >= low) & (key < high))
        assert part["source_key"].tolist() == key[sides].tolist()
        assert part["source_rest"].tolist() == (key[sides] % 3).tolist()
        assert part["target_key"].tolist() == np.repeat(sides, num_rows[sides]).tolist()
        assert np.array_equal(part["detail"], part["target_key"] % 7)
