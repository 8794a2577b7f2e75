"""Rules of any mixture with features of where they were seen, which no mixture changes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.search.rules.model import BoundedRules, RuleModel, SpanRules
from jaxsmt.tm.provenance import Provenance
from jaxsmt.tm.union import UnionView


@dataclass(frozen=True)
class ProvenanceRules(BoundedRules):
    """The features of other rules, and behind them X features of their counts in each component.

    rules: the others, which are those of a union of components; joint_counts: [D, P] of its pairs.
    """

    rules: RuleModel
    grammar: Grammar
    joint_counts: np.ndarray
    provenance: Provenance

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray | None:
        return self.rules.check_mixture(mixture, num_sentences)

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        own = self.rules.features(pair_index, profile_index, mixture)
        seen = self.provenance.features(self.joint_counts[:, pair_index])
        seen[own[:, 0] == -np.inf] = -np.inf  # there is no such pair
        return np.concatenate([own, seen], 1)

    @property
    def orientation_names(self) -> tuple[str, ...]:
        return self.rules.orientation_names

    def orientations(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return self.rules.orientations(pair_index, profile_index, mixture)

    @property
    def by_span(self) -> SpanRules | None:
        return self.rules.by_span

    @property
    def bounded(self) -> BoundedRules | None:  # type: ignore[override]
        """Itself, if the other features have bounds."""
        return None if self.rules.bounded is None else self

    @property
    def num_exact(self) -> int:
        return self.provenance.num_features(len(self.joint_counts))

    @cached_property
    def bounds(self) -> np.ndarray:
        """[P, F + X]"""
        assert self.rules.bounded is not None
        return np.concatenate([self.rules.bounded.bounds, self.provenance.features(self.joint_counts)], 1)

    def bound_shift(self, side: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert self.rules.bounded is not None
        shift = self.rules.bounded.bound_shift(side, profile_index, mixture)
        return np.pad(shift, ((0, 0), (0, self.num_exact)))


def provenance_rules(rules: RuleModel, union: UnionView, provenance: Provenance) -> ProvenanceRules:
    """Rules of a union, with its components' counts as features."""
    grammar = replace(rules.grammar, feature_names=rules.grammar.feature_names + provenance.names(union.names))
    return ProvenanceRules(rules, grammar, union.statistics.joint_counts, provenance)
