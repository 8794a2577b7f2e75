"""BLEU and chrF statistics against sacrebleu's, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from jaxsmt.evaluate.bleu import bleu_statistics, corpus_bleu
from jaxsmt.evaluate.chrf import chrf_score, chrf_statistics
from jaxsmt.evaluate.segments import Interner, bleu_tokens, characters

WORDS = ["the", "a", "cat", "sat", ",", "mat."]
segment = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
corpora = st.integers(1, 3).flatmap(
    lambda refs: st.lists(st.tuples(segment, st.lists(segment, min_size=refs, max_size=refs)), min_size=1, max_size=5)
)


def our_statistics(hypotheses, references, tokens, count):
    """references: [B][R] strings."""
    interner = Interner()
    ids = interner.encode([tokens(text) for text in hypotheses])
    flat = interner.encode([tokens(text) for texts in references for text in texts])
    sentences = np.arange(len(hypotheses))
    return count(ids, flat, sentences, np.repeat(sentences, [len(texts) for texts in references]))


def sacrebleu_statistics(metric, hypotheses, references):
    return np.array(metric._extract_corpus_statistics(hypotheses, list(zip(*references, strict=True))))


@settings(max_examples=80, deadline=None)
@given(corpora)
def test_bleu_equals_sacrebleu(corpus):
    hypotheses, references = [pair[0] for pair in corpus], [pair[1] for pair in corpus]
    ours = our_statistics(hypotheses, references, bleu_tokens, bleu_statistics)
    metric = BLEU()
    np.testing.assert_array_equal(ours, sacrebleu_statistics(metric, hypotheses, references))
    expected = metric.corpus_score(hypotheses, list(zip(*references, strict=True))).score
    assert corpus_bleu(ours.sum(0)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=80, deadline=None)
@given(corpora)
def test_chrf_equals_sacrebleu(corpus):
    hypotheses, references = [pair[0] for pair in corpus], [pair[1] for pair in corpus]
    ours = our_statistics(hypotheses, references, characters, chrf_statistics)
    metric = CHRF()
    np.testing.assert_array_equal(ours, sacrebleu_statistics(metric, hypotheses, references))
    expected = metric.corpus_score(hypotheses, list(zip(*references, strict=True))).score
    assert chrf_score(ours.sum(0)) == pytest.approx(expected, abs=1e-9)


def test_repeated_word_is_clipped():
    # Papineni et al. 2002, example 2: 'the' occurs twice in the first reference, so 2 of 7 match
    ours = our_statistics(
        ["the the the the the the the"], [["the cat is on the mat", "there is a cat on the mat"]], str.split,
        bleu_statistics,
    )  # fmt: skip
    assert ours.tolist() == [[7, 7, 2, 0, 0, 0, 7, 6, 5, 4]]


def test_no_segments():
    assert our_statistics([], [], str.split, bleu_statistics).shape == (0, 10)
    assert our_statistics([], [], characters, chrf_statistics).shape == (0, 18)


def test_many_hypotheses_of_one_sentence_equal_single_ones():
    rng = np.random.default_rng(0)
    hypotheses = [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(30)]
    interner = Interner()
    ids = interner.encode([text.split() for text in hypotheses])
    reference = interner.encode([WORDS, WORDS[::-1]])
    together = bleu_statistics(ids, reference, np.zeros(30, int), np.zeros(2, int))
    for number in range(30):
        alone = bleu_statistics(ids.take(np.array([number])), reference, np.zeros(1, int), np.zeros(2, int))
        np.testing.assert_array_equal(together[number], alone[0])
