"""Lines of a development or test set that the training text has as well, exactly or nearly."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.text.checking.folding import LinesOfText

NEAR = 0.7  # share of common runs of three words among those of both lines (Jaccard's coefficient)
TOO_COMMON = 50  # lines of the set that have a run of words: it says nothing of any


@dataclass(frozen=True)
class Overlap:
    """Lines of a set, [R] bool each.

    exact: the training text has the source line; pair: with this translation; folded: but for case, accents, digits
    and punctuation; near: a source line much like it, folded ones not included; target: the folded target line.
    like: [R] int64, the line of the training text (from 0) that is most like it, −1 for none.
    """

    exact: np.ndarray
    pair: np.ndarray
    folded: np.ndarray
    near: np.ndarray
    target: np.ndarray
    like: np.ndarray


def overlap(
    source: LinesOfText, target: LinesOfText, trained_source: LinesOfText, trained_target: LinesOfText
) -> Overlap:
    """What a set has in common with a training text."""
    folded = np.isin(source.folded, trained_source.folded) & (source.folded != 0)
    like = near_duplicates(source, trained_source)
    both = _joined(source.exact, target.exact), _joined(trained_source.exact, trained_target.exact)
    return Overlap(
        np.isin(source.exact, trained_source.exact),
        np.isin(*both),
        folded,
        (like >= 0) & ~folded,
        np.isin(target.folded, trained_target.folded) & (target.folded != 0),
        like,
    )


def _joined(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return source * np.uint64(0xD1B54A32D192ED03) + target


def near_duplicates(lines: LinesOfText, trained: LinesOfText) -> np.ndarray:
    """[R] int64: for each line the line of the training text with the most runs of words in common, −1 below NEAR."""
    best = np.full(len(lines), -1, np.int64)
    own = _distinct(lines.shingles)
    keys, start, count = np.unique(np.sort(own.values), return_index=True, return_counts=True)
    holders = own.row_index[np.argsort(own.values, kind="stable")]  # lines that have a run, by run
    if not len(keys):
        return best
    candidates = _candidates(trained.shingles, keys)
    theirs = _distinct(trained.shingles.take(candidates))
    place = np.minimum(np.searchsorted(keys, theirs.values), len(keys) - 1)
    hit = (keys[place] == theirs.values) & (count[place] <= TOO_COMMON)
    place, row = place[hit], theirs.row_index[hit]
    inner, which = ranges(start[place], count[place])
    pair, common = np.unique(row[which] * len(lines) + holders[inner], return_counts=True)
    their_row, own_row = np.divmod(pair, len(lines))
    jaccard = common / (theirs.lengths[their_row] + own.lengths[own_row] - common)
    order = np.lexsort((-their_row, jaccard))  # the most alike last, of equals the first line
    order = order[jaccard[order] >= NEAR]
    best[own_row[order]] = candidates[their_row[order]]
    return best


def _candidates(shingles: Ragged, keys: np.ndarray) -> np.ndarray:
    """Lines that can be near: enough of their runs are among the keys [K], which are sorted."""
    place = np.minimum(np.searchsorted(keys, shingles.values), len(keys) - 1)
    sums = np.concatenate([[0], np.cumsum(keys[place] == shingles.values)])
    hits = sums[shingles.offsets[1:]] - sums[shingles.offsets[:-1]]
    return np.flatnonzero((hits > 0) & (hits >= NEAR * shingles.lengths))


def _distinct(rows: Ragged) -> Ragged:
    """Every row's different values, in rising order."""
    order = np.lexsort((rows.values, rows.row_index))
    values, row = rows.values[order], rows.row_index
    is_new = np.ones(len(values), bool)
    is_new[1:] = (values[1:] != values[:-1]) | (row[1:] != row[:-1])
    return Ragged(values[is_new], offsets_of(np.bincount(row[is_new], minlength=len(rows))))
