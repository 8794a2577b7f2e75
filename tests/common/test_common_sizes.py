"""Rounded sizes: what they hold, and how much they waste."""

from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.sizes import power_of_four, power_of_two, rounded_size, within_an_eighth


def test_small_sizes():
    assert [power_of_two(n) for n in (0, 1, 2, 3, 9, 128)] == [1, 1, 2, 4, 16, 128]
    assert [power_of_two(n, 8) for n in (0, 1, 9)] == [8, 8, 16]
    assert [power_of_four(n) for n in (0, 1, 2, 3, 9, 128)] == [2, 2, 2, 8, 32, 128]
    assert [within_an_eighth(n) for n in (1, 8, 9, 100, 129)] == [8, 8, 16, 104, 144]


@given(st.integers(1, 1 << 40))
def test_sizes_hold_what_they_must(size):
    assert size <= power_of_two(size) < 2 * size
    assert size <= power_of_four(size) < max(4 * size, 3)
    assert size <= within_an_eighth(size) <= size + max(size / 8, 7)
    assert size <= rounded_size(size) <= (2 * size if size <= 1 << 15 else size * 9 / 8)
