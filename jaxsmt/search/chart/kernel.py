"""The chart on the device: cells filled level by level, many cells of many sentences at a time.

A cell holds the K best hypotheses of a span. Its candidates are (group, rule, i, j): a group is a source side matched
with the cells of its gaps, a rule one of the side's translations, i and j hypotheses of the gaps' cells. Two rounds of
expansion take the place of cube pruning's queue (Chiang 2007, section 5.3):
  1. the best (group, rule) by score + estimates, with the best hypothesis in each gap, are scored by the language
     model;
  2. around those that it liked, other hypotheses i, j of the gaps are tried, taking what the language model
     said of (0, 0) as its estimate for (i, j).
Candidates whose language-model rows are equal are recombined; the K best are kept.

Cells come as one list, sorted by level (a cell's level is above those of all cells that its groups use) and
are worked on in chunks of CELLS_PER_CHUNK. What is computed for a cell depends on that cell alone.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.search.chart.joining import MAX_PARTS, join
from jaxsmt.search.chart.rows import Piece, SearchLm, columns_of, pack

Array = Any
IMPOSSIBLE = -1e30  # the score of what cannot be; finite, so that sums stay ordered
NO_CELL = 0  # the cell of an absent gap: one hypothesis, no words, score 0
FIRST_GAP, SECOND_GAP = -1, -2  # parts of a rule's program that are no rows
GAP_ONE, GAP_TWO, FIRST_ENTRY, NUM_ENTRIES = range(4)  # columns of `Forest.groups`
FIRST_GROUP, NUM_GROUPS = range(2)  # columns of `Forest.cell_groups`
FIRST_CELL, NUM_CELLS, GROUP_CLASS = range(3)  # columns of `Forest.chunks`
CELLS_PER_CHUNK = 64
NUM_ROUNDS = 2
GROUP_CLASSES = (8, 32, 128, 512)  # cells with few groups are not padded to the largest number
GRID_MIN, GRID_SCALE = 2, 0.25
_RULE_BITS, _KEPT_BITS = 11, 10


@dataclass(frozen=True)
class Beam:
    """How widely to search.

    kept: K, hypotheses kept per cell.
    rules: (group, rule) pairs of a cell that the language model scores with the best hypotheses in the gaps.
    expanded: how many of these have other hypotheses tried in their gaps.
    neighbours: how many such combinations of a cell the language model scores.
    rule_slack: (group, rule) pairs are left out that the estimates put further behind the cell's best one.
    neighbour_slack: combinations are left out that the estimates put further behind the K-th best of round 1.
    Slacks are in units of the weights' L1 norm (rules, language model, word and phrase penalty).
    """

    kept: int = 24
    rules: int = 80
    expanded: int = 64
    neighbours: int = 112
    rule_slack: float = 2.4
    neighbour_slack: float = 0.25

    @property
    def lanes(self) -> int:
        """M: room for the candidates of one cell and round."""
        return max(self.rules, self.neighbours)

    def __post_init__(self) -> None:
        if self.rule_slack < 0 or self.neighbour_slack < 0:
            raise UserError(
                f"search.beam has the slacks {self.rule_slack} and {self.neighbour_slack}: neither may be negative"
            )
        for name, most in (
            ("kept", 1 << _KEPT_BITS),
            ("rules", 1 << 14),
            ("expanded", 1 << 14),
            ("neighbours", 1 << 14),
        ):
            if not 1 <= getattr(self, name) <= most:
                raise UserError(f"search.beam.{name} is {getattr(self, name)}: give a number from 1 to {most}")


class Forest(NamedTuple):
    """The rule applications of a batch of sentences; filled up to static sizes. C cells, G groups, E entries.

    Cell NO_CELL is first; the chunks name the cells that are to be filled.
    """

    rows: Array  # [S, width] int32: runs of words of the rules; row 0 has no words
    entry_score: Array  # [E] float32: rule score with penalties and estimated language model score
    entry_program: Array  # [E, MAX_PARTS] int32: rows, or FIRST_GAP or SECOND_GAP
    groups: Array  # [G, 4] int32: GAP_ONE and GAP_TWO (cells), FIRST_ENTRY, NUM_ENTRIES
    cell_groups: Array  # [C, 2] int32: FIRST_GROUP, NUM_GROUPS
    lm_weight: Array  # [C] float32, of the cell's sentence
    weight_norm: Array  # [C] float32, the unit of slacks
    lm_mixture: Array | None  # [C, D] float32
    start_cells: Array  # [B] int32: cells that hold <s>
    start_row: Array  # [width] int32
    chunks: Array  # [J, 3] int32: FIRST_CELL, NUM_CELLS, GROUP_CLASS (place in GROUP_CLASSES)
    num_chunks: Array  # [] int32


class Chart(NamedTuple):
    """What was found; hypotheses of a cell come best first."""

    score: Array  # [C, K] float32, IMPOSSIBLE where there is none
    group: Array  # [C, K] int32
    choice: Array  # [C, K] int32: rule, i and j, see `unpack_choice`
    edges: "Edges | None"
    num_scored: Array  # [] int32: candidates that the language model scored


class Edges(NamedTuple):
    """The 2K best candidates of each cell that the language model scored, best first, for n-best lists; [C, 2K] each.

    If there are fewer candidates than that the arrays are narrower.
    """

    score: Array
    group: Array
    choice: Array
    slot: Array  # the hypothesis that the candidate is or was recombined into; -1 if it was dropped


class Candidates(NamedTuple):
    """[Q, M] each."""

    group: Array
    rule: Array
    first: Array  # i
    second: Array  # j


class _Found(NamedTuple):
    """Candidates that were scored; [R, Q, M] each for R rounds, or [Q, M] for one."""

    score: Array
    candidates: Candidates
    piece: Piece


class _Search(NamedTuple):
    """What stays the same while a chart is filled."""

    lm: SearchLm
    forest: Forest
    beam: Beam
    table_limit: int


class _State(NamedTuple):
    rows: Array  # [S + C·K, width]
    chart: Chart


def pack_choice(rule: Array, first: Array, second: Array) -> Array:
    return (rule << 2 * _KEPT_BITS) | (first << _KEPT_BITS) | second


def unpack_choice(choice: Array) -> tuple[Array, Array, Array]:
    """Rule, i and j."""
    mask = (1 << _KEPT_BITS) - 1
    return choice >> 2 * _KEPT_BITS, (choice >> _KEPT_BITS) & mask, choice & mask


@partial(jax.jit, static_argnames=("beam", "table_limit", "keep_edges"))
def fill_chart(lm: SearchLm, forest: Forest, beam: Beam, table_limit: int, keep_edges: bool = False) -> Chart:
    """Fills all cells. `table_limit` is the largest number of entries a group has."""

    search = _Search(lm, forest, beam, table_limit)

    def body(chunk: Array, state: _State) -> _State:
        return _fill_chunk(search, forest.chunks[chunk], state)

    return jax.lax.fori_loop(0, forest.num_chunks, body, _init(forest, beam, keep_edges)).chart


def _init(forest: Forest, beam: Beam, keep_edges: bool) -> _State:
    num_cells, width = forest.cell_groups.shape[0], forest.rows.shape[1]
    kept = jnp.full((num_cells, beam.kept), IMPOSSIBLE, jnp.float32)
    kept = kept.at[NO_CELL, 0].set(0.0).at[forest.start_cells, 0].set(0.0).at[NO_CELL, 0].set(0.0)
    rows = jnp.concatenate([forest.rows, jnp.zeros((num_cells * beam.kept, width), jnp.int32)])
    first_row = forest.rows.shape[0]
    rows = rows.at[first_row + forest.start_cells * beam.kept].set(forest.start_row[None])
    rows = rows.at[first_row + NO_CELL * beam.kept].set(forest.rows[0])
    none = jnp.zeros((num_cells, beam.kept), jnp.int32)
    edges = None
    if keep_edges:
        shape = (num_cells, min(2 * beam.kept, NUM_ROUNDS * beam.lanes))
        zeros = jnp.zeros(shape, jnp.int32)
        edges = Edges(jnp.full(shape, IMPOSSIBLE, jnp.float32), zeros, zeros, zeros - 1)
    return _State(rows, Chart(kept, none, none, edges, jnp.int32(0)))


def _fill_chunk(search: _Search, chunk: Array, state: _State) -> _State:
    lm, forest, beam, _ = search
    first_cell, num_cells, group_class = chunk[FIRST_CELL], chunk[NUM_CELLS], chunk[GROUP_CLASS]
    cells = first_cell + jnp.arange(CELLS_PER_CHUNK)
    ranges = jax.lax.dynamic_slice_in_dim(forest.cell_groups, first_cell, CELLS_PER_CHUNK, 0)
    ranges = ranges * (jnp.arange(CELLS_PER_CHUNK) < num_cells)[:, None]
    unit = jax.lax.dynamic_slice_in_dim(forest.weight_norm, first_cell, CELLS_PER_CHUNK, 0)[:, None]
    branches = [partial(_best_rules, search, size) for size in GROUP_CLASSES]

    def expand(number: Array, found: _Found) -> _Found:
        """One round; both share one copy of the code that joins."""
        estimate, candidates = jax.lax.cond(
            number == 0,
            lambda: jax.lax.switch(group_class, branches, state.chart.score[:, 0], ranges, unit),
            lambda: _neighbours(forest, beam, jax.tree.map(lambda array: array[0], found), state.chart.score, unit),
        )
        score, piece = _evaluate(search, cells, candidates, estimate > IMPOSSIBLE / 2, state)
        return jax.tree.map(
            lambda array, part: jax.lax.dynamic_update_index_in_dim(array, part, number, 0),
            found,
            _Found(score, candidates, piece),
        )

    found = jax.lax.fori_loop(0, NUM_ROUNDS, expand, _nothing_found(lm, beam))
    return _keep_best(beam, first_cell, found, state)


def _nothing_found(lm: SearchLm, beam: Beam) -> _Found:
    shape = (NUM_ROUNDS, CELLS_PER_CHUNK, beam.lanes)
    integers, numbers = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.float32)
    words = jnp.zeros((NUM_ROUNDS, columns_of(lm.order).num_words, *shape[1:]), jnp.int32)
    piece = Piece(words, integers, jnp.zeros(shape, bool), integers, numbers, numbers)
    return _Found(numbers, Candidates(integers, integers, integers, integers), piece)


def _best_rules(search: _Search, num_groups: int, best: Array, ranges: Array, unit: Array) -> tuple[Array, Candidates]:
    """The best (group, rule) of each cell by additive score: [Q, M] estimates and candidates with i = j = 0."""
    _, forest, beam, table_limit = search
    offset = jnp.arange(num_groups)[None]
    is_group = offset < ranges[:, NUM_GROUPS, None]
    group = jnp.where(is_group, ranges[:, FIRST_GROUP, None] + offset, 0)  # [Q, G]
    columns = (GAP_ONE, GAP_TWO, FIRST_ENTRY, NUM_ENTRIES)
    gap_one, gap_two, entry, num_entries = (forest.groups[:, column][group] for column in columns)
    base = jnp.where(is_group, best[gap_one] + best[gap_two], 2 * IMPOSSIBLE)
    rule = jnp.arange(table_limit)[None, None]
    is_entry = rule < num_entries[..., None]
    scores = jnp.where(is_entry, forest.entry_score[jnp.where(is_entry, entry[..., None] + rule, 0)], IMPOSSIBLE)
    total = (base[..., None] + scores).reshape(ranges.shape[0], -1)
    estimate, index = _top(total, beam.rules, beam.lanes)
    estimate = jnp.where(estimate >= estimate[:, :1] - beam.rule_slack * unit, estimate, 2 * IMPOSSIBLE)
    group = jnp.take_along_axis(group, index // table_limit, 1)
    zeros = jnp.zeros_like(index)
    return estimate, Candidates(group, index % table_limit, zeros, zeros)


def _top_k(values: Array, num: int) -> tuple[Array, Array]:
    """`jax.lax.top_k`, kept apart from what is done with its result.

    XLA's fast program for the largest values is chosen by the shape of the code around it; a slice of the result makes
    it a whole sort, which takes fifteen times as long.
    """
    return jax.lax.optimization_barrier(jax.lax.top_k(values, num))


def _top(values: Array, num: int, width: int) -> tuple[Array, Array]:
    """The `num` largest of [Q, N] and their places, filled up to [Q, width] with IMPOSSIBLE and 0."""
    top, index = _top_k(values, min(num, values.shape[1]))
    missing = ((0, 0), (0, width - top.shape[1]))
    return jnp.pad(top, missing, constant_values=2 * IMPOSSIBLE), jnp.pad(index, missing)


def _neighbours(forest: Forest, beam: Beam, found: _Found, chart_score: Array, unit: Array) -> tuple[Array, Candidates]:
    """The most promising (i, j) ≠ (0, 0) around the best candidates of round 1: [Q, M]."""
    rank, first, second = _grid(beam)
    top_score, index = _top_k(found.score, min(beam.expanded, beam.rules))
    group, rule = (jnp.take_along_axis(array, index, 1) for array in found.candidates[:2])
    losses = []
    for column in (GAP_ONE, GAP_TWO):
        kept = chart_score[forest.groups[:, column][group]]  # [Q, T, K]
        losses.append((kept - kept[..., :1]).reshape(kept.shape[0], -1))
    estimate = top_score[:, rank] + losses[0][:, rank * beam.kept + first] + losses[1][:, rank * beam.kept + second]
    estimate, index = _top(estimate, beam.neighbours, beam.lanes)
    if top_score.shape[1] >= beam.kept:
        least = top_score[:, beam.kept - 1 : beam.kept] - beam.neighbour_slack * unit
        estimate = jnp.where(estimate >= least, estimate, 2 * IMPOSSIBLE)
    of_rank = jnp.asarray(rank)[index]
    return estimate, Candidates(
        jnp.take_along_axis(group, of_rank, 1),
        jnp.take_along_axis(rule, of_rank, 1),
        jnp.asarray(first)[index],
        jnp.asarray(second)[index],
    )


def _grid(beam: Beam) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points (rank, i, j) that round 2 may choose from, without (0, 0).

    A point (i, j) of a rule is behind (i+1)(j+1) - 1 points of the same rule.
    """
    expanded = min(beam.expanded, beam.rules)
    rank, first, second = np.indices((expanded, beam.kept, beam.kept)).reshape(3, -1).astype(np.int32)
    most = np.maximum(GRID_MIN, beam.neighbours * GRID_SCALE / np.sqrt(rank + 1))
    keep = ((first + 1) * (second + 1) <= most) & (first + second > 0)
    keep[0] |= not keep.any()  # a beam of one hypothesis has no neighbours, and arrays are not empty
    return rank[keep], first[keep], second[keep]


