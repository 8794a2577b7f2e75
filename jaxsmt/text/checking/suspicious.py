"""Pairs that look wrong: copied, in the wrong language, of very unequal length, or no translations of each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.text.checking.folding import LinesOfText
from jaxsmt.text.checking.language import can_be_told_apart, markers
from jaxsmt.text.checking.matching import MatchedText
from jaxsmt.text.vocabulary import NUM_RESERVED

EMPTY, COPIED, LANGUAGE, LENGTH, UNMATCHED = "empty", "copied", "language", "length", "no match"
KINDS = (EMPTY, COPIED, LANGUAGE, LENGTH, UNMATCHED)
WORDS_OF_A_COPY = 4  # shorter ones may well be the same in two languages
WORDS_OF_A_LANGUAGE = 3  # function words of the wrong one, and none of the right one
TIMES_TOO_LONG = 2.5  # as the typical ratio of the text
LEAST_TOKENS = 10  # on the longer side, for that
LEAST_TOLD = 4  # words on either side that could be matched
LOW = 0.15  # scores of lines put together at random are below (19 of 20), of translations above (99 of 100)
WINDOW = 5  # lines of which all but one are low: the beginning of a run that is misaligned
REACH = 100  # lines up and down where the right partner is looked for


@dataclass(frozen=True)
class Run:
    """Pairs first … last (from 0) that do not match; shift: how many lines further down partners are, if found."""

    first: int
    last: int
    shift: int | None


@dataclass(frozen=True)
class Suspicions:
    """rows: for each kind the pairs, from 0; runs: stretches of pairs that do not match."""

    rows: dict[str, np.ndarray] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()


def suspicious_pairs(
    source: LinesOfText, target: LinesOfText, languages: Sequence[str], matched: MatchedText | None
) -> Suspicions:
    """What looks wrong in a text; matched: None where there is no training text to tell which words go together."""
    lengths = source.rows.lengths, target.rows.lengths
    found = {
        EMPTY: np.minimum(*lengths) == 0,
        COPIED: (source.folded == target.folded) & (source.folded_words.lengths >= WORDS_OF_A_COPY),
        LANGUAGE: _wrong_language(source, target, languages),
        LENGTH: _odd_lengths(*lengths),
    }
    runs: tuple[Run, ...] = ()
    if matched is not None:
        scores, told = matched.pairs()
        low = (scores < LOW) & (told >= LEAST_TOLD) & ~found[COPIED]
        found[UNMATCHED] = low
        runs = tuple(misaligned_runs(matched, low, told >= LEAST_TOLD))
    return Suspicions({kind: np.flatnonzero(mask) for kind, mask in found.items()}, runs)


def _wrong_language(source: LinesOfText, target: LinesOfText, languages: Sequence[str]) -> np.ndarray:
    wrong = np.zeros(len(source), bool)
    if not can_be_told_apart(languages):
        return wrong
    for side, own, other in ((source, languages[0], languages[1]), (target, languages[1], languages[0])):
        right, false = (_markers_of(side, *pair) for pair in ((own, other), (other, own)))
        wrong |= (false >= WORDS_OF_A_LANGUAGE) & (right == 0)
    return wrong


def _markers_of(side: LinesOfText, language: str, other: str) -> np.ndarray:
    """[R]: how many words of each line speak for a language."""
    speaks = markers(language, other)
    flags = np.array([0] * NUM_RESERVED + [speaks.found_in(word) for word in side.vocabulary.words], np.int64)
    sums = np.concatenate([[0], np.cumsum(flags[side.rows.values])])
    return sums[side.rows.offsets[1:]] - sums[side.rows.offsets[:-1]]


def _odd_lengths(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    both = np.minimum(source, target) > 0
    ratio = np.log(np.where(both, source, 1) / np.where(both, target, 1))
    typical = np.median(ratio[both]) if both.any() else 0.0
    return both & (np.maximum(source, target) >= LEAST_TOKENS) & (np.abs(ratio - typical) > np.log(TIMES_TOO_LONG))


def misaligned_runs(matched: MatchedText, low: np.ndarray, told: np.ndarray) -> list[Run]:
    """Stretches where nearly all pairs that can be judged do not match, and where their partners are.

    low, told: [R] bool, whether a pair does not match, and whether that can be judged.
    """
    judged = np.flatnonzero(told)
    if len(judged) < WINDOW:
        return []
    sums = np.convolve(low[judged], np.ones(WINDOW, int), "valid") >= WINDOW - 1
    inside = np.convolve(sums, np.ones(WINDOW, int)) > 0  # of the judged pairs: in such a window
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    runs = []
    for begin, end in edges.reshape(-1, 2):
        inner = judged[begin:end][low[judged[begin:end]]]
        first, last = int(inner[0]), int(inner[-1])
        runs.append(Run(first, last, _shift(matched, inner)))
    return runs


def _shift(matched: MatchedText, rows: np.ndarray) -> int | None:
    """How many lines further down the partners of most of these source lines are; None if nowhere near."""
    rows = rows[:REACH]
    near = np.arange(max(0, rows[0] - REACH), min(len(matched), rows[-1] + REACH + 1))
    scores = matched.square(near)[rows - near[0]]  # [rows, near]
    best = near[scores.argmax(axis=1)] - rows
    is_match = scores.max(axis=1) >= 2 * LOW
    if is_match.sum() < WINDOW - 1:
        return None
    shifts, counts = np.unique(best[is_match], return_counts=True)
    most = int(counts.argmax())
    return int(shifts[most]) if 2 * counts[most] >= is_match.sum() else None
