"""Ensembles that look at all rules of a span: model switching, and normalisation for pruning (Razmara et al. 2012).

The rules of component n for a span are all its rules whose source side occurs there, however its gaps may lie and be
filled; each counts once.
    switch:max  ψ(span, n) = log λ_n + max s_n            switch:sum  ψ(span, n) = log λ_n + log Σ exp(s_n)
One component, argmax_n ψ, fills a span's cell with its rules and scores (equal ψ: the first one).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.norms import l1_normalised
from jaxsmt.common.ragged import ranges
from jaxsmt.search.rules.ensemble import (
    SCORE_NAMES,
    SWITCHING,
    EnsembleConfig,
    EnsembleRules,
    check_component_weights,
    check_rule_weights,
    component_scores,
    score_grammar,
)
from jaxsmt.search.rules.grammar import Grammar, grammar_of_union
from jaxsmt.search.rules.model import PairLists, SpanRules, TableOrientations
from jaxsmt.search.rules.orientations import own_orientations
from jaxsmt.tm.component_table import ComponentTable
from jaxsmt.tm.union import UnionView


@dataclass(frozen=True)
class SwitchRules(TableOrientations, SpanRules):
    """D components of which one is chosen for each span; one feature, its score.

    A rule of the grammar is a rule of one component (a row of the component table): a derivation names the component
    with the rule, and its score does not depend on the span.
    component: [R] of each rule; scores: [R] float32; orientation_logs: [R, 6] float32, if there are any.
    """

    names: tuple[str, ...]
    grammar: Grammar
    component: np.ndarray
    scores: np.ndarray
    config: EnsembleConfig
    orientation_logs: np.ndarray | None = None

    def check_mixture(self, mixture: Any, num_sentences: int) -> np.ndarray:
        return check_component_weights(mixture, self.names, num_sentences)

    def features(self, pair_index: np.ndarray, profile_index: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
        return self.scores[pair_index][:, None]

    def refine(self, lists: PairLists, profile_of_match: np.ndarray, mixture: np.ndarray | None) -> PairLists:
        """A list for each (source side, component) that some span has chosen."""
        assert mixture is not None
        num, component = len(self.names), self.component[lists.pairs]
        shape = (len(lists.profile), num)
        by_list = totals(lists.list_of_pair, component, self.scores[lists.pairs], shape, self._is_sum)
        spans = span_lists(lists, profile_of_match)
        chosen = self.choose(spans.totals(by_list, self._is_sum), mixture[spans.profile])[lists.span_of_match]
        has_rule = (chosen >= 0) & (by_list[lists.list_of_match, chosen] > -np.inf)
        key_of_match = np.where(has_rule, lists.list_of_match * num + chosen, -1)
        keys = np.unique(key_of_match[has_rule])
        place = np.full(len(lists.profile) * num + 1, -1)  # the last one is for matches without a rule
        place[keys] = np.arange(len(keys))
        list_of_pair = place[lists.list_of_pair * num + component]
        kept = np.flatnonzero(list_of_pair >= 0)
        kept = kept[np.argsort(list_of_pair[kept], kind="stable")]
        return lists._replace(
            pairs=lists.pairs[kept],
            list_of_pair=list_of_pair[kept],
            profile=lists.profile[keys // num],
            list_of_match=place[key_of_match],
        )

    @property
    def _is_sum(self) -> bool:
        return self.config.operation == "switch:sum"

    def choose(self, span_scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[S]: the component of each span, -1 where none of positive weight has a rule.

        span_scores: [S, D] max s_n or log Σ exp(s_n), −∞ without a rule; weights: [S, D] λ.
        """
        exists = (weights > 0) & (span_scores > -np.inf)
        safe_weights, safe_scores = np.where(exists, weights, 1), np.where(exists, span_scores, 0)
        if self.config.literal and not self._is_sum:  # the sum's own formula has no logarithm to leave out
            psi = safe_weights * safe_scores
        else:
            psi = np.log(safe_weights) + safe_scores
        return np.where(exists.any(1), np.where(exists, psi, -np.inf).argmax(1), -1)


