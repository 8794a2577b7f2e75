"""Searches with several language models, and with one as several features, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.search.chart.decoder import SMALL
from jaxsmt.search.chart.tiles import ChartTiles
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.moses import nbest_lines
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.translation import translate, translate_nbest
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary
from tests.search.search_oracle import TARGET, all_translations, random_sentences, random_table
from tests.search.search_oracle import WEIGHTS as HIERO
from tests.search.stack_oracle import WEIGHTS, all_outputs, options_of, random_phrases
from tests.search.test_search_decoder import WIDE as WIDE_BEAM
from tests.search.test_stack_decoder import NARROW, WIDE

LENGTHS = [0, 1, 2, 3, 4, 4]
CLASSES = Vocabulary(("even", "odd"))
CLASS_IDS = np.array([*range(NUM_RESERVED), *(NUM_RESERVED + n % 2 for n in range(len(TARGET) - NUM_RESERVED))])
CLASS_IDS[-1] = UNKNOWN  # a word that is in no class
MIXTURES = np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7]], np.float32)


def text_of(seed, vocabulary, num=50):
    random = np.random.default_rng(seed)
    return [random.integers(NUM_RESERVED, len(vocabulary), random.integers(1, 8)).tolist() for _ in range(num)]


def lm_of(seed, vocabulary=TARGET, order=3):
    config = LmConfig(order=order, discount_fallback=(0.5, 1.0, 1.5))
    return estimate_lm(ragged_from_rows(text_of(seed, vocabulary)), vocabulary, config)


def union_of(*lms):
    return build_union_automaton(lms)[0]


def source(kind):
    """A language model of each kind, and the mixtures it needs."""
    words = union_of(lm_of(1), lm_of(2, order=2))
    if kind == "words":
        return LmFeatures(build_automaton(lm_of(3))), None
    if kind == "mixed":
        return LmFeatures(words), MIXTURES
    if kind == "classes":
        return LmFeatures(build_automaton(lm_of(4, CLASSES, 4)), CLASS_IDS, name="classes"), None
    if kind == "mixed classes":
        return LmFeatures(union_of(lm_of(4, CLASSES, 4), lm_of(5, CLASSES)), CLASS_IDS, name="classes"), MIXTURES[::-1]
    return LmFeatures(words, None, kind, "lm", ("in", "out")), None if kind == "loglinear" else MIXTURES


SETTINGS = [
    (["words", "classes"], 2),
    (["mixed", "classes", "words"], 3),
    (["loglinear"], 2),
    (["both", "classes"], 4),
    (["both", "mixed classes", "loglinear"], 6),
]


def weights_of(num):
    return replace(WEIGHTS, lm=tuple(np.linspace(0.7, 0.2, num).round(3).tolist()) if num > 1 else 0.7)


def plain_features(sources, mixtures, copies, rows):
    """[H, M] features of outputs (sentence, tokens), a word at a time."""
    columns = []
    for number, (own, mixture) in enumerate(zip(sources, mixtures, strict=True)):
        ids = np.arange(len(TARGET)) if own.word_ids is None else own.word_ids
        words = [
            [int(ids[token]) if token >= 0 else int(copies[row][-1 - token, number]) for token in tokens]
            for row, tokens in rows
        ]
        log_p = word_log_probs(own.automaton, ragged_from_rows(words))
        values = []
        for place, (row, _) in enumerate(rows):
            p = log_p[place].astype(np.float64)
            weights = mixture[row].astype(np.float64) if mixture is not None else np.ones(1)
            mixed = [] if own.combination == "loglinear" else [np.log(np.exp(p) @ weights).sum()]
            values.append(mixed + ([] if own.combination == "linear" else p.sum(0).tolist()))
        columns.append(np.array(values))
    return np.concatenate(columns, 1)


def setting(kinds, num_features, seed=1, stack=WIDE, lengths=LENGTHS, **more):
    """Decoder, request, and a function that lists all outputs of a sentence with their scores, best first."""
    random = np.random.default_rng(seed)
    table, orientations = random_phrases(random, 25)
    sources, mixtures = zip(*map(source, kinds), strict=True)
    sentences = random_sentences(random, lengths)
    copies = random.integers(0, 3, (len(sentences.values), len(kinds))) + NUM_RESERVED - 1
    copies[copies < NUM_RESERVED] = UNKNOWN
    mixtures = tuple(None if part is None else np.resize(part, (len(lengths), 2)) for part in mixtures)
    weights = weights_of(num_features)
    request = Request(sentences, copies.astype(np.int32), weights, lm_mixture=mixtures, **more)
    config = SearchConfig(table_limit=8, kind="stack", stack=stack)
    decoder = make_decoder(fixed_rules(table, orientations), sources, config)
    rows = [copies[sentences.offsets[row] : sentences.offsets[row + 1]] for row in range(len(sentences))]

    def outputs(row):
        forced = {(start, end): ids for (at, start, end), ids in request.forced.items() if at == row}
        found = all_outputs(options_of(table, orientations, sentences[row], forced, weights), len(sentences[row]), 6)
        features = plain_features(sources, mixtures, rows, [(row, tokens) for tokens in found])
        scores = np.array(list(found.values())) + features @ np.atleast_1d(weights.lm)
        return sorted(zip(scores.tolist(), found, strict=True), reverse=True)

    return decoder, request, outputs


@pytest.mark.parametrize(("kinds", "num_features"), SETTINGS)
def test_lists_have_the_best_of_all_derivations_with_exact_features(kinds, num_features):
    forced = {(4, 1, 3): [NUM_RESERVED, len(TARGET) - 1]}
    decoder, request, outputs = setting(kinds, num_features, forced=forced)
    lists = nbest_arrays(decoder, request, 20, keep_trees=True)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    again = rescore(decoder, request, derivations, lists.sentence)
    assert again.lm.shape == (len(derivations), num_features) == (len(again.lm), len(again.lm_names))
    for name, values in vars(again).items():
        if name not in ("names", "lm_names"):
            np.testing.assert_allclose(getattr(lists.features, name), values, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(lists.score, again.score, atol=1e-4)
    for row in range(len(LENGTHS)):
        expected, found = outputs(row), slice(*lists.offsets[row : row + 2])
        assert lists.score[found][0] == pytest.approx(expected[0][0], abs=1e-4)
        scores = {tokens: score for score, tokens in expected}
        stated = [scores[item.tokens] for item in derivations[found]]
        np.testing.assert_allclose(lists.score[found], stated, atol=1e-4)
        if row < 4:  # short enough for nothing to be pruned
            np.testing.assert_allclose(lists.score[found], [score for score, _ in expected[:20]], atol=1e-4)


def test_sentences_do_not_depend_on_their_batch():
    decoder, request, _ = setting(*SETTINGS[1], 3, NARROW, [3, 7, 7, 0, 5, 1])
    together = decoder.translate(request)
    again = decoder.translate(request, Sizes(sentences=3))
    assert [(item.score, item.root) for item in again] == [(item.score, item.root) for item in together]


def test_a_model_twice_with_shares_of_its_weight_is_the_model_once():
    scores = []
    for kinds, lm in ((["classes"], 0.8), (["classes"] * 3, (0.4, 0.1, 0.3))):
        decoder, request, _ = setting(kinds, len(kinds), 4, NARROW, [6, 8, 3])
        copies = np.repeat(request.copy_ids[:, :1] * 0 + UNKNOWN, len(kinds), axis=1)
        request = replace(request, copy_ids=copies, weights=replace(WEIGHTS, lm=lm))
        scores.append([(round(item.score, 3), item.tokens) for item in decoder.translate(request)])
    assert scores[0] == scores[1]


def test_log_linear_components_are_models_of_their_own():
    """The union automaton's D features against D automata."""
    automata = [build_automaton(lm_of(1)), build_automaton(lm_of(2, order=2))]
    table, orientations = random_phrases(np.random.default_rng(5), 25)
    sentences = random_sentences(np.random.default_rng(6), [5, 3, 4])
    request = Request(sentences, weights=replace(WEIGHTS, lm=(0.5, 0.3)))
    config, rules = SearchConfig(table_limit=8, kind="stack", stack=WIDE), fixed_rules(table, orientations)
    together = make_decoder(rules, [LmFeatures(union_of(lm_of(1), lm_of(2, order=2)), None, "loglinear")], config)
    apart = make_decoder(rules, [LmFeatures(automaton) for automaton in automata], config)
    lists = [nbest_arrays(decoder, request, 15) for decoder in (together, apart)]
    np.testing.assert_allclose(lists[0].score, lists[1].score, atol=1e-4)
    np.testing.assert_allclose(lists[0].features.score, lists[1].features.score, atol=1e-4)


