"""The rule model of a way of mixing components, and log-linear weights that fit its features."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxsmt.model.mixing import COUNTS, FILL_UP, LINEAR, LOG_LINEAR, MixingConfig
from jaxsmt.model.tuned_weights import vector_of
from jaxsmt.search.rules.model import RuleModel, mixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.tm.component import Component
from jaxsmt.tm.component_table import ComponentTable, component_table
from jaxsmt.tm.union import UnionView


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
    return float(np.abs(vector_of(weights)).sum()) or 1.0
