"""Mixtures of finished models: log-linear, linear and fill-up (the baselines of Razmara et al. 2012, section 2).

Here each component has probabilities of its own, which are combined; `rules.model.MixedRules` combines counts.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.search.rules.grammar import Grammar, grammar_of_union
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.rules.orientations import ComponentOrientations, names_of_every, own_orientations
from jaxsmt.tm.component_table import ComponentTable
from jaxsmt.tm.features import LOG_FLOOR
from jaxsmt.tm.reordering import names_of, nothing, orientation_weights
from jaxsmt.tm.union import UnionView
from jaxsmt.tm.weights import FEATURE_NAMES, check_feature_weights

if TYPE_CHECKING:
    from jaxsmt.search.rules.terms import Terms


class ComponentRules(RuleModel):
    """What models of components that were trained apart share.

    own: the components' orientations, if there are any (`jaxsmt.search.rules.orientations`).
    """

    own: ComponentOrientations | None

    @property
    def orientation_names(self) -> tuple[str, ...]:
        return names_of(self.own)

    def orientations(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        if self.own is None:
            return nothing(pair_index)
        if mixture is None:
            return self.mix_orientations(self.own, pair_index, np.zeros((len(pair_index), 0)))
        return self.mix_orientations(self.own, pair_index, orientation_weights(mixture)[profile_index])

    @abstractmethod
    def mix_orientations(self, own: ComponentOrientations, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[A, O] of pairs [A] with component weights [A, D], [A, 0] where there is nothing to mix."""


