"""The best rules of lists, against sorting all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.plan.lists import PlacedPrograms, best_of_lists, rank_rules
from jaxsmt.search.plan.matching import match_patterns
from jaxsmt.search.rules.ensemble import MIXING, EnsembleConfig
from jaxsmt.search.rules.ensemble_spans import ensemble_rules
from jaxsmt.search.rules.grammar import Programs
from jaxsmt.search.rules.model import feature_bounds, mixed_rules
from jaxsmt.search.rules.provenance import provenance_rules
from jaxsmt.search.weights import SearchWeights, distinct_profiles
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.features import application_features
from jaxsmt.tm.provenance import Provenance
from jaxsmt.tm.union import build_union
from tests.tm.small_models import random_model, to_component

NUM_SENTENCES = 6


@dataclass(frozen=True)
class Plain:
    """Rules without bounds."""

    rules: Any

    @property
    def grammar(self):
        return self.rules.grammar

    def check_mixture(self, mixture, num_sentences):
        return self.rules.check_mixture(mixture, num_sentences)

    def features(self, pair_index, profile_index, mixture):
        return self.rules.features(pair_index, profile_index, mixture)

    by_span = bounded = None


@pytest.fixture(scope="module")
def components():
    rng = np.random.default_rng(5)
    kinds = ("hiero", "phrase", "hiero")
    models = [random_model(rng, 70, kind, num_words=2) for kind in kinds]
    return [to_component(model, f"m{d}", rng, kinds[d]) for d, model in enumerate(models)]


@pytest.fixture(scope="module")
def rules(components):
    return mixed_rules(build_union(components))


def ensemble_of(components, operation):
    union = build_union(components)
    weights = np.random.default_rng(8).uniform(0.1, 1, (3, 4))
    return ensemble_rules(union, component_table(union, components), weights, EnsembleConfig(operation))


def mixtures():
    """[6, 4, 3]: equal, all on one, very unequal, and as they come."""
    rng = np.random.default_rng(3)
    mixture = np.exp(3 * rng.normal(size=(NUM_SENTENCES, 4, 3)))
    mixture[0], mixture[1], mixture[2] = 1, [1, 0, 0], [1e-8, 1, 1e4]
    return mixture


@pytest.mark.parametrize("kind", ["counts", "negative", "provenance", "wsum", "wmax", "prod"])
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_bounds_leave_the_best_rules(components, rules, kind, limit):
    if kind in MIXING:
        rules = ensemble_of(components, kind)
    rng = np.random.default_rng(limit)
    words = list(range(6, len(rules.grammar.source_vocabulary)))
    sentences = ragged_from_rows([rng.choice(words, length).tolist() for length in (5, 4, 5, 0, 1, 5)])
    matches = match_patterns(rules.grammar.trie, sentences, 4)
    of = np.array([0, 1, 1, 0, 0, 0])  # two different vectors w, and six λ
    rule = rng.uniform(0.1, 1, (2, 4)) * [1, 1, -1 if kind == "negative" else 1, 1]
    if kind == "provenance":
        rules = provenance_rules(rules, rules.union, Provenance((1.0, 3.0)))
        rule = np.concatenate([rule, rng.normal(0, 2, (2, 9))], 1)
    rule, mixture = (rule[:, :1], mixtures()[:, 0]) if kind in MIXING else (rule, mixtures())
    weights = SearchWeights(rule[of], lm=np.array([0.1, 0.5])[of]).of_sentences(NUM_SENTENCES, rule.shape[1])
    profiles = distinct_profiles(weights, rules.check_mixture(mixture, NUM_SENTENCES), ())
    num = len(rules.grammar.target_sides)
    columns = rng.normal(size=(2, num, 1)).astype(np.float32), rng.integers(0, 4, num).astype(np.int32)
    programs = Programs(np.zeros((1, 1)), np.zeros((num, 1)), *columns[0], columns[1])

    def programs_fn(pairs, profile, _):
        return [PlacedPrograms(programs, rules.grammar.target_index[pairs])]

    assert [model.bounded is not None for model in (rules, Plain(rules))] == [True, False]
    found, expected = (rank_rules(model, matches, profiles, programs_fn, limit) for model in (rules, Plain(rules)))
    for name in ("pair", "list", "target"):
        np.testing.assert_array_equal(getattr(found.entries, name), getattr(expected.entries, name))
    np.testing.assert_allclose(found.entries.score, expected.entries.score, atol=1e-4)
    np.testing.assert_array_equal(found.rule_list, expected.rule_list)
    assert (found.num_lists, len(found.matches)) == (expected.num_lists, len(expected.matches))
    assert (len(found.matches) < len(matches)) == (kind != "prod")  # there is a λ that is all on one component
    assert np.bincount(found.entries.list).max() <= limit
    values = plain_values(rules, matches, profiles, programs)
    for number in range(found.num_lists):
        profile, side = values["keys"][number]
        scored = sorted(values[profile, side], key=lambda item: (-item[0], item[1]))[:limit]
        rows = found.entries.list == number
        np.testing.assert_array_equal(found.entries.pair[rows], [pair for _, pair in scored])


def plain_values(rules, matches, profiles, programs):
    """Of each (profile, side) that matches use, in order: [(value ranked by, pair)]."""
    keys = sorted(
        {(int(profiles.of_sentence[s]), int(side)) for s, side in zip(matches.sentence, matches.side, strict=True)}
    )
    values = {"keys": keys}
    for profile, side in keys:
        pairs = np.arange(*rules.grammar.first_pair[side : side + 2])
        target = rules.grammar.target_index[pairs]
        weights = {name: value[profile] for name, value in vars(profiles.weights).items()}
        features = rules.features(pairs, np.full(len(pairs), profile), profiles.mixture)
        exists = features[:, 0] > -np.inf
        total = np.where(exists[:, None], features, 0) @ weights["rule"] + weights["phrase_penalty"]
        total += programs.log_p[target] @ weights["lm"]
        total -= weights["word_penalty"] * programs.num_words[target]
        values[profile, side] = list(zip(total[exists].tolist(), pairs[exists].tolist(), strict=True))
    return values


def test_a_component_of_weight_zero_has_no_say(rules):
    counts, pairs = rules.union.statistics.joint_counts, np.arange(len(rules.union))
    for component, weights in enumerate(np.eye(3)):
        mixture = rules.check_mixture(np.repeat(weights[None], 4, 0), 1)
        features = rules.features(pairs, np.zeros(len(pairs), int), mixture)
        np.testing.assert_array_equal(np.isfinite(features), np.repeat(counts[component][:, None] > 0, 4, 1))


def test_no_feature_is_above_its_bound(rules):
    statistics, mixture = rules.union.statistics, rules.check_mixture(mixtures(), NUM_SENTENCES)
    pairs = np.tile(np.arange(len(rules.union)), NUM_SENTENCES)
    profile = np.repeat(np.arange(NUM_SENTENCES), len(rules.union))
    features = application_features(statistics, mixture, pairs, profile)
    shift = rules.bound_shift(statistics.source_index[pairs], profile, mixture)
    gap = rules.bounds[pairs] + shift - features
    assert gap.min() > -1e-4
    assert np.median(gap, axis=0).max() < 3  # a bound of no use would be far away
    one = build_union(
        [to_component(random_model(np.random.default_rng(1), 30, "hiero"), "one", np.random.default_rng(2))]
    )
    exact = mixed_rules(one)
    everything, zeros = np.arange(len(one)), np.zeros(len(one), int)
    mixture = exact.check_mixture(np.full((4, 1), 7.0), 1)
    shift = exact.bound_shift(one.statistics.source_index, zeros, mixture)
    np.testing.assert_allclose(exact.bounds + shift, exact.features(everything, zeros, mixture), atol=1e-4)
    assert feature_bounds(
        build_union(
            [to_component(random_model(np.random.default_rng(1), 0), "none", np.random.default_rng(2))]
        ).statistics
    ).shape == (0, 4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 4)), max_size=60), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_the_best_of_lists_come_sorted(items, limit):
    items.sort(key=lambda item: item[0])
    owner, values = np.array([item[0] for item in items], int), np.array([item[1] for item in items], np.float32) / 3
    order = sorted(range(len(items)), key=lambda place: (owner[place], -values[place], place))
    seen = [sum(owner[other] == owner[place] for other in order[:rank]) for rank, place in enumerate(order)]
    expected = [place for place, before in zip(order, seen, strict=True) if before < limit]
    assert best_of_lists(values, owner, limit).tolist() == expected