def _evaluate(
    search: _Search, cells: Array, candidates: Candidates, is_valid: Array, state: _State
) -> tuple[Array, Piece]:
    """Scores candidates [Q, M] with the language model; pieces have axes [..., Q, M]."""
    lm, forest, beam, _ = search
    shape = is_valid.shape
    group = forest.groups[candidates.group]  # [Q, M, 4]
    entry = jnp.where(is_valid, group[..., FIRST_ENTRY] + candidates.rule, 0)
    slots = ((GAP_ONE, candidates.first), (GAP_TWO, candidates.second))
    hypotheses = [group[..., gap] * beam.kept + slot for gap, slot in slots]
    program = forest.entry_program[entry]  # [Q, M, MAX_PARTS]
    first_row = forest.rows.shape[0]
    parts = [
        jnp.where(part >= 0, part, first_row + jnp.where(part == FIRST_GAP, *hypotheses)).reshape(-1)
        for part in (program[..., place] for place in range(MAX_PARTS))
    ]
    mixture = None if forest.lm_mixture is None else jnp.repeat(forest.lm_mixture[cells], shape[1], 0)
    joined = join(lm, state.rows, jnp.stack(parts), is_valid.reshape(-1), mixture, block=shape[1] * 8)
    flat = state.chart.score.reshape(-1)
    base = forest.entry_score[entry] + (flat[hypotheses[0]] + flat[hypotheses[1]])
    place = joined.place.reshape(shape)
    piece = jax.tree.map(lambda array: array[..., place], joined.piece)
    score = base + forest.lm_weight[cells][:, None] * piece.total
    return jnp.where(is_valid, score, 2 * IMPOSSIBLE), piece


