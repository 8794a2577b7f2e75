"""Ranked lists of rules: the translations of each source side, best first, at most `table_limit` of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.search.rules.grammar import Programs
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP, SearchWeights

NO_PAIR = -1  # an entry that is no rule of the grammar


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
    num_rules, num_glue, num_swaps, num_unknown: feature counts; words are counted by `programs`.
    """

    profile: np.ndarray
    target: np.ndarray
    num_rules: np.ndarray
    num_glue: np.ndarray
    num_swaps: np.ndarray
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
        + weights.swap[profile] * specials.num_swaps
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