def test_classes_of_one_word_each_are_words():
    names = Vocabulary(tuple(f"class {word}" for word in reversed(TARGET.words)))
    ids = np.array([*range(NUM_RESERVED), *range(len(TARGET) - 1, NUM_RESERVED - 1, -1)])
    text = ragged_from_rows(text_of(7, TARGET))
    classes = estimate_lm(ragged_from_rows([ids[row].tolist() for row in text]), names, LmConfig(order=3))
    table, orientations = random_phrases(np.random.default_rng(8), 25)
    request = Request(random_sentences(np.random.default_rng(9), [5, 3, 4]), weights=WEIGHTS)
    config, rules = SearchConfig(table_limit=8, kind="stack", stack=WIDE), fixed_rules(table, orientations)
    words = make_decoder(rules, [LmFeatures(build_automaton(estimate_lm(text, TARGET, LmConfig(order=3))))], config)
    found = make_decoder(rules, [LmFeatures(build_automaton(classes), ids)], config).translate(request)
    np.testing.assert_allclose(
        [item.score for item in found], [item.score for item in words.translate(request)], atol=1e-4
    )


def test_long_sentences_are_cut_and_joined():
    decoder, request, _ = setting(*SETTINGS[1], 10, NARROW, [9, 2])
    found = translate(decoder, request, max_words=4)
    assert [len(item.parts) for item in found] == [3, 1]
    lists = translate_nbest(decoder, request, 3, max_words=4)
    assert [item[0].tokens for item in lists] == [item.tokens for item in found]


