"""Lists of rules: all pairs of the source sides that match, the best of each under the weights and mixtures of those
who use it, and these as the device has them.

The features of a rule depend on its sentence's mixture, so every sentence may need other features of the same long
lists. Where features have upper bounds that no mixture changes, a list is sorted by them once, and for each mixture
only its head is scored: enough to find the best, and all that might be among them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import ranges, ranks_in_runs
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.rules.grammar import Grammar, Programs
from jaxsmt.search.rules.model import BoundedRules, PairLists, RuleModel
from jaxsmt.search.weights import Profiles

NO_PAIR = -1  # an entry that is no rule of the grammar
FIRST_TRIED = 1.6  # of a long list so many times the table limit are scored first, in the order of their bounds
BOUND_ERROR = 1e-4  # bounds and scores are rounded, more so the larger they are


class PlacedPrograms(NamedTuple):
    """Targets compiled for a language model, and the places there [A] of those that were asked for."""

    programs: Programs
    place: np.ndarray


ProgramsFn = Callable[[np.ndarray, np.ndarray, Profiles], Sequence[PlacedPrograms]]


class RankedRules(NamedTuple):
    """Entries by (list, score descending, pair); [E] each.

    target: [N, E] places in the programs of each language model.
    """

    pair: np.ndarray
    list: np.ndarray
    score: np.ndarray
    target: np.ndarray


class Ranking(NamedTuple):
    """What matches may use.

    programs: of each language model.
    entries: of lists 0..num_lists - 1, with places in `programs`.
    matches: [M] those with a rule; rule_list: [M] their lists.
    """

    programs: tuple[Programs, ...]
    entries: RankedRules
    matches: Matches
    rule_list: np.ndarray
    num_lists: int


class _Scored(NamedTuple):
    """Pairs that may be among the best of their lists, on the way to those that are.

    lists: the lists with only these pairs; place: [A] where they were in the lists they come from.
    own: [A] w·h.
    """

    lists: PairLists
    place: np.ndarray
    own: np.ndarray


def pair_lists(grammar: Grammar, matches: Matches, profile_of_sentence: np.ndarray) -> PairLists:
    """A list for each (profile, source side), with all pairs of the side."""
    num_sides = max(len(grammar.source_sides), 1)
    keys, list_of_match = np.unique(
        profile_of_sentence[matches.sentence].astype(np.int64) * num_sides + matches.side, return_inverse=True
    )
    profile, side = np.divmod(keys, num_sides)
    pairs, list_of_pair = pairs_of_sides(grammar, side)
    is_same = np.ones(len(matches), bool)  # span as that of the match before: matches are sorted by these
    for column in (matches.sentence, matches.start, matches.end):
        is_same[1:] &= column[1:] == column[:-1]
    return PairLists(pairs, list_of_pair, profile, list_of_match.reshape(-1), np.cumsum(~is_same))


def pairs_of_sides(grammar: Grammar, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of source sides [Q]: pair [A] and place in `sides` [A]."""
    first = grammar.first_pair[sides]
    return ranges(first, grammar.first_pair[sides + 1] - first)


def usable_matches(matches: Matches, lists: PairLists, list_of_entry: np.ndarray) -> tuple[Matches, np.ndarray]:
    """The matches whose list has an entry, and their lists; list_of_entry: [E]."""
    has_entry = np.zeros(len(lists.profile) + 1, bool)  # the last one is for -1
    has_entry[list_of_entry] = True
    rows = np.flatnonzero(has_entry[lists.list_of_match])
    if len(rows) == len(matches):
        return matches, lists.list_of_match
    return matches.take(rows), lists.list_of_match[rows]


