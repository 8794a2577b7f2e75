"""The chart against enumeration of all derivations."""

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.model import fixed_rules, mixed_rules
from jaxsmt.text.vocabulary import NUM_RESERVED
from jaxsmt.tm.reordering import with_orientation_weights
from jaxsmt.tm.union import build_union
from tests.search.search_oracle import TARGET, WEIGHTS, random_lm, random_sentences, random_table, scored_translations
from tests.tm.small_models import random_model, to_component

WIDE = Beam(kept=64, rules=64, expanded=48, neighbours=320, rule_slack=100.0, neighbour_slack=100.0)
NARROW = Beam(kept=2, rules=4, expanded=2, neighbours=3)


def decode(table, automaton, sentences, config):
    decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], config)
    request = Request(sentences, weights=WEIGHTS)
    derivations = decoder.translate(request)
    return derivations, rescore(decoder, request, derivations)


def lm_of(order):
    """One model for each order, so that tests share compiled programs."""
    return random_lm(np.random.default_rng(order), order)


@pytest.mark.parametrize(("order", "max_gaps"), [(1, 2), (2, 1), (3, 2), (3, 0), (4, 2), (4, 0)])
def test_a_wide_beam_finds_the_best_of_all_derivations(order, max_gaps):
    random = np.random.default_rng(10 * order + max_gaps)
    table, automaton = random_table(random, 14, max_gaps), lm_of(order)
    sentences = random_sentences(random, [0, 1, 2, 3, 4, 4, 4])
    derivations, features = decode(table, automaton, sentences, SearchConfig(WIDE, max_span=3))
    for row, derivation in enumerate(derivations):
        score, _ = scored_translations(table, automaton, sentences[row], max_span=3)[0]
        assert derivation.score == pytest.approx(score, abs=1e-4)
        assert features.score[row] == pytest.approx(score, abs=1e-4)


def test_a_narrow_beam_states_the_score_of_what_it_found():
    random = np.random.default_rng(2)
    table, automaton = random_table(random, 30, 2), lm_of(4)
    sentences = random_sentences(random, [5] * 4)
    derivations, features = decode(table, automaton, sentences, SearchConfig(NARROW, max_span=4))
    for row, derivation in enumerate(derivations):
        found = {tokens: score for score, tokens in scored_translations(table, automaton, sentences[row], max_span=4)}
        assert derivation.tokens in found
        assert derivation.score <= max(found.values()) + 1e-4
        assert features.score[row] == pytest.approx(derivation.score, abs=1e-4)


def test_blocks_can_be_swapped():
    random = np.random.default_rng(5)
    table, automaton = random_table(random, 12, 0), lm_of(3)
    sentences = random_sentences(random, [4, 4, 4])
    config = SearchConfig(WIDE, max_span=4, swap_span=3)
    derivations, features = decode(table, automaton, sentences, config)
    for row, derivation in enumerate(derivations):
        best = scored_translations(table, automaton, sentences[row], max_span=4, swap_span=3)[0][0]
        assert derivation.score == pytest.approx(best, abs=1e-4)
        assert features.score[row] == pytest.approx(best, abs=1e-4)


def test_language_models_are_mixed_for_each_sentence():
    random = np.random.default_rng(9)
    text = [random.integers(NUM_RESERVED, len(TARGET), random.integers(1, 8)).tolist() for _ in range(90)]
    parts = [ragged_from_rows(text[:40]), ragged_from_rows(text[40:])]
    automaton, _ = build_union_automaton([estimate_lm(part, TARGET, LmConfig(order=3)) for part in parts])
    table, sentences = random_table(random, 20, 2), random_sentences(random, [4, 5, 5])
    decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], SearchConfig(NARROW, max_span=4))
    mixture = np.array([[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]], np.float32)
    request = Request(sentences, weights=WEIGHTS, lm_mixture=mixture)
    together = decoder.translate(request)
    scores = rescore(decoder, request, together).score
    np.testing.assert_allclose([item.score for item in together], scores, atol=1e-4)
    for row in range(3):
        alone = Request(sentences.take(np.array([row])), weights=WEIGHTS, lm_mixture=mixture[row])
        assert decoder.translate(alone)[0].tokens == together[row].tokens
    with pytest.raises(UserError, match="there are 2 language models"):
        decoder.translate(Request(sentences, weights=WEIGHTS))


def test_component_weights_of_each_sentence_are_its_own():
    random = np.random.default_rng(12)
    components = [to_component(random_model(random, 40, "hiero"), name, random, "hiero") for name in ("one", "two")]
    union = build_union(components)
    words = union.target_vocabulary.encode(union.target_vocabulary.words)
    text = [random.choice(words, random.integers(1, 8)).tolist() for _ in range(40)]
    automaton = build_automaton(estimate_lm(ragged_from_rows(text), union.target_vocabulary, LmConfig(order=4)))
    decoder = make_decoder(mixed_rules(union), [LmFeatures(automaton)], SearchConfig(NARROW, max_span=5))
    source = union.source_vocabulary.encode(union.source_vocabulary.words)
    sentences = ragged_from_rows([random.choice(source, 6).tolist() for _ in range(3)])
    mixture = random.uniform(0.01, 5, (3, 4, 2))
    request = Request(sentences, weights=WEIGHTS, mixture=mixture)
    together = decoder.translate(request)
    np.testing.assert_allclose([item.score for item in together], rescore(decoder, request, together).score, atol=1e-3)
    for row in range(3):
        alone = Request(sentences.take(np.array([row])), weights=WEIGHTS, mixture=mixture[row])
        (item,) = decoder.translate(alone)
        assert item.tokens == together[row].tokens
        assert item.score == pytest.approx(together[row].score, abs=1e-5)
    with_orientations = with_orientation_weights(mixture, random.uniform(0.01, 5, (3, 2)))  # which the chart ignores
    for one, other in zip(
        decoder.translate(Request(sentences, weights=WEIGHTS, mixture=with_orientations)), together, strict=True
    ):
        assert (one.root, one.score) == (other.root, other.score)
    same = decoder.translate(Request(sentences, weights=WEIGHTS, mixture=np.ones((4, 2))))
    assert any(one.score != other.score for one, other in zip(same, together, strict=True))
