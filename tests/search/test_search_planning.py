"""Which rule applications a batch allows, against plain comparison of positions."""

from itertools import product

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.search.plan.forest import Layout
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.plan.planning import SpecialEntries, check_forced, forced_allows, unknown_positions
from jaxsmt.search.rules.grammar import Programs
from jaxsmt.search.weights import SearchWeights, distinct_profiles

NO_GAP = (0, 0)


def all_matches(length, num_sentences):
    """Every span of every sentence, with every choice of up to two gaps inside it."""
    rows = []
    for sentence in range(num_sentences):
        for start, end in product(range(length), range(length + 1)):
            spans = [(a, b) for a in range(start, end) for b in range(a + 1, end + 1)]
            pairs = [(one, two) for one, two in product(spans, spans) if one[1] <= two[0]]
            gaps = [(NO_GAP, NO_GAP), *((one, NO_GAP) for one in spans), *pairs] if start < end else []
            rows += [(sentence, start, end, choice) for choice in gaps]
    columns = [np.array([row[place] for row in rows], np.int32) for place in range(3)]
    gaps = np.array([row[3] for row in rows], np.int32).reshape(-1, 2, 2)
    return Matches(*columns, np.zeros(len(rows), np.int32), gaps), rows


def leaves_whole(row, forced):
    """Whether none of a forced span's words are the rule's own, and all of them are in the same gap or outside."""
    sentence, start, end, gaps = row
    for other, first, last in forced:
        words = set(range(first, last))
        homes = [set(range(*gap)) for gap in gaps] + [set(range(first, start)) | set(range(end, last))]
        if other == sentence and not any(words <= home for home in homes):
            return False
    return True


@pytest.mark.parametrize(
    "forced", [{}, {(0, 1, 3)}, {(1, 0, 1), (0, 0, 1), (0, 3, 5)}, {(0, 0, 5)}, {(0, 4, 5)}, {(0, 0, 2), (0, 2, 3)}]
)
def test_matches_leave_forced_spans_whole(forced):
    matches, rows = all_matches(5, 2)
    allowed = forced_allows(matches, dict.fromkeys(forced, ()))
    expected = [leaves_whole(row, forced) for row in rows]
    assert allowed.tolist() == expected
    assert len(set(expected)) == (2 if forced else 1)


@pytest.mark.parametrize("forced", [(0, 0, 0), (0, 2, 2), (0, -1, 1), (0, 0, 4), (1, 0, 1), (-1, 0, 1), (2, 0, 1)])
def test_forced_spans_lie_inside_their_sentence(forced):
    with pytest.raises(UserError, match=rf"{forced[1]}\.\.{forced[2]} is not inside sentence {forced[0]}"):
        check_forced({forced: ()}, np.array([3, 0]))


def test_forced_spans_may_touch_and_not_overlap():
    lengths = np.array([6, 6])
    spans = [(start, end) for start in range(6) for end in range(start + 1, 7)]
    for one, two in product(spans, spans):
        forced = {(0, *one): (), (0, *two): ()}
        check_forced({(0, *one): (), (1, *two): ()}, lengths)
        if one == two or one[1] <= two[0] or two[1] <= one[0]:
            check_forced(forced, lengths)
        else:
            with pytest.raises(UserError, match="overlap"):
                check_forced(forced, lengths)


@pytest.mark.parametrize("lengths", [[], [0], [1], [3, 0, 4]])
def test_words_without_a_translation_of_their_own_are_unknown(lengths):
    random = np.random.default_rng(len(lengths))
    rows = [(s, a, b) for s, n in enumerate(lengths) for a in range(n) for b in range(a + 1, n + 1)]
    rows = [row for row in rows if random.random() < 0.4]
    columns = (np.array([row[place] for row in rows], np.int32) for place in range(3))
    matches = Matches(*columns, np.zeros(len(rows), np.int32), np.zeros((len(rows), 2, 2), np.int32))
    forced = {(2, 1, 3): ()} if len(lengths) > 2 else {}
    found = unknown_positions(Layout(np.array(lengths, np.int64), 5), matches, forced)
    known = {(s, a) for s, a, b in rows if b == a + 1} | {(s, x) for s, a, b in forced for x in range(a, b)}
    expected = [(s, a) for s, n in enumerate(lengths) for a in range(n) if (s, a) not in known]
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_special_entries_may_be_none():
    weights = SearchWeights().of_sentences(1, 4)
    none = np.zeros((0, 1), np.float32)
    programs = Programs(np.zeros((1, 1), np.int32), np.zeros((0, 5), np.int32), none, none, np.zeros(0, np.int32))
    assert SpecialEntries(3).scores([programs], distinct_profiles(weights, None, [None])).shape == (0,)
