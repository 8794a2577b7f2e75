"""Minimum Bayes risk against plain Python with sacrebleu's sentence scores."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from jaxsmt.adapt.consensus import risk
from jaxsmt.adapt.consensus.config import ConsensusConfig, ConsensusTraining
from jaxsmt.adapt.consensus.risk import choose, expected_utilities, posteriors
from jaxsmt.adapt.consensus.tuning import tune_gamma
from jaxsmt.common.errors import UserError
from jaxsmt.tune.nbest import nbest_from_rows

METRICS = {
    "bleu": BLEU(smooth_method="add-k", smooth_value=1, tokenize="none", effective_order=True),
    "chrf": CHRF(),
}
GAMMAS = (0.0, 0.3, 2.0)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def slow_utility(utility, hypothesis, reference):
    return METRICS[utility].sentence_score(hypothesis, [reference]).score / 100


def slow_consensus(utility, texts, scores, gamma):
    """Σ_r p(r) u(h, r) of a list, translation by translation."""
    weights = [np.exp(gamma * (score - max(scores))) for score in scores]
    return [
        sum(weight * slow_utility(utility, text, other) for weight, other in zip(weights, texts, strict=True))
        / sum(weights)
        for text in texts
    ]


def random_lists(rng, sizes):
    """Texts of few different words, of 0 to 12 words, some twice; scores; offsets."""
    words = ["the", "a", "cat", "cats", "sat", "at", "it"]
    lists = [[" ".join(rng.choice(words, rng.integers(0, 13))) for _ in range(size)] for size in sizes]
    for own in lists:
        if len(own) > 3:
            own[2] = own[0]
    texts = [text for own in lists for text in own]
    return texts, rng.normal(0, 2, len(texts)), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@pytest.mark.parametrize("utility", METRICS)
def test_utilities_equal_sacrebleu(utility, rng):
    texts, scores, offsets = random_lists(rng, [0, 1, 5, 12, 2, 0, 20, 1])
    found = expected_utilities(texts, offsets, posteriors(scores, offsets, GAMMAS), utility)
    for place, gamma in enumerate(GAMMAS):
        slow = [
            value
            for begin, end in pairwise(offsets)
            for value in slow_consensus(utility, texts[begin:end], scores[begin:end], gamma)
        ]
        np.testing.assert_allclose(found[place], slow, atol=1.1e-5)


@pytest.mark.parametrize("utility", METRICS)
def test_choices_are_those_of_highest_expected_utility(utility, rng):
    texts, scores, offsets = random_lists(rng, [3, 0, 9, 1, 30])
    chosen = choose(texts, offsets, posteriors(scores, offsets, GAMMAS), utility)
    assert chosen.shape == (3, 5)
    assert (chosen[:, 1] == -1).all()
    for place, gamma in enumerate(GAMMAS):
        for number in (0, 2, 3, 4):
            begin, end = offsets[number : number + 2]
            slow = np.array(slow_consensus(utility, texts[begin:end], scores[begin:end], gamma))
            best = chosen[place, number] - begin
            assert slow[best] >= slow.max() - 2e-5
            assert texts[begin:end].index(texts[chosen[place, number]]) == best  # of equal texts the first


@pytest.mark.parametrize("utility", METRICS)
def test_batched_equals_single(utility, rng, monkeypatch):
    texts, scores, offsets = random_lists(rng, rng.integers(0, 12, 40))
    probabilities = posteriors(scores, offsets, GAMMAS)
    together = expected_utilities(texts, offsets, probabilities, utility)
    monkeypatch.setattr(risk, "_LISTS_AT_ONCE", 1)
    np.testing.assert_array_equal(expected_utilities(texts, offsets, probabilities, utility), together)


def test_nothing_is_chosen_from_nothing():
    empty = np.zeros(0)
    assert choose([], np.zeros(1, np.int64), posteriors(empty, np.zeros(1, np.int64), [1.0]), "bleu").shape == (1, 0)
    none = np.zeros(3, np.int64)
    assert choose([], none, posteriors(empty, none, [1.0, 2.0]), "chrf").tolist() == [[-1, -1]] * 2


@pytest.mark.parametrize("utility", METRICS)
def test_a_large_scale_leaves_the_best_score(utility, rng):
    """All probability is with the best text then, and no other is more like it than it is itself."""
    texts, scores, offsets = random_lists(rng, [6, 1, 15])
    order = np.lexsort((-scores, np.repeat(np.arange(3), [6, 1, 15])))  # the best first, as ties go to the first
    texts, scores = [texts[k] for k in order], scores[order]
    chosen = choose(texts, offsets, posteriors(scores, offsets, [1e9]), utility)
    assert [texts[row] for row in chosen[0]] == [texts[row] for row in offsets[:-1]]


def test_a_scale_of_zero_does_not_see_scores(rng):
    _, scores, offsets = random_lists(rng, [6, 15])
    probabilities = posteriors(scores, offsets, [0.0])
    np.testing.assert_allclose(probabilities[0], [1 / 6] * 6 + [1 / 15] * 15)
    np.testing.assert_array_equal(probabilities, posteriors(rng.permutation(scores), offsets, [0.0]))


def test_equal_texts_vote_together():
    texts, offsets = ["a b c", "x y z", "x y z", "x y q"], np.array([0, 4])
    found = expected_utilities(texts, offsets, np.array([[0.4, 0.2, 0.2, 0.2]]), "bleu")
    assert found[0, 1] == found[0, 2]
    assert choose(texts, offsets, np.array([[0.4, 0.2, 0.2, 0.2]]), "bleu").tolist() == [[1]]


def test_posteriors_of_several_systems_are_averaged():
    scores, offsets = np.array([0.0, -1.0, -500.0, 3.0]), np.array([0, 3, 4])
    systems = np.array([0, 0, 1, 1])
    found = posteriors(scores, offsets, [1.0], systems)[0]
    first = np.exp([0.0, -1.0]) / np.exp([0.0, -1.0]).sum()
    np.testing.assert_allclose(found, [*first / 2, 0.5, 1.0])


def test_impossible_scores_have_no_say():
    scores, offsets = np.array([-np.inf, 1.0, -np.inf]), np.array([0, 2, 3])
    np.testing.assert_array_equal(posteriors(scores, offsets, [0.0, 2.0, 1e9]), [[0.5, 0.5, 1], [0, 1, 1], [0, 1, 1]])


def lists_of(texts, scores, sentences, num):
    features = np.zeros((len(texts), 1))
    return nbest_from_rows(texts, features, np.array(sentences), num, ["F_0"], np.array(scores))


def test_the_scale_is_the_best_on_references():
    """The first of the list is like no other; the references say that the others are right."""
    texts = ["x y z v w", "a b c d e", "a b c d f", "a b c d e g"]
    lists = lists_of(texts * 2, [0.0, -1.0, -1.1, -1.2] * 2, [0] * 4 + [1] * 4, 2)
    config = ConsensusTraining(gammas=(0.1, 50.0))
    liked = tune_gamma(lists, [("a b c d e",)] * 2, config)
    assert (liked.gamma, liked.before, liked.bleu[0]) == (0.1, 0.0, 100.0)
    assert tune_gamma(lists, [("x y z v w",)] * 2, config).gamma == 50.0
    assert tune_gamma(lists, [("k l m n",)] * 2, config).gamma == 50.0  # of equal ones the largest
    given = tune_gamma(lists, [("a b c d e",)] * 2, replace(config, gamma=0.5))
    assert (given.gamma, given.gammas) == (0.5, (0.5,))
    assert liked.table().splitlines()[1].split() == ["1-best", "0.00"]


@pytest.mark.parametrize(
    "settings",
    [{"utility": "ter"}, {"nbest": 0}, {"gamma": -1.0}, {"gamma": float("inf")}],
)
def test_settings_are_checked(settings):
    with pytest.raises(UserError, match=f"consensus.{next(iter(settings))}"):
        ConsensusConfig(**settings)


def test_settings_of_training_are_checked():
    with pytest.raises(UserError, match="gammas is empty"):
        ConsensusTraining(gammas=())
    with pytest.raises(UserError, match="gamma is -2"):
        ConsensusTraining(gammas=(1.0, -2.0))
    assert ConsensusTraining(nbest=7).chosen(0.5) == ConsensusConfig(nbest=7, gamma=0.5)
