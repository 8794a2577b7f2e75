"""How much room there is on the device, and what things take of it: asked before they are put there."""

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np

from jaxsmt.common.device import memory_fraction
from jaxsmt.common.errors import UserError

Result = TypeVar("Result")
GIGABYTE = 1e9
SMALL_SHARE = 0.01  # a program whose arguments take so little of the room is not asked what it needs
_needed: dict[Any, int] = {}  # by function, shapes and static arguments


def room() -> int | None:
    """Bytes that may be used in all: what JAX holds of a GPU, a share of a processor's memory; None where unknown."""
    statistics = jax.local_devices()[0].memory_stats()
    if statistics and "bytes_limit" in statistics:
        return int(statistics["bytes_limit"])
    try:
        return int(memory_fraction() * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return None


def bytes_of(tree: Any) -> int:
    """Of all arrays in a pytree."""
    return sum(int(leaf.nbytes) for leaf in jax.tree.leaves(tree) if hasattr(leaf, "nbytes"))


def check_model_room(model: Any, name: str) -> None:
    """Raises UserError where a language model is larger than what is left on the device, and says by how much."""
    limit, needed = room(), bytes_of(model)
    statistics = jax.local_devices()[0].memory_stats() or {}
    left = None if limit is None else limit - int(statistics.get("bytes_in_use", 0))
    if left is None or needed <= left:
        return
    raise UserError(
        f"{name} takes {needed / GIGABYTE:.2f} GB on the device, where {left / GIGABYTE:.2f} GB are left, "
        f"{(needed - left) / GIGABYTE:.2f} GB too little: train with lm=trigram or rarer n-grams left out "
        "(lm.estimation.prune), let it rescore n-best lists on the host instead (rescore.kenlm), "
        "or allow more with device.memory_fraction"
    )


def fits(function: Any, *arguments: Any) -> bool:
    """Whether a jitted function has room for its arguments, its results and what it needs on the way.

    XLA is asked, which compiles the function for these shapes; the call that follows finds it in the cache. Where the
    arguments are small beside the room nobody needs to ask.
    """
    limit = room()
    if limit is None or bytes_of(arguments) <= SMALL_SHARE * limit:
        return True
    return program_bytes(function, *arguments) <= limit


def within_room(rows: np.ndarray, work_fn: Callable[[np.ndarray], Result | None]) -> Iterator[Result]:
    """What work_fn makes of the rows, at once or of halves of them: it gives None where there is no room for all."""
    found = work_fn(rows)
    if found is not None:
        yield found
        return
    middle = len(rows) // 2
    yield from within_room(rows[:middle], work_fn)
    yield from within_room(rows[middle:], work_fn)


def program_bytes(function: Any, *arguments: Any) -> int:
    """What a jitted function takes on the device while it runs, by XLA's account."""
    shapes = jax.tree.map(_shape_of, arguments)
    leaves, structure = jax.tree.flatten(shapes)
    key = (function, structure, *((leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else leaf for leaf in leaves))
    if key not in _needed:
        memory = function.lower(*shapes).compile().memory_analysis()
        sizes = (memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes)
        _needed[key] = sum(sizes) - memory.alias_size_in_bytes
    return _needed[key]


def _shape_of(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array | np.ndarray | np.generic):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