def rank_rules(
    rules: RuleModel, matches: Matches, profiles: Profiles, programs_fn: ProgramsFn, table_limit: int
) -> Ranking:
    """The best rules of each list, `table_limit` at the most.

    programs_fn: for each language model compiled targets, and the places there of pairs [A] for profiles [A].
    """
    weights, profile_of_match = profiles.weights, profiles.of_sentence[matches.sentence]
    by_span, bounded = rules.by_span, rules.bounded
    num_bounds = 0 if bounded is None else weights.rule.shape[1] - bounded.num_exact
    if by_span is not None or (weights.rule[:, :num_bounds] < 0).any():
        bounded = None  # there are no bounds from below
    is_shared = bounded is not None or by_span is not None
    of_sentence = _without_mixture(profiles)[profiles.of_sentence] if is_shared else profiles.of_sentence
    lists = pair_lists(rules.grammar, matches, of_sentence)
    if by_span is not None:
        lists = by_span.refine(lists, profile_of_match, profiles.mixture)
    compiled = programs_fn(lists.pairs, lists.profile_of_pair, profiles)
    profile = lists.profile_of_pair
    num_words = compiled[0].programs.num_words[compiled[0].place].astype(np.float32)
    penalties = weights.phrase_penalty[profile] - weights.word_penalty[profile] * num_words
    # Moses, too, ranks with the words' log p
    outside = penalties + profiles.lm_scores(profile, [own.log_p[place] for own, place in compiled])
    if bounded is not None:
        found = _by_bounds(bounded, lists, outside, profile_of_match, profiles, table_limit)
    else:
        found = _all_pairs(rules, lists, profiles)
    few = found.lists
    ranked_by = outside[found.place] + (found.own if few.ranking is None else few.ranking)
    best = best_of_lists(ranked_by, few.list_of_pair, table_limit)
    kept = found.place[best]
    target = np.stack([place[kept] for _, place in compiled])
    estimates = [own.estimate[place] for (own, _), place in zip(compiled, target, strict=True)]
    score = found.own[best] + penalties[kept] + profiles.lm_scores(profile[kept], estimates)
    entries = RankedRules(few.pairs[best], few.list_of_pair[best], score, target)
    programs = tuple(own for own, _ in compiled)
    return Ranking(programs, entries, *usable_matches(matches, few, entries.list), len(few.profile))


def _without_mixture(profiles: Profiles) -> np.ndarray:
    """[U]: the first profile that differs in nothing but the mixture."""
    parts = [*vars(profiles.weights).values(), *(part for part in profiles.lm_mixture if part is not None)]
    columns = np.concatenate([part.reshape(len(profiles), -1) for part in parts], 1)
    _, first, place = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    return first[place.reshape(-1)]


def _all_pairs(rules: RuleModel, lists: PairLists, profiles: Profiles) -> _Scored:
    """All pairs that exist under their mixture: whose features are not −∞."""
    features = rules.features(lists.pairs, lists.profile_of_pair, profiles.mixture)
    place = np.flatnonzero(features[:, 0] > -np.inf)
    few = lists._replace(
        pairs=lists.pairs[place],
        list_of_pair=lists.list_of_pair[place],
        ranking=None if lists.ranking is None else lists.ranking[place],
    )
    return _Scored(few, place, _scores(features[place], profiles.weights.rule, few.profile_of_pair))


def _scores(features: np.ndarray, rule_weights: np.ndarray, profile: np.ndarray) -> np.ndarray:
    """[A]: w·h from [A, F], w being row profile [A] of [U, F]."""
    return np.einsum("af,af->a", features, np.take(rule_weights, profile, axis=0))


