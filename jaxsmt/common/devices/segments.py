"""Sums by key on the device, in an order that is fixed beforehand: the same bytes from run to run, also on a GPU.

A scatter that adds is done atomically on a GPU, in the order in which threads happen to come. Where the keys are known
on the host they are sorted there, and every key's values are summed in rows of WIDTH, the sums of rows again, until
one is left: gathers and plain sums, as many launches as there are levels, log_WIDTH of the most frequent key's values.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.ragged import numbered_runs
from jaxsmt.common.sizes import rounded_size

Array = Any
SumTree = tuple[Array, ...]  # of each level [R, WIDTH] int32: places in the level before, its size for none
WIDTH = 8


def sum_tree(keys: np.ndarray, num_keys: int, smallest: int = 1) -> SumTree:
    """The order in which values with keys [N] are summed up; its last level has a row for each key.

    keys: ascending order is not needed; values whose key is not in 0 … num_keys - 1 are left out.
    smallest: rows that a level has at least; sizes are rounded up, so that a compiled program serves many texts.
    """
    places = np.flatnonzero((keys >= 0) & (keys < num_keys))
    places = places[np.argsort(keys[places], kind="stable")]
    counts = np.bincount(keys[places], minlength=num_keys)
    levels, size = [], len(keys)
    while True:
        num_rows = np.maximum(-(-counts // WIDTH), 1)
        is_last = bool((num_rows == 1).all())
        level = np.full((num_keys if is_last else rounded_size(int(num_rows.sum()), smallest), WIDTH), size, np.int32)
        key, rank = numbered_runs(counts)
        first_row = np.cumsum(num_rows) - num_rows
        level[first_row[key] + rank // WIDTH, rank % WIDTH] = places
        levels.append(level)
        if is_last:
            return tuple(levels)
        counts, places, size = num_rows, np.arange(int(num_rows.sum())), len(level)


def sums_by_key(tree: SumTree, values: Array) -> Array:
    """[K, ...]: the values [N, ...] of each key added up."""
    for level in tree:
        nothing = jnp.zeros((1, *values.shape[1:]), values.dtype)
        values = jnp.concatenate([values, nothing])[jnp.asarray(level)].sum(1)
    return values


@jax.custom_vjp
def gathered(table: Array, index: Array, tree: SumTree) -> Array:
    """table[index] for index [N], with a gradient that is summed up by `sum_tree(index, len(table))`."""
    return table[index]


def _gathered_forward(table: Array, index: Array, tree: SumTree) -> tuple[Array, SumTree]:
    return table[index], tree


def _gathered_backward(tree: SumTree, change: Array) -> tuple[Array, None, None]:
    return sums_by_key(tree, change), None, None


gathered.defvjp(_gathered_forward, _gathered_backward)


@jax.custom_vjp
def summed(values: Array, keys: Array, tree: SumTree) -> Array:
    """`sums_by_key` with a gradient that gathers; keys: [N] in 0 … K - 1, those of the tree."""
    return sums_by_key(tree, values)


def _summed_forward(values: Array, keys: Array, tree: SumTree) -> tuple[Array, Array]:
    return sums_by_key(tree, values), keys


def _summed_backward(keys: Array, change: Array) -> tuple[Array, None, None]:
    return change[keys], None, None


summed.defvjp(_summed_forward, _summed_backward)
