"""Expected quality of n-best lists as a smooth function of the hypotheses' scores."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.sizes import filled_rows, within_an_eighth
from jaxsmt.evaluate.bleu import LENGTH, MATCHES, REFERENCE_LENGTH, TOTALS
from jaxsmt.tune.lists import TuningLists, ter_of_sums
from jaxsmt.tune.scoring import smoothed_sentence_bleu

BLEU, TER, MEAN = "bleu", "ter", "mean"
_SHARPNESS = 1000.0  # of the brevity penalty's bend: off by ln 2 / 1000 at the bend, by nothing elsewhere


class Gains(NamedTuple):
    """What hypotheses are worth, as the device wants it; what fills the arrays up is worth nothing.

    statistics: [B, H, C]: those of corpus BLEU (C = 10) or TER (2), or the quality of a sentence (1).
    is_real: [B, H] bool; every sentence has one hypothesis at least.
    """

    statistics: Array
    is_real: Array


def measure_of(metric: str, level: str) -> str:
    """Which function of the expected statistics is maximised."""
    return MEAN if level == "sentence" else metric


def gains(lists: TuningLists, metric: str, level: str) -> Gains:
    """The statistics of lists, padded to a size that few programs serve."""
    statistics = np.asarray(lists.statistics(metric), np.float64)
    if level == "sentence":
        quality = smoothed_sentence_bleu(statistics) if metric == BLEU else -ter_of_sums(statistics)
        statistics = np.where(lists.is_real, quality, 0.0)[..., None]
    is_real = padded(lists.is_real)
    is_real[:, :1] = True  # an empty list has one hypothesis that is worth nothing
    return Gains(jnp.asarray(padded(statistics)), jnp.asarray(is_real))


def padded(array: np.ndarray) -> np.ndarray:
    """[B', H', ...]: rows and columns of an array [B, H, ...], and zeros."""
    rows, columns = array.shape[:2]
    whole = np.zeros((within_an_eighth(max(rows, 1)), within_an_eighth(max(columns, 1)), *array.shape[2:]), array.dtype)
    whole[:rows, :columns] = array
    return whole


def padded_counts(multiplicities: np.ndarray, num_rows: int) -> np.ndarray:
    """[R, B']: how often sentences [R, B] count, and 0 for what fills up."""
    return filled_rows(np.asarray(multiplicities, np.float64).T, num_rows).T


def posteriors(scores: Array, is_real: Array) -> Array:
    """p(h|f) ∝ exp(score) of scores [B, H] → [B, H]; 0 where there is no hypothesis (Rosti et al. 2011, equation 2)."""
    return jax.nn.softmax(jnp.where(is_real, scores, -jnp.inf), axis=-1)


def expected_score(scores: Array, gains: Gains, multiplicities: Array, measure: str) -> Array:
    """[]: what is maximised, of scores γ·w·h [B, H], each sentence counted `multiplicities` [B] times.

    'bleu' is the corpus BLEU of expected matches and lengths (Rosti et al. 2011, section 3), 'ter' minus the TER of
    expected edits, 'mean' the expectation of the sentences' own quality (Smith & Eisner 2006, equation 3). Where one
    hypothesis has all of the probability, it is the score of the 1-best.
    """
    expected = (posteriors(scores, gains.is_real)[..., None] * gains.statistics).sum(1)  # [B, C]
    sums = (multiplicities[:, None] * expected).sum(0)
    if measure == BLEU:
        return smooth_bleu(sums)
    divisor = sums[1] if measure == TER else multiplicities.sum()
    value = -sums[0] if measure == TER else sums[0]
    return value / jnp.where(divisor > 0, divisor, 1.0)


def smooth_bleu(sums: Array) -> Array:
    """[]: corpus BLEU in 0..1 of expected statistics [10], with a brevity penalty that is smooth at equal lengths."""
    counts = jnp.concatenate([sums[MATCHES], sums[TOTALS]])
    is_defined = (counts > 0).all()
    log_counts = jnp.log(jnp.where(is_defined, counts, 1.0))
    length = jnp.where(sums[LENGTH] > 0, sums[LENGTH], 1.0)
    shortness = jax.nn.softplus(_SHARPNESS * (sums[REFERENCE_LENGTH] / length - 1.0)) / _SHARPNESS
    return jnp.where(is_defined, jnp.exp((log_counts[:4] - log_counts[4:]).mean() - shortness), 0.0)
