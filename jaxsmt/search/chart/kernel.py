"""The chart on the device: cells filled level by level, many cells of many sentences at a time.

A cell holds the K best hypotheses of a span. Its candidates are (group, rule, i, j): a group is a source side matched
with the cells of its gaps, a rule one of the side's translations, i and j hypotheses of the gaps' cells. Two rounds of
expansion take the place of cube pruning's queue (Chiang 2007, section 5.3):
  1. the best (group, rule) by score + estimates, with the best hypothesis in each gap, are scored by the language
     model;
  2. around those that it liked, other hypotheses i, j of the gaps are tried, taking what the language model
     said of (0, 0) as its estimate for (i, j).
Candidates whose rows are equal for all language models are recombined; the K best are kept.

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
from jaxsmt.search.chart.rows import Piece, SearchLm, columns_of, names_of, pack, weights_by_lm
from jaxsmt.search.chart.selection import best_equal, largest

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

    rows: tuple[Array, ...]  # by language model [S, width] int32: runs of words of the rules; row 0 has no words
    entry_score: Array  # [E] float32: rule score with penalties and estimated language model score
    entry_program: tuple[Array, ...]  # by language model [E, MAX_PARTS] int32: rows, or FIRST_GAP or SECOND_GAP
    groups: Array  # [G, 4] int32: GAP_ONE and GAP_TWO (cells), FIRST_ENTRY, NUM_ENTRIES
    cell_groups: Array  # [C, 2] int32: FIRST_GROUP, NUM_GROUPS
    lm_weight: Array  # [C, M] float32, of the cell's sentence, for all features of all language models
    weight_norm: Array  # [C] float32, the unit of slacks
    lm_mixture: tuple[Array | None, ...]  # by language model [C, D] float32
    start_cells: Array  # [B] int32: cells that hold <s>
    start_row: tuple[Array, ...]  # by language model [width] int32
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
    """For n-best lists: the K hypotheses of each cell, then the K best of those recombined into them; [C, 2K] each."""

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
    pieces: tuple[Piece, ...]  # by language model


class _Search(NamedTuple):
    """What stays the same while a chart is filled."""

    lms: tuple[SearchLm, ...]
    forest: Forest
    beam: Beam
    table_limit: int


class _State(NamedTuple):
    rows: tuple[Array, ...]  # by language model [S + C·K, width]
    chart: Chart


def pack_choice(rule: Array, first: Array, second: Array) -> Array:
    return (rule << 2 * _KEPT_BITS) | (first << _KEPT_BITS) | second


def unpack_choice(choice: Array) -> tuple[Array, Array, Array]:
    """Rule, i and j."""
    mask = (1 << _KEPT_BITS) - 1
    return choice >> 2 * _KEPT_BITS, (choice >> _KEPT_BITS) & mask, choice & mask


@partial(jax.jit, static_argnames=("beam", "table_limit", "keep_edges"))
def fill_chart(
    lms: tuple[SearchLm, ...], forest: Forest, beam: Beam, table_limit: int, keep_edges: bool = False
) -> Chart:
    """Fills all cells. `table_limit` is the largest number of entries a group has."""

    search = _Search(lms, forest, beam, table_limit)

    def body(chunk: Array, state: _State) -> _State:
        return _fill_chunk(search, forest.chunks[chunk], state)

    return jax.lax.fori_loop(0, forest.num_chunks, body, _init(forest, beam, keep_edges)).chart


def _init(forest: Forest, beam: Beam, keep_edges: bool) -> _State:
    num_cells = forest.cell_groups.shape[0]
    kept = jnp.full((num_cells, beam.kept), IMPOSSIBLE, jnp.float32)
    kept = kept.at[NO_CELL, 0].set(0.0).at[forest.start_cells, 0].set(0.0).at[NO_CELL, 0].set(0.0)
    rows = tuple(_init_rows(forest, beam, *parts) for parts in zip(forest.rows, forest.start_row, strict=True))
    none = jnp.zeros((num_cells, beam.kept), jnp.int32)
    edges = None
    if keep_edges:
        shape = (num_cells, 2 * beam.kept)
        zeros = jnp.zeros(shape, jnp.int32)
        edges = Edges(jnp.full(shape, IMPOSSIBLE, jnp.float32), zeros, zeros, zeros - 1)
    return _State(rows, Chart(kept, none, none, edges, jnp.int32(0)))


def _init_rows(forest: Forest, beam: Beam, runs: Array, start_row: Array) -> Array:
    """The rows of runs [S, width], then those of all hypotheses, of which only the first ones are there."""
    first_row, width = runs.shape
    rows = jnp.concatenate([runs, jnp.zeros((forest.cell_groups.shape[0] * beam.kept, width), jnp.int32)])
    rows = rows.at[first_row + forest.start_cells * beam.kept].set(start_row[None])
    return rows.at[first_row + NO_CELL * beam.kept].set(runs[0])


def _fill_chunk(search: _Search, chunk: Array, state: _State) -> _State:
    lms, forest, beam, _ = search
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
        score, pieces = _evaluate(search, cells, candidates, estimate > IMPOSSIBLE / 2, state)
        return jax.tree.map(
            lambda array, part: jax.lax.dynamic_update_index_in_dim(array, part, number, 0),
            found,
            _Found(score, candidates, pieces),
        )

    found = jax.lax.fori_loop(0, NUM_ROUNDS, expand, _nothing_found(lms, beam))
    return _keep_best(search, first_cell, found, state)


def _nothing_found(lms: tuple[SearchLm, ...], beam: Beam) -> _Found:
    shape = (NUM_ROUNDS, CELLS_PER_CHUNK, beam.lanes)
    integers, numbers = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.float32)

    def pieces_of(lm: SearchLm) -> Piece:
        words = jnp.zeros((NUM_ROUNDS, columns_of(lm).num_words, *shape[1:]), jnp.int32)
        features = jnp.zeros((NUM_ROUNDS, lm.num_features, *shape[1:]), jnp.float32)
        return Piece(words, integers, jnp.zeros(shape, bool), integers, features, features)

    return _Found(numbers, Candidates(integers, integers, integers, integers), tuple(map(pieces_of, lms)))


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
    total = (base[..., None] + scores).reshape(ranges.shape[0], -1).T
    estimate, index = _top(total, beam.rules, beam.lanes)
    estimate = jnp.where(estimate >= estimate.max(1, keepdims=True) - beam.rule_slack * unit, estimate, 2 * IMPOSSIBLE)
    group = jnp.take_along_axis(group, index // table_limit, 1)
    zeros = jnp.zeros_like(index)
    return estimate, Candidates(group, index % table_limit, zeros, zeros)


def _top_k(values: Array, num: int) -> tuple[Array, Array]:
    """`jax.lax.top_k`, kept apart from what is done with its result.

    XLA's fast program for the largest values is chosen by the shape of the code around it; a slice of the result makes
    it a whole sort, which takes fifteen times as long.
    """
    return jax.lax.optimization_barrier(jax.lax.top_k(values, num))


def _top(columns: Array, num: int, width: int) -> tuple[Array, Array]:
    """The `num` largest of columns [N, Q] and their places, in no order, filled up to [Q, width]."""
    top, index = largest(columns, min(num, columns.shape[0]))
    missing = ((0, 0), (0, width - top.shape[1]))
    return jnp.pad(top, missing, constant_values=2 * IMPOSSIBLE), jnp.pad(index, missing)


def _neighbours(forest: Forest, beam: Beam, found: _Found, chart_score: Array, unit: Array) -> tuple[Array, Candidates]:
    """The most promising (i, j) ≠ (0, 0) around the best candidates of round 1: [Q, M]."""
    rank, first, second = _grid(beam)
    top_score, index = _top_k(found.score[:, : beam.rules], min(beam.expanded, beam.rules))
    group, rule = (jnp.take_along_axis(array, index, 1) for array in found.candidates[:2])
    estimate = top_score.T[rank]  # [N, Q]
    for column, slot in ((GAP_ONE, first), (GAP_TWO, second)):
        kept = chart_score[forest.groups[:, column][group]]  # [Q, T, K]
        loss = (kept - kept[..., :1]).reshape(kept.shape[0], -1).T
        estimate += loss[rank * beam.kept + slot]
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
) -> tuple[Array, tuple[Piece, ...]]:
    """Scores candidates [Q, M] with the language models; pieces have axes [..., Q, M]."""
    lms, forest, beam, _ = search
    shape = is_valid.shape
    group = forest.groups[candidates.group]  # [Q, M, 4]
    entry = jnp.where(is_valid, group[..., FIRST_ENTRY] + candidates.rule, 0)
    slots = ((GAP_ONE, candidates.first), (GAP_TWO, candidates.second))
    hypotheses = [group[..., gap] * beam.kept + slot for gap, slot in slots]
    flat = state.chart.score.reshape(-1)
    score = forest.entry_score[entry] + (flat[hypotheses[0]] + flat[hypotheses[1]])
    pieces = []
    for model, weight in enumerate(weights_by_lm(lms, forest.lm_weight[cells])):
        program, first_row = forest.entry_program[model][entry], forest.rows[model].shape[0]  # [Q, M, MAX_PARTS]
        parts = [
            jnp.where(part >= 0, part, first_row + jnp.where(part == FIRST_GAP, *hypotheses)).reshape(-1)
            for part in (program[..., place] for place in range(MAX_PARTS))
        ]
        mixture = forest.lm_mixture[model]
        spread = None if mixture is None else jnp.repeat(mixture[cells], shape[1], 0)
        joined = join(lms[model], state.rows[model], jnp.stack(parts), is_valid.reshape(-1), spread, block=shape[1] * 8)
        piece = _at(joined.piece, joined.place.reshape(shape))
        score = score + (weight * piece.total).sum(0)
        pieces.append(piece)
    return jnp.where(is_valid, score, 2 * IMPOSSIBLE), tuple(pieces)


def _at(pieces: Any, place: Array) -> Any:
    """Pieces [..., L] at places."""
    return jax.tree.map(lambda array: array[..., place], pieces)


def _keep_best(search: _Search, first_cell: Array, found: _Found, state: _State) -> _State:
    """Recombines, keeps K candidates of each cell and writes them into the chart."""
    beam = search.beam

    def by_cell(array: Array) -> Array:  # [R, Q, M] → [Q, R·M]
        return jnp.moveaxis(array, 0, 1).reshape(array.shape[1], -1)

    chart, score, candidates = state.chart, by_cell(found.score), jax.tree.map(by_cell, found.candidates)
    columns = (candidates.group, pack_choice(candidates.rule, candidates.first, candidates.second))
    pieces = [_by_cell(piece) for piece in found.pieces]
    is_real = score > IMPOSSIBLE / 2
    leader = best_equal(jnp.concatenate([names_of(piece) for piece in pieces]), score)
    is_own = (leader == jnp.arange(score.shape[1])[None]) & is_real
    chosen, *kept = _best(is_own, score, columns, beam.kept)
    edges = chart.edges
    if edges is not None:
        slot = _slots_of(chosen, kept[0] > IMPOSSIBLE / 2, leader)
        more, *others = _best(is_real & ~is_own & (slot >= 0), score, columns, beam.kept)
        own_slot = jnp.broadcast_to(jnp.arange(beam.kept)[None], chosen.shape)
        slots = [own_slot, jnp.take_along_axis(slot, more, 1)]
        slots = [jnp.where(part[0] > IMPOSSIBLE / 2, of, -1) for part, of in zip((kept, others), slots, strict=True)]
        parts = zip((*kept, slots[0]), (*others, slots[1]), strict=True)
        edges = Edges(
            *(_written(old, jnp.concatenate(new, 1), first_cell) for old, new in zip(edges, parts, strict=True))
        )
    flat = (chosen + jnp.arange(score.shape[0])[:, None] * score.shape[1]).reshape(-1)
    pieces = jax.tree.map(lambda array: array.reshape(*array.shape[:-2], -1)[..., flat], pieces)
    first_row = state.rows[0].shape[0] - chart.score.size
    return _State(
        tuple(
            _written(old, pack(piece), first_row + first_cell * beam.kept)
            for old, piece in zip(state.rows, pieces, strict=True)
        ),
        Chart(
            _written(chart.score, kept[0], first_cell),
            _written(chart.group, kept[1], first_cell),
            _written(chart.choice, kept[2], first_cell),
            edges,
            chart.num_scored + is_real.sum(dtype=jnp.int32),
        ),
    )


def _best(is_wanted: Array, score: Array, columns: tuple[Array, ...], num: int) -> tuple[Array, ...]:
    """[Q, num] each: places of the best wanted candidates of [Q, N], best first, their scores and other columns."""
    missing = ((0, 0), (0, max(0, num - score.shape[1])))
    values = jnp.pad(jnp.where(is_wanted, score, 2 * IMPOSSIBLE), missing, constant_values=2 * IMPOSSIBLE)
    top, place = _top_k(values, num)
    place = jnp.where(top > IMPOSSIBLE / 2, place, 0)
    top = jnp.where(top > IMPOSSIBLE / 2, top, IMPOSSIBLE)
    return (place, top, *(jnp.take_along_axis(column, place, 1) for column in columns))


def _slots_of(chosen: Array, is_kept: Array, leader: Array) -> Array:
    """[Q, N] int32: the hypothesis that a candidate is or was recombined into, -1 if it was dropped."""
    num_cells, num = leader.shape
    cell = jnp.arange(num_cells)[:, None]
    slot = (
        jnp.full((num_cells, num + 1), -1)
        .at[cell, jnp.where(is_kept, chosen, num)]
        .set(jnp.arange(chosen.shape[1])[None])
    )
    return jnp.take_along_axis(slot, leader, 1)


def _written(array: Array, part: Array, start: Array) -> Array:
    return jax.lax.dynamic_update_slice_in_dim(array, part, start, 0)


def _by_cell(piece: Piece) -> Piece:
    """[R, Q, M] → [Q, R·M], and words and estimates [R, x, Q, M] → [x, Q, R·M]."""

    def merged(array: Array) -> Array:
        return jnp.moveaxis(array, 0, -2).reshape(*array.shape[1:-1], -1)

    return jax.tree.map(merged, piece)
