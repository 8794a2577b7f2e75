"""Lexicalised reordering (msd-bidirectional-fe; Koehn et al. 2005, section 3): orientations under mixture weights.

For the previous and for the next phrase apart, with c_d(o) occurrences of orientation o of a pair in component d,
C_d = Σ_o c_d(o) of them in all, and a λ of their own:
    p(o|s, t; λ) = (Σ_d λ_d c_d(o) + r/2) / (Σ_d λ_d C_d + 3r/2),    r = Σ_d λ_d² C_d / Σ_d λ_d C_d
Moses adds half an occurrence to each of the three counts. Here an occurrence weighs λ_d, so half of what the pair's
occurrences weigh on average, r, is added (an average in which each counts by its weight). Divided by r this is
(n p̂(o) + 1/2) / (n + 3/2) for the mixed relative frequency p̂ and n = (Σ_d λ_d C_d)² / Σ_d λ_d² C_d, the effective
number of weighted observations (Kish 1965). Therefore
- the scale of λ does not matter, as in the translation features;
- λ = 1 gives the table of the concatenated corpora, one component or λ one-hot that component's own, as Moses has it;
- a pair that one component alone has keeps that component's probabilities, whatever its weight;
- a component without orientation counts says nothing, and a pair without any weighted count has 1/3 everywhere.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.devices.traced import traced_once
from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.features import LOG_FLOOR
from jaxsmt.tm.selection import MIN_SIZE
from jaxsmt.tm.weights import FEATURE_NAMES

SMOOTHING = 0.5  # occurrences added to each of the three counts
ORIENTATION_NAMES = tuple(f"{name} to {side}" for side in ("previous", "next") for name in ("mono", "swap", "other"))
LOG_UNKNOWN = float(np.log(1 / 3))
PAIRS_PER_CALL = 1 << 16


def mixed_orientations(counts: Array, weights: Array) -> Array:
    """[..., 3]: p(o|s, t; λ) from counts [D, ..., 3] and λ [D, ...] ≥ 0, which are broadcast to each other."""
    totals = counts.sum(-1)
    largest = jax.lax.stop_gradient(jnp.where(totals > 0, weights, 0).max(0))  # so that squares do not vanish
    scaled = jnp.where(totals > 0, weights, 0) / jnp.where(largest > 0, largest, 1)[None]
    mixed, total, square = jnp.zeros(()), jnp.zeros(()), jnp.zeros(())
    for d in range(len(counts)):  # a loop over D fuses into one pass
        mixed = mixed + scaled[d][..., None] * counts[d]
        total = total + scaled[d] * totals[d]
        square = square + scaled[d] ** 2 * totals[d]
    is_seen = total > 0
    average = jnp.where(is_seen, square, 1) / jnp.where(is_seen, total, 1)
    return (mixed + SMOOTHING * average[..., None]) / (total + 3 * SMOOTHING * average)[..., None]


@jax.jit
def orientation_probabilities(counts: Array | np.ndarray, weights: Array | np.ndarray) -> Array:
    """[P, 6]: the probabilities of all pairs for one λ [D].

    counts: [D, P, 6] mono, swap, other to the previous phrase, then to the next.
    """
    counts, weights = jnp.asarray(counts, jnp.float32), jnp.asarray(weights, jnp.float32)
    split = counts.reshape(*counts.shape[:2], 2, 3)
    return mixed_orientations(split, weights[:, None, None]).reshape(-1, 6)


def application_orientations(
    counts: np.ndarray, weights: np.ndarray, pair_index: np.ndarray, row_index: np.ndarray
) -> np.ndarray:
    """[A, 6] float32: log p(o|s, t; λ) of pairs [A], each under a λ of its own.

    counts: [D, P, 6]; weights: [U, D], λ of pair a being row row_index[a].
    Only the counts of these pairs go to the device, in padded shapes.
    """
    weights = np.asarray(weights, np.float32)
    weights = weights / weights.max(-1, keepdims=True, initial=np.float32(1e-45))  # denormal numbers vanish there
    result = np.empty((len(pair_index), 6), np.float32)
    size = min(power_of_two(len(pair_index), MIN_SIZE), PAIRS_PER_CALL)
    for at in range(0, len(pair_index), size):
        pairs, rows = pair_index[at : at + size], row_index[at : at + size]
        own = np.zeros((len(counts), size, 6), np.float32)
        for row, values in zip(own, counts, strict=True):
            row[: len(pairs)] = values[pairs]
        own_weights = np.ones((len(counts), size), np.float32)
        own_weights[:, : len(pairs)] = weights[rows].T
        result[at : at + size] = np.asarray(_log_orientations(own, own_weights))[: len(pairs)]
    return result


@traced_once()
def _log_orientations(counts: Array, weights: Array) -> Array:
    """[A, 6] from counts [D, A, 6] and λ [D, A]."""
    split = counts.reshape(*counts.shape[:2], 2, 3)
    return jnp.log(mixed_orientations(split, weights[..., None])).reshape(-1, 6)


def orientation_weights(mixture: np.ndarray) -> np.ndarray:
    """[U, D]: the λ of orientations in mixture weights.

    mixture: [U, 5, D], in which the row after those of the four features is meant for them; [U, 4, D], in which they
    follow p(t|s); or [U, D] itself.
    """
    if mixture.ndim == 2:
        return mixture
    own = len(FEATURE_NAMES)
    return mixture[:, own if mixture.shape[1] > own else FEATURE_NAMES.index("p(t|s)")]


def with_orientation_weights(weights: Any, reordering: Any) -> np.ndarray:
    """[..., 5, D]: mixture weights [..., 4, D] and those of orientations [..., D] in one array, as searches take it."""
    return np.concatenate([np.asarray(weights), np.asarray(reordering)[..., None, :]], -2)


def component_orientations(counts: np.ndarray) -> np.ndarray:
    """[P, 6] float64: the probabilities of one component's counts [P, 6], on the host."""
    split = np.asarray(counts, np.float64).reshape(-1, 2, 3) + SMOOTHING
    return (split / split.sum(-1, keepdims=True)).reshape(-1, 6)


def orientation_counts(probabilities: np.ndarray, joint_counts: np.ndarray) -> np.ndarray:
    """[P, 6] float32: the whole counts that gave the probabilities [P, 6] of pairs seen c(s, t) = [P] times."""
    totals = np.asarray(joint_counts, np.float64)[:, None] + 3 * SMOOTHING
    return np.maximum(np.round(probabilities * totals - SMOOTHING), 0).astype(np.float32)


def names_of(orientations: object) -> tuple[str, ...]:
    """The names of the six features, or none where there are no orientations (None)."""
    return () if orientations is None else ORIENTATION_NAMES


def nothing(pair_index: np.ndarray) -> np.ndarray:
    """[A, 6] zeros, the orientations of a model that has none."""
    return np.zeros((len(pair_index), len(ORIENTATION_NAMES)), np.float32)


def fixed_logs(probabilities: np.ndarray) -> np.ndarray:
    """[P, 6] float32 logarithms of a reordering table's probabilities [P, 6]; 0, as in Moses, where they are NaN."""
    known = np.where(np.isnan(probabilities), 1.0, np.maximum(probabilities, np.exp(LOG_FLOOR)))
    return np.log(known).astype(np.float32)
