"""The stack search with an operation sequence model, against enumeration of all derivations."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.osm.operations import BACK, FORWARD, GAP, NUM_KINDS
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack.operations.appending import Span, moves_to
from jaxsmt.search.translation import translate_nbest
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN
from tests.osm.test_osm_phrases import moves_before
from tests.search.operations_oracle import linked_table, random_models, scored_derivations
from tests.search.search_oracle import assert_same_derivations, random_lm, random_sentences
from tests.search.stack_oracle import WEIGHTS
from tests.search.test_stack_decoder import NARROW, WIDE

LENGTHS = [0, 1, 2, 3, 4, 5, 4, 1]
BOTH = replace(WEIGHTS, lm=(0.8, 0.6))
LAMBDA = np.array([[0.5, 0.5], [1, 0], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7], [0, 1], [0.4, 0.6]], np.float32)


def setting_of(seed, names=("one", "two")):
    random = np.random.default_rng(seed)
    table, orientations = linked_table(random, 22)
    lm = random_lm(np.random.default_rng(3), 3)
    return (table, orientations, lm, random_models(np.random.default_rng(4), names=names)), random


def decoder_of(setting, stack=WIDE, **more):
    table, orientations, lm, models = setting
    config = SearchConfig(table_limit=8, kind="stack", stack=stack, **more)
    return make_decoder(fixed_rules(table, orientations), [LmFeatures(lm)], config, operations=models)


def request_of(sentences, mixture=LAMBDA, **more):
    mixtures = (None, mixture[: len(sentences)])
    return Request(sentences, **{"weights": BOTH, "lm_mixture": mixtures, **more})


@pytest.mark.parametrize("num_words", [3, 40])
def test_moves_are_those_of_plain_sets(num_words):
    """Random coverages with one or two words of bits."""
    random = np.random.default_rng(num_words)
    rows, expected, window = [], [], -(-num_words // 32)
    for _ in range(400):
        gap = int(random.integers(0, 4))
        ahead = set((np.flatnonzero(random.random(num_words) < random.random()) + gap + 1).tolist())
        covered = set(range(gap)) | ahead
        free = [p for p in range(num_words + gap + 3) if p not in covered]
        start = int(random.choice(free))
        end = start + 1
        while end not in covered and random.random() < 0.6:
            end += 1
        first = int(random.integers(0, end - start))
        cursors = [0] if not covered else [p + 1 for p in covered]
        cursor = int(random.choice(cursors))
        bits = [sum(1 << k for k in range(32) if gap + 1 + 32 * word + k in ahead) for word in range(window)]
        rows.append((gap, start, end, first, cursor, bits))
        expected.append(moves_before(covered, cursor, start, end, first))
    gap, start, end, first, cursor = (np.array([row[n] for row in rows], np.int32) for n in range(5))
    bits = np.array([row[5] for row in rows], np.uint32)
    moves = jax.device_get(jax.jit(moves_to)(Span(gap, bits, start, end), cursor, first))
    for row, (made, context, behind) in enumerate(expected):
        found = [GAP] * bool(moves.gap[row]) + [FORWARD] * bool(moves.forward[row])
        found += [NUM_KINDS * int(moves.back[row]) + BACK] * bool(moves.back[row]) + [GAP] * bool(moves.gap_after[row])
        assert found == made
        assert (int(moves.context[row]), int(moves.behind[row])) == (context, behind)


@pytest.mark.parametrize(("seed", "limit"), [(1, 0), (2, 2), (3, 6), (4, -1)])
def test_a_wide_stack_finds_the_best_of_all_derivations(seed, limit):
    setting, random = setting_of(seed)
    sentences = random_sentences(random, LENGTHS)
    decoder = decoder_of(setting, replace(WIDE, distortion_limit=limit))
    request = request_of(sentences)
    derivations = decoder.translate(request)
    features = rescore(decoder, request, derivations)
    assert features.lm_names == ("lm", "osm")
    for row, derivation in enumerate(derivations):
        found = scored_derivations(setting, sentences[row], limit, BOTH, LAMBDA[row])
        score, _, _ = found[0]
        assert derivation.score == pytest.approx(score, abs=1e-3)
        assert features.score[row] == pytest.approx(score, abs=1e-3)
        same = [own for total, tokens, own in found if tokens == derivation.tokens and abs(total - score) < 1e-3]
        assert any(features.lm[row, 1] == pytest.approx(own, abs=1e-3) for own in same)


def test_one_model_needs_no_mixture():
    setting, random = setting_of(8, names=("one",))
    sentences = random_sentences(random, [4, 3])
    found = decoder_of(setting).translate(request_of(sentences, lm_mixture=(None, None)))
    for row, derivation in enumerate(found):
        score, _, _ = scored_derivations(setting, sentences[row], 6, BOTH, [1.0])[0]
        assert derivation.score == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize("drop_unknown", [False, True])
def test_forced_and_unknown_words(drop_unknown):
    setting, _ = setting_of(9)
    sentences = ragged_from_rows([[UNKNOWN, NUM_RESERVED, NUM_RESERVED + 1, UNKNOWN, NUM_RESERVED + 3]] * 3)
    forced = {(1, 1, 3): [NUM_RESERVED + 2, NUM_RESERVED], (2, 2, 4): []}
    decoder = decoder_of(setting, drop_unknown=drop_unknown)
    request = request_of(sentences, forced=forced)
    features = rescore(decoder, request, found := decoder.translate(request))
    for row, derivation in enumerate(found):
        own = {(start, end): ids for (at, start, end), ids in forced.items() if at == row}
        more = {"forced": own, "drop_unknown": drop_unknown}
        score, _, _ = scored_derivations(setting, sentences[row], 6, BOTH, LAMBDA[row], **more)[0]
        assert derivation.score == pytest.approx(score, abs=1e-3)
        assert features.score[row] == pytest.approx(score, abs=1e-3)


def test_lists_have_the_scores_of_their_derivations():
    setting, random = setting_of(10)
    sentences = random_sentences(random, [4, 0, 3, 5])
    decoder, request = decoder_of(setting), request_of(sentences)
    lists = nbest_arrays(decoder, request, 15)
    np.testing.assert_allclose(lists.features.score, lists.score, atol=2e-3)
    trees = translate_nbest(decoder, request, 15)
    for row in range(len(sentences)):
        best = {}
        for score, tokens, own in scored_derivations(setting, sentences[row], 6, BOTH, LAMBDA[row]):
            best.setdefault(tokens, (score, own))
        expected = sorted((score for score, _ in best.values()), reverse=True)
        part = slice(*lists.offsets[row : row + 2])
        np.testing.assert_allclose(lists.score[part], expected[:15], atol=2e-3)
        np.testing.assert_allclose([item.score for item in trees[row]], expected[:15], atol=2e-3)
        from_trees = rescore(decoder, request, [item.parts[0] for item in trees[row]], [row] * len(trees[row]))
        np.testing.assert_allclose(from_trees.lm, lists.features.lm[part], atol=1e-5)
    nothing = nbest_arrays(decoder, request_of(ragged_from_rows([])), 5)
    assert nothing.features.lm.shape == (0, 2)


def test_sentences_do_not_depend_on_their_batch_and_narrow_stacks_state_true_scores():
    setting, random = setting_of(11)
    sentences = random_sentences(random, [3, 8, 7, 0, 5, 8, 1])
    decoder, request = decoder_of(setting, NARROW), request_of(sentences)
    together = decoder.translate(request)
    np.testing.assert_allclose(
        rescore(decoder, request, together).score, [item.score for item in together], atol=1e-3
    )  # fmt: skip
    small = replace(decoder, tiles=decoder.tiles._replace(block=16))
    for again in (decoder.translate(request, Sizes(sentences=3)), small.translate(request)):
        assert_same_derivations(again, together)


def test_a_weight_of_nothing_changes_nothing():
    setting, random = setting_of(12)
    sentences = random_sentences(random, [5, 4, 6])
    table, orientations, lm, _ = setting
    config = SearchConfig(table_limit=8, kind="stack", stack=WIDE)
    plain = make_decoder(fixed_rules(table, orientations), [LmFeatures(lm)], config).translate(
        Request(sentences, weights=WEIGHTS)
    )
    none = decoder_of(setting).translate(request_of(sentences, weights=replace(WEIGHTS, lm=(0.8, 0.0))))
    np.testing.assert_allclose([item.score for item in none], [item.score for item in plain], atol=1e-4)


def test_a_chart_has_no_operations():
    table, orientations, lm, models = setting_of(1)[0]
    with pytest.raises(UserError, match="rescore"):
        make_decoder(fixed_rules(table, orientations), [LmFeatures(lm)], SearchConfig(kind="chart"), operations=models)
