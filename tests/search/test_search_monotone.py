"""Monotone search against enumeration of all segmentations."""

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.search.monotone import IMPOSSIBLE, MonotoneConfig, best_pairs, best_segmentations


def best_by_enumeration(scores, start=0):
    """Score of the best segmentation and its lengths, by trying all of them."""
    if start == len(scores):
        return 0.0, []
    options = []
    for length in range(1, min(scores.shape[1], len(scores) - start) + 1):
        rest, lengths = best_by_enumeration(scores, start + length)
        options.append((scores[start, length - 1] + rest, [length, *lengths]))
    return max(options, key=lambda option: option[0])


@pytest.mark.parametrize("num_words", [1, 2, 7])
@pytest.mark.parametrize("num_lengths", [1, 3])
def test_the_best_segmentation_is_found(num_words, num_lengths):
    random = np.random.default_rng(num_words * 10 + num_lengths)
    scores = random.normal(size=(5, num_words, num_lengths)).astype(np.float32)
    totals, choices = best_segmentations(scores)
    for b in range(len(scores)):
        expected, lengths = best_by_enumeration(scores[b])
        assert float(totals[b]) == pytest.approx(expected, abs=1e-5)
        found, start = [], 0
        while start < num_words:
            found.append(int(choices[b, start]) + 1)
            start += found[-1]
        assert found == lengths


def test_impossible_spans_are_not_used():
    scores = np.full((1, 2, 2), IMPOSSIBLE, np.float32)
    scores[0, 0, 1] = -5.0
    totals, choices = best_segmentations(scores)
    assert (float(totals[0]), int(choices[0, 0])) == (-5.0, 1)


def test_the_first_of_equally_good_pairs_wins():
    scores = np.array([1, 3, 3, 2, 2], np.float32)
    best, pair = best_pairs(scores, np.array([0, 0, 0, 1, 1]), 2)
    assert best.tolist() == [3, 2]
    assert pair.tolist() == [1, 3]


def test_wrong_feature_weights_are_named():
    with pytest.raises(UserError, match=r"search\.feature_weights is \[1\]"):
        MonotoneConfig(feature_weights=(1,))
    with pytest.raises(UserError, match="nan"):
        MonotoneConfig(feature_weights=(1.0, 1.0, 1.0, float("nan")))
