"""Length buckets: every row once, static shapes, within the budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.text.buckets import EMPTY_ROW, bucket_widths, make_batches

lengths_lists = st.lists(st.tuples(st.integers(0, 150), st.integers(0, 150)), max_size=60)


def test_widths_by_hand():
    lengths = np.array([0, 1, 8, 9, 64, 65, 80, 81, 128, 129, 256, 257])
    assert bucket_widths(lengths, 8).tolist() == [8, 8, 8, 16, 64, 80, 80, 96, 128, 160, 256, 320]


@given(st.lists(st.integers(0, 200_000), min_size=1), st.integers(1, 16))
def test_widths_hold_the_rows_with_little_padding(lengths, step):
    widths = bucket_widths(np.array(lengths), step)
    assert (widths >= lengths).all()
    assert (widths - lengths <= np.maximum(step, np.array(lengths) / 4)).all()


@settings(deadline=None)
@given(lengths_lists, st.sampled_from([1, 100, 5000]), st.sampled_from([None, 1, 3]), st.sampled_from([None, 1, 5]))
def test_every_row_is_in_one_batch_that_holds_it(pairs, cells, max_shapes, max_rows):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = make_batches(source, target, cells_per_batch=cells, max_shapes=max_shapes, max_rows=max_rows)
    rows = [row for batch in batches for row in batch.real_rows.tolist()]
    assert sorted(rows) == list(range(len(pairs)))
    shape_of_widths = {}
    for batch in batches:
        size, wide, high = batch.shape
        assert source[batch.real_rows].max() <= wide
        assert target[batch.real_rows].max() <= high
        assert size == 1 or size * wide * high <= cells
        assert max_rows is None or size <= max_rows
        assert shape_of_widths.setdefault((wide, high), size) == size  # one compilation a bucket
        assert (np.diff(batch.real_rows) > 0).all()
        assert (batch.rows[len(batch.real_rows) :] == EMPTY_ROW).all()
    assert max_shapes is None or len(shape_of_widths) <= max_shapes
    assert [b.shape[1:] for b in batches] == sorted(b.shape[1:] for b in batches)


def test_merging_takes_the_cheapest_pair():
    source = np.array([8] * 100 + [16] * 100 + [60])
    batches = make_batches(source, max_shapes=2)
    # 100 rows padded from 8 to 16 cost 800 cells; merging 60 with the 16s would cost 4800
    assert [batch.width_source for batch in batches] == [16, 64]


def test_one_side_only():
    batches = make_batches(np.array([3, 20, 5]), cells_per_batch=16)
    assert [(batch.rows.tolist(), *batch.shape[1:]) for batch in batches] == [([0, 2], 8, 0), ([1], 24, 0)]


def test_no_rows():
    assert make_batches(np.zeros(0, np.int64)) == []
    assert make_batches(np.zeros(0, np.int64), np.zeros(0, np.int64)) == []


def test_padding_leaves_empty_rows_empty():
    ragged = ragged_from_rows([[7, 8, 9], [5], [], [6, 6]])
    (batch,) = make_batches(ragged.lengths[:3], step=4)
    assert batch.rows.tolist() == [0, 1, 2, EMPTY_ROW]
    assert batch.padded(ragged, 4, fill=-1).tolist() == [[7, 8, 9, -1], [5, -1, -1, -1], [-1] * 4, [-1] * 4]
    assert batch.take(np.array([3, 1, 0, 2])).tolist() == [3, 1, 0, 0]
    assert batch.is_row.tolist() == [True, True, True, False]


@pytest.mark.parametrize("length", [100_000, 1])
def test_a_row_larger_than_the_budget_is_alone(length):
    (batch,) = make_batches(np.array([length]), np.array([length]), cells_per_batch=10)
    assert batch.shape[0] == 1
