"""Minima on the device against scipy's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize, rosen

from jaxsmt.common.optimise import minimise


def valley(point, scale):
    """Rosenbrock's function."""
    return scale * (100 * (point[1:] - point[:-1] ** 2) ** 2 + (1 - point[:-1]) ** 2).sum()


solve = jax.jit(
    lambda start, scale, tolerance, limit: minimise(partial(valley, scale=scale), start, tolerance, limit)
)


@pytest.mark.parametrize("size", [2, 5])
def test_the_minimum_is_that_of_scipy(size):
    start = np.random.default_rng(size).normal(size=size)
    theirs = minimize(rosen, start, method="L-BFGS-B").x
    found = solve(start.astype(np.float32), 0.01, 1e-5, 500)
    np.testing.assert_allclose(found.point, theirs, atol=1e-2)
    assert found.is_converged
    assert found.slope <= 1e-5
    assert 1 < found.num_iterations < 200


def test_the_search_ends_where_rounding_begins_or_when_it_must():
    start = np.array([-1.0, 1.5], np.float32)
    exact = solve(start, 100.0, 0.0, 10_000)
    assert exact.is_converged
    assert exact.num_iterations < 1000
    np.testing.assert_allclose(exact.point, 1, atol=1e-2)
    short = solve(start, 1.0, 1e-6, 3)
    assert (int(short.num_iterations), bool(short.is_converged)) == (3, False)
    values = [float(solve(start, 1.0, 0.0, limit).value) for limit in range(1, 20)]
    assert (np.diff(values) <= 1e-6).all()


def test_a_start_at_the_minimum_stays_there():
    found = solve(np.ones(3, np.float32), 1.0, 1e-6, 100)
    np.testing.assert_array_equal(found.point, 1)
    assert found.is_converged


def test_any_shape_is_a_point():
    target = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    found = jax.jit(lambda start: minimise(lambda at: ((at - target) ** 2).sum(), start, 1e-5, 50))(jnp.zeros((2, 3)))
    np.testing.assert_allclose(found.point, target, atol=1e-4)
