"""Recombination, and the best hypotheses of cells written into the chart."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.evaluation import EvaluatedLanes
from jaxsmt.search.chart.rows import Piece, names_of, pack
from jaxsmt.search.chart.selection import best_equal, top_k
from jaxsmt.search.chart.structure import IMPOSSIBLE, Candidates, Chart, ChartSearch, ChartState, Edges

Array = Any


class Recombined(NamedTuple):
    """Candidates of Q cells, N to a cell, of which some say the same.

    score: [Q, N]; candidates: [Q, N]; leader: [Q, N] int32, the candidate of the cell that each one is recombined into.
    pieces_at: for places [Q, K] of a cell's candidates their pieces [Q·K], by language model.
    """

    score: Array
    candidates: Candidates
    leader: Array
    pieces_at: Callable[[Array], tuple[Piece, ...]]


def recombined(found: EvaluatedLanes) -> Recombined:
    """Candidates that lie in lanes."""
    leader, lane = _leaders(found)

    def pieces_at(place: Array) -> tuple[Piece, ...]:
        flat = jnp.take_along_axis(lane, place, 1).reshape(-1)
        return jax.tree.map(lambda array: array[..., flat], found.pieces)

    return Recombined(found.score, found.candidates, leader, pieces_at)


def keep_best(search: ChartSearch, first_cell: Array, found: Recombined, state: ChartState) -> ChartState:
    """Writes the K best that are leaders of each cell into the chart."""
    kept, chart, columns = search.beam.kept, state.chart, tuple(found.candidates)
    score, leader = found.score, found.leader
    is_real = score > IMPOSSIBLE / 2
    is_own = (leader == jnp.arange(score.shape[1])[None]) & is_real
    chosen, *best = _best(is_own, score, columns, kept, search.tiles.wide)
    edges = chart.edges
    if edges is not None:
        slot = _slots_of(chosen, best[0] > IMPOSSIBLE / 2, leader)
        more, *others = _best(is_real & ~is_own & (slot >= 0), score, columns, kept, search.tiles.wide)
        own_slot = jnp.broadcast_to(jnp.arange(kept)[None], chosen.shape)
        slots = [own_slot, jnp.take_along_axis(slot, more, 1)]
        slots = [jnp.where(part[0] > IMPOSSIBLE / 2, of, -1) for part, of in zip((best, others), slots, strict=True)]
        parts = zip((*best, slots[0]), (*others, slots[1]), strict=True)
        edges = Edges(
            *(_written(old, jnp.concatenate(new, 1), first_cell) for old, new in zip(edges, parts, strict=True))
        )
    pieces = found.pieces_at(chosen)
    first_row = state.rows[0].shape[0] - chart.score.size
    score, group, choice = (_written(old, new, first_cell) for old, new in zip(chart[:3], best, strict=True))
    return ChartState(
        tuple(
            _written(old, pack(piece), first_row + first_cell * kept)
            for old, piece in zip(state.rows, pieces, strict=True)
        ),
        Chart(score, group, choice, edges, chart.num_scored + is_real.sum(dtype=jnp.int32)),
    )


def _leaders(found: EvaluatedLanes) -> tuple[Array, Array]:
    """[Q, N] each: the candidate of the cell that each one is recombined into; and the lanes of candidates."""
    shape = found.score.shape
    names = jnp.concatenate([names_of(piece) for piece in found.pieces])
    is_used = found.order < found.score.size
    score = found.score.reshape(-1)[jnp.where(is_used, found.order, 0)]
    cell = jnp.where(is_used, found.order // shape[1], 0)
    leader = best_equal(names, score, cell, found.order, shape)
    order = jnp.arange(found.score.size)
    leader = order.at[found.order].set(leader, mode="drop")
    lane = jnp.zeros_like(order).at[found.order].set(jnp.arange(len(found.order)), mode="drop")
    return leader.reshape(shape) % shape[1], lane.reshape(shape)


def _best(is_wanted: Array, score: Array, columns: tuple[Array, ...], num: int, wide: bool) -> tuple[Array, ...]:
    """[Q, num] each: places of the best wanted candidates of [Q, N], best first, their scores and other columns."""
    missing = ((0, 0), (0, max(0, num - score.shape[1])))
    values = jnp.pad(jnp.where(is_wanted, score, 2 * IMPOSSIBLE), missing, constant_values=2 * IMPOSSIBLE)
    top, place = top_k(values, num, wide)
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
