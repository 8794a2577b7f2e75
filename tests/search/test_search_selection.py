"""Choosing without sorting, against sorting; and what a wider beam may look at."""

import jax
import numpy as np
import pytest

from jaxsmt.search.chart.candidates import grid
from jaxsmt.search.chart.selection import _LEVELS as LEVELS
from jaxsmt.search.chart.selection import best_equal, best_equal_in_place, largest
from jaxsmt.search.chart.structure import Beam

jitted = jax.jit(largest, static_argnames=("num", "wide"))


def levels_of(values, least):
    """What values tie as, by definition."""
    above = values[values >= least]
    if not len(above):
        return np.zeros(len(values), int)
    floor, top = above.min(), values.max()
    scale = np.float32(LEVELS) / (top - floor) if top > floor else np.float32(0)
    levels = 1 + np.clip((values - floor) * scale, 0, LEVELS - 1).astype(int)
    return np.where(values >= least, levels, 0)


@pytest.mark.parametrize(("num_values", "num"), [(1, 1), (7, 3), (32, 32), (33, 1), (100, 40), (257, 256), (2100, 30)])
@pytest.mark.parametrize("distinct", [2, 1000])
@pytest.mark.parametrize("least", [-1e30, -1.0, 1e9])
def test_the_largest_values_are_found(num_values, num, distinct, least):
    random = np.random.default_rng(num_values + num)
    values = random.integers(-distinct, distinct, (num_values, 5)).astype(np.float32) / 7
    values[random.random(values.shape) < 0.1] = -2e30
    top, place = (np.asarray(part) for part in jitted(values, num, np.full(5, least, np.float32)))
    for narrow, wide in zip((top, place), jitted(values, num, np.full(5, least, np.float32), wide=True), strict=True):
        assert np.array_equal(narrow, np.asarray(wide))
    for column in range(5):
        levels = levels_of(values[:, column], least)
        expected = sorted(range(num_values), key=lambda row: (-levels[row], row))[:num]
        assert sorted(place[column].tolist()) == sorted(expected)
        np.testing.assert_array_equal(top[column], values[place[column], column])


def test_values_that_differ_by_more_than_a_level_do_not_tie():
    random = np.random.default_rng(0)
    values = random.normal(size=(500, 3)).astype(np.float32)
    least = np.float32([-0.5, -9.0, 0.0])
    _, place = largest(values, 60, least)
    for column, chosen in enumerate(np.asarray(place)):
        left = np.setdiff1d(np.arange(500), chosen)
        width = values[:, column].max() - max(least[column], values[:, column].min())
        assert values[left, column].max() - values[chosen, column].min() <= width / LEVELS * 1.01


@pytest.mark.parametrize("num", [1, 2, 50, 300])
def test_equal_candidates_have_one_leader(num):
    random = np.random.default_rng(num)
    names = random.integers(0, 6, (2, 4, num)).astype(np.int32)
    score = random.integers(0, 20, (4, num)).astype(np.float32)
    lanes = random.permutation(np.concatenate([np.arange(4 * num), np.full(5, 4 * num)]))  # five hold nothing
    cell, column = np.divmod(np.minimum(lanes, 4 * num - 1), num)
    found = best_equal(names[:, cell, column], score[cell, column], cell, lanes.astype(np.int32), (4, num))
    assert_in_place(names, score, num)
    leader = np.full(4 * num + 1, -1)
    leader[lanes] = np.asarray(found)
    leader = leader[:-1].reshape(4, num)
    for row in range(4):
        keys = [tuple(names[:, row, place].tolist()) for place in range(num)]
        best = {}
        for place in range(num):
            best.setdefault(keys[place], []).append((-score[row, place], place))
        alone = 0
        for place in range(num):
            assert leader[row, place] // num == row
            own = leader[row, place] % num
            assert keys[own] == keys[place]
            expected = min(best[keys[place]])[1]
            alone += own != expected
            assert own in (expected, place)
        assert alone <= num // 50  # names that found no slot of their own


def assert_in_place(names, score, num):
    """Candidates that lie by cell, some places without one, have the leaders of those in lanes."""
    is_used = np.random.default_rng(1).random((4, num)) < 0.8
    order = np.where(is_used.reshape(-1), np.arange(4 * num), 4 * num).astype(np.int32)
    flat = names.reshape(2, -1)
    expected = best_equal(flat, score.reshape(-1), np.repeat(np.arange(4), num), order, (4, num))
    found = best_equal_in_place(flat, score, is_used)
    assert np.array_equal(np.asarray(found)[is_used], np.asarray(expected)[is_used.reshape(-1)])


@pytest.mark.parametrize("wider", [{"kept": 24}, {"neighbours": 96}, {"expanded": 14}, {"kept": 20, "neighbours": 64}])
def test_a_wider_beam_may_look_at_all_that_a_narrower_one_may(wider):
    narrow = {"kept": 6, "rules": 16, "expanded": 8, "neighbours": 24}
    points = [
        set(zip(*(axis.tolist() for axis in grid(Beam(**sizes))), strict=True)) for sizes in (narrow, narrow | wider)
    ]
    assert points[0] <= points[1]
