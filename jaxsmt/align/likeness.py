"""Pairs of words that are spelt alike: names, numbers and cognates, which are translations more often than others.

A word pair's likeness is the share of the longer word that both begin with. Pairs are alike from a likeness of 0.6 on,
if it is four letters or all of both words; others have likeness 0.
"""

from collections.abc import Callable

import numpy as np

from jaxsmt.align.cells import WordPairs

MIN_LIKENESS = 0.6
MIN_LETTERS = 4
_PAIRS_AT_ONCE = 1 << 20


def likeness_prior(source: np.ndarray, target: np.ndarray, alpha: float) -> Callable[[WordPairs], np.ndarray]:
    """What a pair of words gets for its spelling, `alpha` where all letters are alike; a prior of EM.

    source, target: as in `likeness`, see `jaxsmt.text.spelling`.
    """
    return lambda pairs: likeness(pairs, source, target) * np.float32(alpha)


def likeness(pairs: WordPairs, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[P] float32 likeness of the pairs.

    source, target: [V, K], [V', K] code points of the words' first K letters, 0 at the end; words beyond V or V' are
      like none.
    """
    found = np.zeros(len(pairs), np.float32)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        words = pairs.source_word[part], pairs.target_word[part]
        place = np.flatnonzero((words[0] < len(source)) & (words[1] < len(target)))
        # most pairs differ in the first letter
        place = place[source[words[0][place], 0] == target[words[1][place], 0]]
        found[start + place] = _likeness(source[words[0][place]], target[words[1][place]])
    return found


def _likeness(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[C] of words [C, K] side by side."""
    shared = np.sum(np.logical_and.accumulate((first == second) & (first > 0), axis=1), axis=1)
    lengths = np.sum(first > 0, axis=1), np.sum(second > 0, axis=1)
    longer = np.maximum(*lengths)
    share = shared / np.maximum(longer, 1)
    is_alike = (share >= MIN_LIKENESS) & ((shared >= MIN_LETTERS) | (shared == longer))
    return np.where(is_alike, share, 0.0).astype(np.float32)
