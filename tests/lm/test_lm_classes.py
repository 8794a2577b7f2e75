"""Word classes by exchange, beside the algorithm written out."""

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.classes.bigrams import count_bigrams
from jaxsmt.lm.classes.clustering import cluster_words
from jaxsmt.lm.classes.exchange import ExchangeConfig, ExchangeState, exchange_classes
from jaxsmt.lm.classes.gains import ClassCounts, move_gains
from jaxsmt.lm.classes.table import WordClasses, load_classes
from jaxsmt.text.vocabulary import NUM_RESERVED, SENTENCE_END, UNKNOWN, Vocabulary
from tests.lm import slow_classes


def random_text(seed, num_words=9, num_sentences=12):
    """Sentences of word ids, some empty, with a few words much more frequent than others; and their vocabulary."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, num_words + 1)
    lengths = rng.integers(0, 7, num_sentences)
    rows = [rng.choice(num_words, size, p=weights / weights.sum()) + NUM_RESERVED for size in lengths]
    return rows, Vocabulary(tuple(f"w{i}" for i in range(num_words)))


def state_of(rows, vocabulary, num_classes, seed):
    bigrams = count_bigrams(ragged_from_rows(rows), vocabulary)
    classes = np.random.default_rng(seed).integers(0, num_classes, bigrams.num_words)
    return bigrams, ExchangeState(bigrams, classes, num_classes)


@pytest.mark.parametrize("num_classes", [1, 2, 5])
def test_likelihood_and_every_gain_equal_those_counted_anew(num_classes):
    rows, vocabulary = random_text(num_classes)
    bigrams, state = state_of(rows, vocabulary, num_classes, 3)
    classes = dict(zip(bigrams.ids.tolist(), state.classes.tolist(), strict=False))
    assert state.log_likelihood() == pytest.approx(slow_classes.log_likelihood(rows, classes))
    words = np.arange(bigrams.num_words)
    counts = ClassCounts(state.following, state.preceding, state.total)
    gains = np.asarray(move_gains(counts, state.word_batch(words)))[: len(words)]
    expected = [[slow_classes.gain(rows, classes, {word: c}) for c in range(num_classes)] for word in bigrams.ids]
    np.testing.assert_allclose(gains, expected, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("batch_words", "batch_share"), [(1, 1.0), (3, 1.0), (4, 0.3), (100, 1.0)])
def test_classes_equal_the_algorithm_written_out(seed, batch_words, batch_share):
    rows, vocabulary = random_text(seed)
    settings = ExchangeConfig(3, iterations=2, min_gain=0.0, batch_words=batch_words, batch_share=batch_share)
    bigrams = count_bigrams(ragged_from_rows(rows), vocabulary)
    found = exchange_classes(bigrams, settings)
    classes, likelihoods = slow_classes.exchange(rows, 3, 2, batch_words, batch_share)
    np.testing.assert_allclose(found.log_likelihoods, likelihoods, rtol=1e-9)
    assert dict(zip(bigrams.ids.tolist(), found.classes.tolist(), strict=True)) == classes


def test_likelihood_never_falls_and_counts_stay_true():
    rows, vocabulary = random_text(7, num_words=200, num_sentences=400)
    bigrams = count_bigrams(ragged_from_rows(rows), vocabulary)
    found = exchange_classes(bigrams, ExchangeConfig(12, iterations=6, min_gain=0.0, batch_share=0.1))
    assert len(found.log_likelihoods) == 7
    assert (np.diff(found.log_likelihoods) >= 0).all()
    assert found.log_likelihoods[-1] > found.log_likelihoods[0]
    again = ExchangeState(bigrams, found.classes.astype(np.int64), 12)
    assert found.log_likelihoods[-1] == pytest.approx(again.log_likelihood())


def test_moves_keep_all_counts_as_counted_anew():
    rows, vocabulary = random_text(8, num_words=40, num_sentences=100)
    bigrams, state = state_of(rows, vocabulary, 5, 0)
    assert state.improve(bigrams.by_frequency) > 0
    anew = ExchangeState(bigrams, state.classes[:-1], 5)
    np.testing.assert_array_equal(state.following, anew.following)
    np.testing.assert_array_equal(state.preceding, anew.following.T)
    np.testing.assert_array_equal(state.total, anew.total)


def test_words_that_stand_alike_share_a_class():
    animals, verbs = ["cat", "dog", "cow"], ["sees", "hears"]
    text = [f"the {a} {v} the {b}".split() for a in animals for v in verbs for b in animals] * 2
    words = Vocabulary(("the", *animals, *verbs))
    classes, perplexities = cluster_words(ragged_from_rows([words.encode(row) for row in text]), words,
                                          ExchangeConfig(3))  # fmt: skip
    groups = [{classes.class_of[word] for word in group} for group in (["the"], animals, verbs)]
    assert sorted(map(len, groups)) == [1, 1, 1]
    assert len(set.union(*groups)) == 3
    assert perplexities[-1] < perplexities[0]


def test_as_many_classes_as_words_is_the_word_bigram_model():
    rows, vocabulary = random_text(5)
    bigrams = count_bigrams(ragged_from_rows(rows), vocabulary)
    found = exchange_classes(bigrams, ExchangeConfig(bigrams.num_words + 2))
    assert len(set(found.classes.tolist())) == bigrams.num_words
    assert found.log_likelihoods[-1] == pytest.approx(slow_classes.log_likelihood(rows, {w: w for w in bigrams.ids}))


def test_texts_without_words_and_words_seen_once():
    words = Vocabulary(("a", "b", "c"))
    for rows in ([], [[]], [[], []]):
        classes, perplexities = cluster_words(ragged_from_rows(rows), words, ExchangeConfig(2))
        assert classes.class_of == {}
        np.testing.assert_allclose(perplexities, 1)
    classes, _ = cluster_words(ragged_from_rows([[6, UNKNOWN, 8]]), words, ExchangeConfig(1))
    assert classes.class_of == {"a": "0", "c": "0"}  # b does not occur


def test_the_table_maps_words_and_is_read_back(tmp_path):
    classes = WordClasses({"a": "1", "the cat": "0", "#": "1"})
    words = Vocabulary(("#", "never", "a"))
    sentences = ragged_from_rows([[6, 7, 8], [UNKNOWN, SENTENCE_END]])
    found = classes.classified(sentences, words)
    assert [found[row].tolist() for row in range(2)] == [[6, UNKNOWN, 6], [UNKNOWN, SENTENCE_END]]
    assert classes.vocabulary.words == ("1", "0")
    classes.save(tmp_path / "classes.tsv")
    assert load_classes(tmp_path / "classes.tsv") == classes


def test_mistakes_are_told(tmp_path):
    with pytest.raises(UserError, match="num_classes"):
        ExchangeConfig(0)
    with pytest.raises(UserError, match="iterations"):
        ExchangeConfig(iterations=-1)
    with pytest.raises(UserError, match="do not exist"):
        load_classes(tmp_path / "classes.tsv")
    (tmp_path / "classes.tsv").write_text("word 7\n", encoding="utf-8")
    with pytest.raises(UserError, match="not a word, a tab"):
        load_classes(tmp_path / "classes.tsv")
