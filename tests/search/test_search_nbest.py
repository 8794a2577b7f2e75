"""n-best lists: complete on tiny grammars, sorted, without duplicates, exact."""

import numpy as np
import pytest

from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest
from jaxsmt.search.nbest.moses import nbest_lines, output_words
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.model import fixed_rules
from tests.search.search_oracle import TARGET, WEIGHTS, random_lm, random_sentences, random_table, scored_translations

WIDE = Beam(kept=64, rules=64, expanded=48, neighbours=320, rule_slack=100.0, neighbour_slack=100.0)


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(4)
    table, automaton = random_table(random, 12, 2), random_lm(random, 3)
    sentences = random_sentences(random, [0, 1, 2, 3, 3])
    decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], SearchConfig(WIDE, max_span=3))
    return table, automaton, decoder, Request(sentences, weights=WEIGHTS)


def test_all_translations_of_a_tiny_grammar_are_listed(model):
    table, automaton, decoder, request = model
    for row, found in enumerate(nbest(decoder, request, 1000)):
        expected = scored_translations(table, automaton, request.sentences[row], max_span=3)
        assert {derivation.tokens for derivation in found} == {tokens for _, tokens in expected}
        np.testing.assert_allclose([item.score for item in found], [score for score, _ in expected], atol=1e-4)


def test_lists_are_sorted_and_prefixes_of_longer_ones(model):
    *_, decoder, request = model
    longest = nbest(decoder, request, 9, distinct=False)
    best = decoder.translate(request)
    for row, derivations in enumerate(longest):
        scores = [derivation.score for derivation in derivations]
        assert scores == sorted(scores, reverse=True)
        assert len({item.root for item in derivations}) == len(derivations)
        assert derivations[0].tokens == best[row].tokens
        assert derivations[0].score == pytest.approx(best[row].score, abs=1e-5)
    for size in (1, 4, 8):
        for shorter, longer in zip(nbest(decoder, request, size, distinct=False), longest, strict=True):
            assert [item.root for item in shorter] == [item.root for item in longer[:size]]


def test_scores_are_reproduced_from_scratch(model):
    *_, decoder, request = model
    lists = nbest(decoder, request, 30, distinct=False)
    rows = [row for row, derivations in enumerate(lists) for _ in derivations]
    flat = [derivation for derivations in lists for derivation in derivations]
    features = rescore(decoder, request, flat, rows)
    np.testing.assert_allclose(features.score, [item.score for item in flat], atol=1e-4)


def test_lines_are_those_of_moses(model):
    *_, decoder, request = model
    derivations = decoder.translate(request)
    features = rescore(decoder, request, derivations)
    words = [output_words(item, ["α", "β", "γ"], TARGET) for item in derivations]
    line = next(nbest_lines(7, words[3:4], features, 3, alignments=[derivations[3].alignment]))
    number, text, columns, score, _ = line.split(" ||| ")
    assert (number, text.strip()) == ("7", " ".join(words[3]))
    assert columns.split()[::2][0] == "LM0="
    assert float(score) == pytest.approx(derivations[3].score, rel=1e-5)
    assert columns.split()[1] == f"{features.lm[3, 0]:.6g}"
