"""Multinomial classifiers on sparse features: logistic regression and naive Bayes, each a matrix and a vector."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.sparse import csr_array

from jaxsmt.common.devices.segments import SumTree, gathered, sum_tree, summed
from jaxsmt.common.errors import UserError
from jaxsmt.common.optimise import Minimum, minimise
from jaxsmt.common.progress import log
from jaxsmt.common.sizes import padded_rows, rounded_size

TOLERANCE = 1e-4  # of the largest entry of the gradient of the mean loss
_MAX_ITERATIONS = 1000
_SMALLEST = 256  # size of a padded axis: small texts share compiled programs


def sample_weights(labels: np.ndarray, num_classes: int, balanced: bool) -> np.ndarray:
    """[B] float64: 1 each, or such that all classes weigh the same and the sum stays B."""
    if not balanced:
        return np.ones(len(labels))
    counts = np.bincount(labels, minlength=num_classes)
    return len(labels) / np.count_nonzero(counts) / counts[labels]


class _Entries(NamedTuple):
    """The entries of a sparse matrix of B sentences, sorted by sentence, and what is known of the sentences. A pytree.

    Padding: entries of 0 in the last sentence, which no sum has, and sentences of weight 0.
    """

    sentences: np.ndarray  # [E] int32
    words: np.ndarray  # [E] int32
    values: np.ndarray  # [E] float32
    labels: np.ndarray  # [B] int32
    weights: np.ndarray  # [B] float32, of sum 1
    by_sentence: SumTree  # the order in which entries are summed up
    by_word: SumTree  # and their gradients


def fit_logistic(
    features: csr_array, labels: np.ndarray, num_classes: int, weights: np.ndarray, strength: float,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Coefficients [W, C] and intercepts [C] of p(c | x) = softmax(x·M + b)_c.

    They minimise Σ_n s_n (−log p(y_n | x_n)) + |M|² / (2 strength), which has one minimum (b is free up to a common
    constant and is centred), on the device. This is the objective of scikit-learn's LogisticRegression with
    C = strength, so the two agree.

    Args:
      features: [B, W]; labels: [B]; weights: [B] s_n.
      strength: the larger, the closer to the training data.
    """
    num_words, total = features.shape[1], weights.sum()
    entries = _padded_entries(features, labels, weights / total)
    size = rounded_size(num_words, _SMALLEST)
    found = _minimise(entries, size, num_classes, 1 / (strength * total), tolerance)
    if not found.is_converged:
        log.warning("the domain recogniser has not converged in %d iterations", _MAX_ITERATIONS)
    point = np.asarray(found.point, np.float64)
    return point[:num_words], point[-1] - point[-1].mean()


def _padded_entries(features: csr_array, labels: np.ndarray, shares: np.ndarray) -> _Entries:
    coordinates = csr_array(features).tocoo()
    num_rows = rounded_size(len(labels) + 1, _SMALLEST)  # the last one is padding
    sentences, words = (padded_rows(ids.astype(np.int32), _SMALLEST, fill=-1) for ids in coordinates.coords)
    return _Entries(
        np.where(sentences < 0, num_rows - 1, sentences),
        np.maximum(words, 0),
        padded_rows(coordinates.data.astype(np.float32), _SMALLEST),
        np.pad(labels.astype(np.int32), (0, num_rows - len(labels))),
        np.pad(shares.astype(np.float32), (0, num_rows - len(labels))),
        sum_tree(sentences, num_rows, _SMALLEST),
        sum_tree(words, rounded_size(features.shape[1], _SMALLEST) + 1, _SMALLEST),
    )


@partial(jax.jit, static_argnames=("num_words", "num_classes"))
def _minimise(
    entries: _Entries, num_words: int, num_classes: int, penalty: float | Array, tolerance: float | Array
) -> Minimum:
    """M [W, C] and, as its last row, b that minimise the mean loss with |M|² · penalty / 2."""
    sentences, words, values, labels, shares = map(jnp.asarray, entries[:5])
    is_label = labels[:, None] == jnp.arange(num_classes)[None]  # [B, C]; picking by index would add by index

    def loss(point: Array) -> Array:
        terms = values[:, None] * gathered(point, words, entries.by_word)
        logits = summed(terms, sentences, entries.by_sentence) + point[-1:]
        log_p = jnp.where(is_label, jax.nn.log_softmax(logits), 0.0).sum(1)
        return penalty / 2 * (point[:-1] ** 2).sum() - (shares * log_p).sum()

    return minimise(loss, jnp.zeros((num_words + 1, num_classes)), tolerance, _MAX_ITERATIONS)


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
            "or set adapt.solver to optax"
        ) from None
    # of two classes it fits one column w, which is ±w/2 here: half the squares, so twice the strength
    is_binary = num_classes == 2
    model = LogisticRegression(C=strength * (1 + is_binary), max_iter=_MAX_ITERATIONS, tol=tolerance)
    model.fit(features, labels, sample_weight=weights)
    if is_binary:
        halves = np.array([-0.5, 0.5])
        return model.coef_.T * halves, model.intercept_ * halves
    return model.coef_.T.copy(), model.intercept_ - model.intercept_.mean()
