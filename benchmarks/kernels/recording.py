"""The programs that jaxsmt runs on a device, with the arguments of real runs.

Every `jax.jit` at the top of one of our modules is a kernel; nobody has to list them. While a run is recorded, each is
replaced wherever it was imported, and the largest call of every kernel is kept: one for each model that it is given
by name, and in search one for each run, since phrases and rules with gaps make other work of the same kernel.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import jaxsmt
from jaxsmt.search.statistics import SearchStatistics

BY_SCENE = "search."  # rooms whose kernels are told apart by the run


@dataclass
class Kernel:
    """A compiled function and the largest call of it.

    name: its module below jaxsmt, and its own; scene: the run that called it.
    arguments, keywords: as they were given, arrays on the host. choice: the texts among its arguments.
    num_calls: in all; num_sentences: decoded by the call that was kept, if it decodes.
    """

    name: str
    scene: str
    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    choice: str = ""
    num_bytes: int = 0
    num_calls: int = 0
    num_sentences: int | None = None

    @property
    def title(self) -> str:
        """Name and what tells it from other calls of it."""
        told = self.scene if self.name.startswith(BY_SCENE) else self.choice
        return f"{self.name} ({told})" if told else self.name

    def shapes(self, sharding: Any = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and keywords with a shape in place of every array, on a device that need not be there."""

        def shape_of(leaf: Any) -> Any:
            if not is_array(leaf):
                return leaf
            dtype = leaf.dtype if is_key(leaf) else jax.dtypes.canonicalize_dtype(leaf.dtype)
            return jax.ShapeDtypeStruct(leaf.shape, dtype, sharding=sharding)

        return jax.tree.map(shape_of, (self.arguments, self.keywords))

    def trace(self, sharding: Any = None) -> Any:
        """The traced program."""
        arguments, keywords = self.shapes(sharding)
        return self.function.trace(*arguments, **keywords)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array, or a scalar of numpy's."""
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def is_key(leaf: Any) -> bool:
    """Whether an array holds keys of JAX's random numbers, which numpy does not know."""
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _copied(leaf: Any) -> Any:
    return np.asarray(leaf) if is_array(leaf) and not is_key(leaf) else leaf


class _Recorder:
    """Stands in for a kernel, and notes what it is called with."""

    latest: Kernel | None = None  # of all recorders: the kernel that was called last, if that call was kept

    def __init__(self, name: str, function: Any, scene: str, found: dict[Any, Kernel]):
        self.name, self.function, self.scene, self.found = name, function, scene, found

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        leaves = jax.tree.leaves((arguments, keywords))
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):  # else it is part of another kernel
            self._note(arguments, keywords, leaves)
        return self.function(*arguments, **keywords)

    def _note(self, arguments: tuple[Any, ...], keywords: dict[str, Any], leaves: list[Any]) -> None:
        choice = " ".join(leaf for leaf in leaves if isinstance(leaf, str))
        num_bytes = sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in leaves if is_array(leaf))
        key = (self.name, self.scene if self.name.startswith(BY_SCENE) else choice)
        known, _Recorder.latest = self.found.get(key), None
        if known is None or num_bytes > known.num_bytes:
            on_host = jax.tree.map(_copied, (arguments, keywords))  # what is donated is gone after the call
            calls = known.num_calls if known else 0
            known = Kernel(self.name, self.scene, self.function, *on_host, choice, num_bytes, calls)
            self.found[key] = _Recorder.latest = known
        known.num_calls += 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


def jitted_functions() -> dict[str, Any]:
    """Every kernel of the package by its module and name, without the leading `jaxsmt`."""
    found = {}
    for module in pkgutil.walk_packages(jaxsmt.__path__, "jaxsmt."):
        if module.name.endswith(".__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            own_module = getattr(value, "__module__", "")
            if _is_jitted(value) and (own_module == module.name or not own_module.startswith("jaxsmt.")):
                found[f"{module.name.removeprefix('jaxsmt.')}.{name}"] = value
    return _once(found)


def _once(found: dict[str, Any]) -> dict[str, Any]:
    """One name for a function that has several: where it was defined, else the first."""
    names: dict[int, str] = {}
    for name in sorted(found, key=lambda name: not _is_home(name, found[name])):
        names.setdefault(id(found[name]), name)
    return {name: found[name] for name in sorted(names.values())}


def _is_home(name: str, function: Any) -> bool:
    return name.rsplit(".", 1)[0] == getattr(function, "__module__", "").removeprefix("jaxsmt.")


def _is_jitted(value: Any) -> bool:
    return callable(value) and hasattr(value, "lower") and hasattr(value, "trace") and hasattr(value, "eval_shape")


@contextmanager
def recorded(scene: str = "", found: dict[Any, Kernel] | None = None) -> Iterator[dict[Any, Kernel]]:
    """Records what runs in the block: `with recorded("phrases") as found: …`; found: more is added to it."""
    found = {} if found is None else found
    recorders = {id(function): _Recorder(name, function, scene, found) for name, function in jitted_functions().items()}
    replaced = []
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] in ("jaxsmt", "benchmarks")]:
        for name, value in list(vars(module).items()):
            if id(value) in recorders and _is_jitted(value):
                replaced.append((module, name, value))
                setattr(module, name, recorders[id(value)])
    add_counts = SearchStatistics.add_counts
    try:
        SearchStatistics.add_counts = _noting_sentences(add_counts)  # type: ignore[method-assign]
        yield found
    finally:
        SearchStatistics.add_counts = add_counts  # type: ignore[method-assign]
        for module, name, value in replaced:
            setattr(module, name, value)


def _noting_sentences(add_counts: Any) -> Any:
    """After each batch the decoders count what they did: this tells how many sentences the kernel was given."""

    def noting(statistics: SearchStatistics, counts: Any, num_scored: Any) -> None:
        if _Recorder.latest is not None:
            _Recorder.latest.num_sentences = counts.sentences
        add_counts(statistics, counts, num_scored)

    return noting