@dataclass(frozen=True)
class LogLinearRules(ComponentRules):
    """Π_m p_m^{λ_m}: 4·D features, those of component 0 first; the λ are log-linear weights, which a tuner finds.

    table: the components' own rules; own: their orientations, of which there are 6·D features.
    log_missing: log ε, all four features of a component that lacks the pair.
    """

    names: tuple[str, ...]
    grammar: Grammar
    table: ComponentTable
    log_missing: float
    own: ComponentOrientations | None = None

    def check_mixture(self, mixture: Any, num_sentences: int) -> None:
        return None

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        rows, begin = self.table.rows_of(pair_index)
        values = np.full((len(begin), self.table.num_components, 4), self.log_missing, np.float32)
        values[_owner(begin, len(rows)), self.table.component[rows]] = self.table.features[rows]
        return values.reshape(len(begin), 4 * self.table.num_components)

    @property
    def orientation_names(self) -> tuple[str, ...]:
        return names_of_every(self.own, self.names)

    def mix_orientations(self, own: ComponentOrientations, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return own.every(pair_index)


@dataclass(frozen=True)
class LinearRules(ComponentRules):
    """p(x|y) = Σ_m λ_m p_m(x|y) for each of the four features, λ [B, 4, D] on the simplex.

    λ may have a fifth row, for orientations; otherwise these have that of p(t|s).
    table: the components' own rules; probability: [R, 4] of its rows; own: their orientations.
    is_normalised: leaves components out that do not know the phrase y, Σ_m λ_m k_m p_m / Σ_m λ_m k_m.
    A pair that no component of positive weight has does not exist.
    """

    union: UnionView
    grammar: Grammar
    table: ComponentTable
    probability: np.ndarray
    is_normalised: bool
    own: ComponentOrientations | None = None

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray:
        if mixture is None:
            mixture = np.ones((4, len(self.union.names)))
        checked = check_feature_weights(mixture, self.union.names, with_orientation=True)
        checked = checked / checked.sum(-1, keepdims=True)
        return np.broadcast_to(checked, (num_sentences, *checked.shape[-2:]))

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert mixture is not None
        mixture = mixture[:, : len(FEATURE_NAMES)]
        rows, begin = self.table.rows_of(pair_index)
        if not len(rows):
            return np.zeros((0, 4), np.float32)
        of = _owner(begin, len(rows))
        weights = mixture[profile_index[of], :, self.table.component[rows]]  # [rows, 4]
        total = np.add.reduceat(weights * self.probability[rows], begin)
        if self.is_normalised:
            known = self._known_weight(pair_index, mixture[profile_index])
            total = np.where(known > 0, total, 0) / np.where(known > 0, known, 1)
        values = np.full(total.shape, LOG_FLOOR, np.float32)
        np.log(total, out=values, where=total > 0)
        np.maximum(values, LOG_FLOOR, out=values)
        values[~(np.add.reduceat(weights, begin) > 0).any(1)] = -np.inf
        return values

    def _known_weight(self, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[A, 4]: Σ_m λ_m over the components that know the pair's target side (source side for the last two)."""
        statistics = self.union.statistics
        of_target = statistics.target_counts[:, statistics.target_index[pair_index]] > 0  # [D, A]
        of_source = statistics.source_counts[:, statistics.source_index[pair_index]] > 0
        known = (of_target, of_target, of_source, of_source)  # by feature, as in FEATURE_NAMES
        return np.stack([np.einsum("ad,da->a", weights[:, n], part) for n, part in enumerate(known)], 1)

    def mix_orientations(self, own: ComponentOrientations, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return own.linear(pair_index, weights)

    def terms(self, pair_index: np.ndarray) -> tuple["Terms", np.ndarray]:
        from jaxsmt.search.rules.terms import linear_terms  # of training

        return linear_terms(self, pair_index)


@dataclass(frozen=True)
class FillUpRules(ComponentRules):
    """The features of the first component that has the pair (fill-up; Bisazza, Ruiz and Federico 2011).

    with_origin: D - 1 more features, 1 for a pair that comes from component 1, 2, …, else 0.
    own: the components' orientations.
    """

    grammar: Grammar
    table: ComponentTable
    with_origin: bool
    own: ComponentOrientations | None = None

    def check_mixture(self, mixture: Any, num_sentences: int) -> None:
        return None

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        row = self.table.first_row[pair_index]
        if not self.with_origin:
            return self.table.features[row]
        origin = self.table.component[row][:, None] == np.arange(1, self.table.num_components)
        return np.concatenate([self.table.features[row], origin.astype(np.float32)], 1)

    def mix_orientations(self, own: ComponentOrientations, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return own.first(pair_index)


def log_linear_rules(union: UnionView, table: ComponentTable, epsilon: float = 1e-6) -> LogLinearRules:
    """epsilon: the probability of a pair in a component that lacks it."""
    check_epsilon(epsilon)
    names = tuple(f"{feature} {name}" for name in union.names for feature in FEATURE_NAMES)
    grammar = replace(grammar_of_union(union), feature_names=names)
    return LogLinearRules(union.names, grammar, table, float(np.log(epsilon)), own_orientations(union, table))


def linear_rules(union: UnionView, table: ComponentTable, is_normalised: bool = False) -> LinearRules:
    probability = np.where(table.features > LOG_FLOOR, np.exp(table.features), 0).astype(np.float32)
    own = own_orientations(union, table)
    return LinearRules(union, grammar_of_union(union), table, probability, is_normalised, own)


def fill_up_rules(union: UnionView, table: ComponentTable, with_origin: bool = True) -> FillUpRules:
    origins = tuple(f"from {name}" for name in union.names[1:]) if with_origin else ()
    grammar = replace(grammar_of_union(union), feature_names=FEATURE_NAMES + origins)
    return FillUpRules(grammar, table, with_origin, own_orientations(union, table))


def check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= 1:
        raise UserError(f"epsilon is {epsilon}: it stands for the probability of a missing pair, above 0 and at most 1")


def _owner(begin: np.ndarray, num_rows: int) -> np.ndarray:
    """[num_rows]: the pair each row belongs to; begin: [A] the first row of each."""
    return np.repeat(np.arange(len(begin)), np.diff(begin, append=num_rows))
