"""Coverage bits, windows and future costs against sets and enumeration."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.search.stack.coverage import NO_END, count_bits, cover, has_bit, make_window, overlaps, uncovered_runs
from jaxsmt.search.stack.future import certain_jumps, future_costs


def bits_of(covered, gap, num_words):
    bits = np.zeros(num_words, np.uint32)
    for place in covered:
        if place > gap:
            bits[(place - gap - 1) // 32] |= np.uint32(1 << ((place - gap - 1) % 32))
    return bits


@pytest.mark.parametrize(("num_words", "limit"), [(8, 6), (8, 0), (1, 6), (40, 6), (70, -1), (100, 40)])
def test_bits_are_what_sets_are(num_words, limit):
    random = np.random.default_rng(num_words + limit)
    window = make_window(num_words, 7, limit)
    width = window.masks.shape[1]
    for _ in range(30):
        gap = int(random.integers(num_words))
        reach = [place for place in range(gap + 1, num_words) if place < gap + window.limit]
        covered = set(range(gap)) | {place for place in reach if random.random() < 0.5}
        bits = jnp.asarray(bits_of(covered, gap, width))
        span = int(random.integers(len(window.offset)))
        start, length = gap + int(window.offset[span]), int(window.length[span])
        taken = set(range(start, start + length))
        mask = jnp.asarray(window.masks[span])
        assert bool(overlaps(bits, mask)) == bool(taken & covered)
        assert int(count_bits(bits)) == len([place for place in covered if place > gap])
        assert bool(has_bit(bits, jnp.int32(0))) == (gap + 1 in covered)
        if taken & covered or start + length > num_words:
            continue
        after = covered | taken
        new_gap, new_bits = cover(jnp.int32(gap), bits, jnp.int32(start - gap), jnp.int32(length), mask)
        expected = min(set(range(num_words + 1)) - after)
        assert int(new_gap) == expected
        assert np.asarray(new_bits).tolist() == bits_of(after, expected, width).tolist()


def test_windows_have_the_spans_that_leave_the_gap_within_reach():
    window = make_window(8, 3, 4)
    found = set(zip(window.offset.tolist(), window.length.tolist(), strict=True))
    assert found == {(0, 1), (0, 2), (0, 3)} | {(o, n) for o in (1, 2, 3) for n in (1, 2, 3) if o + n <= 4}
    assert set(make_window(8, 3, 0).offset.tolist()) == {0}
    assert len(make_window(8, 3, -1).offset) == 8 + 7 + 6


def test_runs_between_covered_words():
    bits = jnp.asarray(np.array([0b00110], np.uint32))  # words 2 and 3 behind the gap
    begin, end = uncovered_runs(bits, 6)
    assert np.asarray(begin)[[0, 1, 4, 6]].tolist() == [0, 0, 4, 4]
    assert np.asarray(end)[[0, 1, 4, 6]].tolist() == [2, 2, NO_END, NO_END]


def test_future_costs_are_those_of_the_best_segmentation():
    random = np.random.default_rng(0)
    best = random.normal(size=(2, 5, 3)).astype(np.float32)

    def slow(row, begin, end):
        if begin >= end:
            return 0.0
        return max(
            best[row, begin, length - 1] + slow(row, begin + length, end)
            for length in range(1, min(3, end - begin) + 1)
        )

    costs = np.asarray(future_costs(jnp.asarray(best)))
    for row in range(2):
        for begin in range(6):
            for end in range(6):
                assert costs[row, begin, end] == pytest.approx(slow(row, begin, end), abs=1e-5)


def test_certain_jumps_are_those_of_going_on_in_order():
    """A span two words behind the gap, of two words: back over four words, then over the two."""
    assert int(certain_jumps(jnp.int32(2), jnp.int32(2), jnp.int32(0))) == 6
    assert int(certain_jumps(jnp.int32(0), jnp.int32(2), jnp.int32(3))) == 3
