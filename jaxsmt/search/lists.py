"""Ranked lists of rules: the translations of each source side, best first, at most `table_limit` of them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxsmt.search.grammar import Programs
from jaxsmt.search.rules import BoundedRules, PairLists, RuleModel
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP, SearchWeights
from jaxsmt.tm.features import LOG_FLOOR

NO_PAIR = -1  # an entry that is no rule of the grammar
FIRST_TRIED = 1.6  # of a long list so many times the table limit are scored first, by their bounds
BOUND_ERROR = 0.01  # bounds and scores are rounded


@dataclass(frozen=True)
class RuleLists:
    """Q lists with E entries, end to end.

    first, count: [Q] int32: the entries of a list.
    score: [E] float32: w·h of the rule and of its runs' own language model score.
    program: [E, MAX_PARTS] int32; rows: [S, width] int32 the runs it speaks of.
    pair: [E] int64: rule of the grammar, or NO_PAIR - n for special target n.
    """

    first: np.ndarray
    count: np.ndarray
    score: np.ndarray
    program: np.ndarray
    rows: np.ndarray
    pair: np.ndarray


@dataclass(frozen=True)
class Specials:
    """Entries beside the grammar, one list each: glue, sentence ends, unknown words, forced translations; [Z] each.

    profile: whose weights they are scored with.
    target: place in `programs`.
    num_rules, num_glue, num_unknown: feature counts; words are counted by `programs`.
    """

    profile: np.ndarray
    target: np.ndarray
    num_rules: np.ndarray
    num_glue: np.ndarray
    num_unknown: np.ndarray
    programs: Programs


class RankedRules(NamedTuple):
    """Entries by (list, score descending, pair); [E] each.

    target: place in the programs.
    """

    pair: np.ndarray
    list: np.ndarray
    score: np.ndarray
    target: np.ndarray


def rank_rules(
    rules: RuleModel,
    lists: PairLists,
    programs: Programs,
    target: np.ndarray,
    weights: SearchWeights,
    mixture: np.ndarray | None,
    table_limit: int,
) -> RankedRules:
    """The best pairs of each list, of those that exist under its profile (their features are not −∞).

    target: [A] the pairs' places in `programs`; weights, mixture: by profile.
    """
    profile = lists.profile_of_pair
    lm, num_words = weights.lm[profile], programs.num_words[target].astype(np.float32)
    rest = weights.phrase_penalty[profile] - weights.word_penalty[profile] * num_words
    outside = rest + lm * programs.log_p[target]  # Moses, too, ranks rules with their words' log p
    place, own = score_candidates(rules, lists, outside, weights.rule, mixture, table_limit)
    ranking = outside[place] + (own if lists.ranking is None else lists.ranking[place])
    best = best_of_lists(ranking, lists.list_of_pair[place], table_limit)
    kept = place[best]
    score = own[best] + rest[kept] + lm[kept] * programs.estimate[target[kept]]
    return RankedRules(lists.pairs[kept], lists.list_of_pair[kept], score, target[kept])


def score_candidates(
    rules: RuleModel,
    lists: PairLists,
    outside: np.ndarray,
    rule_weights: np.ndarray,
    mixture: np.ndarray | None,
    limit: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Places in the lists [n] and w·h [n] of pairs, among which are the `limit` best of each list.

    outside: [A] what else counts when they are ranked; rule_weights: [U, F] by profile.
    """
    profile = lists.profile_of_pair

    def score(features: np.ndarray, place: np.ndarray) -> np.ndarray:
        return np.einsum("af,af->a", features, np.take(rule_weights, profile[place], axis=0))

    counts = np.bincount(lists.list_of_pair)
    if not isinstance(rules, BoundedRules) or counts.max(initial=0) <= FIRST_TRIED * limit:
        features = rules.features(lists.pairs, profile, mixture)
        place = np.flatnonzero(features[:, 0] > -np.inf)
        return place, score(features[place], place)
    bounds, features_fn = rules.bound(lists, mixture)
    upper = outside + _upper_scores(bounds, rule_weights, profile)
    first = np.flatnonzero(upper >= least_kept(upper, lists.list_of_pair, int(FIRST_TRIED * limit))[lists.list_of_pair])
    own = score(features_fn(first), first)
    least = least_kept(outside[first] + own, lists.list_of_pair[first], limit) - BOUND_ERROR
    is_open = upper >= least[lists.list_of_pair]
    is_open[first] = False
    more = np.flatnonzero(is_open)
    place = np.concatenate([first, more])
    order = np.argsort(place, kind="stable")
    return place[order], np.concatenate([own, score(features_fn(more), more)])[order]


