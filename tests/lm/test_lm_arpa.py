"""ARPA files: what is written comes back, odd files load, broken files are explained."""

import gzip
import logging
import math

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary
from tests.lm.slow_lm import SlowLm, encode, flat_scores, random_arpa, random_sentences, random_text, slow_from_lm

SMALL = r"""\data\
ngram 1=4
ngram 2=2

\1-grams:
-1.5	<unk>
0	<s>	-0.25
-1	</s>
-0.5	a	-0.125

\2-grams:
-0.75	<s> a
-0.375	a </s>

\end\
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.arpa"
    path.write_text(SMALL)
    return path


def test_small_file_by_hand(small):
    lm = read_arpa(small)
    assert lm.vocabulary.words == ("a",)
    assert lm.counts == (4, 2)
    assert slow_from_lm(lm).entries["<s>", "a"][0] == pytest.approx(-0.75)
    assert lm.levels[0].log_backoff[lm.vocabulary.id_of["a"]] == pytest.approx(-0.125 * math.log(10))


@pytest.mark.parametrize("suffix", [".arpa", ".arpa.gz"])
def test_written_model_comes_back(tmp_path, suffix):
    lm = estimate_lm(*encode(random_text(1, 80, 20)), LmConfig(order=4, prune=(0, 0, 1)))
    write_arpa(lm, tmp_path / f"lm{suffix}")
    back = read_arpa(tmp_path / f"lm{suffix}", lm.vocabulary)
    assert back.counts == lm.counts
    for ours, theirs in zip(back.levels, lm.levels, strict=True):
        np.testing.assert_array_equal(ours.prefix, theirs.prefix)
        np.testing.assert_array_equal(ours.suffix, theirs.suffix)
        np.testing.assert_allclose(ours.log_backoff, theirs.log_backoff, atol=1e-6)
    np.testing.assert_allclose(back.levels[3].log_p, lm.levels[3].log_p, atol=1e-6)


def test_same_model_same_bytes(tmp_path):
    lm = estimate_lm(*encode(random_text(1, 20, 9)), LmConfig(order=3))
    for name in ("one.arpa.gz", "two.arpa.gz"):
        write_arpa(lm, tmp_path / name)
    assert (tmp_path / "one.arpa.gz").read_bytes() == (tmp_path / "two.arpa.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.arpa.gz").read_bytes()).startswith(b"\\data\\\nngram 1=")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("with_contexts", [True, False])
def test_missing_prefixes_and_suffixes_change_no_score(tmp_path, seed, with_contexts):
    slow = random_arpa(seed, order=4, with_contexts=with_contexts)
    lm = read_arpa(slow.write(tmp_path / "odd.arpa"))
    rows = random_sentences(seed, 5)
    np.testing.assert_allclose(flat_scores(slow_from_lm(lm), rows), flat_scores(slow, rows), atol=1e-4)
    for level, below in zip(lm.levels[1:], lm.levels, strict=False):
        assert level.prefix.max(initial=0) < len(below)
        assert level.suffix.max(initial=0) < len(below)


def test_words_outside_the_vocabulary_are_left_out(tmp_path):
    slow = random_arpa(3, order=3)
    lm = read_arpa(slow.write(tmp_path / "lm.arpa"), Vocabulary(("w1", "elsewhere")))
    assert lm.counts[0] == 4  # <unk> <s> </s> w1
    kept = {g for g in slow.entries if set(g) <= {"<unk>", "<s>", "</s>", "w1"}}
    assert kept <= set(slow_from_lm(lm).entries)


def test_missing_unknown_word_is_as_in_kenlm(tmp_path, caplog):
    entries = {("<s>",): (-99.0, -0.5), ("</s>",): (-1.0, 0.0), ("a",): (-0.5, 0.0)}
    with caplog.at_level(logging.WARNING, "jaxsmt"):
        lm = read_arpa(SlowLm(entries).write(tmp_path / "lm.arpa"))
    assert "no <unk>" in caplog.text
    assert lm.levels[0].log_p[UNKNOWN] == pytest.approx(-100 * math.log(10))


def test_capital_unknown_and_odd_spacing(tmp_path):
    text = SMALL.replace("<unk>", "<UNK>").replace("\n", "\r\n").replace("ngram 2=2", "ngram  2= 2")
    (tmp_path / "srilm.arpa").write_bytes(text.encode())
    assert read_arpa(tmp_path / "srilm.arpa").levels[0].log_p[UNKNOWN] == pytest.approx(-1.5 * math.log(10))


def test_backoff_of_the_highest_order_means_nothing(tmp_path):
    (tmp_path / "odd.arpa").write_text(SMALL.replace("<s> a\n", "<s> a\t-0.5\n"))
    lm = read_arpa(tmp_path / "odd.arpa")
    assert not lm.levels[1].log_backoff.any()


BROKEN = {
    "counts": ("a b\t12\nb c\t3\n", "line 1: these are n-gram counts"),
    "iarpa": ("iARPA\n\n\\data\\\n", "iARPA format: turn it into ARPA"),
    "binary": ("mmap lm http://kheafield.com/code format version 5\n\0", "is a KenLM binary"),
    "text": ("Hello there\n", "line 1: expected '\\\\data\\\\', found 'Hello there'"),
    "empty": ("", "ends too early"),
    "orders": (SMALL.replace("ngram 2", "ngram 3"), "line 3: expected 'ngram 2=COUNT', found 'ngram 3=2'"),
    "truncated": (SMALL[:-30], "ends too early, it is truncated"),
    "no end": (SMALL.replace("\\end\\\n", ""), "ends too early"),
    "count too small": (SMALL.replace("1=4", "1=3"), r"expected '\\2-grams:', found '-0.5"),
    "count too large": (SMALL.replace("2=2", "2=3"), r"line 15: expected a 2-gram .* found '\\end\\'"),
    "wrong order": (SMALL.replace("<s> a", "<s> a a a"), "line 12: expected a 2-gram"),
    "no number": (SMALL.replace("-0.75", "minus"), "not a number"),
    "positive": (SMALL.replace("-0.75", "0.75"), "positive"),
    "foreign word": (SMALL.replace("<s> a", "<s> b"), "the word 'b' of a 2-gram is not among the unigrams"),
    "twice": (SMALL.replace("-0.375\ta </s>", "-0.375\t<s> a"), "lists a 2-gram twice"),
    "unigram twice": (SMALL.replace("-1\t</s>", "-1\ta"), "unigram is listed twice"),
    "no boundary": (SMALL.replace("<s>", "b"), "the unigrams lack <s>"),
    "order 10": ("\\data\\\n" + "".join(f"ngram {k}=1\n" for k in range(1, 11)) + "\n\\1-grams:\n", "has order 10"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_explained(tmp_path, name):
    text, message = BROKEN[name]
    path = tmp_path / "broken.arpa"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        read_arpa(path)
    assert "broken.arpa" in str(error.value)
    assert "\n" not in str(error.value)


def test_truncated_gzip_and_missing_file(tmp_path):
    (tmp_path / "cut.arpa.gz").write_bytes(gzip.compress(SMALL.encode())[:-20])
    with pytest.raises(UserError, match="broken or truncated"):
        read_arpa(tmp_path / "cut.arpa.gz")
    with pytest.raises(UserError, match="does not exist"):
        read_arpa(tmp_path / "nothing.arpa")
