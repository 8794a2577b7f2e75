"""Components with fewer pairs; for those that a text can use see `jaxsmt.tm.gathering`."""

from dataclasses import replace

from jaxsmt.common.errors import UserError
from jaxsmt.extract.keeping import is_frequent, keep_pairs
from jaxsmt.tm.component import Component


def prune_component(component: Component, pairs_per_source: int = 50) -> Component:
    """Keeps the most frequent pairs of each source side (Sennrich et al. 2013, footnote 4).

    Of pairs with equal counts those whose target side comes first in `target_sides` are kept. The sides and
    their marginals stay those of the whole component: c(t) counts also where the pair (s, t) is gone.
    """
    if pairs_per_source < 1:
        raise UserError(f"pairs_per_source is {pairs_per_source}: keep at least 1 pair of each source side")
    rules = component.rules
    kept = is_frequent(rules.source_index, rules.joint_counts, pairs_per_source)
    return replace(component, rules=keep_pairs(rules, kept))
