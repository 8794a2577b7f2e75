"""The union view over D components: one list of pairs with a vector of D counts each.

A view is built from components and owns nothing: adding or removing a component is building it again from
the folders (Sennrich, Schwenk and Aransa 2013, section 3: a vector of tables).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct, unique_rows, widened
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import NONTERMINALS, Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.factors import intern_factors
from jaxsmt.tm.merged_words import MergedWords, words_of_all


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Statistics:
    """What the feature kernels need: D components, P pairs, L word pairs. A pytree.

    The lexical factors are as in `jaxsmt.tm.factors.Factors`, for lex(t|s) over target words and for
    lex(s|t) over source words.
    """

    source_index: np.ndarray  # [P] int32; pairs are sorted by (source side, target side)
    target_index: np.ndarray  # [P] int32
    joint_counts: np.ndarray  # [D, P] float32
    source_counts: np.ndarray  # [D, Ps] float32, of the whole components
    target_counts: np.ndarray  # [D, Pt] float32, likewise
    word_pairs: np.ndarray  # [L, 2] int32 (source word, target word), sorted; PAD is NULL
    word_joint_counts: np.ndarray  # [D, L] float32
    source_word_counts: np.ndarray  # [D, Vs] float32
    target_word_counts: np.ndarray  # [D, Vt] float32
    target_factors: np.ndarray  # [P, Lt] int32
    target_factor_links: np.ndarray  # [C, M] int32
    source_factors: np.ndarray  # [P, Ls] int32
    source_factor_links: np.ndarray  # [C', M'] int32


@dataclass(frozen=True)
class UnionView:
    """D components seen as one list of P pairs, sorted by (source side, target side) in merged ids."""

    names: tuple[str, ...]  # [D]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_sides: np.ndarray  # [Ps, Ls] int32, lexicographic; those of at least one pair
    target_sides: np.ndarray  # [Pt, Lt] int32, likewise
    links_by_target: np.ndarray  # [P, Lt] uint16, of the first component that has the pair
    links_by_source: np.ndarray  # [P, Ls] uint16, likewise
    orientation_counts: np.ndarray | None  # [D, P, 6] float32
    statistics: Statistics

    def __len__(self) -> int:
        """P."""
        return len(self.statistics.source_index)


def build_union(components: Sequence[Component], words: tuple[MergedWords, MergedWords] | None = None) -> UnionView:
    """Merges components; phrase and hierarchical ones may be mixed (a phrase pair is a rule without gaps).

    words: of these components, where they are known.
    """
    names = _distinct_names(components)
    rules = [component.rules for component in components]
    source_words, target_words = words or words_of_all(components)
    (source_vocabulary, source_maps, _), (target_vocabulary, target_maps, _) = source_words, target_words
    source, target, places = _merge_pairs(rules, source_maps, target_maps)
    num_pairs = len(source.index)
    links_by_target = _first_links([part.links_by_target for part in rules], places, (num_pairs, target.sides.shape[1]))
    links_by_source = _first_links([part.links_by_source for part in rules], places, (num_pairs, source.sides.shape[1]))
    lexical = [component.lexical for component in components]
    word_pairs, word_joint_counts = _merge_word_pairs(lexical, source_maps, target_maps)
    explained, given = (target.sides, target.index), (source.sides, source.index)
    target_factors = intern_factors(explained, given, links_by_target, word_pairs[:, ::-1])
    source_factors = intern_factors(given, explained, links_by_source, word_pairs)
    statistics = Statistics(
        source_index=source.index,
        target_index=target.index,
        joint_counts=_scattered([part.joint_counts for part in rules], places, num_pairs),
        source_counts=source.counts,
        target_counts=target.counts,
        word_pairs=word_pairs,
        word_joint_counts=word_joint_counts,
        source_word_counts=_scattered([part.source_counts for part in lexical], source_maps, len(source_vocabulary)),
        target_word_counts=_scattered([part.target_counts for part in lexical], target_maps, len(target_vocabulary)),
        target_factors=target_factors.index,
        target_factor_links=target_factors.links,
        source_factors=source_factors.index,
        source_factor_links=source_factors.links,
    )
    return UnionView(
        names=names,
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        source_sides=source.sides,
        target_sides=target.sides,
        links_by_target=links_by_target,
        links_by_source=links_by_source,
        orientation_counts=_orientations([part.orientation_counts for part in rules], places, num_pairs),
        statistics=statistics,
    )


@dataclass(frozen=True)
class _Sides:
    """The source or target sides of all pairs."""

    sides: np.ndarray  # [R, L] int32, each of at least one pair
    counts: np.ndarray  # [D, R] float32
    index: np.ndarray  # [P] int32


def _merge_pairs(
    rules: list[RuleCounts], source_maps: list[np.ndarray], target_maps: list[np.ndarray]
) -> tuple[_Sides, _Sides, list[np.ndarray]]:
    """The distinct pairs of all components, by source and target side, and each component's places among them."""
    source_sides, source_places = intern_sides([part.source_sides for part in rules], source_maps)
    target_sides, target_places = intern_sides([part.target_sides for part in rules], target_maps)
    keys = [
        source_place[part.source_index] * len(target_sides) + target_place[part.target_index]
        for part, source_place, target_place in zip(rules, source_places, target_places, strict=True)
    ]
    distinct = sorted_distinct(np.concatenate(keys))
    places = [np.searchsorted(distinct, key) for key in keys]
    source_index, target_index = np.divmod(distinct, max(len(target_sides), 1))
    source_counts = _scattered([part.source_counts for part in rules], source_places, len(source_sides))
    target_counts = _scattered([part.target_counts for part in rules], target_places, len(target_sides))
    _share_between_gap_orders(target_sides, target_counts)
    source = _drop_unused(source_sides, source_counts, source_index)
    target = _drop_unused(target_sides, target_counts, target_index)
    return source, target, places


