"""Nearest labels and their smoothing over neighbouring lines, beside plain sums over all label sequences."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from jaxsmt.adapt.clusters.labels import make_labels
from jaxsmt.adapt.clusters.nearest import RIDGE, fit_label_means, load_label_means
from jaxsmt.adapt.clusters.smoothing import PRIOR_CHANGES, PRIOR_STAYS, smooth_labels
from jaxsmt.common.errors import UserError


def slow_posteriors(log_likelihoods, stay):
    """[B, L] posteriors, and the expected number of steps that stay: over all sequences, each step staying or not."""
    num, num_labels = log_likelihoods.shape
    posteriors, stays, total = np.zeros((num, num_labels)), 0.0, 0.0
    for labels in itertools.product(range(num_labels), repeat=num):
        for kept in itertools.product((True, False), repeat=num - 1):
            p = np.exp(sum(log_likelihoods[place, label] for place, label in enumerate(labels))) / num_labels
            for place, keeps in enumerate(kept, 1):
                same = labels[place] == labels[place - 1]
                p *= (stay if same else 0.0) if keeps else (1 - stay) / num_labels
            total += p
            stays += p * sum(kept)
            for place, label in enumerate(labels):
                posteriors[place, label] += p
    return posteriors / total, stays / total


@pytest.mark.parametrize(("num", "num_labels"), [(1, 1), (1, 3), (2, 2), (4, 3), (5, 2)])
def test_smoothing_is_a_sum_over_all_sequences(num, num_labels):
    scores = np.random.default_rng(num).normal(size=(num, num_labels)) * 2
    found = smooth_labels(scores)
    expected, stays = slow_posteriors(scores, found.stay)
    np.testing.assert_allclose(found.posteriors, expected, atol=5e-3)  # the last step of EM moved `stay` a little
    again = (stays + PRIOR_STAYS) / (num - 1 + PRIOR_STAYS + PRIOR_CHANGES)
    assert again == pytest.approx(found.stay, abs=5e-3)


def test_nothing_has_no_labels():
    assert smooth_labels(np.zeros((0, 3))).posteriors.shape == (0, 3)


def test_documents_are_of_one_piece_and_mixed_lines_stand_alone():
    rng = np.random.default_rng(0)
    gold = np.repeat([0, 1, 2], 60)
    scores = rng.normal(size=(180, 3)) + 1.2 * np.eye(3)[gold]
    alone = (scores.argmax(1) == gold).mean()
    together = smooth_labels(scores)
    assert (together.posteriors.argmax(1) == gold).mean() > max(0.95, alone)
    order = rng.permutation(180)
    mixed = smooth_labels(scores[order])
    assert mixed.stay < 0.5 < 0.9 < together.stay
    assert (mixed.posteriors.argmax(1) == gold[order]).mean() > alone - 0.05


def test_likelihoods_are_those_of_normal_distributions(tmp_path):
    rng = np.random.default_rng(1)
    vectors, num_words = rng.normal(size=(30, 2)) + 5, rng.integers(1, 9, 30).astype(float)
    labels = make_labels(["a", "b", "c"] * 10)
    means = fit_label_means(vectors, num_words, labels)
    means.save(tmp_path)
    means = load_label_means(tmp_path)
    usual = num_words.mean()
    centres = np.stack([vectors[labels.index == place].mean(0) for place in range(3)])
    apart = vectors - centres[labels.index]
    scatter = sum(n / usual * np.outer(x, x) for x, n in zip(apart, num_words, strict=True)) / 30 + RIDGE * np.eye(2)
    found = means.log_likelihoods(vectors, num_words)
    for row in range(30):
        expected = [multivariate_normal(c, scatter * usual / num_words[row]).logpdf(vectors[row]) for c in centres]
        np.testing.assert_allclose(found[row] - found[row, 0], np.array(expected) - expected[0], atol=1e-8)
    assert not means.log_likelihoods(np.zeros((1, 2)), np.zeros(1)).any()  # an empty line
    assert means.log_likelihoods(np.zeros((0, 2)), np.zeros(0)).shape == (0, 3)


def test_what_cannot_be_fitted_or_opened_is_named(tmp_path):
    with pytest.raises(UserError, match="development set 'b' has no words"):
        fit_label_means(np.ones((2, 2)), np.array([1.0, 0.0]), make_labels(["a", "b"]))
    with pytest.raises(UserError, match="missing, damaged"):
        load_label_means(tmp_path)
