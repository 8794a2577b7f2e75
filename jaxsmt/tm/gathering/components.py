"""Components with what a text can use of them: small arrays in memory, with the marginals of the whole component."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from jaxsmt.common.arrays import take_rows
from jaxsmt.common.grouping import sorted_distinct, unique_rows, widened
from jaxsmt.common.ragged import Ragged, ragged_from_rows, ranges, ranks_in_runs
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD, Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.gathering.matching import matching_sides
from jaxsmt.tm.gathering.sorted_rows import find_rows, narrowed
from jaxsmt.tm.merged_words import NOT_THERE, MergedWords, words_of_all

# A comma has tens of thousands of translations in a large text, nearly all of them seen once. Of 300 lines of Python
# documentation, under three settings of weights, not one is translated otherwise with 300, nor with 100.
MOST_PAIRS = 300


class _Found(NamedTuple):
    """What sentences use of a component: rows of source sides [s] and pairs [p], ascending; target_index: [p]."""

    sides: np.ndarray
    pairs: np.ndarray
    target_index: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        """[t] rows of target sides, ascending."""
        return sorted_distinct(self.target_index)


@dataclass(frozen=True)
class RuleTables:
    """D components on the disk, from which what a text needs is fetched.

    most_pairs: of each source side and component so many at the most, those of the highest counts, of equal ones the
      first; None: all. Marginals do not change.
    """

    components: Sequence[Component]
    most_pairs: int | None = MOST_PAIRS

    @cached_property
    def words(self) -> tuple[MergedWords, MergedWords]:
        """Source and target words of all."""
        return words_of_all(self.components)

    @property
    def source(self) -> MergedWords:
        """Source words of all."""
        return self.words[0]

    @property
    def target(self) -> MergedWords:
        """Target words of all."""
        return self.words[1]

    def for_sentences(self, sentences: Sequence[Sequence[str]]) -> list[Component]:
        """Each component with the pairs whose source side occurs in the tokenised sentences.

        Marginals are those of the whole components, also of target sides that a component has beside other sources, so
        all features are those of the union of all. Word pairs are those that the lexical weights of these pairs need.
        """
        ids = [self.source.vocabulary.encode(tokens) for tokens in sentences]
        text = ragged_from_rows(ids)
        return self._fetched([self._of_sentences(number, text) for number in range(len(self.components))])

    def for_pairs(self, counts: Sequence[RuleCounts], source: Vocabulary, target: Vocabulary) -> list[Component]:
        """Each component with those pairs that are among counted ones; these have ids of the vocabularies."""
        ids = source.ids_in(self.source.vocabulary, NOT_THERE), target.ids_in(self.target.vocabulary, NOT_THERE)
        return self._fetched([self._of_pairs(number, counts, *ids) for number in range(len(self.components))])

    def _fetched(self, found: Sequence[_Found]) -> list[Component]:
        targets = self._target_sides(found)
        rules = [self._rules(number, part, targets) for number, part in enumerate(found)]
        words = self._word_pairs(rules)
        return [
            replace(component, rules=part, lexical=self._lexical(number, words))
            for number, (component, part) in enumerate(zip(self.components, rules, strict=True))
        ]

    def _of_pairs(
        self, number: int, counts: Sequence[RuleCounts], source_ids: np.ndarray, target_ids: np.ndarray
    ) -> _Found:
        rules = self.components[number].rules
        own_source = _through(self.source.back[number], source_ids)
        own_target = _through(self.target.back[number], target_ids)
        sides, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in counts:
            side = find_rows(rules.source_sides, own_source[part.source_sides])[part.source_index]
            target = find_rows(rules.target_sides, own_target[part.target_sides])[part.target_index]
            known = np.flatnonzero((side != NOT_THERE) & (target != NOT_THERE))
            first, last = narrowed(rules.target_index, *bounds_of_sides(rules, side[known]), target[known])
            rows.append(first[first < last])
            sides.append(side[side != NOT_THERE])  # another component may have the pair, and this one's c(s) counts too
        pairs = sorted_distinct(np.concatenate(rows))
        return _Found(sorted_distinct(np.concatenate(sides)), pairs, take_rows(rules.target_index, pairs))

    def _of_sentences(self, number: int, sentences: Ragged) -> _Found:
        rules, own = self.components[number].rules, self.source.back[number]
        sides = matching_sides(rules.source_sides, Ragged(own[sentences.values], sentences.offsets))
        first, last = bounds_of_sides(rules, sides)
        pairs, side = ranges(first, last - first)
        if self.most_pairs is not None and (last - first).max(initial=0) > self.most_pairs:
            order = np.lexsort((pairs, -take_rows(rules.joint_counts, pairs), side))
            pairs = np.sort(pairs[order[ranks_in_runs(side) < self.most_pairs]])
        return _Found(sides, pairs, take_rows(rules.target_index, pairs))

    def _target_sides(self, found: Sequence[_Found]) -> list[np.ndarray]:
        """[T_d, Lt] ids of all: what other components may know of each one's targets, gaps in either order."""
        tables = [component.rules.target_sides for component in self.components]
        width = max(table.shape[1] for table in tables)
        return [
            with_gaps_swapped(widened(ids[take_rows(table, part.targets)], width))
            for ids, table, part in zip(self.target.maps, tables, found, strict=True)
        ]

    def _rules(self, number: int, found: _Found, targets: Sequence[np.ndarray]) -> RuleCounts:
        """The pairs that were found, and of all target sides those that the component has."""
        rules, own = self.components[number].rules, self.target.back[number]
        others = [part for place, part in enumerate(targets) if place != number]
        own_targets = found.targets
        others.append(targets[number][len(own_targets) :])  # its own with gaps in the other order
        known = find_rows(rules.target_sides, own[np.concatenate(others)])
        target_rows = sorted_distinct(np.concatenate([own_targets, known[known != NOT_THERE]]))
        orientations = rules.orientation_counts
        source_index = np.searchsorted(found.sides, take_rows(rules.source_index, found.pairs))
        return RuleCounts(
            source_sides=take_rows(rules.source_sides, found.sides),
            target_sides=take_rows(rules.target_sides, target_rows),
            source_index=source_index.astype(np.int32),
            target_index=np.searchsorted(target_rows, found.target_index).astype(np.int32),
            joint_counts=take_rows(rules.joint_counts, found.pairs),
            source_counts=take_rows(rules.source_counts, found.sides),
            target_counts=take_rows(rules.target_counts, target_rows),
            links_by_target=take_rows(rules.links_by_target, found.pairs),
            links_by_source=take_rows(rules.links_by_source, found.pairs),
            orientation_counts=None if orientations is None else take_rows(orientations, found.pairs),
        )

    def _word_pairs(self, parts: Sequence[RuleCounts]) -> np.ndarray:
        """[W, 2] ids of all: the word pairs that some lexical weight has as a factor."""
        found = []
        for part, source, target in zip(parts, self.source.maps, self.target.maps, strict=True):
            first, second = linked_words(part).T
            found.append(np.stack([source[first], target[second]], 1))
        return unique_rows(np.concatenate(found))[0]

    def _lexical(self, number: int, words: np.ndarray) -> LexicalCounts:
        lexical = self.components[number].lexical
        own = np.stack([self.source.back[number][words[:, 0]], self.target.back[number][words[:, 1]]], 1)
        known = find_rows(lexical.word_pairs, own)
        rows = sorted_distinct(known[known != NOT_THERE])
        return replace(lexical, word_pairs=lexical.word_pairs[rows], joint_counts=lexical.joint_counts[rows])


