"""Labels of the lines of a document: neighbours tend to be of one kind, and the document itself says how much.

The lines are a hidden Markov model whose state is the label: with probability `stay` a line keeps the label of the line
before it, otherwise any label comes with the same probability. `stay` is found by EM on the document (Rabiner 1989,
section III), so that a text of one domain becomes of one piece, while lines in random order are labelled alone.
"""

from typing import NamedTuple

import numpy as np

MAX_ITERATIONS = 20
TOLERANCE = 1e-3  # of stay
PRIOR_STAYS, PRIOR_CHANGES = 2.0, 1.0  # lines that one has seen before, as it were


class SmoothedLabels(NamedTuple):
    """posteriors: [B, L]; stay: the probability that a line keeps the label of the line before."""

    posteriors: np.ndarray
    stay: float


def smooth_labels(log_likelihoods: np.ndarray) -> SmoothedLabels:
    """Posterior probabilities of the labels of consecutive lines, from log-likelihoods [B, L]."""
    num, num_labels = log_likelihoods.shape
    if not num:
        return SmoothedLabels(np.zeros((0, num_labels)), 0.0)
    likelihood = np.exp(log_likelihoods - log_likelihoods.max(1, keepdims=True))
    stay = PRIOR_STAYS / (PRIOR_STAYS + PRIOR_CHANGES)
    for _ in range(MAX_ITERATIONS):
        forward, backward = _passes(likelihood, stay)
        posteriors = forward * backward
        posteriors /= posteriors.sum(1, keepdims=True)
        before, stay = stay, _expected_stay(likelihood, forward, backward, stay)
        if abs(stay - before) < TOLERANCE:
            break
    return SmoothedLabels(posteriors, stay)


def _passes(likelihood: np.ndarray, stay: float) -> tuple[np.ndarray, np.ndarray]:
    """[B, L] forward and backward probabilities, each row of them scaled."""
    num, num_labels = likelihood.shape
    jump = (1 - stay) / num_labels
    forward, backward = np.empty_like(likelihood), np.ones_like(likelihood)
    row = np.full(num_labels, 1 / num_labels)
    for place in range(num):
        row = row * likelihood[place]
        row = forward[place] = row / row.sum()
        row = stay * row + jump
    row = np.ones(num_labels)
    for place in range(num - 2, -1, -1):
        seen = likelihood[place + 1] * backward[place + 1]
        row = stay * seen + jump * seen.sum()
        backward[place] = row / row.sum()
    return forward, backward


def _expected_stay(likelihood: np.ndarray, forward: np.ndarray, backward: np.ndarray, stay: float) -> float:
    """The share of steps that keep the label by staying rather than by chance, with the prior."""
    seen = likelihood[1:] * backward[1:]
    kept = stay * (forward[:-1] * seen).sum(1)
    changed = (1 - stay) / likelihood.shape[1] * seen.sum(1)  # rows of `forward` have the sum 1
    stays = float((kept / (kept + changed)).sum())
    return (stays + PRIOR_STAYS) / (len(seen) + PRIOR_STAYS + PRIOR_CHANGES)
