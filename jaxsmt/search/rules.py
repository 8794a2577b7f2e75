"""Where rules and their features come from: components with mixture weights, or a table with fixed scores."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jaxsmt.search.grammar import Grammar, grammar_of_table, grammar_of_union
from jaxsmt.tm.features import application_features
from jaxsmt.tm.scored import ScoredTable
from jaxsmt.tm.union import UnionView
from jaxsmt.tm.weights import check_feature_weights


class RuleModel(Protocol):
    """Rules, and features of rules for given mixture weights."""

    @property
    def grammar(self) -> Grammar: ...

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray | None:
        """Mixture weights for each sentence [B, ...], or None where there is nothing to mix."""
        ...

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        """[A, F] features of pairs [A], each with row profile_index [A] of `mixture`.

        An ensemble returns one feature here, the mixed score of its members [A, D] (Razmara et al. 2012).
        """
        ...


@dataclass(frozen=True)
class FixedRules:
    """A Moses table."""

    table: ScoredTable
    grammar: Grammar
    logs: np.ndarray  # [P, F]

    def check_mixture(self, mixture: Any, num_sentences: int) -> None:
        return None

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return self.logs[pair_index]


def fixed_rules(table: ScoredTable) -> FixedRules:
    grammar, logs = grammar_of_table(table)
    return FixedRules(table, grammar, logs)


@dataclass(frozen=True)
class MixedRules:
    """D components under mixture weights λ [B, 4, D] (Sennrich, Schwenk and Aransa 2013, section 3)."""

    union: UnionView
    grammar: Grammar

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray:
        if mixture is None:
            mixture = np.ones((4, len(self.union.names)))
        checked = check_feature_weights(mixture, self.union.names)
        return np.broadcast_to(checked, (num_sentences, *checked.shape[-2:]))

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert mixture is not None
        num = len(pair_index)
        size = max(1 << (max(num, 1) - 1).bit_length(), 256)  # few shapes: few compilations
        padded = np.zeros((2, size), np.int32)
        padded[:, :num] = pair_index, profile_index
        profiles = np.ones((1 << (len(mixture) - 1).bit_length(), *mixture.shape[1:]), np.float32)
        profiles[: len(mixture)] = mixture
        return np.asarray(application_features(self.union.statistics, profiles, *padded))[:num]


def mixed_rules(union: UnionView) -> MixedRules:
    return MixedRules(union, grammar_of_union(union))
