"""What users meet: unknown words, forced spans, long lines, batches of any size."""

import numpy as np
import pytest

from jaxsmt.common.devices import room
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.search.chart import decoder as chart_module
from jaxsmt.search.chart import kernel as chart
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack import decoder as stack_module
from jaxsmt.search.translation import translate, translate_nbest
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD, UNKNOWN
from tests.search.search_oracle import SOURCE, TARGET, WEIGHTS, random_lm, random_sentences, random_table, table_of

BEAM = Beam(kept=6, rules=8, expanded=6, neighbours=8)
A, B, C, _ = range(NUM_RESERVED, len(SOURCE))
U, V = NUM_RESERVED, NUM_RESERVED + 1
TINY = Sizes(sentences=16, cells=512, groups=8192, entries=512, rows=512)


@pytest.fixture(scope="module")
def automaton():
    return random_lm(np.random.default_rng(3), 3)


@pytest.fixture(scope="module")
def decoder(automaton):
    table = random_table(np.random.default_rng(8), 25, 2)
    return make_decoder(fixed_rules(table), [LmFeatures(automaton)], SearchConfig(BEAM, max_span=5))


def described(derivations):
    return [(item.tokens, item.score, item.alignment, item.segments) for item in derivations]


def test_batch_size_order_and_padding_change_nothing(decoder):
    random = np.random.default_rng(1)
    sentences = random_sentences(random, random.integers(0, 9, 64))
    together = described(decoder.translate(Request(sentences, weights=WEIGHTS)))
    for size in (1, 7):
        parts = [sentences.take(np.arange(at, min(at + size, 64))) for at in range(0, 64, size)]
        alone = [item for part in parts for item in described(decoder.translate(Request(part, weights=WEIGHTS)))]
        assert alone == together
    shuffled = random.permutation(64)
    mixed = described(decoder.translate(Request(sentences.take(shuffled), weights=WEIGHTS)))
    assert mixed == [together[row] for row in shuffled]
    assert described(decoder.translate(Request(sentences, weights=WEIGHTS), TINY)) == together


@pytest.mark.parametrize("kind", ["chart", "stack"])
def test_batches_without_room_are_cut(automaton, kind, monkeypatch):
    own = make_decoder(
        fixed_rules(random_table(np.random.default_rng(8), 25, 0)),
        [LmFeatures(automaton)],
        SearchConfig(BEAM, max_span=5, kind=kind),
    )
    request = Request(random_sentences(np.random.default_rng(1), [0, 4, 3, 8, 1, 7, 5, 2]), weights=WEIGHTS)
    together, needed = described(own.translate(request)), []

    def after_three(function, *arguments):
        needed.append(room.program_bytes(function, *arguments))
        return len(needed) > 3

    for module in (chart_module, stack_module):
        monkeypatch.setattr(module, "fits", after_three)
    assert described(own.translate(request)) == together
    assert len(needed) > 3
    assert min(needed) > 0


def test_one_compilation_per_class_of_sizes(decoder):
    random = np.random.default_rng(2)
    decoder.translate(Request(random_sentences(random, [3]), weights=WEIGHTS), TINY)
    before = chart.fill_chart._cache_size()
    for lengths in ([1], [0, 8], [5] * 11):
        decoder.translate(Request(random_sentences(random, lengths), weights=WEIGHTS), TINY)
    assert chart.fill_chart._cache_size() == before


def test_weights_of_each_sentence_are_its_own(decoder):
    sentences = random_sentences(np.random.default_rng(3), [6, 6, 6])
    other = SearchWeights(
        rule=(1.0, 0.0, 0.5, 0.3), lm=0.2, word_penalty=0.5, phrase_penalty=0.4, glue=0.3, unknown=0.1
    )
    by_sentence = SearchWeights(*(np.stack([np.asarray(one), np.asarray(two), np.asarray(one)]) for one, two in zip(
        vars(WEIGHTS).values(), vars(other).values(), strict=True)))  # fmt: skip
    request = Request(sentences, weights=by_sentence)
    found = described(decoder.translate(request))
    one, two = (described(decoder.translate(Request(sentences, weights=weights))) for weights in (WEIGHTS, other))
    assert found == [one[0], two[1], one[2]]
    np.testing.assert_allclose(
        rescore(decoder, request, decoder.translate(request)).score, [row[1] for row in found], atol=1e-4
    )


