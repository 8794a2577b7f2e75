"""Pairwise ranking optimisation (Hopkins & May 2011): tuning as classification of pairs of hypotheses."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from jaxsmt.common.norms import l1_normalised
from jaxsmt.tune.config import ProConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.scoring import smoothed_sentence_bleu


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

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margins = pairs @ weights
        chance = np.exp(-np.logaddexp(0.0, margins))  # of getting the pair wrong
        value = 2.0 * np.logaddexp(0.0, -margins).sum() + 0.5 * l2 * weights @ weights
        return value, l2 * weights - 2.0 * (chance @ pairs)

    options = {"maxiter": 1000, "gtol": 1e-6}
    found = minimize(loss, np.zeros(pairs.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return found.x, float(found.fun)
