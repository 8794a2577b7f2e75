"""Kneser–Ney estimation against lmplz's files, a dictionary version, and the laws of probability."""

import gzip
import logging
import math

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm import counting
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_discounts, estimate_lm
from jaxsmt.lm.model import load_lm, save_lm
from jaxsmt.text.vocabulary import SENTENCE_END, SENTENCE_START, UNKNOWN, Vocabulary
from tests.lm.slow_lm import encode, random_text, slow_from_lm, slow_kneser_ney


def assert_same_model(ours, theirs, tolerance=1e-6):
    assert set(ours.entries) == set(theirs.entries)
    for ngram, (log10_p, log10_backoff) in theirs.entries.items():
        assert ours.entries[ngram] == pytest.approx((log10_p, log10_backoff), abs=tolerance), ngram


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(("num_sentences", "num_words"), [(300, 12), (40, 30), (1, 3)])
def test_equals_dictionary_version(order, num_sentences, num_words):
    rows = random_text(order, num_sentences, num_words)
    sentences, vocabulary = encode(rows)
    lm = estimate_lm(sentences, vocabulary, LmConfig(order=order))
    assert_same_model(slow_from_lm(lm), slow_kneser_ney(rows, order))


@pytest.mark.parametrize("prune", [(0, 1), (0, 0, 1), (0, 1, 1, 3)])
def test_pruning_equals_dictionary_version(prune):
    rows = random_text(7, 200, 10)
    lm = estimate_lm(*encode(rows), LmConfig(order=4, prune=prune))
    slow = slow_kneser_ney(rows, 4, prune)
    assert len(slow.entries) < len(slow_kneser_ney(rows, 4).entries)
    assert_same_model(slow_from_lm(lm), slow)


@pytest.mark.parametrize("order", [3, 5])
def test_equals_lmplz(reference, order):
    with gzip.open(reference / "text" / "A.en.gz", "rt", encoding="utf-8") as stream:
        sentences, vocabulary = encode([line.split() for line in stream])
    lm = estimate_lm(sentences, vocabulary, LmConfig(order=order))
    theirs = read_arpa(reference / "lm" / f"A.en.{order}.arpa.gz", vocabulary)
    assert lm.counts == (5443, 35588, 60806, 68234, 67547)[:order] == theirs.counts
    assert (lm.is_word == theirs.is_word).all()
    for ours, expected in zip(lm.levels, theirs.levels, strict=True):
        known = lm.is_word if ours is lm.levels[0] else slice(None)
        for name in ("prefix", "word", "suffix"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name))
        for name in ("log_p", "log_backoff"):
            np.testing.assert_allclose(getattr(ours, name)[known], getattr(expected, name)[known], rtol=0, atol=1e-5)


def test_discounts_of_lmplz_by_hand():
    # n1..n4 = 4, 2, 1, 1: Y = 4 / 8; D1 = 1 - 2 Y 2/4, D2 = 2 - 3 Y 1/2, D3 = 3 - 4 Y 1/1
    counts = np.array([1, 1, 1, 1, 2, 2, 3, 4, 9, 0])
    np.testing.assert_allclose(estimate_discounts(counts, 2, ()), [0, 0.5, 1.25, 1.0])


