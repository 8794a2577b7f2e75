"""The kernels of Bayesian predictive adaptation against plain loops in double precision."""

import numpy as np
import pytest

from jaxsmt.adapt.bpa import kernels as bpa_kernels
from jaxsmt.adapt.bpa.blocks import blocked
from jaxsmt.adapt.bpa.likelihood import log_likelihood, oracle_hypotheses, sentence_log_probs
from jaxsmt.adapt.bpa.rerank import Votes, _first_of_best, best_by_votes, rerank
from jaxsmt.adapt.bpa.sampling import heuristic_samples
from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import best_hypotheses, padded_lists, rows_of

SIZES = (5, 0, 1, 12, 3, 0, 30, 2)


def random_lists(sizes=SIZES, num_features=4, scale=1.0, seed=0):
    """Lists of given sizes with random features, edits and BLEU statistics."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    features = rng.normal(size=(offsets[-1], num_features)) * scale + 50.0
    edits = rng.integers(0, 6, (offsets[-1], 1))
    ter = np.concatenate([edits, np.full_like(edits, 20)], 1).astype(np.float64)
    totals = np.tile([20, 19, 18, 17], (offsets[-1], 1))
    matches = np.maximum(totals - 3 * edits, 0)
    length = np.full((offsets[-1], 2), 20)
    bleu = np.concatenate([length, matches, totals], 1).astype(np.int32)
    return padded_lists(features, offsets, bleu, ter)


def plain_log_probs(lists, samples):
    """log p(e | f, λ) by loops: a list of [H_b, S] for the sentences."""
    found = []
    for sentence in range(len(lists)):
        rows = []
        for features in lists.features[sentence, : lists.sizes[sentence]]:
            rows.append([sum(a * b for a, b in zip(sample, features, strict=True)) for sample in samples])
        scores = np.array(rows).reshape(-1, len(samples))
        found.append(scores - np.logaddexp.reduce(scores, 0) if len(scores) else scores)
    return found


def plain_scores(lists, samples, log_weights, delta, viterbi):
    """log Σ_s w_s p(e | f, λ_s)^{1/δ} (or the maximum): a list of [H_b]."""
    reduce_fn = np.maximum.reduce if viterbi else np.logaddexp.reduce
    return [reduce_fn(part / delta + log_weights, axis=1) for part in plain_log_probs(lists, samples)]


@pytest.fixture(scope="module")
def lists():
    return random_lists()


@pytest.fixture(scope="module")
def samples():
    return heuristic_samples(np.array([0.5, -1.0, 2.0, 0.1]), 40, seed=3)


def test_log_likelihood_equals_a_plain_loop(lists, samples):
    oracle = oracle_hypotheses(lists, samples[0])
    probs = plain_log_probs(lists, samples)
    expected = np.array([part[best] if len(part) else np.zeros(40) for part, best in zip(probs, oracle, strict=True)])
    np.testing.assert_allclose(sentence_log_probs(lists, oracle, samples), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(log_likelihood(lists, oracle, samples), expected.sum(0), rtol=1e-5)
    counts = np.random.default_rng(0).integers(0, 4, (3, len(lists)))
    np.testing.assert_allclose(log_likelihood(lists, oracle, samples, counts), counts @ expected, rtol=1e-5)


@pytest.mark.parametrize("delta", [1.0, 4.0, 2.5])
@pytest.mark.parametrize("viterbi", [False, True])
@pytest.mark.parametrize("scale", [1.0, 2000.0])  # at the second one plain sums underflow
def test_scores_equal_a_plain_loop(samples, delta, viterbi, scale):
    lists = random_lists(scale=scale)
    log_weights = np.random.default_rng(1).normal(size=40) * 5 - 3000.0
    found = rerank(lists, Votes(samples, log_weights, delta, viterbi))
    expected = plain_scores(lists, samples, log_weights, delta, viterbi)
    for sentence, scores in enumerate(expected):
        size = len(scores)
        np.testing.assert_allclose(found.scores[sentence, :size], scores, rtol=1e-5, atol=1e-5)
        assert (found.scores[sentence, size:] == -np.inf).all()
        assert found.index[sentence] == (scores.argmax() if size else -1)


def test_tiles_of_any_size_give_the_same(lists, samples, monkeypatch):
    """In small tiles a list meets its samples in three parts, the last one not full."""
    wild, log_weights = random_lists(scale=2000.0), np.random.default_rng(1).normal(size=40) * 5
    jobs = [(lists, False), (lists, True), (wild, False)]

    def results():
        oracle = oracle_hypotheses(lists, samples[0])
        ranked = [rerank(part, Votes(samples, log_weights, 4.0, viterbi)).scores for part, viterbi in jobs]
        return [log_likelihood(lists, oracle, samples), *ranked]

    expected = results()
    monkeypatch.setattr(bpa_kernels, "_CPU_TILE", 1 << 9)
    assert bpa_kernels.tiling((8, 32, 5), 64) == (1, 16)
    for ours, theirs in zip(results(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("viterbi", [False, True])
def test_many_sets_of_weights_equal_single_ones(lists, samples, viterbi):
    log_weights = np.random.default_rng(2).normal(size=(3, 40)) * 8
    votes = Votes(samples, log_weights[0], 4.0, viterbi)
    together = best_by_votes(blocked(lists), votes, log_weights)
    for row, expected in zip(log_weights, together, strict=True):
        np.testing.assert_array_equal(rerank(lists, Votes(samples, row, 4.0, viterbi)).index, expected)


@pytest.mark.parametrize("viterbi", [False, True])
def test_one_sample_ranks_as_its_weights_do(lists, viterbi):
    weights = np.array([0.5, -1.0, 2.0, 0.1])
    found = rerank(lists, Votes(heuristic_samples(weights, 1), np.zeros(1), 4.0, viterbi))
    filled = lists.sizes > 0
    np.testing.assert_array_equal(found.index[filled], best_hypotheses(lists, weights)[filled])
    for sentence in np.flatnonzero(filled):
        size = lists.sizes[sentence]
        order = np.argsort(-(lists.features[sentence, :size] @ weights))
        np.testing.assert_array_equal(np.argsort(-found.scores[sentence, :size]), order)


def test_equal_hypotheses_rank_by_their_place():
    features = np.repeat(np.random.default_rng(0).normal(size=(1, 4)), 30, 0)
    found = rerank(padded_lists(features, np.array([0, 30])), Votes(np.ones((3, 4)), np.zeros(3)))
    assert found.index.tolist() == [0]


def test_rounding_does_not_decide_between_equal_features():
    lists = padded_lists(np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([0, 4]))
    scores = np.array([[[1.0, 2.9999998, 1.0, 3.0]], [[5.0, 2.0, 5.0000005, 2.0]]])
    assert _first_of_best(lists, np.array([0]), scores).tolist() == [[1], [0]]


@pytest.mark.parametrize("sizes", [(), (0,), (0, 0)])
def test_nothing_to_rank(samples, sizes):
    lists = random_lists(sizes)
    oracle = oracle_hypotheses(lists, samples[0])
    assert oracle.tolist() == [-1] * len(sizes)
    np.testing.assert_array_equal(log_likelihood(lists, oracle, samples), np.zeros(40))
    assert rerank(lists, Votes(samples, np.zeros(40))).index.tolist() == [-1] * len(sizes)


def test_oracle_ties_go_to_the_higher_score_then_to_the_first():
    features = np.array([[0.0], [1.0], [2.0], [2.0], [9.0]])
    ter = np.array([[3, 9], [2, 9], [2, 9], [2, 9], [4, 9]], float)
    bleu = np.zeros((5, 10), np.int32)
    bleu[:, :2], bleu[:, 2:6], bleu[:, 6:10] = 9, [[5, 3, 1, 0]], [9, 8, 7, 6]
    bleu[0, 2] = 6
    lists = padded_lists(features, np.array([0, 5]), bleu, ter)
    assert oracle_hypotheses(lists, np.array([1.0]), "ter").tolist() == [2]
    assert oracle_hypotheses(lists, np.array([-1.0]), "ter").tolist() == [1]
    assert oracle_hypotheses(lists, np.array([1.0]), "bleu").tolist() == [0]
    with pytest.raises(UserError, match="no BLEU statistics"):
        oracle_hypotheses(padded_lists(features, np.array([0, 5]), None, ter), np.ones(1), "bleu")


def test_wrong_shapes_and_numbers_are_named(lists, samples):
    oracle = oracle_hypotheses(lists, samples[0])
    with pytest.raises(UserError, match="3 weights and the lists 4 features"):
        log_likelihood(lists, oracle, samples[:, :3])
    with pytest.raises(UserError, match="not finite"):
        log_likelihood(lists, oracle, np.full((2, 4), np.nan))
    with pytest.raises(UserError, match="do not fit"):
        rerank(lists, Votes(samples, np.zeros(7)))
    broken = random_lists((2, 2))
    broken.features[1, 0, 2] = np.inf
    with pytest.raises(UserError, match="'F2' of sentence 1"):
        rerank(broken, Votes(samples, np.zeros(40)))


def test_subsets(lists):
    some = rows_of(lists, np.array([3, 2, 3]))
    assert some.sizes.tolist() == [12, 1, 12]
    np.testing.assert_array_equal(some.features[2], lists.features[3, :12])
