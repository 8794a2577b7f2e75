"""Ensemble decoding: models that were trained and tuned apart, mixed rule by rule in one chart (Razmara et al. 2012).

Component m scores a rule s_m = w_m·φ_m, with its own features and its own tuned weights. A rule that several know gets
    wsum  log Σ_m λ_m exp(s_m)
    wmax  max_m (log λ_m + s_m)
    prod  Σ_m λ_m s_m, log ε for a component that lacks the rule
and the other two leave that term out. λ has sum 1. A rule that only components of weight 0 know does not exist under
wsum and wmax. Language model, word, phrase and glue penalty are outside and shared. What looks at whole spans is in
`jaxsmt.search.rules.ensemble_spans`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.errors import UserError
from jaxsmt.common.sizes import power_of_two
from jaxsmt.search.rules.grammar import Grammar, grammar_of_union
from jaxsmt.search.rules.mixtures import ComponentRules, check_epsilon
from jaxsmt.search.rules.model import BoundedRules
from jaxsmt.search.rules.orientations import ComponentOrientations
from jaxsmt.tm.component_table import ComponentTable
from jaxsmt.tm.selection import MIN_SIZE
from jaxsmt.tm.union import UnionView
from jaxsmt.tm.weights import FEATURE_NAMES, check_weights

MIXING = ("wsum", "wmax", "prod")
SWITCHING = ("switch:max", "switch:sum")
SCORE_NAMES = ("ensemble",)  # the one feature of an ensemble; its weight is 1
RULES_PER_CALL = 1 << 18


@dataclass(frozen=True)
class EnsembleConfig:
    """How the components' scores become one.

    operation: wsum, wmax, prod, switch:max or switch:sum.
    epsilon: what a component gives, under prod, to a rule that it lacks.
    normalise_weights: divides each w_m by its L1 norm before mixing; w_m are the weights of the four rule features, so
        those who normalise all of a component's weights do it themselves and leave this out.
    normalise_spans: ranks the rules of a source side by scores that are normalised, for each component, over all its
        rules for the span (section 3.2); the scores themselves stay. Within one component that changes nothing, so
        neither does it under switching.
    literal: chooses, under switch:max, by the paper's λ_n·max s_n instead of log λ_n + max s_n.
    """

    operation: str = "wsum"
    epsilon: float = 1e-6
    normalise_weights: bool = True
    normalise_spans: bool = False
    literal: bool = False

    def __post_init__(self) -> None:
        if self.operation not in MIXING + SWITCHING:
            raise UserError(
                f"the ensemble's operation is '{self.operation}': choose one of {', '.join(MIXING + SWITCHING)}"
            )
        check_epsilon(self.epsilon)


@partial(jax.jit, static_argnames="operation")
def mix_scores(scores: Array, weights: Array, operation: str, epsilon: float) -> Array:
    """[A]: the mixed scores of rules, from the components' scores [A, D] (−∞: lacks the rule) and λ [A, D]."""
    if operation == "prod":
        return (weights * jnp.where(scores == -jnp.inf, jnp.log(epsilon), scores)).sum(-1)
    weighted = jnp.log(weights) + scores
    top = weighted.max(-1)
    if operation == "wmax":
        return top
    safe = jnp.where(top > -jnp.inf, top, 0)
    return safe + jnp.log(jnp.exp(weighted - safe[:, None]).sum(-1))


@dataclass(frozen=True)
class EnsembleRules(ComponentRules, BoundedRules):
    """D components under wsum, wmax or prod; one feature, the mixed score.

    scores: [P, D] float32 of the union's pairs, −∞ where a component lacks the pair.
    own: the components' orientations, which are mixed in features of their own (`jaxsmt.search.rules.orientations`).
    """

    names: tuple[str, ...]
    grammar: Grammar
    scores: np.ndarray
    config: EnsembleConfig
    own: ComponentOrientations | None = None

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray:
        return check_component_weights(mixture, self.names, num_sentences)

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert mixture is not None
        return self.mixed(self.scores[pair_index], profile_index, mixture)[:, None]

    @cached_property
    def bounds(self) -> np.ndarray:
        """[P, 1]: no mixture is above the best component, as λ has sum 1."""
        best = self.scores.max(1, keepdims=True)
        return (
            np.maximum(best, np.log(self.config.epsilon), dtype=np.float32) if self.config.operation == "prod" else best
        )

    def bound_shift(self, side: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return np.zeros((len(side), 1), np.float32)

    def mixed(self, scores: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray) -> np.ndarray:
        """[A] from the components' scores [A, D], λ of rule a being row profile_index[a] of the mixture."""
        result = np.empty(len(scores), np.float32)
        size = min(power_of_two(len(scores), MIN_SIZE), RULES_PER_CALL)
        for at in range(0, len(scores), size):
            few = scores[at : at + size]
            padding = ((0, size - len(few)), (0, 0))
            weights = np.pad(mixture[profile_index[at : at + size]], padding, constant_values=1)
            mixed = mix_scores(np.pad(few, padding), weights, self.config.operation, self.config.epsilon)
            result[at : at + size] = np.asarray(mixed)[: len(few)]
        return result

    def mix_orientations(self, own: ComponentOrientations, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.config.operation == "prod":
            return own.geometric(pair_index, weights)
        if self.config.operation == "wmax":
            log_weights = np.log(weights, out=np.full(weights.shape, -np.inf), where=weights > 0)
            return own.of_component(pair_index, (log_weights + self.scores[pair_index]).argmax(1))
        return own.linear(pair_index, weights)


def check_component_weights(mixture: Any, names: Sequence[str], num_sentences: int) -> np.ndarray:
    """Component weights λ [B, D] with sum 1, from [D], [B, D] or None (equal ones)."""
    checked = check_weights(np.ones(len(names)) if mixture is None else mixture, names)
    if checked.ndim > 2 or (checked.ndim == 2 and len(checked) != num_sentences):
        raise UserError(
            f"the ensemble's weights have shape {list(checked.shape)}: give one for each of {', '.join(names)}, "
            f"for all sentences or for each of the {num_sentences}"
        )
    checked = checked / checked.sum(-1, keepdims=True)
    return np.broadcast_to(checked, (num_sentences, len(names)))


def check_rule_weights(weights: Any, names: Sequence[str]) -> np.ndarray:
    """[D, 4] float32: the components' own weights of the four features, checked."""
    array = np.asarray(weights, np.float32)
    if array.shape != (len(names), len(FEATURE_NAMES)) or not np.isfinite(array).all():
        raise UserError(
            f"the ensemble's rule weights have shape {list(array.shape)}: give {len(FEATURE_NAMES)} finite numbers "
            f"({', '.join(FEATURE_NAMES)}) for each of {', '.join(names)}"
        )
    return array


def component_scores(table: ComponentTable, weights: np.ndarray) -> np.ndarray:
    """[R] float32: s_m = w_m·φ_m of the table's rules, weights [D, 4]."""
    return np.einsum("rf,rf->r", table.features, weights[table.component])


def score_grammar(union: UnionView) -> Grammar:
    """The union's rules with an ensemble's one feature."""
    return replace(grammar_of_union(union), feature_names=SCORE_NAMES)
