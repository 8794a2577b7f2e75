"""Sums by key in a fixed order equal numpy's, and their gradients those of scatters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.devices.segments import WIDTH, gathered, sum_tree, summed, sums_by_key


@pytest.mark.parametrize("size", [0, 1, 7, WIDTH, WIDTH + 1, 1000])
@pytest.mark.parametrize("num_keys", [1, 3, 300])
def test_sums_are_those_of_numpy(size, num_keys):
    rng = np.random.default_rng(size)
    keys = rng.zipf(1.3, size).clip(0, num_keys) - 1  # some keys often, many never
    values = rng.integers(-9, 9, (size, 2)).astype(np.float32)  # exact in any order
    expected = np.zeros((num_keys, 2), np.float32)
    np.add.at(expected, keys, values)
    found = sums_by_key(sum_tree(keys, num_keys), jnp.asarray(values))
    np.testing.assert_array_equal(found, expected)


def test_other_keys_are_left_out():
    keys = np.array([2, -1, 0, 5, 2])
    found = sums_by_key(sum_tree(keys, 3, smallest=16), jnp.arange(5.0))
    np.testing.assert_array_equal(found, [2.0, 0.0, 4.0])


def test_there_are_as_many_levels_as_the_most_frequent_key_needs():
    depth = {size: len(sum_tree(np.zeros(size, int), 1)) for size in (0, 1, 8, 9, 64, 65, 512, 513)}
    assert list(depth.values()) == [1, 1, 1, 2, 2, 3, 3, 4]
    assert [len(level) for level in sum_tree(np.repeat([0, 1], [65, 1]), 2)] == [16, 4, 2]


def test_gradients_are_those_of_scatters():
    rng = np.random.default_rng(0)
    table, index = rng.normal(size=(5, 2)).astype(np.float32), rng.integers(0, 4, 40)
    factor = jnp.asarray(rng.normal(size=(40, 2)), jnp.float32)
    by_table, by_sum = sum_tree(index, 5), sum_tree(index, 5)
    own = jax.grad(lambda x: (gathered(x, index, by_table) * factor).sum() ** 2)(table)
    np.testing.assert_allclose(own, jax.grad(lambda x: (x[index] * factor).sum() ** 2)(table), rtol=1e-4)

    def plain(values):
        return (jax.ops.segment_sum(values, index, 5) ** 3).sum()

    own = jax.grad(lambda values: (summed(values, index, by_sum) ** 3).sum())(factor)
    np.testing.assert_allclose(own, jax.grad(plain)(factor), rtol=1e-4)


def test_no_scatter_is_left():
    index, tree = np.array([0, 2, 0]), sum_tree(np.array([0, 2, 0]), 3)
    gradient = jax.grad(lambda x: (gathered(x, index, tree) ** 2).sum())
    assert "scatter" not in str(jax.make_jaxpr(gradient)(jnp.ones(3)))
