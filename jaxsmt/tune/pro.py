"""Pairwise ranking optimisation (Hopkins & May 2011): tuning as classification of pairs of hypotheses."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.norms import l1_normalised
from jaxsmt.common.optimise import Minimum, minimise
from jaxsmt.common.sizes import padded_rows
from jaxsmt.tune.config import ProConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.scoring import smoothed_sentence_bleu

_SMALLEST = 256  # pairs, with padding
_TOLERANCE = 1e-7  # of the largest entry of the gradient of the mean loss
_MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class ProInfo:
    """num_pairs: pairs learnt from; objective: of the logistic regression, both directions of a pair counted."""

    num_pairs: int
    objective: float


def pro(lists: TuningLists, start: np.ndarray, config: ProConfig | None = None) -> tuple[np.ndarray, ProInfo]:
    """Weights [F]: those of the classifier, interpolated with the start [F] (both L1-normalised) as Ψ says."""
    config = config or ProConfig()
    pairs = sample_pairs(lists, config)
    if not len(pairs):
        return np.asarray(start, np.float64), ProInfo(0, 0.0)
    weights, value = logistic_regression(pairs, config.l2)
    start = np.asarray(start, np.float64)
    mixed = config.interpolation * l1_normalised(weights) + (1 - config.interpolation) * l1_normalised(start)
    return mixed, ProInfo(len(pairs), value)


def sample_pairs(lists: TuningLists, config: ProConfig) -> np.ndarray:
    """[P, F] float64: features of the better hypothesis minus those of the worse (section 4, figure 4).

    For each sentence Γ pairs are drawn, those closer than α in smoothed sentence BLEU are left out, and of the others
    the Ξ with the largest difference are kept (of equal ones those drawn first).
    """
    quality = smoothed_sentence_bleu(lists.statistics("bleu"))
    rng = np.random.default_rng(config.seed)
    differences = [np.zeros((0, lists.num_features))]
    for sentence in np.flatnonzero(lists.sizes > 1):
        drawn = rng.integers(lists.sizes[sentence], size=(2, config.samples))
        gap = quality[sentence, drawn[0]] - quality[sentence, drawn[1]]
        far = np.flatnonzero(np.abs(gap) >= config.min_difference)
        kept = far[np.argsort(-np.abs(gap[far]), kind="stable")[: config.kept]]
        phi = lists.features[sentence]
        differences.append((phi[drawn[0, kept]] - phi[drawn[1, kept]]) * np.sign(gap[kept])[:, None])
    return np.concatenate(differences)


def logistic_regression(pairs: np.ndarray, l2: float) -> tuple[np.ndarray, float]:
    """w that minimises 2 Σ log(1 + exp(−w·x)) + ½·l2·|w|² over pairs [P, F], and the minimum.

    The factor 2: each pair counts in both directions, as positive and as negative example.
    """
    is_real = padded_rows(np.ones(len(pairs), np.float32), _SMALLEST)
    found = _minimise(padded_rows(pairs.astype(np.float32), _SMALLEST), is_real, l2 / (2 * len(pairs)))
    weights = np.asarray(found.point, np.float64)
    value = 2.0 * np.logaddexp(0.0, -pairs @ weights).sum() + 0.5 * l2 * weights @ weights
    return weights, float(value)


@jax.jit
def _minimise(pairs: Array, is_real: Array, penalty: float | Array) -> Minimum:
    """w that minimises the mean of log(1 + exp(−w·x)) over the real pairs, and |w|² · penalty / 2."""

    def loss(weights: Array) -> Array:
        losses = jax.nn.softplus(-jnp.matmul(pairs, weights, precision=jax.lax.Precision.HIGHEST))
        return (is_real * losses).sum() / is_real.sum() + penalty / 2 * (weights**2).sum()

    return minimise(loss, jnp.zeros(pairs.shape[1]), _TOLERANCE, _MAX_ITERATIONS)
