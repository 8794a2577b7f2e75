"""Choosing without sorting, against sorting; and what a wider beam may look at."""

import numpy as np
import pytest

from jaxsmt.search.chart.kernel import Beam, _grid
from jaxsmt.search.chart.selection import best_equal, largest


@pytest.mark.parametrize(("num_values", "num"), [(1, 1), (7, 3), (32, 32), (33, 1), (100, 40), (257, 256)])
@pytest.mark.parametrize("distinct", [2, 1000])
def test_the_largest_values_are_found(num_values, num, distinct):
    random = np.random.default_rng(num_values + num)
    values = random.integers(-distinct, distinct, (num_values, 5)).astype(np.float32) / 7
    values[random.random(values.shape) < 0.1] = -2e30
    top, place = (np.asarray(part) for part in largest(values, num))
    for column in range(5):
        expected = sorted(range(num_values), key=lambda row: (-values[row, column], row))[:num]
        assert sorted(place[column].tolist()) == sorted(expected)
        np.testing.assert_array_equal(top[column], values[place[column], column])


@pytest.mark.parametrize("num", [1, 2, 50, 300])
def test_equal_candidates_have_one_leader(num):
    random = np.random.default_rng(num)
    names = random.integers(0, 6, (2, 4, num)).astype(np.int32)
    score = random.integers(0, 20, (4, num)).astype(np.float32)
    leader = np.asarray(best_equal(names, score))
    for row in range(4):
        keys = [tuple(names[:, row, place].tolist()) for place in range(num)]
        best = {}
        for place in range(num):
            best.setdefault(keys[place], []).append((-score[row, place], place))
        alone = 0
        for place in range(num):
            assert keys[leader[row, place]] == keys[place]
            expected = min(best[keys[place]])[1]
            alone += leader[row, place] != expected
            assert leader[row, place] in (expected, place)
        assert alone <= num // 50  # names that found no slot of their own


@pytest.mark.parametrize("wider", [{"kept": 24}, {"neighbours": 96}, {"expanded": 14}, {"kept": 20, "neighbours": 64}])
def test_a_wider_beam_may_look_at_all_that_a_narrower_one_may(wider):
    narrow = {"kept": 6, "rules": 16, "expanded": 8, "neighbours": 24}
    points = [
        set(zip(*(axis.tolist() for axis in _grid(Beam(**sizes))), strict=True)) for sizes in (narrow, narrow | wider)
    ]
    assert points[0] <= points[1]
