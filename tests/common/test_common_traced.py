"""Kernels that are traced once: the same results, found again by what they were made from and by nothing else."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.devices import traced
from jaxsmt.common.devices.traced import traced_once


class Sums(NamedTuple):
    total: jax.Array
    parts: tuple[jax.Array, jax.Array | None]


def make_kernel():
    """A kernel as another process would have it: it remembers nothing."""

    @traced_once(static_argnames=("factor", "has_more"), results=(Sums,))
    def scaled_sums(tables, factor, has_more=False):
        many = tables["many"] * factor + tables["one"]
        return Sums(many.sum(), (many, many + 1 if has_more else None))

    return scaled_sums


def tables(size, dtype=np.float32):
    return {"many": np.arange(size, dtype=dtype), "one": np.array(3, dtype)}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXSMT_CACHE", str(tmp_path))
    return tmp_path / "traced"


@pytest.fixture
def refused(monkeypatch):
    """From now on nothing can be traced."""

    def refuse():
        def fail(*_, **__):
            raise AssertionError("traced again")

        monkeypatch.setattr(traced.export, "export", fail)

    return refuse


def assert_sums(found, size, factor, has_more=False):
    many = np.arange(size) * factor + 3
    assert isinstance(found, Sums)
    assert float(found.total) == many.sum()
    np.testing.assert_array_equal(found.parts[0], many)
    if has_more:
        np.testing.assert_array_equal(found.parts[1], many + 1)
    else:
        assert found.parts[1] is None


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("has_more", [False, True])
def test_a_second_process_traces_nothing(size, has_more, cache, refused):
    assert_sums(make_kernel()(tables(size), 2, has_more), size, 2, has_more)
    refused()
    kernel = make_kernel()
    assert_sums(kernel(tables(size), 2, has_more=has_more), size, 2, has_more)
    assert_sums(kernel(tables=jax.tree.map(jnp.asarray, tables(size)), factor=2, has_more=has_more), size, 2, has_more)
    assert kernel.num_programs == 1
    assert len(list(cache.iterdir())) == 1


def test_what_a_program_depends_on_makes_another_one(cache, monkeypatch):
    def all_ways():
        kernel = make_kernel()
        for given in (tables(4), tables(5), tables(4, np.int32)):
            for factor in (2, 3):
                assert_sums(kernel(given, factor), len(given["many"]), factor)
        assert kernel.num_programs == 6

    all_ways()
    assert len(list(cache.iterdir())) == 6
    all_ways()
    assert len(list(cache.iterdir())) == 6
    monkeypatch.setattr(traced, "source_digest", lambda: "of other code")
    all_ways()
    assert len(list(cache.iterdir())) == 12


def test_a_damaged_program_is_traced_again(cache):
    make_kernel()(tables(4), 2)
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:40], whole[:-1], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], b"x" * len(whole)):
        path.write_bytes(damaged)
        assert_sums(make_kernel()(tables(4), 2), 4, 2)
        assert len(path.read_bytes()) == pytest.approx(len(whole), rel=0.1)
        assert path.read_bytes() != damaged


def test_where_nothing_can_be_kept_it_is_traced_as_usual(tmp_path, monkeypatch, refused):
    (tmp_path / "file").write_text("in the way of a folder")
    monkeypatch.setenv("JAXSMT_CACHE", str(tmp_path / "file"))
    assert_sums(make_kernel()(tables(4), 2), 4, 2)
    refused()
    assert_sums(make_kernel()({"many": np.arange(4, dtype=np.float32), "one": 3.0}, 2), 4, 2)  # a weak type
    kernel = make_kernel()
    assert float(jax.jit(lambda given: kernel(given, 2).total)(tables(4))) == 24  # inside of another kernel
    monkeypatch.setattr(traced, "can_keep", lambda: False)
    assert_sums(make_kernel()(tables(4), 2), 4, 2)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_it_can_be_asked_what_a_jitted_function_can(cache):
    kernel = make_kernel()
    shapes = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype), tables(4))
    assert kernel.lower(shapes, 2).compile().memory_analysis().argument_size_in_bytes == 20
    assert kernel.num_programs == 1
    assert kernel.eval_shape(shapes, 2).total.shape == ()
    assert kernel.trace(shapes, 2).jaxpr.in_avals[0].shape == (4,)
    assert kernel.__name__ == "scaled_sums"


def test_all_code_that_kernels_may_use_is_in_the_digest():
    rooms = {path.name for path in traced.PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms >= traced.NOT_IN_KERNELS | {"common", "lm", "osm", "search", "tm"}
    assert len(traced.source_digest()) == 64


def test_compilations_are_counted(cache):
    kernel = make_kernel()
    for size in (4, 4, 5):
        kernel(tables(size), 2)
    assert kernel._cache_size() == 2
    kernel({"many": np.arange(4, dtype=np.float32), "one": 3.0}, 2)
    assert kernel._cache_size() == 3