@dataclass(frozen=True)
class SpanNormalisedRules(EnsembleRules, SpanRules):
    """`EnsembleRules` whose best rules of a source side are chosen by scores normalised over the span."""

    def refine(self, lists: PairLists, profile_of_match: np.ndarray, mixture: np.ndarray | None) -> PairLists:
        """A list for each (span, source side), with a ranking of its own."""
        assert mixture is not None
        scores = self.scores[lists.pairs]
        pair, component = np.nonzero(scores > -np.inf)
        shape = (len(lists.profile), len(self.names))
        by_list = totals(lists.list_of_pair[pair], component, scores[pair, component], shape, is_sum=True)
        spans = span_lists(lists, profile_of_match)
        by_span = spans.totals(by_list, is_sum=True)
        count = np.bincount(lists.list_of_pair, minlength=len(lists.profile))
        place, list_of_pair = ranges((np.cumsum(count) - count)[spans.list], count[spans.list])
        norm = np.where(by_span > -np.inf, by_span, 0)[spans.span[list_of_pair]].astype(np.float32)
        profile = spans.profile[spans.span]
        ranking = self.mixed(scores[place] - norm, profile[list_of_pair], mixture)
        return PairLists(lists.pairs[place], list_of_pair, profile, spans.of_match, lists.span_of_match, ranking)


def totals(
    owner: np.ndarray, component: np.ndarray, scores: np.ndarray, shape: tuple[int, int], is_sum: bool
) -> np.ndarray:
    """[Q, D] float64: max, or log Σ exp, of the scores [E] of each owner [E] and component [E]; −∞ without any."""
    key = owner.astype(np.int64) * shape[1] + component
    top = np.full(shape[0] * shape[1], -np.inf)
    scores = scores.astype(np.float64)
    np.maximum.at(top, key, scores)
    if is_sum:
        base = np.where(top > -np.inf, top, 0)
        sums = np.bincount(key, np.exp(scores - base[key]), minlength=len(top))
        top = base + np.log(sums, out=np.full(len(top), -np.inf), where=sums > 0)
    return top.reshape(shape)


class SpanLists(NamedTuple):
    """The n distinct (span, list) of S spans.

    span, list: [n] each, sorted; of_match: [M] the place of each match; profile: [S] of each span.
    """

    span: np.ndarray
    list: np.ndarray
    of_match: np.ndarray
    profile: np.ndarray

    def totals(self, by_list: np.ndarray, is_sum: bool) -> np.ndarray:
        """[S, D]: `totals` [Q, D] of lists put together for spans."""
        num = by_list.shape[1]
        component = np.tile(np.arange(num), len(self.span))
        values = by_list[self.list].reshape(-1)
        return totals(np.repeat(self.span, num), component, values, (len(self.profile), num), is_sum)


def span_lists(lists: PairLists, profile_of_match: np.ndarray) -> SpanLists:
    num = max(len(lists.profile), 1)
    keys, place = np.unique(lists.span_of_match * num + lists.list_of_match, return_inverse=True)
    span, number = np.divmod(keys, num)
    profile = np.zeros(int(span.max(initial=-1)) + 1, np.int64)
    profile[lists.span_of_match] = profile_of_match
    return SpanLists(span, number, place.reshape(-1), profile)


def ensemble_rules(
    union: UnionView,
    table: ComponentTable,
    weights: Any,
    config: EnsembleConfig | None = None,
) -> EnsembleRules | SwitchRules:
    """An ensemble of the components of a union; search with weight 1 for its one rule feature.

    table: `component_table` of the same components.
    weights: [D, 4] each component's tuned weights of its four features.
    """
    config = config or EnsembleConfig()
    weights = check_rule_weights(weights, union.names)
    if config.normalise_weights:
        weights = l1_normalised(weights)
    scores, own = component_scores(table, weights), own_orientations(union, table)
    if config.operation not in SWITCHING:
        kind = SpanNormalisedRules if config.normalise_spans else EnsembleRules
        return kind(union.names, score_grammar(union), table.spread(scores, -np.inf), config, own)
    grammar = grammar_of_union(union)
    grammar = replace(
        grammar,
        first_pair=table.first_row[grammar.first_pair],
        target_index=grammar.target_index[table.pair],
        links_by_target=table.links_by_target,
        feature_names=SCORE_NAMES,
    )
    return SwitchRules(union.names, grammar, table.component, scores, config, None if own is None else own.logs)
