"""Array trie against plain comparison."""

import numpy as np
import pytest

from jaxsmt.search.matching import NO_MATCH, build_trie, match_spans
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD


def plain_matches(sides, words):
    table = {tuple(side[side != PAD]): index for index, side in enumerate(sides)}
    result = np.full((*words.shape, sides.shape[1]), NO_MATCH)
    for b, row in enumerate(words):
        length = int((row != PAD).sum())
        for start in range(length):
            for end in range(start + 1, min(length, start + sides.shape[1]) + 1):
                result[b, start, end - start - 1] = table.get(tuple(row[start:end]), NO_MATCH)
    return result


@pytest.mark.parametrize("num_sides", [0, 1, 40])
@pytest.mark.parametrize("num_words", [0, 1, 9])
def test_all_spans_are_found(num_sides, num_words):
    random = np.random.default_rng(num_sides + num_words)
    rows = {tuple(random.integers(NUM_RESERVED, NUM_RESERVED + 3, random.integers(1, 4))) for _ in range(num_sides)}
    sides = np.array([list(row) + [PAD] * (3 - len(row)) for row in sorted(rows)], np.int32).reshape(-1, 3)
    words = random.integers(NUM_RESERVED - 5, NUM_RESERVED + 4, (4, num_words)).astype(np.int32)
    words[words < NUM_RESERVED] = 1  # unknown words match nothing
    if num_words > 2:
        words[1, 2:] = PAD
        words[2] = PAD
    np.testing.assert_array_equal(match_spans(build_trie(sides), words), plain_matches(sides, words))


def test_sides_with_gaps_are_left_out():
    a = NUM_RESERVED
    sides = np.array([[a, NONTERMINALS[0]], [a, a]], np.int32)
    words = np.array([[a, a]], np.int32)
    assert match_spans(build_trie(sides), words).tolist() == [[[NO_MATCH, 1], [NO_MATCH, NO_MATCH]]]
