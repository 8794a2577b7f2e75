"""Estimates for words whose left context is not known yet, from the model itself.

The first words of a hypothesis are scored before their left context is known. Their plain lower-order probabilities
are a poor guess in a Kneser–Ney model, where lower orders are made for backing off. The guess right on average is
    rest(w_k | w_1..w_{k-1}) = Σ_v p(v | w_1..w_k) log p(w_k | v w_1..w_{k-1}),
over the word v to the left, with p(v, w_1, …) from the model's own stationary distribution. Heafield, Koehn and Lavie
(2012, section 3.1) train models of lower order for the same purpose; here a finished model (an ARPA file) is enough.
"""

from dataclasses import replace

import numpy as np

from jaxsmt.lm.model import Level, Lm
from jaxsmt.text.vocabulary import SENTENCE_END, SENTENCE_START

_ITERATIONS = 50


def with_rest_costs(lm: Lm) -> Lm:
    """The model with `log_rest` filled in; probabilities stay as they are. For a single model ([G] probabilities)."""
    joints = _joint_probabilities(lm)
    levels = [replace(level, log_rest=_expected(lm.levels, joints, k)) for k, level in enumerate(lm.levels[:-1])]
    return replace(lm, levels=(*levels, lm.levels[-1]))


def _joint_probabilities(lm: Lm) -> list[np.ndarray]:
    """Per order, [G] float64: how often the n-gram occurs in the text that the model describes, <s> included."""
    joints = [_stationary(lm)]
    for level in lm.levels[1:]:
        joints.append(joints[-1][level.prefix] * np.exp(level.log_p.astype(np.float64)))
    return joints


def _stationary(lm: Lm) -> np.ndarray:
    """[V] float64: p(w) with Σ_v p(v) p(w | v) = p(w); after </s> comes <s>."""
    unigrams = lm.levels[0]
    p = np.where(lm.is_word, np.exp(unigrams.log_p.astype(np.float64)), 0.0)
    p[SENTENCE_START] = 0.0
    if lm.order == 1:
        return p
    bigrams, backoff = lm.levels[1], np.exp(unigrams.log_backoff.astype(np.float64))
    extra = np.exp(bigrams.log_p.astype(np.float64)) - backoff[bigrams.prefix] * p[bigrams.word]
    current = p / p.sum()
    for _ in range(_ITERATIONS):
        source = current.copy()
        source[SENTENCE_START], source[SENTENCE_END] = current[SENTENCE_END], 0.0
        following = (source * backoff).sum() * p
        np.add.at(following, bigrams.word, source[bigrams.prefix] * extra)
        current = np.maximum(following, 0.0) / following.sum()
    current[SENTENCE_START] = current[SENTENCE_END]
    return current


def _expected(levels: tuple[Level, ...], joints: list[np.ndarray], k: int) -> np.ndarray:
    """[G] float32: E log p(w_k | v w_1..w_{k-1}) over v, for the n-grams of order k + 1."""
    level, longer = levels[k], levels[k + 1]
    log_p = level.log_p.astype(np.float64)
    # contexts v w_1..w_{k-1}: the n-grams of this order, by their suffix
    backoff, mass = level.log_backoff.astype(np.float64), joints[k].copy()
    if k == 0:
        mass[SENTENCE_END] = 0.0  # nothing follows it
    num_contexts = len(levels[k - 1]) if k else 1
    total = joints[k - 1] if k else np.array([mass.sum()])
    kept, kept_log, known = (np.zeros(num_contexts) for _ in range(3))
    np.add.at(kept, level.suffix, mass * np.exp(backoff))
    np.add.at(kept_log, level.suffix, mass * np.exp(backoff) * backoff)
    np.add.at(known, level.suffix, mass)
    here = level.prefix if k else np.zeros(len(level), np.int32)
    p = np.exp(log_p)
    weight = p * (kept[here] + np.maximum(total - known, 0)[here])
    value = p * (kept_log[here] + kept[here] * log_p + np.maximum(total - known, 0)[here] * log_p)
    # where v w_1..w_k is in the model, its own probability instead of the backed-off one
    context, backed = longer.prefix, p[longer.suffix] * mass[longer.prefix] * np.exp(backoff[longer.prefix])
    np.add.at(weight, longer.suffix, joints[k + 1] - backed)
    np.add.at(value, longer.suffix, joints[k + 1] * longer.log_p - backed * (backoff[context] + log_p[longer.suffix]))
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = value / weight
    return np.where(np.isfinite(rest) & (weight > 0), np.minimum(rest, 0.0), log_p).astype(np.float32)
