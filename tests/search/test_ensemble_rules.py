"""What mixtures and ensembles make of rules' scores, against the definitions."""

import math

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.search.plan.lists import pair_lists
from jaxsmt.search.plan.matching import match_patterns
from jaxsmt.search.rules import ensemble
from jaxsmt.search.rules.ensemble import EnsembleConfig, mix_scores
from jaxsmt.search.rules.ensemble_spans import ensemble_rules, totals
from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules
from tests.search.ensemble_oracle import EPSILON, chosen, lies_over, mixed, small_models
from tests.tm.small_models import text_of

LACKS = -math.inf
ONE, TWO = math.log(0.5), math.log(0.25)


@pytest.fixture(scope="module")
def small():
    return small_models(13)


@pytest.mark.parametrize(
    ("scores", "weights", "wsum", "wmax", "prod"),
    [
        ((ONE, TWO), (0.5, 0.5), 0.375, 0.25, math.sqrt(0.125)),  # both have the rule
        ((ONE, LACKS), (0.2, 0.8), 0.1, 0.1, 0.5**0.2 * 0.01**0.8),  # one has it
        ((LACKS, TWO), (0.2, 0.8), 0.2, 0.2, 0.01**0.2 * 0.25**0.8),
        ((TWO, TWO), (0.5, 0.5), 0.25, 0.125, 0.25),  # a tie
        ((ONE, TWO), (1.0, 0.0), 0.5, 0.5, 0.5),  # all weight on one
        ((LACKS, TWO), (1.0, 0.0), 0.0, 0.0, 0.01),  # … that lacks the rule
    ],
)
def test_operations_on_rules_made_by_hand(scores, weights, wsum, wmax, prod):
    arrays = np.tile(np.array([scores, weights], np.float32)[:, None], (1, 256, 1))
    for operation, expected in (("wsum", wsum), ("wmax", wmax), ("prod", prod)):
        found = np.asarray(mix_scores(*arrays, operation, 0.01))
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
        assert mixed(scores, weights, operation, 0.01) == pytest.approx(float(found[0]), abs=1e-5)


@pytest.mark.parametrize("operation", ["wsum", "wmax", "prod"])
def test_mixed_scores_equal_the_definitions(small, operation, monkeypatch):
    monkeypatch.setattr(ensemble, "RULES_PER_CALL", 256)
    rules = ensemble_rules(small.union, small.table, small.weights, EnsembleConfig(operation, EPSILON, False))
    rng = np.random.default_rng(1)
    pairs, profile = rng.integers(0, len(small.pairs), 300), rng.integers(0, 4, 300)
    mixture = rules.check_mixture(np.array([[1, 1, 1], [1, 0, 0], [0, 2, 1], [0.1, 4, 2]]), 4)
    np.testing.assert_allclose(mixture.sum(1), 1, rtol=1e-6)
    found = rules.features(pairs, profile, mixture)
    expected = [mixed(small.scores_of(p), mixture[u], operation) for p, u in zip(pairs.tolist(), profile, strict=True)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-5)
    assert rules.features(pairs[:0], profile[:0], mixture).shape == (0, 1)


SPANS = [  # max and sum of exp of two components' rules, λ, and who is chosen by max, sum, literally
    (((0.5,), (0.4, 0.4)), (0.5, 0.5), 0, 1, 0),
    (((0.5,), (0.5,)), (0.5, 0.5), 0, 0, 0),  # equal: the first
    (((0.5,), (0.25,)), (0.1, 0.9), 1, 1, 0),  # literally 0.1·log 0.5 > 0.9·log 0.25
    (((), (0.01,)), (0.9, 0.1), 1, 1, 1),
    (((0.3,), (0.9,)), (1.0, 0.0), 0, 0, 0),
    (((), (0.9,)), (1.0, 0.0), None, None, None),
    (((), ()), (0.5, 0.5), None, None, None),
]


