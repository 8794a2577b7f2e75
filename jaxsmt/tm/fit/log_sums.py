"""Weighted sums of log(Σ_d λ_d x_d): what all fits of mixture weights look at, reduced to what depends on λ.

A relative frequency is a quotient of two such sums, so −Σ_a f_a log p(x_a|y_a; λ) = Σ_j W_j log(Σ_d λ_d x_jd) with
W_j < 0 for joint counts and W_j > 0 for marginals. Three things make it small and exact:
- a marginal stands once for all pairs that share it;
- a row that only one component has is log λ_d + constant, summed in float64 beforehand;
- rows are scaled to Σ_d x_jd = 1: the device sums only the difference from λ = 1, without cancellation in float32.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.device import device_kind
from jaxsmt.common.sizes import power_of_two

ROWS_PER_CHUNK = {"cpu": 1 << 11}  # stays in the cache, and sums of so few float32 numbers are exact enough
ROWS_PER_KERNEL = 1 << 16  # on other devices, which add up in trees
MIN_ROWS = 1 << 12  # smaller tables are padded to this many rows, so that they share compiled code


class LogSums(NamedTuple):
    """Σ_j W_j log(Σ_d λ_d x_jd) + Σ_d V_d log λ_d for S sets, without its value at λ = 1. A pytree.

    rows: [D, N] float32 x_jd, each summing to 1; N is padded to a power of two.
    weights: [S, N] float32 W_j, 0 for padding.
    single: [S, D] float32 V_d.
    num_rows: [] int32, those that are not padding.
    """

    rows: Array | np.ndarray
    weights: Array | np.ndarray
    single: Array | np.ndarray
    num_rows: Array | np.ndarray


def reduce_log_sums(tables: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[LogSums, np.ndarray]:
    """Collects Σ_j W_j log(Σ_d λ_d x_jd) over tables of (x [D, N] ≥ 0, W [S, N]); rows of weight 0 do not count.

    Returns the sums and their value [S] float64 at λ = 1.
    """
    num_components, num_sets = len(tables[0][0]), len(tables[0][1])
    single, constant = np.zeros((num_sets, num_components)), np.zeros(num_sets)
    rows, weights = [], []
    for values, row_weights in tables:
        used = np.nonzero(row_weights.any(0))[0]
        values, row_weights = _columns(values, used), _columns(row_weights, used).astype(np.float64)
        totals = values.sum(0, dtype=np.float64)
        constant += row_weights @ np.log(totals)
        alone, component, several = _split_columns(values)
        for total, weight in zip(single, row_weights, strict=True):
            total += np.bincount(component, weight[alone], minlength=num_components)
        rows.append((values[:, several] / totals[several]).astype(np.float32))
        weights.append(row_weights[:, several])
    return _padded(np.concatenate(rows, 1), np.concatenate(weights, 1), single), constant


def log_sums(sums: LogSums, mixture: Array) -> tuple[Array, Array]:
    """For λ [S, D] > 0 the value [S], minus that at λ = 1, and its gradient with respect to log λ [S, D]."""
    single = jnp.asarray(sums.single)
    value, gradient = row_sums(sums, mixture)
    return value + (single * jnp.log(mixture)).sum(-1), gradient * mixture + single


def row_sums(sums: LogSums, mixture: Array) -> tuple[Array, Array]:
    """For λ [S, D]: Σ_j W_j log(Σ_d λ_d x_jd) [S], and its gradient Σ_j W_j x_jd / Σ_e λ_e x_je [S, D]."""
    rows, weights = jnp.asarray(sums.rows), jnp.asarray(sums.weights)
    size = min(ROWS_PER_CHUNK.get(device_kind(), ROWS_PER_KERNEL), rows.shape[1])

    def add_chunk(chunk: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        value, gradient = carry
        part = jax.lax.dynamic_slice_in_dim(rows, chunk * size, size, 1)
        weight = jax.lax.dynamic_slice_in_dim(weights, chunk * size, size, 1)
        mixed = _product(mixture, part)
        return value + (weight * jnp.log(mixed)).sum(-1), gradient + _product(weight / mixed, part.T)

    start = (jnp.zeros(len(mixture), jnp.float32), jnp.zeros_like(mixture))
    return jax.lax.fori_loop(0, (jnp.asarray(sums.num_rows) + size - 1) // size, add_chunk, start)


def _product(left: Array, right: Array) -> Array:
    """Matrix product in full float32 on every device."""
    return jnp.matmul(left, right, precision=jax.lax.Precision.HIGHEST)


def _columns(table: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return table if len(columns) == table.shape[1] else table[:, columns]


def _split_columns(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of [D, N] with one positive entry, the component of that entry, and the columns with more."""
    size = np.int32(len(values))
    code = np.zeros(values.shape[1], np.int32)  # D + d for the only entry d, at least 2 D for several
    for component, row in enumerate(values):
        code += (row > 0) * np.int32(size + component)
    alone = np.nonzero(code < 2 * size)[0]
    return alone, code[alone] - size, np.nonzero(code >= 2 * size)[0]


def _padded(rows: np.ndarray, weights: np.ndarray, single: np.ndarray) -> LogSums:
    size = power_of_two(rows.shape[1], MIN_ROWS)
    wide_rows = np.full((len(rows), size), 1 / len(rows), np.float32)
    wide_weights = np.zeros((len(weights), size), np.float32)
    wide_rows[:, : rows.shape[1]] = rows
    wide_weights[:, : rows.shape[1]] = weights
    return LogSums(wide_rows, wide_weights, single.astype(np.float32), np.array(rows.shape[1], np.int32))
