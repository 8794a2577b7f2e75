"""What the features of a model's rules are made of, where mixture weights are trained through them."""

from typing import TYPE_CHECKING

import numpy as np

from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.selection import MIN_SIZE, select_pairs
from jaxsmt.tm.trainable import CountTerms, LinearTerms, columns_of

if TYPE_CHECKING:
    from jaxsmt.search.rules.mixtures import LinearRules
    from jaxsmt.tm.union import UnionView

Terms = CountTerms | LinearTerms


def count_terms(union: "UnionView", pair_index: np.ndarray) -> tuple[CountTerms, np.ndarray]:
    """As in `RuleModel.terms`, where counts are mixed."""
    selection, place = select_pairs(union.statistics, pair_index)
    counts = union.orientation_counts
    own = None if counts is None else columns_of(counts, np.unique(pair_index), selection.joint.shape[1])
    return CountTerms(selection, own), place


def linear_terms(rules: "LinearRules", pair_index: np.ndarray) -> tuple[LinearTerms, np.ndarray]:
    """As in `RuleModel.terms`, where probabilities are mixed."""
    pairs, place = np.unique(pair_index, return_inverse=True)
    table, statistics = rules.table, rules.union.statistics
    rows, begin = table.rows_of(pairs)
    owner, component = np.repeat(np.arange(len(pairs)), np.diff(begin, append=len(rows))), table.component[rows]
    size, num = power_of_two(len(pairs), MIN_SIZE), table.num_components
    probability = np.zeros((4, num, size), np.float32)
    probability[:, component, owner] = rules.probability[rows].T
    share = np.ones((4, num, size), np.float32)
    if rules.is_normalised:
        of_target = statistics.target_counts[:, statistics.target_index[pairs]] > 0  # [D, n]
        of_source = statistics.source_counts[:, statistics.source_index[pairs]] > 0
        share[:, :, : len(pairs)] = np.stack([of_target, of_target, of_source, of_source])
    if rules.own is None:
        return LinearTerms(probability, share, None, None), place.reshape(-1).astype(np.int32)
    orientations, knows = np.zeros((num, size, 6), np.float32), np.zeros((num, size), np.float32)
    orientations[component, owner] = rules.own.probabilities[rows]
    knows[component, owner] = rules.own.is_known[rows]
    return LinearTerms(probability, share, orientations, knows), place.reshape(-1).astype(np.int32)
