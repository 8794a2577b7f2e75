"""Components with fewer pairs; for those that a text can use see `jaxsmt.tm.gathering`."""

from dataclasses import replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ranks_in_runs
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.tm.component import Component


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
