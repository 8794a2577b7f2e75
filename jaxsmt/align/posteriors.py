"""Posterior alignment probabilities of one direction: uniform or diagonal prior, and HMM.

Written for the direction that generates target words from source words; for the other the caller exchanges
the sides. Padded batches of B pairs with N source and M target positions; padding gets probability 0.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array | np.ndarray
Number = float | jax.Array
TINY = 1e-30
_dot = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)  # no shorter floats on devices that have them


class Evidence(NamedTuple):
    """What a pass over one batch finds for one direction.

    cell: [B, N, M] posterior probability of the link (i, j); over i and NULL it sums to 1 for every j.
    null: [B, M] posterior probability that target word j comes from NULL.
    log_likelihood: [] Σ over sentences of ln p(target | source).
    feature: [] Σ posterior · −|i/N − j/M| (diagonal model).
    jump: [L] expected number of jumps by width −(L−1)/2 … (L−1)/2 (HMM).
    departures: [L', L''] expected number of jumps that leave position s (0 = before the sentence) of a
      sentence of I words, by (I, s) (HMM).
    """

    cell: jax.Array
    null: jax.Array
    log_likelihood: jax.Array
    feature: jax.Array
    jump: jax.Array
    departures: jax.Array


class Direction(NamedTuple):
    """A batch as one direction sees it; "source" is the side that words are generated from.

    emission: [B, N, M] t(e_j|f_i); null: [B, M] t(e_j|NULL); num_source, num_target: [B] lengths.
    """

    emission: jax.Array
    null: jax.Array
    num_source: Array
    num_target: Array


def position_mask(length: Array, width: int) -> jax.Array:
    """[B, width] bool."""
    return jnp.arange(width)[None, :] < length[:, None]


def diagonal_distance(num_source: Array, num_target: Array, width: int, height: int) -> jax.Array:
    """[B, N, M]: |i/I − j/J| with positions counted from 1 (Dyer et al. 2013, equation 2)."""
    i = (jnp.arange(width)[None, :] + 1) / jnp.maximum(num_source, 1)[:, None]
    j = (jnp.arange(height)[None, :] + 1) / jnp.maximum(num_target, 1)[:, None]
    return jnp.abs(i[:, :, None] - j[:, None, :])


def diagonal_posteriors(side: Direction, tension: Array, p0: Number, empty: tuple[jax.Array, jax.Array]) -> Evidence:
    """IBM 2 with p(i|j) = (1−p0)·exp(−λ|i/I − j/J|)/Z, p(NULL) = p0; tension λ = 0 is IBM 1.

    Dyer, Chahuneau and Smith (2013), "A Simple, Fast, and Effective Reparameterization of IBM Model 2", section 2.

    empty: jump and departure counts of zero, for the result.
    """
    emission, null, num_source, num_target = side
    _, width, height = emission.shape
    inside_target = position_mask(num_target, height) & (num_source > 0)[:, None]  # [B, M]
    distance = diagonal_distance(num_source, num_target, width, height)
    weight = jnp.where(position_mask(num_source, width)[:, :, None], jnp.exp(-tension * distance), 0.0)
    share = (1.0 - p0) / jnp.maximum(jnp.sum(weight, axis=1), TINY)  # [B, M]
    score = emission * weight  # [B, N, M]
    from_null = p0 * null
    total = jnp.sum(score, axis=1) * share + from_null
    factor = jnp.where(inside_target, share / total, 0.0)
    cell = score * factor[:, None, :]
    log_likelihood = jnp.sum(jnp.where(inside_target, jnp.log(total), 0.0))
    null_posterior = jnp.where(inside_target, from_null / total, 0.0)
    return Evidence(cell, null_posterior, log_likelihood, -jnp.sum(cell * distance), *empty)


def hmm_posteriors(side: Direction, jump: Array, p0: Number, empty: tuple[jax.Array, jax.Array]) -> Evidence:
    """The HMM of Vogel, Ney and Tillmann (1996) with NULL as in Och and Ney (2003), section 2.2.

    A state is the last source position used, 0 before the first. At every target word either NULL emits (p0, the
    state stays) or the state jumps from s to i with (1−p0)·c(i−s)/Σ_{i'≤I} c(i'−s) and f_i emits. One matrix of jump
    weights serves the whole batch; a state's normaliser is divided out of its forward probability instead.

    jump: [2L+1] weights c of the widths −L … L, L ≥ N; empty: as in `diagonal_posteriors`.
    """
    emission, null, num_source, num_target = side
    size, width, _ = emission.shape
    limit = (jump.shape[0] - 1) // 2
    inside = position_mask(num_source, width)  # [B, N]
    inside_target = position_mask(num_target, emission.shape[2]) & (num_source > 0)[:, None]
    steps = jnp.arange(width)[None, :] + 1 - jnp.arange(width + 1)[:, None]  # [N+1, N] jump widths
    weight = jump[steps + limit]
    normaliser = _dot(inside.astype(jnp.float32), weight.T)  # [B, N+1]
    share = (1.0 - p0) / jnp.maximum(normaliser, TINY)

    emission = jnp.where(inside[:, :, None], emission, 0.0)
    scale = jnp.maximum(jnp.maximum(jnp.max(emission, axis=1), null), TINY)  # [B, M]
    emitted = jnp.moveaxis(emission / scale[:, None, :], 2, 0)  # [M, B, N]
    from_null = (p0 * null / scale).T  # [M, B]

    def forward(state: jax.Array, step: tuple) -> tuple:
        word, no_word, is_word = step
        ready = state * share
        reached = _dot(ready, weight) * word  # [B, N]
        new = (state * no_word[:, None]).at[:, 1:].add(reached)
        total = jnp.sum(new, axis=1)
        new = jnp.where(is_word[:, None], new / jnp.maximum(total, TINY)[:, None], state)
        return new, (ready, state, jnp.where(is_word, total, 1.0))

    start = jnp.zeros((size, width + 1), jnp.float32).at[:, 0].set(1.0)
    steps_forward: tuple = jax.lax.scan(forward, start, (emitted, from_null, inside_target.T))[1]
    ready, before, total = steps_forward

    def backward(after: jax.Array, step: tuple) -> tuple:
        word, no_word, is_word, norm = step
        arriving = word * after[:, 1:] / norm[:, None]  # [B, N]
        leaving = _dot(arriving, weight.T)  # [B, N+1]
        stay = no_word[:, None] * after / norm[:, None]
        new = jnp.where(is_word[:, None], leaving * share + stay, after)
        arriving = jnp.where(is_word[:, None], arriving, 0.0)
        return new, (arriving, jnp.where(is_word[:, None], leaving, 0.0), jnp.where(is_word[:, None], stay, 0.0))

    last = jnp.ones((size, width + 1), jnp.float32)
    norm = jnp.maximum(total, TINY)
    steps_backward: tuple = jax.lax.scan(
        backward, last, (emitted, from_null, inside_target.T, norm), reverse=True
    )[1]
    arriving, leaving, stay = steps_backward
    cell = jnp.moveaxis(_dot(ready.reshape(-1, width + 1), weight).reshape(arriving.shape) * arriving, 0, 2)
    log_likelihood = jnp.sum(jnp.where(inside_target, jnp.log(norm.T) + jnp.log(scale), 0.0))
    moves = weight * _dot(ready.reshape(-1, width + 1).T, arriving.reshape(-1, width))  # [N+1, N]
    departing = jnp.sum(ready * leaving, axis=0)  # [B, N+1]
    jumps = empty[0].at[steps + limit].add(moves)
    departures = empty[1].at[num_source[:, None], jnp.arange(width + 1)[None, :]].add(departing)
    null_posterior = jnp.sum(before * stay, axis=2).T
    return Evidence(cell, null_posterior, log_likelihood, jnp.float32(0.0), jumps, departures)
