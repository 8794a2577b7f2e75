"""The stack search against enumeration of all segmentations, orders and translations."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.stack.decoder import cut_by_length, sized_batches
from jaxsmt.search.stack.kernel import fill_stacks
from jaxsmt.search.translation import translate
from jaxsmt.text.vocabulary import NUM_RESERVED
from tests.search.search_oracle import TARGET, assert_same_derivations, random_sentences, random_table
from tests.search.stack_oracle import WEIGHTS, random_setting, scored_outputs

WIDE = StackConfig(kept=128, spans=512, scored=1024, slack=1000.0, threshold=1000.0)
NARROW = StackConfig(kept=3, spans=6, scored=8)
LENGTHS = [0, 1, 2, 3, 4, 5, 4, 1]


def decoder_of(table, orientations, automaton, stack=WIDE, **more):
    return make_decoder(
        fixed_rules(table, orientations),
        [LmFeatures(automaton)],
        SearchConfig(table_limit=8, kind="stack", stack=stack, **more),
    )


@pytest.mark.parametrize(("order", "limit"), [(3, 0), (3, 2), (3, 6), (3, -1), (1, 6), (4, 2)])
def test_a_wide_stack_finds_the_best_of_all_derivations(order, limit):
    table, orientations, automaton, random = random_setting(10 * order + limit + 1, order)
    sentences = random_sentences(random, LENGTHS)
    decoder = decoder_of(table, orientations, automaton, replace(WIDE, distortion_limit=limit))
    request = Request(sentences, weights=WEIGHTS)
    derivations = decoder.translate(request)
    features = rescore(decoder, request, derivations)
    for row, derivation in enumerate(derivations):
        score, tokens = scored_outputs(table, orientations, automaton, sentences[row], limit)[0]
        assert derivation.score == pytest.approx(score, abs=1e-4)
        assert features.score[row] == pytest.approx(score, abs=1e-4)
        if derivation.tokens != tokens:  # of equal score, then
            found = dict(map(reversed, scored_outputs(table, orientations, automaton, sentences[row], limit)))
            assert found[derivation.tokens] == pytest.approx(score, abs=1e-4)


def test_a_narrow_stack_states_the_score_of_what_it_found():
    table, orientations, automaton, random = random_setting(5)
    sentences = random_sentences(random, [5] * 6)
    decoder = decoder_of(table, orientations, automaton, NARROW)
    request = Request(sentences, weights=WEIGHTS)
    derivations = decoder.translate(request)
    features = rescore(decoder, request, derivations)
    for row, derivation in enumerate(derivations):
        found = {tokens: score for score, tokens in scored_outputs(table, orientations, automaton, sentences[row], 6)}
        assert derivation.tokens in found
        assert derivation.score <= max(found.values()) + 1e-4
        assert features.score[row] == pytest.approx(derivation.score, abs=1e-4)


def test_sentences_depend_neither_on_their_batch_nor_on_the_lanes_of_a_step():
    table, orientations, automaton, random = random_setting(6)
    sentences = random_sentences(random, [3, 8, 7, 0, 30, 8, 1])
    decoder = decoder_of(table, orientations, automaton, NARROW)
    together = decoder.translate(Request(sentences, weights=WEIGHTS))
    for size, block in ((1, 1024), (3, 1024), (None, 16), (None, 1)):
        tiles = decoder.tiles._replace(block=block)
        sizes = None if size is None else Sizes(sentences=size)
        again = replace(decoder, tiles=tiles).translate(Request(sentences, weights=WEIGHTS), sizes)
        assert_same_derivations(again, together)


def test_what_is_left_of_a_length_joins_the_next_one():
    lengths = np.array([1] * 33 + [30] * 40 + [50] + [300] * 3)
    found = [part.tolist() for part in cut_by_length(lengths, 32)]
    assert [len(part) for part in found] == [32, 32, 10, 3]
    assert np.concatenate(found).tolist() == list(range(len(lengths)))
    assert [lengths[part].max() for part in found] == [1, 30, 50, 300]  # 300 is too far from 50 for ten sentences
    assert [part.tolist() for part in cut_by_length(np.array([2, 5, 30]), 32)] == [[0, 1, 2]]
    assert [part.tolist() for part in cut_by_length(np.array([2, 5, 30]), 1)] == [[0], [1], [2]]
    assert cut_by_length(np.zeros(0, np.int64), 32) == []


def test_what_is_left_of_full_batches_needs_no_program_of_its_own():
    def sizes_of(lengths):
        return [size for _, size in sized_batches(np.array(lengths, np.int64), (1, 8, 32))]

    assert sizes_of([3] * 200) == [32] * 7
    assert sizes_of([3] * 160 + [4] * 8) == [32] * 5 + [8]  # 24 empty places beside 160
    assert sizes_of([3] * 513) == [32] * 16 + [1]  # for which there may be no room among many, and it cannot be halved
    assert sizes_of([3] * 5) == [8]
    assert sizes_of([3] * 256 + [300] * 3) == [32] * 8 + [8]  # no full batch is as long
    assert sizes_of([]) == []
    assert [size for _, size in sized_batches(np.array([3, 3, 3]), (2,))] == [2, 2]


def test_weights_of_each_sentence_are_its_own():
    table, orientations, automaton, random = random_setting(7)
    sentences = random_sentences(random, [4, 4, 4])
    decoder = decoder_of(table, orientations, automaton)
    vectors = [WEIGHTS, replace(WEIGHTS, distortion=0.0, lm=0.3), replace(WEIGHTS, reordering=(0.0,) * 6)]
    columns = {name: np.array([getattr(vector, name) for vector in vectors]) for name in vars(WEIGHTS)}
    found = decoder.translate(Request(sentences, weights=type(WEIGHTS)(**columns)))
    for row, weights in enumerate(vectors):
        score, _ = scored_outputs(table, orientations, automaton, sentences[row], 6, weights=weights)[0]
        assert found[row].score == pytest.approx(score, abs=1e-4)


def test_language_models_of_each_sentence_are_its_own():
    table, orientations, _, random = random_setting(14)
    text = [random.integers(NUM_RESERVED, len(TARGET), random.integers(1, 8)).tolist() for _ in range(90)]
    models = [estimate_lm(ragged_from_rows(part), TARGET, LmConfig(order=3)) for part in (text[:40], text[40:])]
    automaton, _ = build_union_automaton(models)
    sentences = random_sentences(random, [4, 4, 4])
    decoder = decoder_of(table, orientations, automaton)
    mixture = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]], np.float32)
    request = Request(sentences, weights=WEIGHTS, lm_mixture=mixture)
    found = decoder.translate(request)
    np.testing.assert_allclose([item.score for item in found], rescore(decoder, request, found).score, atol=1e-4)
    for row in range(2):
        score, _ = scored_outputs(table, orientations, build_automaton(models[row]), sentences[row], 6)[0]
        assert found[row].score == pytest.approx(score, abs=1e-4)
    with pytest.raises(UserError, match="there are 2 language models"):
        decoder.translate(Request(sentences, weights=WEIGHTS))


def test_two_language_models_that_share_a_weight_are_one():
    table, orientations, automaton, random = random_setting(15)
    decoder = decoder_of(table, orientations, automaton, NARROW)
    batch = next(decoder.batches(Request(random_sentences(random, [3, 5, 8]), weights=WEIGHTS)))
    options = batch.plan.options
    halves = np.concatenate([0.25 * options.lm_weight, 0.75 * options.lm_weight], 1)
    twice = options._replace(rows=options.rows * 2, lm_weight=halves, lm_mixture=(None, None))
    stacks = fill_stacks(decoder.lms * 2, twice, NARROW, decoder.config.table_limit, decoder.tiles.block)
    np.testing.assert_allclose(np.asarray(stacks.total[:3, 0]), np.asarray(batch.stacks.total[:3, 0]), atol=1e-4)


def test_rules_without_orientations_are_moved_by_distance_alone():
    table, _, automaton, random = random_setting(8)
    sentences = random_sentences(random, [4, 5])
    found = decoder_of(table, None, automaton).translate(Request(sentences, weights=WEIGHTS))
    for row in range(2):
        score, _ = scored_outputs(table, None, automaton, sentences[row], 6)[0]
        assert found[row].score == pytest.approx(score, abs=1e-4)


def test_forced_spans_are_kept_whole():
    table, orientations, automaton, random = random_setting(9)
    sentences = random_sentences(random, [5, 5, 12])
    u, v = NUM_RESERVED, NUM_RESERVED + 1
    forced = {(0, 1, 3): [u, v, u], (1, 0, 1): [], (1, 3, 5): [v], (2, 1, 11): [u]}
    decoder = decoder_of(table, orientations, automaton)
    found = decoder.translate(Request(sentences, weights=WEIGHTS, forced=forced))
    for row in range(2):
        own = {(start, end): ids for (at, start, end), ids in forced.items() if at == row}
        score, _ = scored_outputs(table, orientations, automaton, sentences[row], 6, own)[0]
        assert found[row].score == pytest.approx(score, abs=1e-4)
    assert (0, 1) not in [(start, end) for start, end, _ in found[1].segments]  # it became no word
    assert (1, 11, 1) in found[2].segments


def test_unknown_words_are_copied_or_dropped():
    table, orientations, automaton, _ = random_setting(3)
    nobody = NUM_RESERVED + 3
    sentences = ragged_from_rows([[nobody], [nobody, NUM_RESERVED, nobody]])
    copied = decoder_of(table, orientations, automaton).translate(Request(sentences, weights=WEIGHTS))
    assert copied[0].tokens == (-1,)
    assert copied[0].alignment == [(0, 0)]
    assert copied[0].unknown_positions == [0]
    assert copied[0].segments == [(0, 1, 1)]
    dropped = decoder_of(table, orientations, automaton, drop_unknown=True)
    found = dropped.translate(Request(sentences, weights=WEIGHTS))
    assert found[0].tokens == ()
    assert found[0].unknown_positions == [0]
    assert all(token >= 0 for token in found[1].tokens)


def test_words_are_aligned_across_jumps():
    table, orientations, automaton, random = random_setting(12)
    sentences = random_sentences(random, [6, 0])
    derivation = decoder_of(table, orientations, automaton).translate(Request(sentences, weights=WEIGHTS))[0]
    covered = sorted(place for start, end, _ in derivation.segments for place in range(start, end))
    assert covered == list(range(6))
    begin = 0
    for start, end, size in derivation.segments:
        for source, target in derivation.alignment:
            assert (start <= source < end) == (begin <= target < begin + size)
        begin += size


def test_long_sentences_are_cut_and_joined():
    table, orientations, automaton, random = random_setting(13)
    sentences = random_sentences(random, [9, 2])
    decoder = decoder_of(table, orientations, automaton, NARROW)
    found = translate(decoder, Request(sentences, weights=WEIGHTS), max_words=4)
    assert [len(item.parts) for item in found] == [3, 1]
    assert sum(end - start for start, end, _ in found[0].segments) <= 9


def test_rules_with_gaps_are_refused():
    random = np.random.default_rng(0)
    _, _, automaton, _ = random_setting(3)
    with pytest.raises(UserError, match="gaps"):
        decoder_of(random_table(random, 20, 2), None, automaton)


@pytest.mark.parametrize("setting", [{"kept": 0}, {"distortion_limit": -2}, {"slack": -1.0}, {"threshold": -0.1}])
def test_settings_are_checked(setting):
    with pytest.raises(UserError, match=r"search\.stack"):
        StackConfig(**setting)


def test_an_empty_request_has_no_derivations():
    table, orientations, automaton, _ = random_setting(3)
    assert decoder_of(table, orientations, automaton).translate(Request(ragged_from_rows([]), weights=WEIGHTS)) == []
