"""Ensembles and mixtures in the chart, against enumeration of all derivations and against single models."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.ensemble import EnsembleConfig
from jaxsmt.search.rules.ensemble_spans import ensemble_rules
from jaxsmt.search.rules.mixtures import linear_rules
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.tm.features import pair_features
from tests.search.ensemble_oracle import EPSILON, Small, small_models, translations
from tests.search.search_oracle import WEIGHTS, random_lm, random_table, with_lm
from tests.tm.small_models import Model, to_component

SEARCH = replace(WEIGHTS, rule=(1.0,))
WIDE = Beam(kept=64, rules=64, expanded=48, neighbours=320, rule_slack=100.0, neighbour_slack=100.0)
TEXTS = ["", "f1", "f0 f2", "f2 f1 f0", "f1 f1 f2 f0", "f0 nobody f1 f2", "f2 f0 f1 f1"]
LAMBDA = np.array([[1, 1, 1], [3, 1, 1], [1, 0, 2], [0.2, 5, 1], [1, 1, 9], [2, 1, 0.5], [0, 1, 1]], np.float32)
CONFIGS = {
    "wsum": EnsembleConfig("wsum", normalise_weights=False),
    "wmax": EnsembleConfig("wmax", normalise_weights=False),
    "prod": EnsembleConfig("prod", epsilon=EPSILON, normalise_weights=False),
    "switch:max": EnsembleConfig("switch:max", normalise_weights=False),
    "switch:sum": EnsembleConfig("switch:sum", normalise_weights=False),
    "literal": EnsembleConfig("switch:max", literal=True, normalise_weights=False),
    "normalised spans": EnsembleConfig("wsum", normalise_spans=True, normalise_weights=False),
}


@pytest.fixture(scope="module")
def small() -> Small:
    return small_models(13)


@pytest.fixture(scope="module")
def automaton():
    """The one of test_search_nbest, so that tests share compiled programs."""
    random = np.random.default_rng(4)
    random_table(random, 12, 2)
    return random_lm(random, 3)


def decoder_of(small, automaton, rules):
    return make_decoder(rules, [LmFeatures(automaton, small.lm_ids)], SearchConfig(WIDE, max_span=3))


def words_of(small, derivation):
    """Target words; source positions for unknown ones."""
    return [small.union.target_vocabulary.decode([t])[0] if t > 0 else t for t in derivation.tokens]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_chart_finds_the_best_derivation_of_each_operation(small, automaton, name):
    config, sentences = CONFIGS[name], small.sentences(TEXTS)
    decoder = decoder_of(small, automaton, ensemble_rules(small.union, small.table, small.weights, config))
    request = Request(sentences, weights=SEARCH, mixture=LAMBDA)
    together = decoder.translate(request)
    np.testing.assert_allclose([item.score for item in together], rescore(decoder, request, together).score, atol=1e-4)
    for row, derivation in enumerate(together):
        weights = LAMBDA[row].astype(float) / LAMBDA[row].sum()
        found = translations(small, config, weights, sentences[row], max_span=3)
        best, _ = with_lm(found, automaton, lm_ids=small.lm_ids)[0]
        assert derivation.score == pytest.approx(best, abs=1e-4)
    for row in (3, 4, 6):  # the same on its own
        alone = Request(sentences.take(np.array([row])), weights=SEARCH, mixture=LAMBDA[row])
        (derivation,) = decoder.translate(alone)
        assert derivation.root == together[row].root
        assert derivation.score == pytest.approx(together[row].score, abs=1e-6)


def test_lists_of_an_ensemble_are_complete_and_rescored(small, automaton):
    config, sentences = CONFIGS["switch:max"], small.sentences(TEXTS)
    decoder = decoder_of(small, automaton, ensemble_rules(small.union, small.table, small.weights, config))
    request = Request(sentences, weights=SEARCH, mixture=LAMBDA)
    lists = nbest(decoder, request, 1000)
    for row, found in enumerate(lists):
        weights = LAMBDA[row].astype(float) / LAMBDA[row].sum()
        expected = translations(small, config, weights, sentences[row], max_span=3)
        expected = {tokens: score for score, tokens in with_lm(expected, automaton, lm_ids=small.lm_ids)}
        assert {item.tokens for item in found} == set(expected)
        np.testing.assert_allclose([item.score for item in found], [expected[item.tokens] for item in found], atol=1e-4)
        features = rescore(decoder, request, found, [row] * len(found))
        np.testing.assert_allclose(features.score, [item.score for item in found], atol=1e-4)


def single(small, d):
    """The model with component d only."""
    return Small(small.models[d : d + 1], small.components[d : d + 1], small.weights[d : d + 1])


def translate_alone(small, automaton, d):
    """Words and scores of TEXTS by component d as an ordinary model with its own weights."""
    one = single(small, d)
    ids = np.append(
        small.lm_ids[:6],
        [small.lm_ids[small.union.target_vocabulary.id_of[w]] for w in one.union.target_vocabulary.words],
    )
    decoder = make_decoder(
        mixed_rules(one.union), [LmFeatures(automaton, ids.astype(np.int32))], SearchConfig(WIDE, max_span=3)
    )
    request = Request(one.sentences(TEXTS), weights=replace(WEIGHTS, rule=tuple(one.weights[0].tolist())))
    return [(words_of(one, item), item.score) for item in decoder.translate(request)]


@pytest.fixture(scope="module")
def alone(small, automaton):
    return [translate_alone(small, automaton, d) for d in range(3)]


@pytest.mark.parametrize("name", ["wsum", "wmax", "switch:max", "switch:sum", "literal", "normalised spans", "linear"])
def test_all_weight_on_one_component_is_that_component(small, automaton, alone, name):
    is_linear = name == "linear"
    rules = (
        linear_rules(small.union, small.table)
        if is_linear
        else ensemble_rules(small.union, small.table, small.weights, CONFIGS[name])
    )
    decoder = decoder_of(small, automaton, rules)
    for d, expected in enumerate(alone):
        mixture = np.eye(3)[d]
        request = Request(small.sentences(TEXTS), weights=SEARCH, mixture=mixture)
        if is_linear:
            weights = replace(WEIGHTS, rule=tuple(small.weights[d].tolist()))
            request = replace(request, weights=weights, mixture=np.repeat(mixture[None], 4, 0))
        found = decoder.translate(request)
        assert [words_of(small, item) for item in found] == [words for words, _ in expected]
        np.testing.assert_allclose([item.score for item in found], [score for _, score in expected], atol=1e-4)


def test_an_ensemble_of_one_component_is_the_component(small, automaton, alone):
    one = single(small, 2)
    ids = small.lm_ids[
        [*range(6), *(small.union.target_vocabulary.id_of[w] for w in one.union.target_vocabulary.words)]
    ]
    for name, config in CONFIGS.items():
        rules = ensemble_rules(one.union, one.table, one.weights, config)
        decoder = make_decoder(rules, [LmFeatures(automaton, ids)], SearchConfig(WIDE, max_span=3))
        found = decoder.translate(Request(one.sentences(TEXTS), weights=SEARCH))
        assert [words_of(one, item) for item in found] == [words for words, _ in alone[2]], name
        np.testing.assert_allclose([item.score for item in found], [score for _, score in alone[2]], atol=1e-4)


def test_equal_counts_weights_are_the_concatenated_model(automaton):
    small = small_models(29, kinds=("hiero",) * 3)
    joined = concatenation(small.models)
    rng = np.random.default_rng(0)
    one = Small([joined], [to_component(joined, "all", rng, "hiero")], small.weights[:1])
    order = [one.pairs.index(pair) for pair in small.pairs]
    found, expected = (
        pair_features(view.statistics, np.ones((4, len(view.names)), np.float32), np.arange(len(view)))
        for view in (small.union, one.union)
    )
    np.testing.assert_allclose(found, expected[order], atol=1e-5)
    assert len(small.pairs) == len(one.pairs) < sum(len(model.joint) for model in small.models)
    outputs = []
    for model in (small, one):
        ids = [*range(6), *(6 + ord(word[1]) % 6 for word in model.union.target_vocabulary.words)]
        config = SearchConfig(WIDE, max_span=3)
        decoder = make_decoder(mixed_rules(model.union), [LmFeatures(automaton, np.array(ids))], config)
        derivations = decoder.translate(Request(model.sentences(TEXTS), weights=WEIGHTS))
        outputs.append([(words_of(model, item), pytest.approx(item.score, abs=1e-4)) for item in derivations])
    assert outputs[0] == outputs[1]


def concatenation(models):
    """The model of all texts together: counts are sums, alignments those of the first model that has the pair."""

    def summed(name):
        keys = {key for model in models for key in getattr(model, name)}
        return {key: sum(getattr(model, name).get(key, 0.0) for model in models) for key in sorted(keys, key=str)}

    def first(name):
        return {key: value for model in reversed(models) for key, value in getattr(model, name).items()}

    counts = {name: summed(name) for name in ("joint", "source", "target", "words", "source_words", "target_words")}
    return Model(**counts, links_by_target=first("links_by_target"), links_by_source=first("links_by_source"))
