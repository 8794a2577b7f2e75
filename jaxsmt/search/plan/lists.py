"""Lists of rules as the device has them: ranked translations of source sides, then entries beside the grammar."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.search.plan.ranking import Ranking
from jaxsmt.search.rules.grammar import Programs

NO_PAIR = -1  # an entry that is no rule of the grammar


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
