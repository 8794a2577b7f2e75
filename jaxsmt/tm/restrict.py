"""Components with fewer pairs: the most frequent ones, or those that a set of source sentences can use."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import unique_rows
from jaxsmt.common.ragged import Ragged, ragged_from_rows, ranks_in_runs
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.text.vocabulary import NONTERMINALS, PAD
from jaxsmt.tm.component import Component
from jaxsmt.tm.union import Statistics, UnionView, build_union


def prune_component(component: Component, pairs_per_source: int = 50) -> Component:
    """Keeps the most frequent pairs of each source side (Sennrich et al. 2013, footnote 4).

    Of pairs with equal counts those whose target side comes first in `target_sides` are kept. The sides and
    their marginals stay those of the whole component: c(t) counts also where the pair (s, t) is gone.
    """
    if pairs_per_source < 1:
        raise UserError(f"pairs_per_source is {pairs_per_source}: keep at least 1 pair of each source side")
    rules = component.rules
    order = np.lexsort((rules.target_index, -rules.joint_counts, rules.source_index))
    rank = ranks_in_runs(rules.source_index[order])
    return replace(component, rules=keep_pairs(rules, np.sort(order[rank < pairs_per_source])))


def keep_pairs(rules: RuleCounts, pairs: np.ndarray) -> RuleCounts:
    """The given pairs (ascending indices, or a mask over all) with all sides and marginals unchanged."""
    orientations = rules.orientation_counts
    return replace(
        rules,
        source_index=rules.source_index[pairs],
        target_index=rules.target_index[pairs],
        joint_counts=rules.joint_counts[pairs],
        links_by_target=rules.links_by_target[pairs],
        links_by_source=rules.links_by_source[pairs],
        orientation_counts=None if orientations is None else orientations[pairs],
    )


def restricted_union(components: Sequence[Component], sentences: Sequence[Sequence[str]]) -> UnionView:
    """The union view over the pairs that can match the tokenised sentences; features are those of the whole union."""
    return without_unused_word_pairs(build_union(restricted_components(components, sentences)))


def restricted_components(components: Sequence[Component], sentences: Sequence[Sequence[str]]) -> list[Component]:
    """Each component with the pairs that can match the tokenised sentences; see `restrict_component`."""
    found = []
    for component in components:
        ids = ragged_from_rows([component.source_vocabulary.encode(tokens) for tokens in sentences])
        found.append(restrict_component(component, ids))
    return found


def restrict_component(component: Component, sentences: Ragged) -> Component:
    """Keeps the pairs whose source side can match sentences (ids of the component); marginals stay whole.

    A side matches if each of its runs of words is in some sentence; a rule with gaps may be kept although its
    runs are in different sentences.
    """
    can_match = matching_sides(component.rules.source_sides, sentences)
    return replace(component, rules=keep_pairs(component.rules, np.nonzero(can_match[component.rules.source_index])[0]))


def matching_sides(sides: np.ndarray, sentences: Ragged) -> np.ndarray:
    """[R] bool: the sides [R, L] all of whose runs of words are in the sentences."""
    num_ids = 1 + max(int(sides.max(initial=0)), int(sentences.values.max(initial=0)), *NONTERMINALS)
    is_known = np.zeros(num_ids, bool)
    is_known[sentences.values] = True
    is_known[[PAD, *NONTERMINALS]] = True
    can_match = is_known[sides].all(1)
    candidates = np.nonzero(can_match)[0]
    for length in range(2, sides.shape[1] + 1):  # single words are done
        row, runs = _runs(sides[candidates], length)
        found = _is_among(_windows(sentences, length), runs)
        can_match[candidates[row[~found]]] = False
    return can_match


def _runs(sides: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The maximal runs of `length` words: their rows [N] and words [N, length]."""
    is_word = (sides != PAD) & ~np.isin(sides, NONTERMINALS)
    edge = np.zeros((len(sides), 1), bool)
    bounded = np.concatenate([edge, is_word, edge], 1)
    rows, runs = [], []
    for start in range(sides.shape[1] - length + 1):
        inside = bounded[:, start + 1 : start + 1 + length].all(1)
        row = np.nonzero(inside & ~bounded[:, start] & ~bounded[:, start + 1 + length])[0]
        rows.append(row)
        runs.append(sides[row, start : start + length])
    return np.concatenate(rows), np.concatenate(runs)


def _windows(sentences: Ragged, length: int) -> np.ndarray:
    """[T, length]: the n-grams of the sentences."""
    if len(sentences.values) < length:
        return np.zeros((0, length), np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(sentences.values, length)
    sentence = sentences.row_index
    return windows[sentence[: len(windows)] == sentence[length - 1 :]]


def _is_among(rows: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """[N] bool: which queries [N, L] are among the rows [R, L]."""
    place = unique_rows(np.concatenate([rows, queries]))[1]
    present = np.zeros(len(place) + 1, bool)
    present[place[: len(rows)]] = True
    return present[place[len(rows) :]]


def without_unused_word_pairs(union: UnionView) -> UnionView:
    """Drops word pairs that no lexical factor needs."""
    return replace(union, statistics=_with_used_word_pairs(union.statistics))


def _with_used_word_pairs(statistics: Statistics) -> Statistics:
    """Word pairs that some factor needs; the factors are numbered anew."""
    num_words = len(statistics.word_pairs)
    used = np.zeros(num_words + 2, bool)
    for array in (statistics.source_factors, statistics.target_factors):
        used[array[array < num_words]] = True
    for array in (statistics.source_factor_links, statistics.target_factor_links):
        used[array] = True
    used[num_words:] = True  # the unknown pair and nothing
    new_id = np.cumsum(used, dtype=np.int32) - 1
    shift = num_words + 2 - int(used.sum())

    def renumbered(factors: np.ndarray) -> np.ndarray:
        return np.where(factors < num_words + 2, new_id[np.minimum(factors, num_words + 1)], factors - shift)

    keep = used[:num_words]
    return replace(
        statistics,
        word_pairs=statistics.word_pairs[keep],
        word_joint_counts=np.ascontiguousarray(statistics.word_joint_counts[:, keep]),
        source_factors=renumbered(statistics.source_factors),
        target_factors=renumbered(statistics.target_factors),
        source_factor_links=new_id[statistics.source_factor_links],
        target_factor_links=new_id[statistics.target_factor_links],
    )