def test_lists_name_every_language_model():
    decoder, request, _ = setting(*SETTINGS[3], 11, lengths=[3, 2])
    lists = nbest_arrays(decoder, request, 2)
    assert lists.features.lm_names == ("lm", "lm-in", "lm-out", "classes")
    line = next(nbest_lines(0, [["a"]], lists.features, 0, own=()))
    values = [f"{value:.6g}" for value in lists.features.lm[0]]
    expected = "lm= {} lm-in= {} lm-out= {} classes= {} WordPenalty0=".format(*values)
    assert expected in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": WEIGHTS}, r"weights\.lm has shape \[\]: give 2 numbers"),
        ({"lm_mixture": (None, None)}, "there are 2 language models: give 2 weights for them"),
        ({"lm_mixture": (None, None, None)}, "lm_mixture has 3 parts: give one for each of the 2 language models"),
        ({"copy_ids": np.zeros(2, np.int32)}, "copy_ids has shape"),
    ],
)
def test_what_does_not_fit_the_models_is_refused(change, message):
    decoder, request, _ = setting(["mixed", "classes"], 2, lengths=[2])
    with pytest.raises(UserError, match=message):
        decoder.translate(replace(request, **change))


def test_lists_of_a_chart_have_the_best_of_all_derivations_with_exact_features():
    kinds, num_features = SETTINGS[-1]
    random = np.random.default_rng(12)
    table, (sources, mixtures) = random_table(random, 25, 2), zip(*map(source, kinds), strict=True)
    sentences = random_sentences(random, [0, 1, 2, 3, 3])
    is_known = random.integers(0, 2, (len(sentences.values), len(kinds)))
    copies = np.where(is_known, NUM_RESERVED, UNKNOWN).astype(np.int32)
    weights = replace(HIERO, lm=weights_of(num_features).lm)
    mixtures = tuple(None if part is None else part[: len(sentences)] for part in mixtures)
    request = Request(sentences, copies, weights, lm_mixture=mixtures)
    decoder = make_decoder(fixed_rules(table), sources, SearchConfig(WIDE_BEAM, max_span=3))
    lists = nbest_arrays(decoder, request, 10, keep_trees=True)
    derivations = [lists.derivation(number) for number in range(len(lists.sentence))]
    again = rescore(decoder, request, derivations, lists.sentence)
    np.testing.assert_allclose(lists.features.lm, again.lm, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(lists.score, again.score, atol=1e-4)
    rows = [copies[sentences.offsets[row] : sentences.offsets[row + 1]] for row in range(len(sentences))]
    for row in range(len(sentences)):
        found = all_translations(table, sentences[row], 3, 0, weights)
        features = plain_features(sources, mixtures, rows, [(row, tokens) for tokens in found])
        scores = np.sort(np.array(list(found.values())) + features @ np.array(weights.lm))[::-1]
        np.testing.assert_allclose(lists.score[slice(*lists.offsets[row : row + 2])][0], scores[0], atol=1e-4)
    best = decoder.translate(request, SMALL)
    np.testing.assert_allclose([item.score for item in best], lists.score[lists.offsets[:-1]], atol=1e-4)
    wide = nbest_arrays(replace(decoder, tiles=ChartTiles(1 << 12, 1 << 13, 1 << 7, wide=True)), request, 10)
    np.testing.assert_array_equal(wide.offsets, lists.offsets)  # the same lists in few launches
    np.testing.assert_allclose(wide.score, lists.score, atol=1e-4)
