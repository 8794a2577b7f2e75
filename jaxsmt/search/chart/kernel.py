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
are worked on in chunks (`ChartTiles.cells`). What is computed for a cell depends on that cell alone.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.common.devices.traced import traced_once
from jaxsmt.search.chart.candidates import best_rules, neighbours
from jaxsmt.search.chart.evaluation import EvaluatedLanes, evaluate, nothing_found
from jaxsmt.search.chart.keeping import keep_best, recombined
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.chart.structure import (
    FIRST_CELL,
    GROUP_CLASS,
    IMPOSSIBLE,
    NO_CELL,
    NUM_CELLS,
    Beam,
    Candidates,
    Chart,
    ChartSearch,
    ChartState,
    Edges,
    Forest,
)
from jaxsmt.search.chart.tiles import GROUP_CLASSES, ChartTiles
from jaxsmt.search.chart.wide import both_rounds, recombined_all, score_all

Array = Any
NUM_ROUNDS = 2


@traced_once(static_argnames=("beam", "table_limit", "tiles", "keep_edges"), results=(Chart, Edges))
def fill_chart(
    lms: tuple[SearchLm, ...], forest: Forest, beam: Beam, table_limit: int, tiles: ChartTiles, keep_edges: bool = False
) -> Chart:
    """Fills all cells. `table_limit` is the largest number of entries a group has; `forest` was planned for `tiles`."""

    search = ChartSearch(lms, forest, beam, table_limit, tiles.within(tiles.cells * beam.lanes))

    def body(chunk: Array, state: ChartState) -> ChartState:
        return _fill_chunk(search, forest.chunks[chunk], state)

    return jax.lax.fori_loop(0, forest.num_chunks, body, _init(forest, beam, keep_edges)).chart


def _init(forest: Forest, beam: Beam, keep_edges: bool) -> ChartState:
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
    return ChartState(rows, Chart(kept, none, none, edges, jnp.int32(0)))


def _init_rows(forest: Forest, beam: Beam, runs: Array, start_row: Array) -> Array:
    """The rows of runs [S, width], then those of all hypotheses, of which only the first ones are there."""
    first_row, width = runs.shape
    rows = jnp.concatenate([runs, jnp.zeros((forest.cell_groups.shape[0] * beam.kept, width), jnp.int32)])
    rows = rows.at[first_row + forest.start_cells * beam.kept].set(start_row[None])
    return rows.at[first_row + NO_CELL * beam.kept].set(runs[0])


def _fill_chunk(search: ChartSearch, chunk: Array, state: ChartState) -> ChartState:
    forest, beam, size = search.forest, search.beam, search.tiles.cells
    first_cell, num_cells, group_class = chunk[FIRST_CELL], chunk[NUM_CELLS], chunk[GROUP_CLASS]
    cells = first_cell + jnp.arange(size)
    ranges = jax.lax.dynamic_slice_in_dim(forest.cell_groups, first_cell, size, 0)
    ranges = ranges * (jnp.arange(size) < num_cells)[:, None]
    unit = jax.lax.dynamic_slice_in_dim(forest.weight_norm, first_cell, size, 0)
    branches = [partial(best_rules, search, most) for most in GROUP_CLASSES if most <= search.tiles.groups]

    def proposed_first() -> tuple[Array, Candidates]:
        return jax.lax.switch(group_class, branches, state.chart.score[:, 0], ranges, unit)

    def proposed_next(score: Array, candidates: Candidates) -> tuple[Array, Candidates]:
        return neighbours(search, score[:, : beam.rules], candidates, state.chart.score, unit)

    if search.tiles.wide:
        first = score_all(search, cells, proposed_first(), state)
        second = score_all(search, cells, proposed_next(first.score, first.candidates), state)
        return keep_best(search, first_cell, recombined_all(search, both_rounds(first, second, beam.rules)), state)

    def expand(number: Array, found: EvaluatedLanes) -> EvaluatedLanes:
        """One round; both share one copy of the code that joins."""
        proposed = jax.lax.cond(number == 0, proposed_first, lambda: proposed_next(found.score, found.candidates))
        return evaluate(search, cells, number, proposed, state, found)

    found = jax.lax.fori_loop(0, NUM_ROUNDS, expand, nothing_found(search))
    return keep_best(search, first_cell, recombined(found), state)
