"""Multinomial classifiers on sparse features: logistic regression and naive Bayes, each a matrix and a vector."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log

TOLERANCE = 1e-4  # of the largest entry of the gradient of the mean loss
_MAX_ITERATIONS = 1000


def sample_weights(labels: np.ndarray, num_classes: int, balanced: bool) -> np.ndarray:
    """[B] float64: 1 each, or such that all classes weigh the same and the sum stays B."""
    if not balanced:
        return np.ones(len(labels))
    counts = np.bincount(labels, minlength=num_classes)
    return len(labels) / np.count_nonzero(counts) / counts[labels]


def fit_logistic(
    features: csr_array, labels: np.ndarray, num_classes: int, weights: np.ndarray, strength: float,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Coefficients [W, C] and intercepts [C] of p(c | x) = softmax(x·M + b)_c.

    They minimise Σ_n s_n (−log p(y_n | x_n)) + |M|² / (2 strength), which has one minimum (b is free up to a common
    constant and is centred); exact gradients, L-BFGS. This is the objective of scikit-learn's LogisticRegression with
    C = strength, so the two agree.

    Args:
      features: [B, W]; labels: [B]; weights: [B] s_n.
      strength: the larger, the closer to the training data.
    """
    num_words = features.shape[1]
    total = weights.sum()
    transposed = csr_array(features.T)
    one_hot = (labels[:, None] == np.arange(num_classes)) * 1.0

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        matrix, intercepts = np.split(flat.reshape(-1, num_classes), [num_words])
        logits = features @ matrix + intercepts
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        sums = p.sum(axis=1)
        error = weights[:, None] * (p / sums[:, None] - one_hot)
        gradient = np.concatenate([transposed @ error + matrix / strength, error.sum(axis=0, keepdims=True)])
        log_p = logits[np.arange(len(labels)), labels] - np.log(sums)
        value = (matrix**2).sum() / (2 * strength) - weights @ log_p
        return value / total, gradient.reshape(-1) / total

    options = {"maxiter": _MAX_ITERATIONS, "gtol": tolerance, "ftol": 0.0}
    start = np.zeros((num_words + 1) * num_classes)
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    if found.nit >= _MAX_ITERATIONS:
        log.warning("the domain recogniser has not converged in %d iterations", _MAX_ITERATIONS)
    matrix, intercepts = np.split(found.x.reshape(-1, num_classes), [num_words])
    return matrix, intercepts[0] - intercepts[0].mean()


def fit_naive_bayes(
    counts: csr_array, labels: np.ndarray, num_classes: int, weights: np.ndarray, smoothing: float
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients [W, C] log p(w | c) and intercepts [C] log p(c) of multinomial naive Bayes.

    p(w | c) = (count(w, c) + smoothing) / (count(c) + smoothing · W); p(c) is the share of the sample weights.
    """
    one_hot = (labels[:, None] == np.arange(num_classes)) * weights[:, None]
    word_counts = counts.T @ one_hot + smoothing  # [W, C]
    return np.log(word_counts) - np.log(word_counts.sum(axis=0)), np.log(one_hot.sum(axis=0) / weights.sum())


def fit_with_scikit_learn(
    features: csr_array, labels: np.ndarray, num_classes: int, weights: np.ndarray, strength: float,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """`fit_logistic` by scikit-learn's LogisticRegression; the coefficients are taken out as arrays."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UserError(
            "adapt.solver is 'scikit-learn', which is not installed: run `pip install scikit-learn`, "
            "or set adapt.solver to scipy"
        ) from None
    # of two classes it fits one column w, which is ±w/2 here: half the squares, so twice the strength
    is_binary = num_classes == 2
    model = LogisticRegression(C=strength * (1 + is_binary), max_iter=_MAX_ITERATIONS, tol=tolerance)
    model.fit(features, labels, sample_weight=weights)
    if is_binary:
        halves = np.array([-0.5, 0.5])
        return model.coef_.T * halves, model.intercept_ * halves
    return model.coef_.T.copy(), model.intercept_ - model.intercept_.mean()
