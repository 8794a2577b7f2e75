"""What is said of text before a training, against slow reference implementations."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.demo import generate_demo
from jaxsmt.text.checking.coverage import shared_words, unknown_shares
from jaxsmt.text.checking.folding import LinesOfText, folded
from jaxsmt.text.checking.matching import make_matcher
from jaxsmt.text.checking.overlap import NEAR, overlap
from jaxsmt.text.checking.suspicious import COPIED, EMPTY, LANGUAGE, LENGTH, UNMATCHED, Run, suspicious_pairs
from jaxsmt.text.vocabulary import build_vocabulary


def lines_of(lines):
    tokens = [line.split() for line in lines]
    vocabulary = build_vocabulary(Counter(token for row in tokens for token in row))
    return LinesOfText(ragged_from_rows([vocabulary.encode(row) for row in tokens]), vocabulary)


def slow_fold(line):
    return tuple(filter(None, (folded(word) for word in line.split())))


def slow_similarity(one, other):
    """Jaccard's coefficient of runs of three folded words."""
    sets = [{fold[i : i + 3] for i in range(len(fold) - 2)} for fold in (slow_fold(one), slow_fold(other))]
    return len(sets[0] & sets[1]) / max(len(sets[0] | sets[1]), 1)


text = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "A", "b,", "d", "1", "2", "é", ","]), max_size=9).map(" ".join),
    max_size=12,
)


@settings(deadline=None, max_examples=150)
@given(text, text)
def test_overlap_is_that_of_all_pairs_of_lines(own, trained):
    targets = [line[::-1] for line in trained]
    found = overlap(lines_of(own), lines_of(own), lines_of(trained), lines_of(targets))
    exact, folds = {tuple(line.split()) for line in trained}, {slow_fold(line) for line in trained}
    pairs = {(tuple(a.split()), tuple(b.split())) for a, b in zip(trained, targets, strict=True)}
    assert found.exact.tolist() == [tuple(line.split()) in exact for line in own]
    assert found.pair.tolist() == [(tuple(line.split()),) * 2 in pairs for line in own]
    assert found.folded.tolist() == [bool(slow_fold(line)) and slow_fold(line) in folds for line in own]
    for line, is_near, is_folded, like in zip(own, found.near, found.folded, found.like, strict=True):
        best = max((slow_similarity(line, other) for other in trained), default=0.0)
        assert (like >= 0) == (best >= NEAR)
        assert is_near == (best >= NEAR and not is_folded)
        if like >= 0:
            assert slow_similarity(line, trained[like]) == best


def test_folding_takes_case_accents_digits_and_punctuation_away():
    assert slow_fold("￭L' Été 2024 , n° ￭( 3,5 )") == ("l", "ete", "0000", "n", "00")
    assert folded("v2.5", keep_digits=True) == "v25"


def test_unknown_words_are_counted_by_hand():
    own, one, other = lines_of(["a b c c .", "d a"]), lines_of(["a b"]), lines_of(["c ."])
    assert unknown_shares(own, [one, other]) == pytest.approx([3 / 6, 4 / 6, 1 / 6])
    assert shared_words([own, one]) == pytest.approx(np.array([[1, 3 / 6], [1, 1]]))
    assert unknown_shares(lines_of([]), [one]).tolist() == [1, 1]


@pytest.fixture(scope="module")
def demo():
    """Pairs of all domains for training, and others."""
    domains = generate_demo().values()
    return [pair for splits in domains for pair in splits["train"][:700]], [
        pair for splits in domains for pair in splits["dev"]
    ]


def spaced(pairs, side):
    return lines_of([" ".join(pair[side].replace("'", "' ").replace(".", " .").split()) for pair in pairs])


def checked(demo, pairs):
    train = spaced(demo[0], 0), spaced(demo[0], 1)
    own = spaced(pairs, 0), spaced(pairs, 1)
    return suspicious_pairs(*own, ("fr", "en"), make_matcher([train], [own]).of(*own))


def test_translations_are_not_suspicious(demo):
    found = checked(demo, demo[1])
    assert sum(len(rows) for kind, rows in found.rows.items() if kind != UNMATCHED) == 0
    assert len(found.rows[UNMATCHED]) <= 0.02 * len(demo[1])
    assert found.runs == ()


def test_single_bad_pairs_are_named(demo):
    pairs = list(demo[1])
    long = " ".join(pair[1] for pair in pairs[:6])
    pairs[3] = (pairs[3][0], "")
    pairs[5] = (long, long)
    pairs[7] = (pairs[7][0], long)
    pairs[9] = (long, pairs[9][1])
    found = checked(demo, pairs).rows
    assert found[EMPTY].tolist() == [3]
    assert found[COPIED].tolist() == [5]
    assert {7, 9} <= set(found[LENGTH].tolist())
    assert {5, 9} <= set(found[LANGUAGE].tolist())


@pytest.mark.parametrize("shift", [-9, 4])
def test_a_misaligned_run_is_found_with_its_shift(demo, shift):
    pairs = list(demo[1])
    random.Random(1).shuffle(pairs)
    # the right partner of source line r stands `shift` lines further down
    moved = [(pairs[row][0], pairs[row - shift if 40 <= row < 80 else row][1]) for row in range(len(pairs))]
    runs = checked(demo, moved).runs
    assert runs
    assert min(run.first for run in runs) >= 39
    assert max(run.last for run in runs) <= 80
    assert sum(run.last - run.first + 1 for run in runs) >= 15
    assert all(isinstance(run, Run) and run.shift in (shift, None) for run in runs)
    assert any(run.shift == shift for run in runs)