def _by_bounds(
    rules: BoundedRules,
    base: PairLists,
    outside: np.ndarray,
    profile_of_match: np.ndarray,
    profiles: Profiles,
    limit: int,
) -> _Scored:
    """Pairs among which are the `limit` best of each (profile, list of `base`), scored.

    base: lists under profiles that stand for all which differ in the mixture only.
    outside: [A] what counts in the ranking beside w·h; no weight of a feature that is not its own bound is negative.
    """
    rule_weights, mixture = profiles.weights.rule, profiles.mixture
    num_base = max(len(base.profile), 1)
    keys, list_of_match = np.unique(profile_of_match * num_base + base.list_of_match, return_inverse=True)
    profile, number = np.divmod(keys, num_base)
    count = np.bincount(base.list_of_pair, minlength=num_base)
    first, size = (np.cumsum(count) - count)[number], count[number]
    upper = outside + _scores(np.take(rules.bounds, base.pairs, axis=0), rule_weights, base.profile_of_pair)
    order = descending_in_lists(upper, base.list_of_pair)
    side = np.searchsorted(rules.grammar.first_pair, base.pairs[first], side="right") - 1
    shift = _scores(rules.bound_shift(side, profile, mixture), rule_weights, profile)

    def scored(begin: np.ndarray, num: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place, list and w·h of ranks begin..begin + num - 1 of each list."""
        rank, owner = ranges(first + begin, num)
        place = order[rank]
        features = rules.features(base.pairs[place], profile[owner], mixture)
        exists = features[:, 0] > -np.inf
        if not exists.all():
            place, owner, features = place[exists], owner[exists], features[exists]
        return place, owner, _scores(features, rule_weights, profile[owner])

    tried = np.minimum(size, int(FIRST_TRIED * limit))
    head = scored(np.zeros_like(first), tried)
    least = least_kept(outside[head[0]] + head[2], head[1], limit, len(keys)) - shift
    least -= BOUND_ERROR * (1 + np.abs(least))
    tail = scored(tried, np.maximum(_num_at_least(upper[order], first, size, least) - tried, 0))
    place, owner, own = (np.concatenate(parts) for parts in zip(head, tail, strict=True))
    by_list = np.argsort(owner * max(len(outside), 1) + place)
    place, owner = place[by_list], owner[by_list]
    lists = PairLists(base.pairs[place], owner, profile, list_of_match.reshape(-1), base.span_of_match)
    return _Scored(lists, place, own[by_list])


def _num_at_least(values: np.ndarray, first: np.ndarray, size: np.ndarray, least: np.ndarray) -> np.ndarray:
    """[Q]: how many of values[first..first + size - 1], which descend, are not below `least`; by bisection."""
    low, high = np.zeros_like(size), size.copy()
    while (low < high).any():
        middle = (low + high) // 2
        is_open = low < high
        enough = is_open & (values[np.where(is_open, first + middle, 0)] >= least)
        low = np.where(enough, middle + 1, low)
        high = np.where(is_open & ~enough, middle, high)
    return low


def least_kept(values: np.ndarray, list_of_value: np.ndarray, limit: int, num_lists: int = 0) -> np.ndarray:
    """[Q] float32: the value of rank `limit` in each list, −∞ in shorter ones; list_of_value: [A] sorted."""
    count = np.bincount(list_of_value, minlength=num_lists)
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

    list_of_value: [A] sorted. Partitions find the least value to keep, so few are sorted.
    """
    place = np.flatnonzero(values >= least_kept(values, list_of_value, limit)[list_of_value])
    place = place[descending_in_lists(values[place], list_of_value[place])]
    return place[ranks_in_runs(list_of_value[place]) < limit]  # ties may be more


def descending_in_lists(values: np.ndarray, list_of_value: np.ndarray) -> np.ndarray:
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


@dataclass(frozen=True)
class RuleLists:
    """Q lists with E entries, end to end.

    first, count: [Q] int32: the entries of a list.
    score: [E] float32: w·h of the rule and of its runs' own language model score.
    program: for each language model [E, MAX_PARTS] int32; rows: [S, width] int32 the runs it speaks of.
    pair: [E] int64: rule of the grammar, or NO_PAIR - n for special target n.
    """

    first: np.ndarray
    count: np.ndarray
    score: np.ndarray
    program: tuple[np.ndarray, ...]
    rows: tuple[np.ndarray, ...]
    pair: np.ndarray


def assemble_lists(ranking: Ranking, special_programs: Sequence[Programs], special_score: np.ndarray) -> RuleLists:
    """Ranked lists, then one list for each special entry [Z]; special_programs: for each language model."""
    ranked = ranking.entries
    by_lm = zip(ranking.programs, ranked.target, special_programs, strict=True)
    programs, rows = zip(*(_joined(*parts) for parts in by_lm), strict=True)
    count = np.bincount(ranked.list, minlength=ranking.num_lists)
    count = np.concatenate([count, np.ones(len(special_score), np.int64)])
    return RuleLists(
        (np.cumsum(count) - count).astype(np.int32),
        count.astype(np.int32),
        np.concatenate([ranked.score, special_score]).astype(np.float32),
        programs,
        rows,
        np.concatenate([ranked.pair, NO_PAIR - np.arange(len(special_score))]),
    )


def _joined(programs: Programs, target: np.ndarray, special: Programs) -> tuple[np.ndarray, np.ndarray]:
    """Programs of the ranked entries, then of the special ones; their runs are gathered into one small table."""
    own, own_rows = _compact(programs.program[target], programs.rows)
    extra, extra_rows = _compact(special.program, special.rows)
    extra = np.where(extra > 0, extra + len(own_rows) - 1, extra)
    return np.concatenate([own, extra]).astype(np.int32), np.concatenate([own_rows, extra_rows[1:]])


def _compact(program: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The program [E, MAX_PARTS] over only those rows that it uses; row 0 stays row 0."""
    is_used = np.zeros(len(rows), bool)
    is_used[0] = True
    is_used[np.maximum(program, 0)] = True
    place = np.cumsum(is_used) - 1
    return np.where(program >= 0, place[np.maximum(program, 0)], program).astype(np.int32), rows[is_used]