def _distinct_names(components: Sequence[Component]) -> tuple[str, ...]:
    names = tuple(component.name for component in components)
    if not names:
        raise UserError("a model needs at least one component: name one or more component folders")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two components are called '{name}': give each its own name")
    return names


def intern_sides(sides: list[np.ndarray], maps: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The distinct sides of all components in merged ids [·, L], and each component's places there."""
    width = max(part.shape[1] for part in sides)
    merged = np.concatenate([widened(ids[part], width) for part, ids in zip(sides, maps, strict=True)])
    distinct, place = unique_rows(merged)
    return distinct, np.split(place, np.cumsum([len(part) for part in sides])[:-1])


def _scattered(values: list[np.ndarray], places: list[np.ndarray], size: int) -> np.ndarray:
    """[D, size] float32: component d's values at its places, 0 elsewhere."""
    table = np.zeros((len(values), size), np.float32)
    for row, value, place in zip(table, values, places, strict=True):
        row[place] = value
    return table


def _share_between_gap_orders(sides: np.ndarray, counts: np.ndarray) -> None:
    """Gives target sides that differ only in the order of their two gaps the same marginals [D, R], in place.

    c(t) is a property of the text "a [X] b [X]"; which gap is X1 belongs to the pair. A component can know
    one order and lack the other, and the marginal has to be found under both.
    """
    first, second = NONTERMINALS
    rows = np.nonzero((sides == second).any(1))[0]
    text = sides[rows]
    text[text == second] = first
    place = unique_rows(text)[1]
    for row in counts:
        shared = np.zeros(len(rows), np.float32)
        np.maximum.at(shared, place, row[rows])
        row[rows] = shared[place]


def _drop_unused(sides: np.ndarray, counts: np.ndarray, index: np.ndarray) -> _Sides:
    """Leaves out sides without a pair (pruning makes them)."""
    used = np.zeros(len(sides), bool)
    used[index] = True
    if used.all():
        return _Sides(sides, counts, index.astype(np.int32))
    place = np.cumsum(used) - 1
    return _Sides(sides[used], np.ascontiguousarray(counts[:, used]), place[index].astype(np.int32))


def _first_links(masks: list[np.ndarray], places: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    links = np.zeros(shape, np.uint16)
    for part, place in reversed(list(zip(masks, places, strict=True))):  # so that the first component has the last word
        links[place] = widened(part, shape[1])[:, : shape[1]]
    return links


def _merge_word_pairs(
    parts: list[LexicalCounts], source_maps: list[np.ndarray], target_maps: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """[L, 2] the distinct word pairs, sorted, and [D, L] their counts."""
    base = 1 + max(int(ids.max(initial=0)) for ids in target_maps)
    keys = [
        source_map[part.word_pairs[:, 0]].astype(np.int64) * base + target_map[part.word_pairs[:, 1]]
        for part, source_map, target_map in zip(parts, source_maps, target_maps, strict=True)
    ]
    distinct = sorted_distinct(np.concatenate(keys))
    places = [np.searchsorted(distinct, key) for key in keys]
    counts = _scattered([part.joint_counts for part in parts], places, len(distinct))
    return np.stack(np.divmod(distinct, base), 1).astype(np.int32), counts


def _orientations(counts: list[np.ndarray | None], places: list[np.ndarray], num_pairs: int) -> np.ndarray | None:
    """[D, P, 6]; components without orientations count nothing; None if none has them."""
    if all(part is None for part in counts):
        return None
    table = np.zeros((len(counts), num_pairs, 6), np.float32)
    for row, part, place in zip(table, counts, places, strict=True):
        if part is not None:
            row[place] = part
    return table