def _upper_scores(bounds: np.ndarray, rule_weights: np.ndarray, profile: np.ndarray) -> np.ndarray:
    """[A]: upper bounds of w·h from those of features [A, F], which are not below LOG_FLOOR; weights: [U, F]."""
    upper = np.empty(len(bounds), np.float32)
    starts = np.flatnonzero(np.diff(profile, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(profile)]):  # runs of one profile: matrix products are fast
        weights = rule_weights[profile[start]]
        upper[start:end] = bounds[start:end] @ np.maximum(weights, 0) + LOG_FLOOR * np.minimum(weights, 0).sum()
    return upper


def least_kept(values: np.ndarray, list_of_value: np.ndarray, limit: int) -> np.ndarray:
    """[Q] float32: the value of rank `limit` in each list, −∞ in shorter ones; list_of_value: [A] sorted."""
    count = np.bincount(list_of_value)
    first = np.cumsum(count) - count
    least = np.full(len(count), -np.inf, np.float32)
    size_class = np.ceil(np.log2(np.maximum(count, 1))).astype(int)
    for number in np.unique(size_class[count > limit]).tolist():
        rows = np.flatnonzero((size_class == number) & (count > limit))
        column = np.arange(1 << number)
        inside = column < count[rows, None]
        table = np.where(inside, values[first[rows, None] + np.where(inside, column, 0)], -np.inf)
        least[rows] = np.partition(table, len(column) - limit, axis=1)[:, len(column) - limit]
    return least


def best_of_lists(values: np.ndarray, list_of_value: np.ndarray, limit: int) -> np.ndarray:
    """Places of the `limit` largest float32 values [A] of each list, by (list, value descending, place).

    list_of_value: [A] sorted. Most values are in long lists and not among the best: partitions find the least value to
    keep, and few are sorted.
    """
    place = np.flatnonzero(values >= least_kept(values, list_of_value, limit)[list_of_value])
    place = place[_descending(values[place], list_of_value[place])]
    of = list_of_value[place]
    first = np.searchsorted(of, np.arange(of.max(initial=-1) + 1))
    return place[np.arange(len(of)) - first[of] < limit]  # ties may be more


def _descending(values: np.ndarray, list_of_value: np.ndarray) -> np.ndarray:
    """The order by (list, value descending, place) of float32 values: one sort of whole numbers, which is fast."""
    bits = (0.0 - values).astype(np.float32).view(np.int32).astype(np.int64)
    keys = (list_of_value.astype(np.int64) << 32) + np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    order = np.argsort(keys)
    in_order = keys[order]
    same = np.zeros(len(keys) + 1, bool)
    same[1:-1] = in_order[1:] == in_order[:-1]
    if same.any():  # that sort leaves equal values in no particular order
        tied = np.flatnonzero(same[1:] | same[:-1])
        order[tied] = order[tied][np.lexsort((order[tied], in_order[tied]))]
    return order


def assemble_lists(
    programs: Programs,
    ranked: RankedRules,
    num_lists: int,
    specials: Specials,
    weights: SearchWeights,
) -> RuleLists:
    """Ranked lists, then one list for each special entry; runs are gathered into one small table."""
    pair, list_of_entry, score, target = ranked
    special_score = _special_scores(specials, weights)
    own, own_rows = _compact(programs.program[target], programs.rows)
    extra, extra_rows = _compact(specials.programs.program[specials.target], specials.programs.rows)
    extra = np.where(extra > 0, extra + len(own_rows) - 1, extra)
    count = np.bincount(list_of_entry, minlength=num_lists)
    count = np.concatenate([count, np.ones(len(special_score), np.int64)])
    return RuleLists(
        (np.cumsum(count) - count).astype(np.int32),
        count.astype(np.int32),
        np.concatenate([score, special_score]).astype(np.float32),
        np.concatenate([own, extra]).astype(np.int32),
        np.concatenate([own_rows, extra_rows[1:]]),
        np.concatenate([pair, NO_PAIR - np.arange(len(special_score))]),
    )


def _special_scores(specials: Specials, weights: SearchWeights) -> np.ndarray:
    profile, programs = specials.profile, specials.programs
    return (
        weights.phrase_penalty[profile] * specials.num_rules
        - weights.word_penalty[profile] * programs.num_words[specials.target]
        + weights.glue[profile] * GLUE_STEP * specials.num_glue
        + weights.unknown[profile] * UNKNOWN_STEP * specials.num_unknown
        + weights.lm[profile] * programs.estimate[specials.target]
    ).astype(np.float32)


def _compact(program: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The program [E, MAX_PARTS] over only those rows that it uses; row 0 stays row 0."""
    is_used = np.zeros(len(rows), bool)
    is_used[0] = True
    is_used[np.maximum(program, 0)] = True
    place = np.cumsum(is_used) - 1
    return np.where(program >= 0, place[np.maximum(program, 0)], program).astype(np.int32), rows[is_used]
