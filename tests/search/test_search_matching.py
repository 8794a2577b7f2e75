"""Array trie against plain comparison."""

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.plan.matching import build_trie, match_patterns
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD


def plain_patterns(sides, sentence, max_span):
    """All (start, end, side, gaps) by trying every way to lay a side over a span."""

    def fills(symbols, start, end):
        if not symbols:
            return [[]] if start == end else []
        if symbols[0] not in NONTERMINALS:
            return fills(symbols[1:], start + 1, end) if start < end and sentence[start] == symbols[0] else []
        return [[(start, stop), *rest] for stop in range(start + 1, end + 1) for rest in fills(symbols[1:], stop, end)]

    return [
        (start, end, number, *[*gaps, (0, 0), (0, 0)][:2])
        for start in range(len(sentence))
        for end in range(start + 1, min(len(sentence), start + max_span) + 1)
        for number, side in enumerate(sides)
        for gaps in fills(side[side != PAD].tolist(), start, end)
    ]


@pytest.mark.parametrize("lengths", [[], [0], [1], [6, 0, 9, 3]])
def test_all_patterns_with_gaps_are_found(lengths):
    random = np.random.default_rng(len(lengths))
    a, b, (x1, x2) = NUM_RESERVED, NUM_RESERVED + 1, NONTERMINALS
    rows = [(a,), (a, b), (b, x1), (x1, a), (x1, b, x2), (a, x1, b), (a, x1, b, x2), (x1, a, x2, b), (b, b, b, b)]
    sides = np.array(sorted(list(row) + [PAD] * (4 - len(row)) for row in rows), np.int32)
    words = [random.integers(NUM_RESERVED - 1, NUM_RESERVED + 2, length) for length in lengths]
    words = [np.where(row < NUM_RESERVED, 1, row).tolist() for row in words]
    found = match_patterns(build_trie(sides), ragged_from_rows(words), max_span=5)
    listed = [
        (row, start, end, side, *(tuple(gap) for gap in gaps))
        for row, start, end, side, gaps in zip(*(part.tolist() for part in vars(found).values()), strict=True)
    ]
    expected = [(row, *match) for row, sentence in enumerate(words) for match in plain_patterns(sides, sentence, 5)]
    assert sorted(listed) == sorted(expected)
    assert [row[:4] for row in listed] == sorted(row[:4] for row in listed)


def test_a_table_without_rules_matches_nothing():
    trie = build_trie(np.zeros((0, 3), np.int32))
    assert len(match_patterns(trie, ragged_from_rows([[NUM_RESERVED]]), max_span=5)) == 0
