"""The rule model of a way of mixing components, and log-linear weights that fit its features."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxsmt.model.mixing import COUNTS, FILL_UP, LINEAR, LOG_LINEAR, MixingConfig
from jaxsmt.search.rules.ensemble import EnsembleConfig
from jaxsmt.search.rules.ensemble_spans import ensemble_rules
from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules
from jaxsmt.search.rules.model import RuleModel, mixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.tm.component import Component
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.union import UnionView


def make_rules(
    union: UnionView, components: Sequence[Component], config: MixingConfig,
    component_weights: Sequence[Sequence[float]] = (),
) -> RuleModel:  # fmt: skip
    """Rules of all components under the operation of a configuration; component_weights: [D, 4] of an ensemble."""
    if config.operation == COUNTS:
        return mixed_rules(union)
    table = component_table(union, components)
    if config.operation == LINEAR:
        return linear_rules(union, table, config.linear.normalised)
    if config.operation == LOG_LINEAR:
        return log_linear_rules(union, table, config.epsilon)
    if config.operation == FILL_UP:
        return fill_up_rules(union, table)
    return ensemble_rules(union, table, np.array(component_weights), ensemble_options(config))


def ensemble_options(config: MixingConfig) -> EnsembleConfig:
    """How the search combines the models' scores, where the operation is an ensemble: its part of the settings."""
    return EnsembleConfig(
        config.operation.replace("_", ":"),
        epsilon=config.epsilon,
        normalise_weights=False,  # they are, together with the weights that all components share
        normalise_spans=config.span_normalised,
        literal=config.literal,
    )


def fitting_weights(weights: SearchWeights, config: MixingConfig, num_components: int) -> SearchWeights:
    """Weights of the four features as weights of what the operation makes of them, which give about the same scores."""
    rule = np.array(weights.rule)
    if config.operation == LOG_LINEAR:
        rule = np.repeat(rule[None], num_components, axis=0).reshape(-1) / num_components
    elif config.operation == FILL_UP:
        rule = np.concatenate([rule, np.zeros(num_components - 1)])
    elif config.is_ensemble:
        rule = np.array([norm_of(weights)])
    return dataclasses.replace(weights, rule=tuple(rule.tolist()))


def normalised_rule(weights: SearchWeights) -> tuple[float, ...]:
    """A component's rule weights in an ensemble: all its weights together have the L1 norm 1 (Razmara et al. 2012)."""
    return tuple(value / norm_of(weights) for value in weights.rule)


def norm_of(weights: SearchWeights) -> float:
    """The L1 norm of all weights but that of unknown words, which is no matter of taste."""
    values = (*weights.rule, weights.lm, weights.word_penalty, weights.phrase_penalty, weights.glue, weights.swap)
    return float(np.abs(values).sum()) or 1.0
