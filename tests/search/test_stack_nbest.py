"""n-best lists of the stack search: scores and features from scratch, mixtures, ensembles."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest, nbest_arrays
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.ensemble import EnsembleConfig
from jaxsmt.search.rules.ensemble_spans import ensemble_rules
from jaxsmt.search.rules.mixtures import log_linear_rules
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.text.vocabulary import NUM_RESERVED
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.union import build_union
from tests.search.search_oracle import TARGET, random_lm, random_sentences
from tests.search.stack_oracle import WEIGHTS, random_setting, scored_outputs
from tests.search.test_stack_decoder import WIDE, decoder_of
from tests.tm.small_models import random_model, to_component


@pytest.fixture(scope="module")
def setting():
    table, orientations, automaton, random = random_setting(21)
    return table, orientations, automaton, random_sentences(random, [0, 1, 3, 4, 4, 5])


def test_lists_have_the_best_outputs_of_all(setting):
    table, orientations, automaton, sentences = setting
    decoder = decoder_of(table, orientations, automaton)
    lists = nbest_arrays(decoder, Request(sentences, weights=WEIGHTS), 10)
    for row in range(len(sentences)):
        expected = [score for score, _ in scored_outputs(table, orientations, automaton, sentences[row], 6)[:10]]
        found = lists.score[lists.offsets[row] : lists.offsets[row + 1]]
        assert len(found) == len(expected)
        np.testing.assert_allclose(found[0], expected[0], atol=1e-4)
        assert (found <= np.array(expected) + 1e-4).all()
        if row < 4:  # short enough for nothing to be pruned
            np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("distinct", [False, True])
def test_rescoring_reproduces_every_score_and_feature(setting, distinct):
    table, orientations, automaton, sentences = setting
    decoder = decoder_of(table, orientations, automaton)
    forced = {(3, 1, 3): [NUM_RESERVED, NUM_RESERVED + 1]}
    request = Request(sentences, weights=WEIGHTS, forced=forced)
    lists = nbest_arrays(decoder, request, 30, distinct, keep_trees=True, keep_links=True)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    again = rescore(decoder, request, derivations, lists.sentence)
    for name, values in vars(again).items():
        if name not in ("names", "lm_names"):
            np.testing.assert_allclose(getattr(lists.features, name), values, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(lists.score, again.score, atol=1e-4)
    assert [tuple(row) for row in map(list, lists.tokens)] == [item.tokens for item in derivations]
    links = [list(map(tuple, lists.links[number].tolist())) for number in range(len(derivations))]
    assert links == [item.alignment for item in derivations]
    assert any(links)
    best = decoder.translate(request)
    np.testing.assert_allclose([item.score for item in best], lists.score[lists.offsets[:-1]], rtol=1e-6)
    trees = [item for found in nbest(decoder, request, 30, distinct) for item in found]
    assert [item.root for item in trees] == [item.root for item in derivations]


def test_features_are_those_of_the_definition():
    """Two phrases, swapped by force of the weights."""
    table, orientations, automaton, random = random_setting(22, num_phrases=40)
    sentences = random_sentences(random, [2, 0])
    weights = replace(WEIGHTS, distortion=-3.0)  # rewards jumps
    decoder = decoder_of(table, orientations, automaton)
    request = Request(sentences, weights=weights)
    derivation = decoder.translate(request)[0]
    features = rescore(decoder, request, [derivation], [0])
    assert [(start, end) for start, end, _ in derivation.segments] == [(1, 2), (0, 1)]
    assert features.distortion[0] == -3  # from 0 to 1, from 2 back to 0
    assert features.phrase_penalty[0] == 2
    assert features.word_penalty[0] == -len(derivation.tokens)
    last, first = (node.pair for node in derivation.nodes[:2])
    logs = np.log(np.nan_to_num(orientations, nan=1.0))
    expected = np.zeros(6)
    expected[2] = logs[first, 2] if first >= 0 else 0  # the first phrase does not begin at 0: other
    expected[1] = logs[last, 1] if last >= 0 else 0
    expected[4] = logs[first, 4] if first >= 0 else 0
    np.testing.assert_allclose(features.reordering[0], expected, atol=1e-5)


@pytest.fixture(scope="module")
def components():
    """Two components of phrases with orientation counts."""
    random = np.random.default_rng(3)
    made = []
    for name in ("in", "out"):
        component = to_component(random_model(random, 25), name, random)
        counts = random.integers(0, 5, (len(component), 6)).astype(np.float32)
        made.append(replace(component, rules=replace(component.rules, orientation_counts=counts)))
    return made


TEXTS = [[], ["f1"], ["f0", "f2", "f1"], ["f2", "nobody", "f0", "f1"], ["f1", "f1", "f2", "f0", "f0"]]


def decoder_and_sentences(union, rules):
    """One language model for all unions: by the words' names."""
    ids = [NUM_RESERVED + int(word[1:]) % (len(TARGET) - NUM_RESERVED) for word in union.target_vocabulary.words]
    lm_ids = np.array([*range(NUM_RESERVED), *ids], np.int32)
    config = SearchConfig(table_limit=8, kind="stack", stack=WIDE)
    decoder = make_decoder(rules, [LmFeatures(random_lm(np.random.default_rng(3), 3), lm_ids)], config)
    return decoder, ragged_from_rows([union.source_vocabulary.encode(row) for row in TEXTS])


def test_one_component_and_a_one_hot_mixture_agree(components):
    scores = []
    for some, mixture in ((components[:1], None), (components, np.tile(np.array([1.0, 0.0]), (4, 1)))):
        union = build_union(some)
        decoder, sentences = decoder_and_sentences(union, mixed_rules(union))
        found = decoder.translate(Request(sentences, weights=WEIGHTS, mixture=mixture))
        scores.append([item.score for item in found])
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)


@pytest.mark.parametrize("operation", ["wsum", "wmax", "prod", "switch:max", "switch:sum"])
def test_ensembles_state_the_score_of_their_definition(components, operation):
    union = build_union(components)
    table = component_table(union, components)
    rules = ensemble_rules(union, table, np.full((2, 4), 0.25), EnsembleConfig(operation))
    decoder, sentences = decoder_and_sentences(union, rules)
    mixture = np.array([[1, 1], [2, 1], [1, 3], [1, 9], [5, 1]], np.float32)
    request = Request(sentences, weights=replace(WEIGHTS, rule=(1.0,)), mixture=mixture)
    lists = nbest_arrays(decoder, request, 5, keep_trees=True)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    again = rescore(decoder, request, derivations, lists.sentence)
    np.testing.assert_allclose(lists.score, again.score, atol=1e-4)
    assert any(node.pair >= 0 for item in derivations for node in item.nodes)


def test_all_tables_of_a_log_linear_mixture_count(components):
    union = build_union(components)
    rules = log_linear_rules(union, component_table(union, components))
    decoder, sentences = decoder_and_sentences(union, rules)
    weights = replace(WEIGHTS, rule=(0.2,) * 8, reordering=tuple(np.linspace(0.1, 0.5, 12)))
    request = Request(sentences, weights=weights)
    lists = nbest_arrays(decoder, request, 5)
    assert lists.features.reordering.shape[1] == 12
    np.testing.assert_allclose(lists.score, lists.features.score, atol=1e-4)