def _keep_best(beam: Beam, first_cell: Array, found: _Found, state: _State) -> _State:
    """Recombines, keeps K candidates of each cell and writes them into the chart."""

    def by_cell(array: Array) -> Array:  # [R, Q, M] → [Q, R·M]
        return jnp.moveaxis(array, 0, 1).reshape(array.shape[1], -1)

    score, candidates = by_cell(found.score), jax.tree.map(by_cell, found.candidates)
    num_cells, num = score.shape
    ranked_score, index = _top_k(score, min(2 * beam.kept, num))
    number, lane = index // beam.lanes, index % beam.lanes
    flat = ((number * num_cells + jnp.arange(num_cells)[:, None]) * beam.lanes + lane).reshape(-1)
    pieces = found.piece._replace(words=jnp.moveaxis(found.piece.words, 1, 0))
    pieces = jax.tree.map(lambda array: array.reshape(*array.shape[:-3], -1)[..., flat], pieces)
    rows = pack(pieces).reshape(*index.shape, -1)
    twin = _first_equal(rows)  # [Q, 2K]
    is_new = (twin == jnp.arange(index.shape[1])[None]) & (ranked_score > IMPOSSIBLE / 2)
    slot = jnp.where(is_new, jnp.cumsum(is_new, 1) - 1, -1)
    priority = jnp.where(is_new, -jnp.arange(index.shape[1], dtype=jnp.float32)[None], IMPOSSIBLE)
    priority = jnp.pad(priority, ((0, 0), (0, max(0, beam.kept - index.shape[1]))), constant_values=IMPOSSIBLE)
    is_kept, chosen = _top_k(priority, beam.kept)
    is_kept = is_kept > IMPOSSIBLE / 2
    chosen = jnp.where(is_kept, chosen, 0)

    def take(array: Array) -> Array:
        return jnp.take_along_axis(jnp.take_along_axis(array, index, 1), chosen, 1)

    choice = pack_choice(candidates.rule, candidates.first, candidates.second)
    kept_rows = jnp.take_along_axis(rows, chosen[..., None], 1).reshape(-1, rows.shape[-1])
    first_row = state.rows.shape[0] - state.chart.score.size
    chart = state.chart
    edges = chart.edges
    if edges is not None:
        slot = jnp.take_along_axis(slot, twin, 1)
        slot = jnp.where((slot < beam.kept) & (ranked_score > IMPOSSIBLE / 2), slot, -1)
        ranked = [jnp.take_along_axis(array, index, 1) for array in (candidates.group, choice)]
        edges = Edges(*(_written(*pair, first_cell) for pair in zip(edges, (ranked_score, *ranked, slot), strict=True)))
    return _State(
        _written(state.rows, kept_rows, first_row + first_cell * beam.kept),
        Chart(
            _written(chart.score, jnp.where(is_kept, take(score), IMPOSSIBLE), first_cell),
            _written(chart.group, take(candidates.group), first_cell),
            _written(chart.choice, take(choice), first_cell),
            edges,
            chart.num_scored + (score > IMPOSSIBLE / 2).sum(dtype=jnp.int32),
        ),
    )


def _first_equal(rows: Array) -> Array:
    """[Q, M] int32: the first row of the cell [Q, M, width] that the language model cannot tell from this one."""
    num = rows.shape[1]
    same = jnp.ones((rows.shape[0], num, num), bool)
    for column in range(rows.shape[2] - 1):  # the estimate follows from the words
        same &= rows[:, :, None, column] == rows[:, None, :, column]
    return jnp.argmax(same, 2)


def _written(array: Array, part: Array, start: Array) -> Array:
    return jax.lax.dynamic_update_slice_in_dim(array, part, start, 0)
