"""The rules of a model: statistics of its components, of which a known text needs only a part, and how they mix."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsmt.common.norms import l1_norm
from jaxsmt.model.mixing import COUNTS, FILL_UP, LINEAR, LOG_LINEAR, MixingConfig
from jaxsmt.model.tuned_weights import vector_of
from jaxsmt.search.rules.model import RuleModel, mixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.tm.component import Component
from jaxsmt.tm.component_table import ComponentTable, component_table
from jaxsmt.tm.restrict import restricted_components, without_unused_word_pairs
from jaxsmt.tm.union import UnionView, build_union


@dataclass(frozen=True, eq=False)
class Rules:
    """Components, and the union of them, made when it is first asked for; models that differ elsewhere share it.

    components: as they lie on the disk.
    sentences: the tokenised sentences that are to be translated, all others are refused; None: any.
    """

    components: Sequence[Component]
    sentences: frozenset[tuple[str, ...]] | None = None

    @cached_property
    def usable(self) -> list[Component]:
        """The components with those rules that the sentences can use."""
        if self.sentences is None:
            return list(self.components)
        return restricted_components(self.components, sorted(self.sentences))

    @cached_property
    def union(self) -> UnionView:
        """Of the usable components."""
        found = build_union(self.usable)
        return found if self.sentences is None else without_unused_word_pairs(found)

    def has(self, sentences: Sequence[Sequence[str]]) -> bool:
        """Whether these sentences may be translated."""
        return self.sentences is None or self.sentences.issuperset(map(tuple, sentences))


def make_rules(
    union: UnionView, components: Sequence[Component], config: MixingConfig,
    component_weights: Sequence[Sequence[float]] = (),
) -> RuleModel:  # fmt: skip
    """Rules of all components under the operation of a configuration; component_weights: [D, 4] of an ensemble."""
    if config.operation == COUNTS:
        return mixed_rules(union)
    # most models add counts, and need not load the other operations
    from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules

    table = component_table(union, components)
    if config.operation == LINEAR:
        return linear_rules(union, table, config.linear.normalised)
    if config.operation == LOG_LINEAR:
        return log_linear_rules(union, table, config.epsilon)
    if config.operation == FILL_UP:
        return fill_up_rules(union, table)
    return _ensemble(union, table, np.array(component_weights), config)


def _ensemble(union: UnionView, table: ComponentTable, weights: np.ndarray, config: MixingConfig) -> RuleModel:
    from jaxsmt.search.rules.ensemble import EnsembleConfig
    from jaxsmt.search.rules.ensemble_spans import ensemble_rules

    options = EnsembleConfig(  # the search's own part of the settings
        config.operation.replace("_", ":"),
        epsilon=config.epsilon,
        normalise_weights=False,  # they are, together with the weights that all components share
        normalise_spans=config.span_normalised,
        literal=config.literal,
    )
    return ensemble_rules(union, table, weights, options)


def fitting_weights(weights: SearchWeights, config: MixingConfig, num_components: int) -> SearchWeights:
    """Weights of the four features as weights of what the operation makes of them, which give about the same scores."""
    rule, reordering = np.array(weights.rule), np.array(weights.reordering)
    if config.operation == LOG_LINEAR:
        rule, reordering = (np.tile(part, num_components) / num_components for part in (rule, reordering))
    elif config.operation == FILL_UP:
        rule = np.concatenate([rule, np.zeros(num_components - 1)])
    elif config.is_ensemble:
        rule = np.array([norm_of(weights)])
    return dataclasses.replace(weights, rule=tuple(rule.tolist()), reordering=tuple(reordering.tolist()))


def normalised_rule(weights: SearchWeights) -> tuple[float, ...]:
    """A component's rule weights in an ensemble: all its weights together have the L1 norm 1 (Razmara et al. 2012)."""
    return tuple(value / norm_of(weights) for value in weights.rule)


def norm_of(weights: SearchWeights) -> float:
    """The L1 norm of all weights but that of unknown words, which is no matter of taste."""
    return float(l1_norm(vector_of(weights))) or 1.0
