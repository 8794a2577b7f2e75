"""The KenLM boundary."""

import gzip
import math
import sys

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm.kenlm_model import kenlm_sentence_entropies, kenlm_sentence_log_probs, kenlm_word_log_probs, load_kenlm
from tests.lm.slow_lm import random_arpa, random_sentences


def test_scores_are_natural_logarithms(kenlm, tmp_path):
    slow = random_arpa(1, order=3)
    model = load_kenlm(slow.write(tmp_path / "lm.arpa"))
    for row in random_sentences(1, 5, 10):
        expected = np.array(slow.word_scores(row))
        np.testing.assert_allclose(kenlm_word_log_probs(model, row), expected, atol=1e-5)
        assert kenlm_sentence_log_probs(model, [row])[0] == pytest.approx(expected.sum(), abs=1e-4)
        assert kenlm_sentence_entropies(model, [row])[0] == pytest.approx(-expected.mean() / math.log(2), abs=1e-4)
    assert kenlm_sentence_log_probs(model, []).shape == (0,)


def test_words_spelled_like_boundaries_are_unknown(kenlm, tmp_path):
    model = load_kenlm(random_arpa(2, order=2).write(tmp_path / "lm.arpa"))
    expected = kenlm_word_log_probs(model, ["w1", "never-seen"])
    np.testing.assert_array_equal(kenlm_word_log_probs(model, ["w1", "<s>"]), expected)
    np.testing.assert_array_equal(kenlm_word_log_probs(model, ["w1", "</s>"]), expected)


@pytest.mark.parametrize("order", [3, 5])
def test_sentences_of_query(kenlm, reference, order):
    model = load_kenlm(reference / "lm" / f"A.en.{order}.arpa.gz")
    with gzip.open(reference / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        rows = [line.split() for line in stream][:200]
    with gzip.open(reference / "lm" / f"pydoc-dev200.{order}gram.sentence.tsv.gz", "rt") as stream:
        log10_p = np.array([float(line.split("\t")[1]) for line in stream])
    np.testing.assert_allclose(kenlm_sentence_log_probs(model, rows), log10_p * math.log(10), rtol=1e-6)


def test_broken_files_are_explained(kenlm, tmp_path):
    (tmp_path / "counts").write_text("a b\t3\n")
    with pytest.raises(UserError, match="n-gram counts"):
        load_kenlm(tmp_path / "counts")
    slow = random_arpa(3, order=2)
    text = slow.write(tmp_path / "cut.arpa").read_text()
    (tmp_path / "cut.arpa").write_text(text[: len(text) // 2])
    with pytest.raises(UserError, match=r"KenLM cannot read .*cut\.arpa") as error:
        load_kenlm(tmp_path / "cut.arpa")
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="does not exist"):
        load_kenlm(tmp_path / "nothing")


def test_without_kenlm_one_sentence_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "kenlm", None)  # as if it could not be imported
    with pytest.raises(UserError, match=r"needs the package kenlm, .*: use a Python below 3\.13 .* or an ARPA file"):
        load_kenlm(random_arpa(3, order=2).write(tmp_path / "lm.arpa"))
