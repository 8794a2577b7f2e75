"""Bagging: bootstrap sets, members tuned together, merging and votes on small lists."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from jaxsmt.adapt.bagging import (
    BaggingConfig,
    best_of_lists,
    bootstrap_multiplicities,
    restarted_members,
    tune_members,
)
from jaxsmt.adapt.voting import aligned_weights, best_rows, chosen_texts, merge_members, vote
from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import list_score, padded_lists
from jaxsmt.tune.mert.tuner import mert
from jaxsmt.tune.nbest import nbest_from_rows

QUICK = MertConfig(restarts=2, perturbation_rounds=0)


@pytest.fixture(scope="module")
def dev():
    """Lists in which matches depend on the features and on chance."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30 * 8, 3))
    quality = features @ [1.0, -0.5, 0.3] + rng.normal(size=240)
    matches = np.clip((quality[:, None] * 2 + 9 - 2 * np.arange(4)).round(), 0, 17).astype(np.int32)
    totals = np.tile(np.array([20, 19, 18, 17], np.int32), (240, 1))
    bleu = np.concatenate([np.full((240, 2), 20, np.int32), matches, totals], 1)
    return padded_lists(features, np.arange(31) * 8, bleu)


def member(texts, features, sentences=None, num_sentences=1):
    sentences = np.zeros(len(texts), np.int64) if sentences is None else np.array(sentences)
    return nbest_from_rows(
        texts, np.array(features, float).reshape(len(texts), -1), sentences, num_sentences, ["A", "B"]
    )


def test_bootstrap_sets_have_as_many_sentences_and_depend_on_the_seed():
    counts = bootstrap_multiplicities(1000, 30, seed=1)
    assert counts.shape == (30, 1000)
    assert (counts.sum(1) == 1000).all()
    assert (counts > 0).mean() == pytest.approx(0.632, abs=0.01)  # section 2
    np.testing.assert_array_equal(counts, bootstrap_multiplicities(1000, 30, seed=1))
    assert not np.array_equal(counts, bootstrap_multiplicities(1000, 30, seed=2))
    assert len(np.unique(counts, axis=0)) == 30
    assert bootstrap_multiplicities(0, 3).shape == (3, 0)
    assert bootstrap_multiplicities(1, 3).tolist() == [[1]] * 3


def test_one_member_that_sees_every_sentence_once_is_plain_mert(dev):
    weights = tune_members(dev, np.ones(3), np.ones((1, 30)), QUICK)
    np.testing.assert_array_equal(weights[0], mert(dev, np.ones(3), QUICK)[0])


def test_members_fit_their_own_sets(dev):
    counts = bootstrap_multiplicities(30, 4, seed=3)
    weights = tune_members(dev, np.ones(3), counts, QUICK)
    scores = np.array([[list_score(dev, w, "bleu", row) for w in weights] for row in counts])
    assert (scores.diagonal()[:, None] >= scores - 1e-3).all()
    np.testing.assert_array_equal(weights, tune_members(dev, np.ones(3), counts, QUICK))


def test_restarted_members_climb_from_different_points(dev):
    weights = restarted_members(dev, 5, QUICK)
    assert weights.shape == (5, 3)
    np.testing.assert_allclose(np.abs(weights).sum(1), 1.0)
    for number, end in enumerate(weights):
        start = np.random.default_rng(QUICK.seed + number).uniform(0, 1, 3)
        assert list_score(dev, end, "bleu") >= list_score(dev, start, "bleu")
        np.testing.assert_array_equal(end, mert(dev, start, replace(QUICK, seed=QUICK.seed + number))[0])
    assert len(np.unique(weights, axis=0)) > 1
    assert restarted_members(dev, 0, QUICK).shape == (0, 3)


def test_duplicates_merge_only_if_string_and_features_agree():
    first = member(["a", "a", "b"], [[1, 0], [1, 1], [2, 0]])
    second = member(["b", "a", "c"], [[2, 0], [1, 2], [1, 0]])
    merged = merge_members([first, second])
    assert list(zip(merged.lists.texts, merged.lists.features.tolist(), merged.members.tolist(), strict=True)) == [
        ("a", [1, 0], 0), ("a", [1, 1], 0), ("b", [2, 0], 0), ("a", [1, 2], 1), ("c", [1, 0], 1),
    ]  # fmt: skip
    with pytest.raises(UserError, match="no n-best lists"):
        merge_members([])


