"""Sentences as bags of words: sparse counts, TF-IDF weights, and a dense projection for clustering.

The matrices have a few words in each of many rows; scipy's sparse products on the host are the right tool for them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_array, diags_array

from jaxsmt.common.ragged import offsets_of
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary, build_vocabulary

_OVERSAMPLING = 10
_POWER_ITERATIONS = 4


def frequent_words(sentences: Iterable[Sequence[str]], min_sentences: int) -> Vocabulary:
    """The words that occur in at least so many sentences, the most frequent first."""
    counts = Counter(word for tokens in sentences for word in set(tokens))
    return build_vocabulary(Counter({word: n for word, n in counts.items() if n >= min_sentences}))


def count_words(vocabulary: Vocabulary, sentences: Sequence[Sequence[str]]) -> csr_array:
    """[B, W] float64: how often each of the W words occurs in each sentence; other words are left out."""
    rows = [Counter(i for i in vocabulary.encode(tokens) if i != UNKNOWN) for tokens in sentences]
    sorted_rows = [sorted(row.items()) for row in rows]
    columns = np.array([i - NUM_RESERVED for row in sorted_rows for i, _ in row], np.int32)
    counts = np.array([n for row in sorted_rows for _, n in row], np.float64)
    offsets = offsets_of(np.array([len(row) for row in sorted_rows], np.int64))
    return csr_array((counts, columns, offsets), shape=(len(sentences), len(vocabulary.words)))


def inverse_frequencies(counts: csr_array) -> np.ndarray:
    """[W] float64: idf(w) = ln((1 + B) / (1 + sentences with w)) + 1."""
    num_with = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + num_with)) + 1


def tf_idf(counts: csr_array, idf: np.ndarray) -> csr_array:
    """[B, W] float64: (1 + ln count) · idf, rows scaled to length 1; a sentence without known words stays zero."""
    weighted = counts.copy()
    weighted.data = (1 + np.log(counts.data)) * idf[counts.indices]
    squares = np.asarray((weighted * weighted).sum(axis=1)).reshape(-1)
    return csr_array(diags_array(1 / np.sqrt(np.where(squares > 0, squares, 1))) @ weighted)


def latent_axes(matrix: csr_array, num_axes: int, seed: int = 0) -> np.ndarray:
    """[W, at most num_axes] float64: the leading right singular vectors (latent semantic analysis).

    By a randomised range finder with power iterations (Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1).
    """
    num_axes = min(num_axes, *matrix.shape)
    size = min(num_axes + _OVERSAMPLING, *matrix.shape)
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], size))
    for _ in range(_POWER_ITERATIONS + 1):
        rows = np.linalg.qr(matrix @ basis)[0]
        basis = np.linalg.qr(matrix.T @ rows)[0]
    _, _, axes = np.linalg.svd(matrix @ basis, full_matrices=False)
    return basis @ axes[:num_axes].T