def bounds_of_sides(rules: RuleCounts, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first pair of source sides [N], and the one behind the last [N]."""
    kind = rules.source_index.dtype  # of any other kind numpy would make the table first
    first, last = (np.searchsorted(rules.source_index, (sides + more).astype(kind)) for more in (0, 1))
    return first, last


def _through(back: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """[V]: back[ids[v]], NOT_THERE where either has nothing."""
    return np.where(ids == NOT_THERE, NOT_THERE, back[np.maximum(ids, 0)])


def with_gaps_swapped(sides: np.ndarray) -> np.ndarray:
    """Sides [T, L], and behind them those of two gaps with the gaps in the other order."""
    swapped = sides[(sides == NONTERMINALS[1]).any(1)]
    swapped = np.where(np.isin(swapped, NONTERMINALS), sum(NONTERMINALS) - swapped, swapped)
    return np.concatenate([sides, swapped])


def linked_words(rules: RuleCounts) -> np.ndarray:
    """[n, 2] distinct (source word, target word) of all links; PAD is the partner of words without one."""
    source, target = rules.source_sides[rules.source_index], rules.target_sides[rules.target_index]
    by_target = _linked(target, source, rules.links_by_target)
    by_source = _linked(source, target, rules.links_by_source)
    return unique_rows(np.concatenate([by_target[:, ::-1], by_source]))[0]


def _linked(words: np.ndarray, partners: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """[n, 2] distinct (word, partner) of words [P, L], whose links [P, L] are bits of places among the partners."""
    masks = np.where(words >= NUM_RESERVED, masks[:, : words.shape[1]], 0)
    high = words.astype(np.int64) << 32
    alone = (words >= NUM_RESERVED) & (masks == 0)
    found = [sorted_distinct(high[alone] | PAD)]
    for place in range(partners.shape[1]):
        row, column = np.nonzero(masks & masks.dtype.type(1 << place))
        found.append(sorted_distinct(high[row, column] | partners[row, place]))
    return np.stack(np.divmod(sorted_distinct(np.concatenate(found)), 1 << 32), 1).astype(np.int32)