@pytest.mark.parametrize(("rules", "weights", "by_max", "by_sum", "literally"), SPANS)
def test_switching_on_spans_made_by_hand(small, rules, weights, by_max, by_sum, literally):
    two = small_models(1, (3, 3), ("phrase", "phrase"), 1)
    for config, expected in (
        (EnsembleConfig("switch:max"), by_max),
        (EnsembleConfig("switch:sum"), by_sum),
        (EnsembleConfig("switch:max", literal=True), literally),
        (EnsembleConfig("switch:sum", literal=True), by_sum),
    ):
        model = ensemble_rules(two.union, two.table, two.weights, config)
        scores = [[math.log(value) for value in part] for part in rules]
        assert chosen(scores, weights, config) == expected
        component = np.repeat([0, 1], [len(part) for part in scores])
        flat = np.array([score for part in scores for score in part])
        is_sum = config.operation == "switch:sum"
        span = totals(np.zeros(len(flat), int), component, flat, (1, 2), is_sum)
        (found,) = model.choose(span, np.array([weights]))
        assert (None if found < 0 else found) == expected


def matches_of(small, rules):
    sentences = small.sentences(["f1 f1 f2 f0", "f0 f2 f1", "f1 f1 f2 f0", "nobody"])
    return match_patterns(rules.grammar.trie, sentences, 3), sentences


@pytest.mark.parametrize("operation", ["switch:max", "switch:sum"])
def test_a_span_has_the_rules_of_one_component(operation):
    small = small_models(13, (60, 30, 60))  # spans with several source sides
    config = EnsembleConfig(operation, normalise_weights=False)
    rules = ensemble_rules(small.union, small.table, small.weights, config)
    matches, sentences = matches_of(small, rules)
    mixture = rules.check_mixture(np.array([[1, 1, 1], [1, 5, 1], [0, 1, 0.1], [1, 1, 1]]), 4)
    lists = pair_lists(rules.grammar, matches, np.zeros(4, int))
    lists = rules.refine(lists, matches.sentence, mixture)
    used = {}
    for place, number in enumerate(lists.list_of_match.tolist()):
        if number >= 0:
            sentence, start, end, side = (int(part[place]) for part in list(vars(matches).values())[:4])
            pairs = lists.pairs[lists.list_of_pair == number]
            used.setdefault((sentence, start, end), set()).update((side, int(pair)) for pair in pairs)
    choices = set()
    for sentence, start, end in all_spans(sentences, 3):
        words = tuple(sentences[sentence][start:end].tolist())
        here = [number for number in range(len(small.pairs)) if lies_over(small.sides(number)[0], words)]
        known = [[small.scores_of(n)[d] for n in here if small.scores_of(n)[d] > LACKS] for d in range(3)]
        choice = chosen(known, mixture[sentence], config)
        choices.add(choice)
        expected = {
            (int(small.union.statistics.source_index[small.table.pair[row]]), row)
            for row in range(len(small.table))
            if small.table.pair[row] in here and small.table.component[row] == choice
        }
        assert used.get((sentence, start, end), set()) == expected
    assert choices == {None, 0, 1, 2}


def all_spans(sentences, max_span):
    for row, length in enumerate(sentences.lengths.tolist()):
        for start in range(length):
            for end in range(start + 1, min(start + max_span, length) + 1):
                yield row, start, end


@pytest.mark.parametrize("operation", ["wsum", "prod"])
def test_rules_are_ranked_by_scores_normalised_over_the_span(small, operation):
    config = EnsembleConfig(operation, EPSILON, normalise_weights=False, normalise_spans=True)
    rules = ensemble_rules(small.union, small.table, small.weights, config)
    matches, sentences = matches_of(small, rules)
    mixture = rules.check_mixture(np.array([[1, 1, 1], [1, 0, 1]]), 2)
    lists = pair_lists(rules.grammar, matches, np.zeros(4, int))
    lists = rules.refine(lists, np.array([0, 1, 1, 0])[matches.sentence], mixture)
    assert len(matches) > 15
    for place, number in enumerate(lists.list_of_match.tolist()):
        sentence, start, end = (int(part[place]) for part in list(vars(matches).values())[:3])
        words = tuple(sentences[sentence][start:end].tolist())
        here = [small.scores_of(n) for n in range(len(small.pairs)) if lies_over(small.sides(n)[0], words)]
        norm = np.logaddexp.reduce(here, axis=0)
        profile = lists.profile[number]
        assert profile == (sentence in (1, 2))
        rows = np.flatnonzero(lists.list_of_pair == number)
        assert {small.sides(int(pair))[0] for pair in lists.pairs[rows]} == {
            tuple(token for token in small.union.source_sides[matches.side[place]].tolist() if token)
        }
        for row in rows:
            own = small.scores_of(int(lists.pairs[row]))
            normalised = np.where(own > LACKS, own - np.where(norm > LACKS, norm, 0), LACKS)
            expected = mixed(normalised, mixture[profile], operation)
            assert lists.ranking[row] == pytest.approx(expected, abs=1e-5)


