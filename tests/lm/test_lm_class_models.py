"""Language models over word classes: text mapped to classes, estimated as any text is."""

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.classes.clustering import cluster_words
from jaxsmt.lm.classes.exchange import ExchangeConfig
from jaxsmt.lm.classes.table import WordClasses
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kenlm_model import kenlm_sentence_log_probs, load_kenlm
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.mixture import fit_mixture
from jaxsmt.lm.scoring import sentence_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary


def sentences_of(seed, num_words, num_sentences):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, num_words + 1)
    lengths = rng.integers(0, 12, num_sentences)
    rows = [rng.choice(num_words, size, p=weights / weights.sum()) + NUM_RESERVED for size in lengths]
    return ragged_from_rows(rows)


WORDS = Vocabulary(tuple(f"w{i}" for i in range(30)))
TEXT, UNSEEN = sentences_of(0, 30, 300), sentences_of(1, 30, 50)


@pytest.mark.parametrize("order", [3, 7])
def test_one_class_a_word_is_the_word_model(order):
    shuffled = np.random.default_rng(2).permutation(len(WORDS.words)).tolist()
    classes = WordClasses(dict(zip(WORDS.words, map(str, shuffled), strict=True)))
    config = LmConfig(order, pad_vocabulary=40)
    of_words = build_automaton(estimate_lm(TEXT, WORDS, config))
    of_classes = build_automaton(estimate_lm(classes.classified(TEXT, WORDS), classes.vocabulary, config))
    expected = sentence_log_probs(of_words, UNSEEN)
    found = sentence_log_probs(of_classes, classes.classified(UNSEEN, WORDS))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("num_classes", "order"), [(1, 5), (4, 6)])
def test_classes_score_as_kenlm_scores_their_arpa_file(kenlm, tmp_path, num_classes, order):
    classes, _ = cluster_words(TEXT, WORDS, ExchangeConfig(num_classes))
    lm = estimate_lm(classes.classified(TEXT, WORDS), classes.vocabulary, LmConfig(order))
    write_arpa(lm, tmp_path / "classes.arpa")
    sentences = classes.classified(UNSEEN, WORDS)
    names = [["<unk>" if i == UNKNOWN else lm.vocabulary.words[i - NUM_RESERVED] for i in row]
             for row in map(sentences.__getitem__, range(len(sentences)))]  # fmt: skip
    expected = kenlm_sentence_log_probs(load_kenlm(tmp_path / "classes.arpa"), names)
    found = sentence_log_probs(build_automaton(lm), sentences)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_long_models_of_few_classes_sum_to_one_and_survive_a_file(tmp_path):
    """Counts of counts are 0 where every n-gram of classes is frequent: discounts fall back."""
    classes, _ = cluster_words(TEXT, WORDS, ExchangeConfig(2))
    lm = estimate_lm(classes.classified(TEXT, WORDS), classes.vocabulary, LmConfig(7))
    assert lm.order == 7
    unigrams = np.exp(lm.levels[0].log_p[[1, 3, 6, 7]].astype(np.float64))  # <unk>, </s> and both classes
    assert unigrams.sum() == pytest.approx(1, abs=1e-5)
    write_arpa(lm, tmp_path / "classes.arpa")
    again = read_arpa(tmp_path / "classes.arpa")
    scores = []
    for model in (lm, again):
        sentences = classes.classified(UNSEEN, WORDS)
        ids = classes.vocabulary.ids_in(model.vocabulary)
        sentences = ragged_from_rows([ids[sentences[row]] for row in range(len(sentences))])
        scores.append(sentence_log_probs(build_automaton(model), sentences))
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)


def test_models_of_components_are_mixed_like_word_models():
    classes, _ = cluster_words(TEXT, WORDS, ExchangeConfig(5))
    parts = [classes.classified(sentences_of(seed, size, 200), WORDS) for seed, size in ((3, 5), (4, 30))]
    config = LmConfig(7, pad_vocabulary=7)
    union, vocabulary = build_union_automaton([estimate_lm(part, classes.vocabulary, config) for part in parts])
    assert vocabulary.words == classes.vocabulary.words
    for place, (seed, size) in enumerate(((5, 5), (6, 30))):
        dev = classes.classified(sentences_of(seed, size, 100), WORDS)
        assert np.argmax(fit_mixture(union, dev).weights[0]) == place
