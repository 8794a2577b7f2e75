"""Lexicalised reordering (msd-bidirectional-fe): orientation probabilities for given mixture weights."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

SMOOTHING = 0.5  # added to each of the three counts


@jax.jit
def orientation_probabilities(counts: Array | np.ndarray, weights: Array | np.ndarray) -> Array:
    """(c + 0.5) / (total + 1.5) of the weighted counts c = Σ_d λ_d c_d, for previous and next phrase apart.

    counts: [D, P, 6] mono, swap, other to the previous phrase, then to the next.
    weights: [D]; unlike in the relative frequencies their scale matters (a larger one smooths less).
    Returns [P, 6]; a pair that no weighted component has gets 1/3 everywhere.
    """
    mixed = jnp.einsum("d,dpo->po", jnp.asarray(weights), jnp.asarray(counts), precision=jax.lax.Precision.HIGHEST)
    split = mixed.reshape(-1, 2, 3) + SMOOTHING
    return (split / split.sum(-1, keepdims=True)).reshape(-1, 6)


def component_orientations(counts: np.ndarray) -> np.ndarray:
    """[P, 6] float64: the probabilities of one component's counts [P, 6], on the host."""
    split = np.asarray(counts, np.float64).reshape(-1, 2, 3) + SMOOTHING
    return (split / split.sum(-1, keepdims=True)).reshape(-1, 6)


def orientation_counts(probabilities: np.ndarray, joint_counts: np.ndarray) -> np.ndarray:
    """[P, 6] float32: the whole counts that gave the probabilities [P, 6] of pairs seen c(s, t) = [P] times."""
    totals = np.asarray(joint_counts, np.float64)[:, None] + 3 * SMOOTHING
    return np.maximum(np.round(probabilities * totals - SMOOTHING), 0).astype(np.float32)