def test_features_of_mixtures_equal_the_definitions(small):
    everything = np.arange(len(small.pairs))
    none = np.zeros(len(everything), int)
    loglinear = log_linear_rules(small.union, small.table, 0.001)
    fill_up = fill_up_rules(small.union, small.table)
    found = loglinear.features(everything, none, None), fill_up.features(everything, none, None)
    assert loglinear.grammar.feature_names[4] == "p(s|t) m1"
    assert fill_up.grammar.feature_names[4:] == ("from m1", "from m2")
    missing = np.full(4, math.log(0.001))
    for number in everything.tolist():
        known = [small.own.get((number, d)) for d in range(3)]
        expected = np.concatenate([missing if part is None else part for part in known])
        np.testing.assert_allclose(found[0][number], expected, atol=2e-5)
        first = next(d for d in range(3) if known[d] is not None)
        np.testing.assert_allclose(found[1][number], [*known[first], first == 1, first == 2], atol=2e-5)
    np.testing.assert_array_equal(
        fill_up_rules(small.union, small.table, False).features(everything, none, None), found[1][:, :4]
    )


@pytest.mark.parametrize("is_normalised", [False, True])
def test_linear_mixtures_equal_the_definition(small, is_normalised):
    rules = linear_rules(small.union, small.table, is_normalised)
    rng = np.random.default_rng(0)
    given_weights = rng.uniform(0.1, 1, (3, 4, 3))
    given_weights[1, :, 1] = 0
    given_weights[2, :, 1:] = 0
    mixture = rules.check_mixture(given_weights, 3)
    pairs = np.repeat(np.arange(len(small.pairs)), 3)
    found = rules.features(pairs, np.arange(len(pairs)) % 3, mixture).reshape(-1, 3, 4)
    for number, (source, target) in enumerate(small.pairs):
        for profile in range(3):
            has = [d for d in range(3) if (number, d) in small.own and mixture[profile, 0, d] > 0]
            for feature in range(4):
                total = sum(mixture[profile, feature, d] * probability(small.own[number, d][feature]) for d in has)
                if is_normalised:
                    knows = [knows_phrase(model, source, target, feature) for model in small.models]
                    total /= max(sum(mixture[profile, feature, d] for d in range(3) if knows[d]), 1e-30)
                expected = max(math.log(max(float(total), 1e-60)), -100) if has else LACKS
                assert found[number, profile, feature] == pytest.approx(expected, abs=1e-4)
    assert rules.features(pairs[:0], pairs[:0], mixture).shape == (0, 4)


def probability(log_value):
    return math.exp(log_value) if log_value > -100 else 0.0


def knows_phrase(model, source, target, feature):
    return text_of(target) in model.target if feature < 2 else source in model.source


def test_weights_are_normalised(small):
    plain = ensemble_rules(small.union, small.table, small.weights, EnsembleConfig(normalise_weights=False))
    scaled = ensemble_rules(small.union, small.table, small.weights * 8)
    np.testing.assert_allclose(scaled.scores[:, 0] * np.abs(small.weights[0]).sum(), plain.scores[:, 0], rtol=1e-5)


def test_mistakes_are_named(small):
    with pytest.raises(UserError, match="operation is 'sum': choose one of wsum"):
        EnsembleConfig("sum")
    with pytest.raises(UserError, match="epsilon is 0"):
        EnsembleConfig(epsilon=0)
    with pytest.raises(UserError, match=r"shape \[2, 4\].*m0, m1, m2"):
        ensemble_rules(small.union, small.table, small.weights[:2])
    rules = ensemble_rules(small.union, small.table, small.weights)
    with pytest.raises(UserError, match="2 values for 3 components"):
        rules.check_mixture([1, 1], 1)
    with pytest.raises(UserError, match=r"shape \[2, 3\].*the 3"):
        rules.check_mixture(np.ones((2, 3)), 3)
    with pytest.raises(UserError, match="all weights"):
        rules.check_mixture([0, 0, 0], 3)
    np.testing.assert_allclose(rules.check_mixture(None, 2), 1 / 3)
