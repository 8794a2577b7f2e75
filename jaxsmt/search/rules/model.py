"""Where rules and their features come from: components with mixture weights, or a table with fixed scores."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.search.rules.grammar import Grammar, grammar_of_table, grammar_of_union
from jaxsmt.tm.features import LOG_FLOOR, application_features
from jaxsmt.tm.reordering import (
    ORIENTATION_NAMES,
    application_orientations,
    fixed_logs,
    names_of,
    nothing,
    orientation_weights,
)
from jaxsmt.tm.scored import ScoredTable
from jaxsmt.tm.union import Statistics, UnionView
from jaxsmt.tm.weights import FEATURE_NAMES, P_SOURCE, P_TARGET, check_feature_weights

if TYPE_CHECKING:
    from jaxsmt.search.rules.terms import Terms

PAIRS_PER_CHUNK = 1 << 18


class RuleModel(Protocol):
    """Rules, and features of rules for given mixture weights."""

    grammar: Grammar

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray | None:
        """Mixture weights for each sentence [B, ...], or None where there is nothing to mix."""
        ...

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        """[A, F] features of pairs [A], each with row profile_index [A] of `mixture`.

        −∞ in all of them: the pair does not exist under that mixture. Rescoring calls this with the pairs of a
        derivation, so a pair and a mixture say all that a rule's score depends on.
        """
        ...

    @property
    def orientation_names(self) -> tuple[str, ...]:
        """[O], `ORIENTATION_NAMES` once for each of O/6 tables; empty if the model has no orientations."""
        ...

    def orientations(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        """[A, O] log-probabilities of pairs [A], each with row profile_index [A] of `mixture`.

        Lexicalised reordering, msd-bidirectional-fe: monotone, swap, other to the previous phrase, then to the next; in
        columns 6k to 6k + 5 those of table k. Only log-linear mixtures have more than one. A model without
        orientations has 0 in all of [A, 6].
        """
        ...

    @property
    def by_span(self) -> "SpanRules | None":
        """Itself, if what a span may use depends on what else there is for it."""
        return None

    @property
    def bounded(self) -> "BoundedRules | None":
        """Itself, if its features have bounds."""
        return None

    def terms(self, pair_index: np.ndarray) -> tuple["Terms", np.ndarray]:
        """What the features of the distinct pairs among pair_index [A] are made of, padded, where mixture weights are
        trained through them, and the place [A] int32 of each pair there."""
        raise UserError("mixture weights are trained for mixtures of counts and for linear ones: choose one of these")


class PairLists(NamedTuple):
    """Q lists with A pairs, and the M matches that use them.

    pairs: [A] rules of the grammar; list_of_pair: [A], ascending.
    profile: [Q] of each list.
    list_of_match: [M]; -1 for a match that may use no rule.
    span_of_match: [M] numbers of (sentence, start, end).
    ranking: [A] scores that stand in for the rules' own when the best of a list are chosen; None: their own.
    """

    pairs: np.ndarray
    list_of_pair: np.ndarray
    profile: np.ndarray
    list_of_match: np.ndarray
    span_of_match: np.ndarray
    ranking: np.ndarray | None = None

    @property
    def profile_of_pair(self) -> np.ndarray:
        """[A]"""
        return self.profile[self.list_of_pair]


class SpanRules(RuleModel, Protocol):
    """Rules whose use depends on what else there is for a span."""

    @property
    def by_span(self) -> "SpanRules":
        return self

    def refine(self, lists: PairLists, profile_of_match: np.ndarray, mixture: np.ndarray | None) -> PairLists:
        """The lists with what each span may use.

        lists: under profiles that stand for all which differ in the mixture only.
        profile_of_match: [M] rows of `mixture`.
        """
        ...


class BoundedRules(RuleModel, Protocol):
    """Rules whose features take long to compute and are easily bounded: few of a long list need be computed.

    Feature f of pair p is at most bounds[p, f] + `bound_shift` of its source side.
    """

    @property
    def num_exact(self) -> int:
        """The last so many features are their bounds, so they may have negative weights."""
        return 0

    @property
    def bounds(self) -> np.ndarray:
        """[P, F], for any mixture."""
        ...

    @property
    def bounded(self) -> "BoundedRules":
        return self

    def bound_shift(self, side: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        """[Q, F] of source sides [Q], each with row profile_index [Q] of `mixture`."""
        ...


class TableOrientations:
    """Rules whose orientations are as they are, whatever the mixture.

    orientation_logs: [P, 6] float32, if there are any.
    """

    orientation_logs: np.ndarray | None

    @property
    def orientation_names(self) -> tuple[str, ...]:
        return names_of(self.orientation_logs)

    def orientations(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return nothing(pair_index) if self.orientation_logs is None else self.orientation_logs[pair_index]


@dataclass(frozen=True)
class FixedRules(TableOrientations, RuleModel):
    """A Moses table, with its reordering table if it has one."""

    table: ScoredTable
    grammar: Grammar
    logs: np.ndarray  # [P, F]
    orientation_logs: np.ndarray | None = None  # [P, 6]

    def check_mixture(self, mixture: Any, num_sentences: int) -> None:
        return None

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return self.logs[pair_index]


def fixed_rules(table: ScoredTable, reordering: np.ndarray | None = None) -> FixedRules:
    """reordering: [P, 6] probabilities of orientations, NaN for pairs without any; see `read_reordering_table`."""
    grammar, logs = grammar_of_table(table)
    return FixedRules(table, grammar, logs, None if reordering is None else fixed_logs(reordering))


def num_orientations(rules: RuleModel) -> int:
    """O, of `RuleModel.orientations`."""
    return len(rules.orientation_names or ORIENTATION_NAMES)


def only_possible(features: np.ndarray) -> np.ndarray:
    """Features [A, 4] in which a pair that has probability 0 in both directions does not exist (−∞).

    So components of weight 0 have no say at all: they would otherwise translate what the others do not know.
    """
    is_possible = np.maximum(features[:, P_SOURCE], features[:, P_TARGET]) > LOG_FLOOR
    return np.where(is_possible[:, None], features, np.float32(-np.inf))


@dataclass(frozen=True)
class MixedRules(BoundedRules):
    """D components under mixture weights λ [B, 4, D] (Sennrich, Schwenk and Aransa 2013, section 3).

    λ may have a fifth row, for orientations (`jaxsmt.tm.reordering.orientation_weights`).
    """

    union: UnionView
    grammar: Grammar

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray:
        if mixture is None:
            mixture = np.ones((4, len(self.union.names)))
        checked = check_feature_weights(mixture, self.union.names, with_orientation=True)
        return np.broadcast_to(checked, (num_sentences, *checked.shape[-2:]))

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert mixture is not None
        own = mixture[:, : len(FEATURE_NAMES)]
        profiles, of_row = np.unique(own, axis=0, return_inverse=True)  # sentences may share one
        of_pair = of_row.reshape(-1)[profile_index]
        return only_possible(application_features(self.union.statistics, profiles, pair_index, of_pair))

    @cached_property
    def bounds(self) -> np.ndarray:
        """[P, 4], see `feature_bounds`."""
        return feature_bounds(self.union.statistics)

    def bound_shift(self, side: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        """log max_d λ_d - log Σ_d λ_d c_d(s) for p(t|s); 0 where no component of positive weight knows s."""
        assert mixture is not None
        weights = mixture[profile_index, P_TARGET]
        total = np.einsum("qd,dq->q", weights, self.union.statistics.source_counts[:, side])
        shift = np.zeros((len(side), 4), np.float32)
        shift[:, P_TARGET] = np.where(total > 0, np.log(weights.max(1) / np.where(total > 0, total, 1)), 0)
        return shift

    @property
    def orientation_names(self) -> tuple[str, ...]:
        return names_of(self.union.orientation_counts)

    def orientations(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        assert mixture is not None
        counts = self.union.orientation_counts
        if counts is None:
            return nothing(pair_index)
        return application_orientations(counts, orientation_weights(mixture), pair_index, profile_index)

    def terms(self, pair_index: np.ndarray) -> tuple["Terms", np.ndarray]:
        from jaxsmt.search.rules.terms import count_terms  # of training

        return count_terms(self.union, pair_index)


def mixed_rules(union: UnionView) -> MixedRules:
    return MixedRules(union, grammar_of_union(union))


def feature_bounds(statistics: Statistics) -> np.ndarray:
    """[P, 4] float32: upper bounds of log p(s|t), log lex(s|t), log lex(t|s); the third column is log Σ_d c_d(s,t).

    Whatever λ, the ratio Σ_d λ_d x_d / Σ_d λ_d y_d is never above the largest x_d / y_d. For p(t|s), whose denominator
    is the same for all pairs of a source side, Σ_d λ_d c_d(s,t) ≤ max_d λ_d · Σ_d c_d(s,t) says more: most pairs are
    rare. The rest of that bound is `MixedRules.bound_shift`.
    """
    words, (source_word, target_word) = statistics.word_joint_counts, statistics.word_pairs.T
    of_source = _largest(words, statistics.target_word_counts, target_word)  # of w(s|t)
    of_target = _largest(words, statistics.source_word_counts, source_word)
    of_source = _factor_bounds(of_source, statistics.source_factor_links)
    of_target = _factor_bounds(of_target, statistics.target_factor_links)
    bounds = np.empty((len(statistics.source_index), 4), np.float32)
    for start in range(0, len(bounds), PAIRS_PER_CHUNK):
        part = slice(start, start + PAIRS_PER_CHUNK)
        joint = statistics.joint_counts[:, part]
        columns = (
            _log(_largest(joint, statistics.target_counts, statistics.target_index[part])),
            of_source[statistics.source_factors[part]].sum(1),
            _log(joint.sum(0)),
            of_target[statistics.target_factors[part]].sum(1),
        )
        bounds[part] = np.maximum(np.stack(columns, 1), LOG_FLOOR)
    return bounds


def _largest(joint: np.ndarray, totals: np.ndarray, index: np.ndarray) -> np.ndarray:
    """[N]: max over components of joint [D, N] / totals [D, ·] at index [N]; 0 where both are 0."""
    result = np.zeros(joint.shape[1], np.float32)
    for counts, total in zip(joint, totals, strict=True):
        np.maximum(result, counts / np.maximum(total[index], np.finfo(np.float32).tiny), out=result)
    return result


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(values, out=np.full(values.shape, -np.inf, np.float32), where=values > 0)


def _factor_bounds(word_bounds: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Bounds in the order of factor ids, see `jaxsmt.tm.factors.Factors`."""
    num_words = len(word_bounds)
    padded = np.append(word_bounds, np.zeros(2, np.float32))
    num_links = np.maximum((links <= num_words).sum(1), 1).astype(np.float32)
    return _log(np.concatenate([word_bounds, np.array([0, 1], np.float32), padded[links].sum(1) / num_links]))
