"""Features of where rules were seen: against dictionaries, brute force in both searches, and rescoring."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.search.rules.provenance import provenance_rules
from jaxsmt.search.weights import UNKNOWN_STEP
from jaxsmt.text.vocabulary import NONTERMINALS
from jaxsmt.tm.provenance import Provenance
from tests.search import search_oracle, stack_oracle
from tests.search.ensemble_oracle import small_models
from tests.search.search_oracle import random_lm, translations_by, with_lm
from tests.search.stack_oracle import all_outputs
from tests.search.test_search_decoder import WIDE
from tests.search.test_stack_decoder import WIDE as WIDE_STACK

TEXTS = ["", "f0", "f1 f2", "f2 nobody f0", "f0 f1 f0 f2"]
BINS = {"seen": (), "counts": (1.0, 3.0)}
MIXTURE = np.array([[1.0, 2.0, 0.5]] * 4)


@pytest.fixture(scope="module")
def small():
    return small_models(4)


@pytest.fixture(scope="module")
def phrases():
    return small_models(6, (12, 9, 9), ("phrase",) * 3)


def slow_seen(small, pair, bins):
    """The definition, component by component and bin by bin."""
    found = []
    for model in small.models:
        count = model.joint.get(small.pairs[pair], 0.0)
        for low, high in zip((0.0, *bins), (*bins, float("inf")), strict=True):
            found.append(float(low < count <= high))
    return found


@pytest.mark.parametrize("name", BINS)
@pytest.mark.parametrize("kind", ["counts", "linear", "loglinear", "fillup"])
def test_features_stand_behind_those_of_any_mixture(small, kind, name):
    models = {
        "counts": lambda: mixed_rules(small.union),
        "linear": lambda: linear_rules(small.union, small.table),
        "loglinear": lambda: log_linear_rules(small.union, small.table),
        "fillup": lambda: fill_up_rules(small.union, small.table),
    }
    inner, provenance = models[kind](), Provenance(BINS[name])
    rules = provenance_rules(inner, small.union, provenance)
    mixture = rules.check_mixture([[[1.0, 0.0, 0.0]] * 4, MIXTURE], 2)
    pairs = np.tile(np.arange(len(small.pairs)), 2)
    profile = np.repeat([0, 1], len(small.pairs))
    found, own = rules.features(pairs, profile, mixture), inner.features(pairs, profile, mixture)
    np.testing.assert_array_equal(found[:, : own.shape[1]], own)
    expected = np.array([slow_seen(small, pair, provenance.bins) for pair in pairs])
    exists = own[:, 0] > -np.inf
    assert exists.all() == (kind in ("loglinear", "fillup"))
    np.testing.assert_array_equal(found[exists, own.shape[1] :], expected[exists])
    assert (found[~exists] == -np.inf).all()
    names = rules.grammar.feature_names
    assert len(names) == len(set(names)) == found.shape[1] == own.shape[1] + provenance.num_features(3)
    for size in (0, 1):
        some = rules.features(pairs[:size], profile[:size], mixture)
        np.testing.assert_array_equal(some, found[:size])
    assert rules.orientation_names == inner.orientation_names
    assert (rules.bounded is None) == (inner.bounded is None)


def test_bins_are_checked_and_named():
    for wrong in ((3.0, 1.0), (0.0,), (1.0, 1.0), (float("inf"),)):
        with pytest.raises(UserError, match=r"tm\.count_bins"):
            Provenance(wrong)
    assert Provenance((1.0,)).names(["law"]) == ("seen in law more than 0", "seen in law more than 1")
    assert Provenance().names(["law", "it"]) == ("seen in law more than 0", "seen in it more than 0")
    assert Provenance((2.0,)).features(np.array([[0, 0.2, 2, 2.1]])).tolist() == [[0, 0], [1, 0], [1, 0], [0, 1]]


def weighted(small, base, bins, seed):
    """Search weights with some for provenance, of both signs; and w·h of all pairs under MIXTURE, by the definition."""
    own = np.random.default_rng(seed).normal(0, 1, 3 * (len(bins) + 1))
    weights = replace(base, rule=(*base.rule, *own.tolist()))
    numbers = np.arange(len(small.pairs))
    features = mixed_rules(small.union).features(numbers, np.zeros_like(numbers), MIXTURE[None])
    seen = np.array([slow_seen(small, pair, bins) for pair in numbers])
    return weights, features @ np.array(base.rule) + seen @ own


def check_lists(decoder, request, expected, lm_ids, automaton):
    """n-best scores are those of brute force, {tokens: score} of each sentence, and of rescoring."""
    lists = nbest_arrays(decoder, request, 20, keep_trees=True)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    again = rescore(decoder, request, derivations, lists.sentence)
    np.testing.assert_allclose(lists.features.rule, again.rule, atol=1e-5)
    np.testing.assert_allclose(lists.score, again.score, atol=1e-4)
    for row, found in enumerate(expected):
        best = with_lm(found, automaton, replace(request.weights, rule=(1.0,)), lm_ids)
        part = slice(*lists.offsets[row : row + 2])
        np.testing.assert_allclose(lists.score[part][0], best[0][0], atol=1e-4)
        by_tokens = {tokens: score for score, tokens in best}
        for tokens, score in zip(list(map(tuple, lists.tokens))[part], lists.score[part], strict=True):
            assert score <= by_tokens[tuple(map(int, tokens))] + 1e-4


@pytest.mark.parametrize("name", BINS)
def test_the_chart_finds_the_best_of_all(small, name):
    weights, scores = weighted(small, replace(search_oracle.WEIGHTS, unknown=0.07), BINS[name], 1)
    automaton, sentences = random_lm(np.random.default_rng(3), 3), small.sentences(TEXTS)
    rules = provenance_rules(mixed_rules(small.union), small.union, Provenance(BINS[name]))
    decoder = make_decoder(rules, [LmFeatures(automaton, small.lm_ids)], SearchConfig(WIDE, max_span=3))
    known = {}
    for number, score in enumerate(scores.tolist()):
        source, target = small.sides(number)
        words = sum(token not in NONTERMINALS for token in target)
        known.setdefault(source, []).append((target, score + weights.phrase_penalty - weights.word_penalty * words))
    expected = [
        translations_by(lambda start, end: known, sentences[row], 3, weights=weights) for row in range(len(TEXTS))
    ]
    check_lists(decoder, Request(sentences, weights=weights, mixture=MIXTURE), expected, small.lm_ids, automaton)


@pytest.mark.parametrize("name", BINS)
def test_stacks_find_the_best_of_all(phrases, name):
    base = replace(stack_oracle.WEIGHTS, reordering=(0.0,) * 6)
    weights, scores = weighted(phrases, base, BINS[name], 2)
    automaton, sentences = random_lm(np.random.default_rng(3), 3), phrases.sentences(TEXTS)
    rules = provenance_rules(mixed_rules(phrases.union), phrases.union, Provenance(BINS[name]))
    config = SearchConfig(table_limit=50, kind="stack", stack=WIDE_STACK)
    decoder = make_decoder(rules, [LmFeatures(automaton, phrases.lm_ids)], config)
    expected = [all_outputs(options_of(phrases, scores, sentence, weights), len(sentence), 6, weights)
                for sentence in (sentences[row] for row in range(len(TEXTS)))]  # fmt: skip
    check_lists(decoder, Request(sentences, weights=weights, mixture=MIXTURE), expected, phrases.lm_ids, automaton)


def options_of(phrases, scores, sentence, weights):
    """{(start, end): [(target, score with penalties, orientations)]}, as `stack_oracle.options_of`."""
    found = {}
    for start in range(len(sentence)):
        for end in range(start + 1, len(sentence) + 1):
            words = tuple(sentence[start:end].tolist())
            sides = ((phrases.sides(number), scores[number]) for number in range(len(scores)))
            options = [(target, score) for (source, target), score in sides if source == words]
            if end - start == 1 and not options:
                options = [((-1 - start,), weights.unknown * UNKNOWN_STEP)]
            found[start, end] = [
                (target, score + weights.phrase_penalty - weights.word_penalty * len(target), np.zeros(6))
                for target, score in options
            ]
    return {span: options for span, options in found.items() if options}


def test_negative_weights_of_provenance_leave_bounds_in_use(small, monkeypatch):
    def refuse(*_):
        raise AssertionError("all pairs were scored")

    monkeypatch.setattr("jaxsmt.search.plan.lists._all_pairs", refuse)
    rules = provenance_rules(mixed_rules(small.union), small.union, Provenance((1.0,)))
    decoder = make_decoder(
        rules, [LmFeatures(random_lm(np.random.default_rng(3), 3), small.lm_ids)], SearchConfig(WIDE, max_span=3)
    )
    base = search_oracle.WEIGHTS
    request = Request(small.sentences(TEXTS), mixture=MIXTURE)
    decoder.translate(replace(request, weights=replace(base, rule=(*base.rule, *[-1.0] * 6))))
    with pytest.raises(AssertionError, match="all pairs"):
        decoder.translate(replace(request, weights=replace(base, rule=(*base.rule[:3], -1.0, *[-1.0] * 6))))


def test_weights_of_zero_change_nothing(small):
    automaton, base = random_lm(np.random.default_rng(2), 2), search_oracle.WEIGHTS
    config = SearchConfig(WIDE, max_span=3, table_limit=3)
    request = Request(small.sentences(TEXTS), weights=base, mixture=MIXTURE)
    plain = make_decoder(mixed_rules(small.union), [LmFeatures(automaton, small.lm_ids)], config).translate(request)
    rules = provenance_rules(mixed_rules(small.union), small.union, Provenance())
    decoder = make_decoder(rules, [LmFeatures(automaton, small.lm_ids)], config)
    found = decoder.translate(replace(request, weights=replace(base, rule=(*base.rule, 0.0, 0.0, 0.0))))
    assert [(item.root, item.score) for item in found] == [(item.root, item.score) for item in plain]
    with pytest.raises(UserError, match=r"weights\.rule has shape \[4\]: give 7 numbers"):
        decoder.translate(request)
