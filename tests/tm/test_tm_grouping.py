import numpy as np
import pytest

from jaxsmt.common.grouping import packed_keys, positions_in, row_order, sorted_distinct, unique_rows, widened


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 0), (4, 0), (1, 1), (1, 5), (50, 2), (200, 7)])
@pytest.mark.parametrize("largest", [0, 2, 2**20, 2**31 - 1])
def test_unique_rows_equal_python(shape, largest):
    rows = np.random.default_rng(shape[0] + largest).integers(0, largest + 1, shape).astype(np.int32)
    rows[: len(rows) // 2] = rows[len(rows) - len(rows) // 2 :]  # repeats
    distinct, place = unique_rows(rows)
    expected = sorted(set(map(tuple, rows.tolist())))
    assert [tuple(row) for row in distinct.tolist()] == expected
    np.testing.assert_array_equal(distinct[place], rows)
    assert row_order(rows).tolist() == sorted(range(len(rows)), key=lambda r: tuple(rows[r].tolist()))


def test_keys_compare_like_rows():
    rows = np.array([[0, 2**31 - 1, 5], [0, 2**31 - 1, 4], [1, 0, 0]], np.int64)
    keys = packed_keys(rows)
    assert len(keys) == 1
    assert np.argsort(keys[0]).tolist() == [1, 0, 2]
    assert len(packed_keys(np.full((1, 3), 2**31 - 1))) == 2


def test_positions_and_distinct_keys():
    keys = np.array([7, 3, 7, 9, 3])
    distinct = sorted_distinct(keys)
    assert distinct.tolist() == [3, 7, 9]
    assert positions_in(distinct, np.array([9, 4, 3, 10])).tolist() == [2, 3, 0, 3]
    assert positions_in(distinct[:0], keys).tolist() == [0] * 5
    assert sorted_distinct(keys[:0]).tolist() == []


def test_widened_fills_with_zeros():
    assert widened(np.array([[1, 2]], np.uint16), 4).tolist() == [[1, 2, 0, 0]]
    rows = np.ones((2, 3))
    assert widened(rows, 3) is rows