def test_unknown_words_are_copied_or_dropped(decoder, automaton):
    request = Request(ragged_from_rows([[UNKNOWN, UNKNOWN]]), copy_ids=np.array([U, UNKNOWN]), weights=WEIGHTS)
    (copied,) = decoder.translate(request)
    assert copied.tokens == (-1, -2)
    assert copied.unknown_positions == [0, 1]
    assert copied.alignment == [(0, 0), (1, 1)]
    assert rescore(decoder, request, [copied]).score[0] == pytest.approx(copied.score, abs=1e-4)
    dropping = make_decoder(decoder.rules, [LmFeatures(automaton)], SearchConfig(BEAM, max_span=5, drop_unknown=True))
    (dropped,) = dropping.translate(request)
    assert dropped.tokens == ()
    assert dropped.unknown_positions == [0, 1]
    assert rescore(dropping, request, [dropped]).score[0] == pytest.approx(dropped.score, abs=1e-4)


def test_forced_spans_become_what_was_asked_for(decoder):
    sentences = random_sentences(np.random.default_rng(6), [7, 5, 7])
    forced = {(0, 2, 4): [V, V, U], (2, 0, 7): [U], (0, 5, 6): []}
    request = Request(sentences, weights=WEIGHTS, forced=forced)
    first, _, last = decoder.translate(request)
    written = [node for node in first.nodes if (node.start, node.end) == (2, 4)]
    assert [node.target.tokens for node in written] == [(V, V, U)]
    assert "".join(map(chr, (V, V, U))) in "".join(map(chr, (max(token, 0) for token in first.tokens)))
    assert last.tokens == (U,)
    assert not any(node.start in (2, 3) and node.end in (3,) for node in first.nodes)
    np.testing.assert_allclose(rescore(decoder, request, [first], [0]).score, [first.score], atol=1e-4)
    with pytest.raises(UserError, match=r"1\.\.3 and 2\.\.4 of sentence 0 overlap"):
        decoder.translate(Request(sentences, forced={(0, 1, 3): [U], (0, 2, 4): [U]}))
    with pytest.raises(UserError, match=r"4\.\.9 is not inside sentence 1"):
        decoder.translate(Request(sentences, forced={(1, 4, 9): [U]}))


def test_long_sentences_are_cut_at_punctuation_and_joined(decoder):
    words = [A, B, C] * 4
    request = Request(Ragged(np.array(words + words), np.array([0, 12, 24])), weights=WEIGHTS)
    for translation in translate(decoder, request, break_ids=[B], max_words=7):
        assert translation.starts == (0, 5)
        assert translation.score == sum(part.score for part in translation.parts)
        assert max(source for source, _ in translation.alignment) <= 11
        assert translation.segments[-1][1] == 12
        assert sorted({start for start, _, _ in translation.segments})[0] == 0
    uncut = translate(decoder, request)
    assert [item.parts for item in uncut] == [(item,) for item in decoder.translate(request)]
    lists = translate_nbest(
        decoder, Request(request.sentences.take(np.array([0])), weights=WEIGHTS), 5, break_ids=[B], max_words=7
    )
    scores = [item.score for item in lists[0]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 1], [300]])
def test_no_line_is_lost(decoder, lengths):
    rows = [np.random.default_rng(7).integers(1, len(SOURCE), length) for length in lengths]
    rows = [np.where(row < NUM_RESERVED, UNKNOWN, row).tolist() for row in rows]
    found = translate(decoder, Request(ragged_from_rows(rows), weights=WEIGHTS), max_words=40)
    assert len(found) == len(lengths)
    sides = decoder.rules.grammar.source_sides
    known = {int(side[0]) for side in sides if side[1] == PAD}
    for row, translation in zip(rows, found, strict=True):
        assert [part.root.end for part in translation.parts] == np.diff([*translation.starts, len(row)]).tolist()
        assert all(token in range(-len(row), len(TARGET)) for token in translation.tokens)
        assert all(row[place] not in known for place in translation.unknown_positions)
        assert {place for place, word in enumerate(row) if word == UNKNOWN} <= set(translation.unknown_positions)


def test_a_model_that_knows_one_word_copies_the_others(automaton):
    table = table_of([((A,), (U,))], np.random.default_rng(0))
    decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], SearchConfig(BEAM))
    (found,) = decoder.translate(Request(ragged_from_rows([[B, A, C]]), weights=WEIGHTS))
    assert found.tokens == (-1, U, -3)
    assert [(start, end) for start, end, _ in found.segments] == [(0, 1), (1, 2), (2, 3)]


def test_wrong_settings_are_named():
    with pytest.raises(UserError, match=r"search\.beam\.kept is 0"):
        Beam(kept=0)
    with pytest.raises(UserError, match=r"search\.max_span is 0"):
        SearchConfig(max_span=0)
    with pytest.raises(UserError, match=r"search\.swap_span is 9 and search\.max_span 5"):
        SearchConfig(max_span=5, swap_span=9)
    with pytest.raises(UserError, match=r"weights\.rule has shape \[3\]: give 4 numbers"):
        SearchWeights(rule=(1, 2, 3)).of_sentences(2, 4)