def test_bigram_by_hand():
    # one sentence "a a": bigrams (<s> a) (a a) (a </s>), each once; fall-back discounts 0.5
    lm = estimate_lm(*encode([["a", "a"]]), LmConfig(order=2))
    slow = slow_from_lm(lm)
    # unigrams: a was seen after <s> and a, </s> after a; a(a) = 2 (D 1), a(</s>) = 1 (D 0.5), total 3, 3 words
    p_a, p_end, p_unknown = 1 / 3 + 0.5 / 3, 0.5 / 3 + 0.5 / 3, 0.5 / 3
    expected = {
        ("<unk>",): p_unknown, ("a",): p_a, ("</s>",): p_end,
        ("<s>", "a"): 0.5 + 0.5 * p_a, ("a", "a"): 0.5 / 2 + 0.5 * p_a, ("a", "</s>"): 0.5 / 2 + 0.5 * p_end,
    }  # fmt: skip
    for ngram, p in expected.items():
        assert 10 ** slow.entries[ngram][0] == pytest.approx(p, rel=1e-6)
    assert slow.entries["a",][1] == pytest.approx(math.log10(0.5), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prune", [(), (0, 0, 1, 2)])
def test_every_context_sums_to_one(seed, prune):
    rows = random_text(seed, 60 + 100 * seed, 8 + 3 * seed)
    lm = estimate_lm(*encode(rows), LmConfig(order=4, prune=prune))
    slow = slow_from_lm(lm)
    words = [ngram[0] for ngram in slow.entries if len(ngram) == 1 and ngram != ("<s>",)]
    contexts = [()] + [ngram for ngram in slow.entries if len(ngram) < 4]
    for context in contexts:
        assert sum(10 ** slow.log10_p(context, word) for word in words) == pytest.approx(1, abs=1e-6), context


def test_padded_vocabulary_leaves_its_share_to_unseen_words():
    rows = random_text(3, 50, 6)
    lm = estimate_lm(*encode(rows), LmConfig(order=2, pad_vocabulary=100))
    assert_same_model(slow_from_lm(lm), slow_kneser_ney(rows, 2, num_predicted=100))
    predicted = lm.is_word.copy()
    predicted[SENTENCE_START] = False
    p = np.exp(lm.levels[0].log_p.astype(np.float64))
    assert p[predicted].sum() + (100 - predicted.sum()) * p[UNKNOWN] == pytest.approx(1, abs=1e-6)


def test_rest_costs_are_those_of_models_of_each_order():
    sentences, vocabulary = encode(random_text(5, 120, 9))
    lm = estimate_lm(sentences, vocabulary, LmConfig(order=4))
    for k in range(1, 5):
        alone = estimate_lm(sentences, vocabulary, LmConfig(order=k))
        np.testing.assert_allclose(lm.levels[k - 1].log_rest, alone.levels[k - 1].log_p, atol=1e-6)
    assert np.abs(lm.levels[1].log_rest - lm.levels[1].log_p).max() > 0.1


def test_counting_in_chunks_changes_nothing(monkeypatch):
    sentences, vocabulary = encode(random_text(1, 200, 15))
    whole = counting.count_ngrams(sentences, vocabulary, 4, 1.0)
    monkeypatch.setattr(counting, "_chunk_size", lambda *_: 97)
    for part, expected in zip(counting.count_ngrams(sentences, vocabulary, 4, 1.0), whole, strict=True):
        for name, values in vars(expected).items():
            np.testing.assert_array_equal(getattr(part, name), values)


def test_chunks_follow_the_budget(monkeypatch):
    monkeypatch.setattr(counting, "_SMALLEST_CHUNK", 10)
    sizes = [counting._chunk_size(1000, [], budget, 2) for budget in (1e-4, 2e-4, 1.0)]
    assert 10 <= sizes[0] < sizes[1] < sizes[2]
    with pytest.raises(UserError, match="memory_budget_gb"):
        counting._chunk_size(1000, [], 1e-6, 2)


def test_too_small_budget_is_said_before_the_work():
    sentences, vocabulary = encode(random_text(1, 200, 15))
    with pytest.raises(UserError, match=r"memory_budget_gb=1e-06 .* raise it"):
        estimate_lm(sentences, vocabulary, LmConfig(order=3, memory_budget_gb=1e-6))


def test_fallback_warns_or_is_an_error(caplog):
    sentences, vocabulary = encode([["a", "b"], ["b"]])
    with caplog.at_level(logging.WARNING, "jaxsmt"):
        estimate_lm(sentences, vocabulary, LmConfig(order=2))
    assert "2-grams: too few" in caplog.text
    with pytest.raises(UserError, match=r"1-grams are too few .* lm\.discount_fallback"):
        estimate_lm(sentences, vocabulary, LmConfig(order=2, discount_fallback=()))


def test_special_words_in_the_text_are_left_out(caplog):
    plain, _ = encode([["a", "b"], ["b", "c"], []])
    vocabulary = Vocabulary(("b", "a", "c", "<s>", "</s>", "<unk>"))
    odd, _ = encode([["a", "<s>", "b", "</s>"], ["<unk>", "b", "c"], ["</s>"]], vocabulary)
    with caplog.at_level(logging.WARNING, "jaxsmt"):
        lm = estimate_lm(odd, vocabulary, LmConfig(order=3))
    assert "4 tokens are spelled" in caplog.text
    assert not lm.is_word[vocabulary.id_of["<s>"]]
    same, _ = encode([["a", "b"], ["b", "c"], []], vocabulary)
    assert_same_model(slow_from_lm(lm), slow_from_lm(estimate_lm(same, vocabulary, LmConfig(order=3))))
    assert len(plain) == 3


def test_unknown_tokens_count_as_a_word():
    vocabulary = Vocabulary(("a", "b"))
    sentences, _ = encode([["a", "x", "b"], ["a", "y"]], vocabulary)
    slow = slow_from_lm(estimate_lm(sentences, vocabulary, LmConfig(order=2)))
    assert_same_model(slow, slow_kneser_ney([["a", "<unk>", "b"], ["a", "<unk>"]], 2))


def test_sentences_of_no_words_and_no_sentences():
    sentences, vocabulary = encode([[], []])
    lm = estimate_lm(sentences, vocabulary, LmConfig(order=3))
    assert lm.counts == (3, 1, 0)
    assert lm.levels[1].word.tolist() == [SENTENCE_END]
    with pytest.raises(UserError, match="no sentences"):
        estimate_lm(*encode([]), LmConfig(order=3))


@pytest.mark.parametrize(
    "options",
    [{"order": 0}, {"order": 10}, {"prune": (1,)}, {"prune": (0, 2, 1)}, {"order": 2, "prune": (0, 0, 1)},
     {"discount_fallback": (0.5,)}],
)  # fmt: skip
def test_bad_settings_are_named(options):
    with pytest.raises(UserError, match=f"^{list(options)[-1]} is "):  # who has the settings knows the whole key
        LmConfig(**options)


def test_saved_model_comes_back(tmp_path):
    lm = estimate_lm(*encode(random_text(2, 30, 6)), LmConfig(order=3))
    save_lm(lm, tmp_path / "lm.safetensors")
    back = load_lm(tmp_path / "lm.safetensors", lm.vocabulary)
    assert back.counts == lm.counts
    for ours, theirs in zip(back.levels, lm.levels, strict=True):
        for name, values in vars(theirs).items():
            np.testing.assert_array_equal(getattr(ours, name), values)
    with pytest.raises(UserError, match="give the vocabulary it was made with"):
        load_lm(tmp_path / "lm.safetensors", Vocabulary(("other",)))
