"""Matching n-grams of many hypotheses with their references, by sorting instead of dictionaries."""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.grouping import positions_in, sorted_distinct
from jaxsmt.common.ragged import Ragged


def ngram_totals(lengths: np.ndarray, max_order: int) -> np.ndarray:
    """[K] lengths → [K, max_order] int64: how many n-grams of n = 1..max_order a segment has."""
    return np.maximum(lengths[:, None] - np.arange(max_order), 0)


def clipped_matches(
    hypotheses: Ragged, references: Ragged, group_of_hypothesis: np.ndarray, group_of_reference: np.ndarray,
    max_order: int,
) -> np.ndarray:  # fmt: skip
    """[K, max_order] int64: n-grams of each hypothesis that its references have, each counted at most as often as the
    reference that has it most often has it (Papineni et al. 2002, section 2.1.1).

    Args:
        hypotheses, references: K and R segments of ids from one numbering.
        group_of_hypothesis, group_of_reference: [K], [R] int64: which segments belong together (the sentence).
    """
    matches = np.zeros((len(hypotheses), max_order), np.int64)
    hypothesis_ids, reference_ids = hypotheses.values.astype(np.int64), references.values.astype(np.int64)
    hypothesis_place, reference_place = _positions_left(hypotheses), _positions_left(references)
    hypothesis_row, reference_row = hypotheses.row_index, references.row_index
    base = int(max(hypothesis_ids.max(initial=0), reference_ids.max(initial=0))) + 1
    key_h, key_r = hypothesis_ids, reference_ids
    at_h, at_r = np.arange(len(key_h)), np.arange(len(key_r))
    for order in range(1, max_order + 1):
        if order > 1:  # an n-gram is the number of its first n − 1 words, followed by a word
            key_h, at_h = _longer(key_h, at_h, hypothesis_ids, hypothesis_place, order, base)
            key_r, at_r = _longer(key_r, at_r, reference_ids, reference_place, order, base)
        known = sorted_distinct(key_r)
        key_r, key_h = positions_in(known, key_r), positions_in(known, key_h)
        is_known = key_h < len(known)  # what no reference has can grow into no match
        key_h, at_h = key_h[is_known], at_h[is_known]
        in_hypotheses = _Occurrences(group_of_hypothesis, hypothesis_row[at_h], key_h)
        in_references = _Occurrences(group_of_reference, reference_row[at_r], key_r)
        matches[:, order - 1] = _clip(in_hypotheses, in_references, len(known))
    return matches


def _positions_left(segments: Ragged) -> np.ndarray:
    """[T]: how many items of its row follow an item."""
    return np.repeat(segments.offsets[1:], segments.lengths) - 1 - np.arange(len(segments.values))


def _longer(
    keys: np.ndarray, starts: np.ndarray, ids: np.ndarray, left: np.ndarray, order: int, base: int
) -> tuple[np.ndarray, np.ndarray]:
    fits = left[starts] >= order - 1
    keys, starts = keys[fits], starts[fits]
    return keys * base + ids[starts + order - 1], starts


class _Occurrences(NamedTuple):
    """N-grams of one order: group [K] of each segment; row and key [T], the segment and the n-gram's number."""

    group: np.ndarray
    row: np.ndarray
    key: np.ndarray

    def counted(self, num_keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The distinct (row, key) and how often each occurs."""
        pairs, counts = np.unique(self.row * num_keys + self.key, return_counts=True)
        return *np.divmod(pairs, num_keys), counts


def _clip(hypotheses: _Occurrences, references: _Occurrences, num_keys: int) -> np.ndarray:
    """Σ over n-grams of min(count in the hypothesis, largest count in a reference of the group): [K] int64."""
    num_keys = max(num_keys, 1)
    row_r, key_r, count_r = references.counted(num_keys)
    group_key = references.group[row_r] * num_keys + key_r
    known = sorted_distinct(group_key)
    limits = np.zeros(len(known) + 1, np.int64)  # the last one for n-grams that only other groups have
    np.maximum.at(limits, positions_in(known, group_key), count_r)
    row_h, key_h, count_h = hypotheses.counted(num_keys)
    allowed = limits[positions_in(known, hypotheses.group[row_h] * num_keys + key_h)]
    return np.bincount(row_h, np.minimum(count_h, allowed), minlength=len(hypotheses.group)).astype(np.int64)
