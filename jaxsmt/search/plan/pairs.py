"""The rules that the matches of a batch may use: lists of pairs, one for each source side under each profile."""

import numpy as np

from jaxsmt.common.ragged import ranges
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.search.rules.model import PairLists


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
