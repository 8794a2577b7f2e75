"""Compiled kernels are given back before a process runs out of memory maps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common import device
from jaxsmt.common.device import release_kernels


def test_nothing_is_released_far_from_the_limit():
    assert not release_kernels(share=1.0)


def test_kernels_are_compiled_again_after_a_release():
    if not device.MAPS.is_file():
        pytest.skip("only Linux counts memory maps")
    double = jax.jit(lambda x: 2 * x)
    before = np.asarray(double(jnp.arange(3)))
    assert double._cache_size() == 1
    assert release_kernels(share=0.0)
    assert double._cache_size() == 0
    np.testing.assert_array_equal(double(jnp.arange(3)), before)


def test_systems_that_count_no_maps_release_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "MAPS", tmp_path / "missing")
    assert not release_kernels(share=0.0)
