"""Development pairs: what mixture weights are fitted on (Sennrich 2012, section 3; methods of Sennrich et al. 2013).

Phrase pairs or rules are extracted from a development bitext as from a training corpus, and looked up in the union of
the components. Pairs that no component has say nothing about weights: they are left out and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import positions_in, sorted_distinct, widened
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.text.vocabulary import PAD, Vocabulary
from jaxsmt.tm.union import Statistics, UnionView


@dataclass(frozen=True)
class DevelopmentPairs:
    """The pairs of S development sets (or clusters) that at least one of D components has.

    set_names: [S]; component_names: [D].
    pair_index: [A] int64, ascending places in the union.
    counts: [S, A] float32, how often each set has the pair; p̃(s,t) is a row divided by its sum.
    statistics: those of the union for these A pairs; sides and words are the union's.
    num_skipped: [S] int64 distinct pairs of a set that no component has.
    skipped: [S] float64 their occurrences.
    orientations: [S, A, 6] float32, how often each set has the pair in each orientation; None if no set has any.
    orientation_counts: [D, A, 6] float32, likewise of the components.
    """

    set_names: tuple[str, ...]
    component_names: tuple[str, ...]
    pair_index: np.ndarray
    counts: np.ndarray
    statistics: Statistics
    num_skipped: np.ndarray
    skipped: np.ndarray
    orientations: np.ndarray | None = None
    orientation_counts: np.ndarray | None = None

    def __len__(self) -> int:
        """A."""
        return len(self.pair_index)

    def sets(self, rows: slice) -> "DevelopmentPairs":
        """Those of some of the sets alone, with all pairs."""
        return replace(
            self, set_names=self.set_names[rows], counts=self.counts[rows], num_skipped=self.num_skipped[rows],
            skipped=self.skipped[rows], orientations=None if self.orientations is None else self.orientations[rows],
        )  # fmt: skip

    @property
    def found(self) -> np.ndarray:
        """[S] float64: occurrences of the pairs that were found."""
        return self.counts.sum(1, dtype=np.float64)


def development_pairs(
    union: UnionView,
    sets: Sequence[RuleCounts],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    set_names: Sequence[str] | None = None,
) -> DevelopmentPairs:
    """Looks the pairs of development sets up in the union of the components.

    Args:
      union: of the D components; one restricted to the development sentences will do.
      sets: the extracted pairs or rules of S development sets, domains or clusters.
      source_vocabulary, target_vocabulary: what their ids mean; any vocabularies.
      set_names: [S] for reports; by default their numbers.
    """
    if not sets:
        raise UserError("no development set was given: mixture weights are fitted on at least one")
    names = tuple(str(number + 1) for number in range(len(sets))) if set_names is None else tuple(set_names)
    if len(names) != len(sets):
        raise UserError(f"{len(sets)} development sets have {len(names)} names: give one name for each")
    lookup = _PairLookup(union, source_vocabulary, target_vocabulary)
    places = [lookup(counts) for counts in sets]
    pair_index = sorted_distinct(np.concatenate([place[place < len(union)] for place in places]))
    table = np.zeros((len(sets), len(pair_index)), np.float32)
    for row, place, counts in zip(table, places, sets, strict=True):
        is_found = place < len(union)
        row[np.searchsorted(pair_index, place[is_found])] = counts.joint_counts[is_found]
    is_skipped = [place == len(union) for place in places]
    return DevelopmentPairs(
        set_names=names,
        component_names=union.names,
        pair_index=pair_index,
        counts=table,
        statistics=statistics_of_pairs(union.statistics, pair_index),
        num_skipped=np.array([mask.sum() for mask in is_skipped], np.int64),
        skipped=np.array(
            [part.joint_counts[mask].sum(dtype=np.float64) for part, mask in zip(sets, is_skipped, strict=True)]
        ),
        orientations=_orientations([part.orientation_counts for part in sets], places, pair_index),
        orientation_counts=None if union.orientation_counts is None else union.orientation_counts[:, pair_index],
    )


def _orientations(
    counts: Sequence[np.ndarray | None], places: Sequence[np.ndarray], pair_index: np.ndarray
) -> np.ndarray | None:
    """[S, A, 6] of the sets' counts [·, 6], those of each at `places` in the union; None if no set has any."""
    if all(part is None for part in counts):
        return None
    table = np.zeros((len(counts), len(pair_index), 6), np.float32)
    for row, place, part in zip(table, places, counts, strict=True):
        if part is not None:
            is_found = np.isin(place, pair_index)
            row[np.searchsorted(pair_index, place[is_found])] = part[is_found]
    return table


def statistics_of_pairs(statistics: Statistics, pair_index: np.ndarray) -> Statistics:
    """The statistics of the given pairs [A]; sides and word pairs stay as they are."""
    return replace(
        statistics,
        source_index=np.asarray(statistics.source_index)[pair_index],
        target_index=np.asarray(statistics.target_index)[pair_index],
        joint_counts=np.asarray(statistics.joint_counts)[:, pair_index],
        target_factors=np.asarray(statistics.target_factors)[pair_index],
        source_factors=np.asarray(statistics.source_factors)[pair_index],
    )


class _PairLookup:
    """Finds pairs in the union, given in ids of other vocabularies."""

    def __init__(self, union: UnionView, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary):
        self._source = _SideLookup(union.source_sides, source_vocabulary.ids_in(union.source_vocabulary, missing=-1))
        self._target = _SideLookup(union.target_sides, target_vocabulary.ids_in(union.target_vocabulary, missing=-1))
        self._num_targets = len(union.target_sides) + 1  # one more, for those that are not there
        source_index = np.asarray(union.statistics.source_index).astype(np.int64)
        self._keys = source_index * self._num_targets + union.statistics.target_index

    def __call__(self, counts: RuleCounts) -> np.ndarray:
        """[P of counts] int64: where each pair is in the union, its length where it is not there."""
        source = self._source(counts.source_sides)[counts.source_index]
        target = self._target(counts.target_sides)[counts.target_index]
        return positions_in(self._keys, source * self._num_targets + target)


class _SideLookup:
    """Finds sides among the sorted distinct sides [R, L] of the union."""

    def __init__(self, sides: np.ndarray, ids: np.ndarray):
        self._sides, self._ids = sides, ids
        self._keys = _byte_strings(sides)

    def __call__(self, sides: np.ndarray) -> np.ndarray:
        """[Q] int64: the place of each side [Q, L′], R where it is not there."""
        num_sides, width = self._sides.shape
        places = np.full(len(sides), num_sides, np.int64)
        rows = self._ids[sides]
        possible = np.nonzero((rows[:, width:] == PAD).all(1))[0]  # not longer than the union's longest
        rows = widened(rows[possible, :width], width)
        if not num_sides or not len(rows):
            return places
        nearest = np.minimum(np.searchsorted(self._keys, _byte_strings(rows)), num_sides - 1)
        is_found = (self._sides[nearest] == rows).all(1)
        places[possible[is_found]] = nearest[is_found]
        return places


def _byte_strings(rows: np.ndarray) -> np.ndarray:
    """[N] strings whose order is the lexicographic one of rows [N, L] of int32, negative numbers last."""
    if not rows.size:
        return np.zeros(len(rows), "S1")
    return np.ascontiguousarray(rows.astype(">i4")).view(f"S{4 * rows.shape[1]}")[:, 0]
