"""Ragged rows against Python lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.ragged import concatenate, ragged_from_rows, ranges

ROWS = st.lists(st.lists(st.integers(1, 99), max_size=5), max_size=6)


@given(ROWS, st.data())
def test_rows_take_and_padding(rows, data):
    ragged = ragged_from_rows(rows)
    assert len(ragged) == len(rows)
    assert [row.tolist() for row in map(ragged.__getitem__, range(len(rows)))] == rows
    chosen = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else [], int)
    taken = ragged.take(chosen)
    assert [taken[i].tolist() for i in range(len(chosen))] == [rows[i] for i in chosen]
    width = data.draw(st.integers(0, 6))
    assert ragged.padded(chosen, width).tolist() == [(rows[i] + [0] * width)[:width] for i in chosen]
    assert ragged.row_index.tolist() == [r for r, row in enumerate(rows) for _ in row]


@given(ROWS, ROWS)
def test_concatenate(first, second):
    joined = concatenate([ragged_from_rows(first), ragged_from_rows(second)])
    assert [joined[i].tolist() for i in range(len(joined))] == first + second


def test_rows_of_links_have_two_columns():
    links = ragged_from_rows([[(0, 1), (2, 3)], []], width=2)
    assert links.values.shape == (2, 2)
    assert links.padded(np.array([0, 1]), 3, fill=-1).tolist() == [[[0, 1], [2, 3], [-1, -1]], [[-1, -1]] * 3]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_ranges_are_laid_end_to_end(items):
    numbers, rows = ranges(*np.array(items, np.int64).reshape(-1, 2).T)
    assert numbers.tolist() == [first + step for first, size in items for step in range(size)]
    assert rows.tolist() == [row for row, (_, size) in enumerate(items) for _ in range(size)]
