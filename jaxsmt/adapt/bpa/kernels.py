"""Kernels of Bayesian predictive adaptation: log-linear models over n-best lists for many weight vectors at once.

All walk over tiles of some sentences' hypotheses times some samples. On a CPU a tile fits the cache and is computed by
one core, blocks run side by side; elsewhere it is large. The sample is the last axis, so that maxima and sums over the
hypotheses of a list are sums of vectors.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.device import device_kind
from jaxsmt.common.sizes import power_of_two

Array = Any  # on the host or on the device
_CPU_TILE = 1 << 15  # scores; twice as many would be split over threads, which costs more than it gains
_DEVICE_TILE = 1 << 22
_LARGEST_POWER = 8


class SampleSet(NamedTuple):
    """S weight vectors, padded.

    columns: [F + 1, S'] float32, S' a power of two; the last row is 1 (see ListBlock).
    num_samples: S.
    """

    columns: np.ndarray
    num_samples: int


def sample_set(samples: np.ndarray) -> SampleSet:
    """Samples [S, F] as kernels want them."""
    columns = np.zeros((samples.shape[1] + 1, power_of_two(len(samples))), np.float32)
    columns[:-1, : len(samples)] = samples.T
    columns[-1] = 1.0
    return SampleSet(columns, len(samples))


class SampleMixture(NamedTuple):
    """Σ_s w_s p(h | λ_s)^{1/δ} over S samples, for R sets of weights.

    columns, num_samples: see SampleSet, the number as np.int32; log_weights: [R, S'] float32; delta: np.float32.
    """

    columns: Array
    num_samples: Array
    log_weights: Array
    delta: Array


class Tiling(NamedTuple):
    """group: sentences of a tile; width: its samples. Both powers of two."""

    group: int
    width: int


def tiling(block_shape: tuple[int, ...], num_columns: int) -> Tiling:
    """How a block [G, H, F + 1] and S' samples are walked over."""
    tile = _CPU_TILE if device_kind() == "cpu" else _DEVICE_TILE
    num_sentences, size = block_shape[:2]
    width = min(num_columns, max(16, _power_below(tile // size)))
    return Tiling(min(num_sentences, max(1, _power_below(tile // (size * width)))), width)


def _power_below(count: int) -> int:
    return 1 << max(0, count.bit_length() - 1)


def integer_power(delta: float) -> int | None:
    """δ where exp(x) is cheaper as the δ-th power of exp(x / δ) than as a second exponential."""
    return int(delta) if delta == int(delta) and delta <= _LARGEST_POWER else None


@partial(jax.jit, static_argnames="tiles")
def log_partitions(features: jax.Array, columns: jax.Array, num_samples: jax.Array, tiles: Tiling) -> jax.Array:
    """log Σ_h exp λ·h of every sentence and sample: features [G, H, F + 1], columns [F + 1, S'] → [G, S']."""

    def walk(part: jax.Array) -> jax.Array:
        def visit(chunk: jax.Array, found: jax.Array) -> jax.Array:
            highest, scores = _tile_scores(part, columns, chunk * tiles.width, tiles.width)
            values = highest + jnp.log(jnp.exp(scores).sum(1))
            return jax.lax.dynamic_update_slice_in_dim(found, values, chunk * tiles.width, 1)

        nothing = jnp.zeros((len(part), columns.shape[1]), jnp.float32)
        return jax.lax.fori_loop(0, _num_chunks(num_samples, tiles), visit, nothing)

    return _by_groups(walk, features, tiles).reshape(len(features), -1)


@partial(jax.jit, static_argnames=("power", "tiles"))
def mixture_sums(features: jax.Array, mixture: SampleMixture, power: int | None, tiles: Tiling) -> jax.Array:
    """Sums of a mixture with log weights ≤ 0 for features [G, H, F + 1] → [G, H, R]; power: see `integer_power`.

    Sums, not logarithms: right where nothing underflows, that is down to about e^-70 (see `mixture_logs`).
    """
    columns, num_samples, log_weights, delta = mixture

    def walk(part: jax.Array) -> jax.Array:
        def visit(chunk: jax.Array, sums: jax.Array) -> jax.Array:
            begin = chunk * tiles.width
            _, scores = _tile_scores(part, columns, begin, tiles.width)
            # kept as an array, or else XLA computes the exponentials once more for every use
            roots = jax.lax.optimization_barrier(jnp.exp(scores / delta))
            partition = (jnp.exp(scores) if power is None else roots**power).sum(1)
            weights = jax.lax.dynamic_slice_in_dim(log_weights, begin, tiles.width, 1)
            votes = jnp.exp(weights.T[None] - (jnp.log(partition) / delta)[..., None])
            return sums + jnp.einsum("ghs,gsr->ghr", roots, votes, precision="highest")

        nothing = jnp.zeros((*part.shape[:2], len(log_weights)), jnp.float32)
        return jax.lax.fori_loop(0, _num_chunks(num_samples, tiles), visit, nothing)

    return _by_groups(walk, features, tiles).reshape(*features.shape[:2], -1)


@partial(jax.jit, static_argnames=("is_max", "tiles"))
def mixture_logs(features: jax.Array, mixture: SampleMixture, is_max: bool, tiles: Tiling) -> jax.Array:
    """The logarithms of the sums, at any scale, or log max_s instead of log Σ_s where is_max: [R, G, H].

    A running logarithm of a sum: the highest term so far and the sum relative to it.
    """
    columns, num_samples, log_weights, delta = mixture
    shape = (len(log_weights), tiles.group, features.shape[1])

    def walk(part: jax.Array) -> jax.Array:
        def visit(chunk: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            begin = chunk * tiles.width
            _, scores = _tile_scores(part, columns, begin, tiles.width)
            partition = jnp.log(jnp.exp(scores).sum(1))
            roots = jax.lax.optimization_barrier((scores - partition[:, None]) / delta)
            weights = jax.lax.dynamic_slice_in_dim(log_weights, begin, tiles.width, 1)
            terms = roots[None] + weights[:, None, None]  # [R, g, H, w]
            highest = jnp.maximum(now[0], terms.max(3))
            if is_max:
                return highest, now[1]
            more = jnp.exp(terms - highest[..., None]).sum(3)
            return highest, now[1] * jnp.exp(now[0] - highest) + more

        begin = jnp.full(shape, -jnp.inf, jnp.float32), jnp.zeros(shape, jnp.float32)
        highest, sums = jax.lax.fori_loop(0, _num_chunks(num_samples, tiles), visit, begin)
        return highest if is_max else highest + jnp.log(sums)

    found = _by_groups(walk, features, tiles)  # [G / g, R, g, H]
    return found.swapaxes(0, 1).reshape(len(log_weights), *features.shape[:2])


def _num_chunks(num_samples: jax.Array, tiles: Tiling) -> jax.Array:
    """Only tiles with a sample are walked over: an argument, so that one kernel serves any number of samples."""
    return (num_samples + tiles.width - 1) // tiles.width


def _by_groups(walk: Callable[[jax.Array], jax.Array], features: jax.Array, tiles: Tiling) -> jax.Array:
    return jax.lax.map(walk, features.reshape(-1, tiles.group, *features.shape[1:]))


def _tile_scores(features: jax.Array, columns: jax.Array, begin: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """λ·h of a tile, features [g, H, F + 1]: the highest of each list [g, w], and all relative to it [g, H, w]."""
    chosen = jax.lax.dynamic_slice_in_dim(columns, begin, width, 1)
    flat = jnp.matmul(features.reshape(-1, features.shape[2]), chosen, precision="highest")
    scores = flat.reshape(*features.shape[:2], width)
    highest = scores.max(1)
    return highest, scores - highest[:, None]