def test_votes_are_sums_of_scores():
    first = member(["a", "b", "x"], [[1, 0], [0, 1], [1, 1]], [0, 0, 2], 3)
    second = member(["c", "a"], [[3, -2], [1, 0]], [0, 0], 3)
    weights = np.array([[0.6, 0.4], [0.9, -0.1]])
    merged = merge_members([first, second])
    combination = vote(merged, weights)
    # by hand: a 0.6 + 0.9; b 0.4 − 0.1; c (1.8 − 0.8) + (2.7 + 0.2); x 1.0 + 0.8
    assert merged.lists.texts == ("a", "b", "c", "x")
    np.testing.assert_allclose(combination.scores, [1.5, 0.3, 3.9, 1.8])
    assert combination.chosen.tolist() == [2, -1, 3]
    assert chosen_texts(merged.lists, combination.chosen) == ["c", "", "x"]
    alone = vote(merged, weights[:1])  # the first member had no c
    np.testing.assert_allclose(alone.scores, [0.6, 0.4, -np.inf, 1.0])
    assert alone.chosen.tolist() == [0, -1, 3]
    # weights are matched by name
    np.testing.assert_allclose(vote(merged, weights[:, ::-1], ("B", "A")).scores, combination.scores)
    np.testing.assert_allclose(aligned_weights(merged.lists, np.array([[2.0]]), ("B",)), [[0, 2]])
    with pytest.raises(UserError, match="'C'"):
        vote(merged, np.ones((2, 3)), ("A", "B", "C"))
    with pytest.raises(UserError, match="3 weights for 2 features"):
        vote(merged, np.ones((2, 3)))


def test_best_rows_takes_the_first_of_equals():
    offsets = np.array([0, 2, 2, 5, 6])
    assert best_rows(np.array([1.0, 1.0, 0.0, 3.0, 3.0, -np.inf]), offsets).tolist() == [0, -1, 3, -1]
    assert best_rows(np.zeros(0), np.array([0])).tolist() == []
    assert best_rows(np.zeros(0), np.array([0, 0])).tolist() == [-1]


def test_the_first_members_vote_as_if_alone():
    rng = np.random.default_rng(0)
    system = member([f"t{i}" for i in range(240)], rng.normal(size=(240, 2)), np.repeat(np.arange(12), 20), 12)
    weights = np.array([[0.1, 0.9], [-0.3, 0.7], [0.9, 0.1], [0.8, -0.2]])
    lists = [best_of_lists(system, theta, 3) for theta in weights]
    merged = merge_members(lists)
    for num in (1, 2, 4):
        alone = merge_members(lists[:num])
        assert int((merged.members < num).sum()) == len(alone.lists.texts)
        chosen = vote(alone, weights[:num]).chosen
        scores = alone.lists.features @ weights[:num].sum(0)
        totals = [scores[first:last] for first, last in pairwise(alone.lists.offsets)]
        assert (chosen - alone.lists.offsets[:-1]).tolist() == [int(values.argmax()) for values in totals]
        of_all = vote(merged, weights[:num]).chosen
        assert chosen_texts(merged.lists, of_all) == chosen_texts(alone.lists, chosen)


def test_best_of_lists_keeps_the_order_of_equals():
    system = member(["a", "b", "c", "d"], [[0, 1], [1, 0], [1, 5], [0, 0]], [0, 0, 0, 1], 3)
    kept = best_of_lists(system, np.array([1.0, 0.0]), 2)
    assert kept.texts == ("b", "c", "d")
    assert kept.scores.tolist() == [1, 1, 0]
    assert kept.offsets.tolist() == [0, 2, 3, 3]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"members": 0}, "adapt.members is 0"), ({"sizes": (5, 31)}, "adapt.sizes has 31"), ({"sizes": ()}, "empty")],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(UserError, match=message):
        BaggingConfig(**wrong)
