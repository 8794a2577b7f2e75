"""Ragged rows against Python lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.ragged import concatenate, numbered_runs, ragged_from_rows, ranges, ranks_in_runs

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


@given(st.lists(st.integers(0, 4), max_size=6))
def test_runs_are_numbered_from_zero(sizes):
    run, number = numbered_runs(np.array(sizes, np.int64))
    assert run.tolist() == [place for place, size in enumerate(sizes) for _ in range(size)]
    assert number.tolist() == [step for size in sizes for step in range(size)]


@given(st.lists(st.integers(-2, 2), max_size=9))
def test_ranks_count_equal_neighbours(values):
    expected = []
    for place, value in enumerate(values):
        expected.append(expected[-1] + 1 if place and values[place - 1] == value else 0)
    assert ranks_in_runs(np.array(values, np.int64)).tolist() == expected
