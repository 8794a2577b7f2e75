"""Sums of whole numbers: those of float64 within what is promised, the same bits in any order, no overflow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.devices.fixed_point import RESOLUTION, add_by_key, cut, part_bits, put_together

jitted = jax.jit(add_by_key, static_argnames="most")


def values_of(rng, num: int) -> np.ndarray:
    """[N, 2]: from 1 down to what float32 hardly holds, and zeros."""
    values = np.exp(-rng.exponential(6.0, (num, 2))).astype(np.float32)
    values[rng.random((num, 2)) < 0.2] = 0.0
    values[:2] = 1.0
    return values


@pytest.mark.parametrize(("num", "num_keys"), [(1, 1), (50, 3), (4000, 7), (20000, 900)])
def test_sums_are_those_of_double_precision(num, num_keys):
    rng = np.random.default_rng(num)
    keys, values = rng.integers(0, num_keys, num).astype(np.int32), values_of(rng, max(num, 2))[:num]
    before = rng.random((num_keys, 2), dtype=np.float32)
    expected = before.astype(np.float64)
    np.add.at(expected, keys, values.astype(np.float64))
    found = np.asarray(jitted(before, keys, values, most=num))
    resolution = 2.0 ** -sum(part_bits(num, num))
    many = np.bincount(keys, minlength=num_keys)[:, None]
    assert (np.abs(found - expected) <= many * resolution / 2 + 1e-6 * expected).all()


def test_any_order_gives_the_same_bits():
    rng = np.random.default_rng(1)
    keys, values = rng.integers(0, 5, 3000).astype(np.int32), values_of(rng, 3000)
    before = rng.random((5, 2), dtype=np.float32)
    first = np.asarray(jitted(before, keys, values, most=3000))
    for _ in range(3):
        order = rng.permutation(3000)
        assert np.array_equal(np.asarray(jitted(before, keys[order], values[order], most=3000)), first)


def test_other_keys_are_left_out():
    keys, values = np.array([1, 7, -1, 1], np.int32), np.full((4, 1), 0.25, np.float32)
    assert jitted(np.ones((3, 1), np.float32), keys, values, most=4).tolist() == [[1.0], [1.5], [1.0]]


@pytest.mark.parametrize("most", [1, 3000, 1 << 15, 1 << 18, 1 << 20, 1 << 25])
def test_parts_have_bits_enough_and_never_overflow(most):
    num = max(most, 1 << 20)
    bits = part_bits(num, most)
    assert sum(bits) >= RESOLUTION
    assert most << bits[0] < 1 << 32
    assert all(num << number < 1 << 32 for number in bits[1:])
    assert sum(part_bits(1 << 20, 1 << 15)) >= 26  # 1,024 pairs of 32 words
    with pytest.raises(ValueError, match="too many for sums of whole numbers"):
        part_bits(1 << 32, 1)


def test_cutting_loses_half_of_the_last_bit_at_most():
    values = values_of(np.random.default_rng(2), 2000)[:, 0]
    for bits in ((16, 11), (12, 6, 6), (24,)):
        parts = cut(jnp.asarray(values), bits)
        assert all(int(part.max()) <= 1 << number for part, number in zip(parts, bits, strict=True))
        exact, scale = np.zeros(len(values)), 1.0
        for part, number in zip(parts, bits, strict=True):
            scale /= 1 << number
            exact += np.asarray(part, np.float64) * scale
        assert np.abs(exact - values).max() <= scale / 2
        np.testing.assert_allclose(put_together(parts, bits), exact, rtol=2e-7)


def test_floats_are_never_added_by_a_scatter():
    text = jitted.lower(jnp.zeros((3, 2)), jnp.zeros(4, jnp.int32), jnp.zeros((4, 2)), most=4).as_text()
    scatters = [part.split("})")[0] for part in text.split('"stablehlo.scatter"')[1:]]
    sums = [part for part in scatters if "stablehlo.add" in part]
    assert len(scatters) == 2
    assert len(sums) == 1
    assert "tensor<ui32>" in sums[0]
