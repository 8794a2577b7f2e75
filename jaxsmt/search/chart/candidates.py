"""Which candidates of a cell the language model is asked about, by scores that add up. Q cells, M candidates each."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsmt.search.chart.selection import largest, top_k
from jaxsmt.search.chart.structure import (
    FIRST_ENTRY,
    FIRST_GROUP,
    GAP_ONE,
    GAP_TWO,
    IMPOSSIBLE,
    NUM_ENTRIES,
    NUM_GROUPS,
    Beam,
    Candidates,
    ChartSearch,
    pack_choice,
    unpack_choice,
)

Array = Any
# points of the best rule: a share of the neighbours, and of many neighbours only so many times their root
GRID_MIN, GRID_SHARE, GRID_ROOT = 2, 0.25, 2.65


def best_rules(
    search: ChartSearch, num_groups: int, best: Array, ranges: Array, unit: Array
) -> tuple[Array, Candidates]:
    """The best (group, rule) of each cell by additive score: [Q, M] estimates and candidates with i = j = 0.

    best: [C] the best score of each cell; ranges: [Q, 2] the cells' groups, at most `num_groups`; unit: [Q] of slacks.
    """
    forest, beam, table_limit = search.forest, search.beam, search.table_limit
    offset = jnp.arange(num_groups)[None]
    is_group = offset < ranges[:, NUM_GROUPS, None]
    group = jnp.where(is_group, ranges[:, FIRST_GROUP, None] + offset, 0)  # [Q, G]
    columns = (GAP_ONE, GAP_TWO, FIRST_ENTRY, NUM_ENTRIES)
    gap_one, gap_two, entry, num_entries = (forest.groups[:, column][group] for column in columns)
    base = jnp.where(is_group, best[gap_one] + best[gap_two], 2 * IMPOSSIBLE)
    rule = jnp.arange(table_limit)[None, None]
    is_entry = rule < num_entries[..., None]
    scores = jnp.where(is_entry, forest.entry_score[jnp.where(is_entry, entry[..., None] + rule, 0)], IMPOSSIBLE)
    total = (base[..., None] + scores).reshape(ranges.shape[0], -1).T
    least = jnp.maximum(total.max(0) - beam.rule_slack * unit, IMPOSSIBLE / 2)
    estimate, index = _top(total, beam.rules, least, beam.lanes, search.tiles.wide)
    group = jnp.take_along_axis(group, index // table_limit, 1)
    zeros = jnp.zeros_like(index)
    return estimate, Candidates(group, pack_choice(index % table_limit, zeros, zeros))


def neighbours(
    search: ChartSearch, score: Array, candidates: Candidates, chart_score: Array, unit: Array
) -> tuple[Array, Candidates]:
    """The most promising (i, j) ≠ (0, 0) around the best candidates of round 1: [Q, M].

    score: [Q, P] of round 1; candidates: those of round 1 come first.
    """
    forest, beam = search.forest, search.beam
    rank, first, second = grid(beam)
    top_score, index = top_k(score, min(beam.expanded, beam.rules), search.tiles.wide)
    group, choice = (jnp.take_along_axis(array, index, 1) for array in candidates)
    estimate = top_score.T[rank]  # [N, Q]
    for column, slot in ((GAP_ONE, first), (GAP_TWO, second)):
        kept = chart_score[forest.groups[:, column][group]]  # [Q, T, K]
        loss = (kept - kept[..., :1]).reshape(kept.shape[0], -1).T
        estimate += loss[rank * beam.kept + slot]
    worst = top_score[:, min(beam.kept, top_score.shape[1]) - 1]
    least = jnp.maximum(worst - beam.neighbour_slack * unit, IMPOSSIBLE / 2)
    estimate, index = _top(estimate, beam.neighbours, least, beam.lanes, search.tiles.wide)
    of_rank = jnp.asarray(rank)[index]
    rule = unpack_choice(jnp.take_along_axis(choice, of_rank, 1))[0]
    choice = pack_choice(rule, jnp.asarray(first)[index], jnp.asarray(second)[index])
    return estimate, Candidates(jnp.take_along_axis(group, of_rank, 1), choice)


def _top(columns: Array, num: int, least: Array, width: int, wide: bool) -> tuple[Array, Array]:
    """The `num` largest of columns [N, Q] and their places, in no order, filled up to [Q, width].

    least: [Q]; what is below has the value 2·IMPOSSIBLE. wide: see `largest`.
    """
    top, index = largest(columns, min(num, columns.shape[0]), least, wide)
    top = jnp.where(top >= least[:, None], top, 2 * IMPOSSIBLE)
    missing = ((0, 0), (0, width - top.shape[1]))
    return jnp.pad(top, missing, constant_values=2 * IMPOSSIBLE), jnp.pad(index, missing)


def grid(beam: Beam) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points (rank, i, j) that round 2 may choose from, without (0, 0).

    A point (i, j) of a rule is behind (i+1)(j+1) - 1 points of the same rule.
    """
    expanded = min(beam.expanded, beam.rules)
    rank, first, second = np.indices((expanded, beam.kept, beam.kept)).reshape(3, -1).astype(np.int32)
    widest = min(GRID_SHARE * beam.neighbours, GRID_ROOT * beam.neighbours**0.5)
    most = np.maximum(GRID_MIN, widest / np.sqrt(rank + 1))
    keep = ((first + 1) * (second + 1) <= most) & (first + second > 0)
    keep[0] |= not keep.any()  # a beam of one hypothesis has no neighbours, and arrays are not empty
    return rank[keep], first[keep], second[keep]
