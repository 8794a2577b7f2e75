"""Candidates of cells scored by the language models, a tile of lanes at a time.

What is chosen for a cell does not fill its room, so candidates of all cells of a chunk are put side by side first: a
lane is a candidate. Lanes stay where joining leaves them; `EvaluatedLanes` says which candidate is where.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.joining import Joined, join
from jaxsmt.search.chart.rows import Piece, SearchLm, columns_of, weights_by_lm
from jaxsmt.search.chart.structure import (
    FIRST_ENTRY,
    FIRST_GAP,
    GAP_ONE,
    GAP_TWO,
    IMPOSSIBLE,
    MAX_PARTS,
    Candidates,
    ChartSearch,
    ChartState,
    unpack_choice,
)

Array = Any


class EvaluatedLanes(NamedTuple):
    """Candidates of Q cells that were scored: N to a cell, first those of round 1; and L lanes.

    An order is a place in [Q, N], flattened.
    """

    score: Array  # [Q, N] float32; below IMPOSSIBLE where there is none
    candidates: Candidates  # [Q, N]
    order: Array  # [L] int32: what each lane holds; Q·N for nothing
    pieces: tuple[Piece, ...]  # by language model, of lanes
    num_lanes: Array  # [] int32, in use so far, whole tiles


def nothing_found(search: ChartSearch) -> EvaluatedLanes:
    """Room for what two rounds find."""
    beam, tiles = search.beam, search.tiles
    shape = (tiles.cells, beam.rules + beam.lanes)
    tiles_of = [-(-tiles.cells * width // tiles.lanes) for width in (beam.rules, beam.neighbours)]
    num_lanes = sum(tiles_of) * tiles.lanes
    integers = jnp.zeros(shape, jnp.int32)
    return EvaluatedLanes(
        jnp.full(shape, 2 * IMPOSSIBLE, jnp.float32),
        Candidates(integers, integers),
        jnp.full(num_lanes, integers.size, jnp.int32),
        tuple(_room(lm, num_lanes) for lm in search.lms),
        jnp.int32(0),
    )


def _room(lm: SearchLm, num: int) -> Piece:
    integers = jnp.zeros(num, jnp.int32)
    features = jnp.zeros((lm.num_features, num), jnp.float32)
    words = jnp.zeros((columns_of(lm).num_words, num), jnp.int32)
    return Piece(words, integers, jnp.zeros(num, bool), integers, features, features)


def evaluate(
    search: ChartSearch,
    cells: Array,
    number: Array,
    proposed: tuple[Array, Candidates],
    state: ChartState,
    found: EvaluatedLanes,
) -> EvaluatedLanes:
    """Adds round `number`: candidates of the cells [Q] with their estimates, [Q, M] each; impossible ones are none."""
    estimate, candidates = proposed
    is_valid, width = estimate > IMPOSSIBLE / 2, estimate.shape[1]
    lane_of, total = _compacted(is_valid.reshape(-1), search.tiles.lanes)
    first = number * search.beam.rules  # of the columns of this round
    found = found._replace(
        score=jax.lax.dynamic_update_slice_in_dim(found.score, jnp.full(estimate.shape, 2 * IMPOSSIBLE), first, 1),
        candidates=jax.tree.map(
            lambda array, part: jax.lax.dynamic_update_slice_in_dim(array, part, first, 1), found.candidates, candidates
        ),
    )
    num_columns, size, start = found.score.shape[1], search.tiles.lanes, found.num_lanes

    def tile(place: Array, carry: tuple[Array, Array, tuple[Piece, ...]]) -> tuple[Array, Array, tuple[Piece, ...]]:
        own = jax.lax.dynamic_slice_in_dim(lane_of, place * size, size)
        is_used = place * size + jnp.arange(size) < total
        own = jnp.where(is_used, own, 0)
        cell = own // width
        lanes = Candidates(*(array.reshape(-1)[own] for array in candidates))
        order = jnp.where(is_used, cell * num_columns + first + own % width, found.score.size)
        new = _score_lanes(search, cells[cell], lanes, is_used, state)
        return _written(carry, (new[0], order[new[1]], new[2]), start + place * size)

    num_tiles = -(-total // size)
    score, order, pieces = jax.lax.fori_loop(0, num_tiles, tile, (found.score.reshape(-1), found.order, found.pieces))
    return found._replace(
        score=score.reshape(found.score.shape), order=order, pieces=pieces, num_lanes=start + num_tiles * size
    )


def _compacted(is_valid: Array, tile: int) -> tuple[Array, Array]:
    """The places of the valid ones of [L], one after the other, [L] and more; and how many there are."""
    until = jnp.cumsum(is_valid, dtype=jnp.int32)
    room = -(-len(is_valid) // tile) * tile
    place = jnp.where(is_valid, until - 1, room)
    return jnp.zeros(room, jnp.int32).at[place].set(jnp.arange(len(is_valid)), mode="drop"), until[-1]


def _written(
    carry: tuple[Array, Array, tuple[Piece, ...]], new: tuple[Array, Array, tuple[Piece, ...]], start: Array
) -> tuple[Array, Array, tuple[Piece, ...]]:
    """Puts a tile where it belongs: scores by order, the rest by lane."""
    (scores, *old), (score, *parts) = carry, new
    order, pieces = jax.tree.map(
        lambda array, part: jax.lax.dynamic_update_slice_in_dim(array, part, start, array.ndim - 1),
        tuple(old), tuple(parts),
    )  # fmt: skip
    return scores.at[parts[0]].set(score, mode="drop"), order, pieces


def _score_lanes(
    search: ChartSearch, cell: Array, candidates: Candidates, is_used: Array, state: ChartState
) -> tuple[Array, Array, tuple[Piece, ...]]:
    """Scores [L] and pieces of candidates [L] in the order that joining leaves them in, which is the second result."""
    score, parts = placed(search, candidates, is_used, state)
    joined = []
    for model, lm in enumerate(search.lms):
        mixture = search.forest.lm_mixture[model]
        spread = None if mixture is None else mixture[cell]
        joined.append(join(lm, state.rows[model], parts[model], is_used, spread, search.tiles.block))
    lane, pieces = _in_one_order(joined)
    return score[lane] + gains_of(search, cell[lane], pieces), lane, pieces


def placed(
    search: ChartSearch, candidates: Candidates, is_used: Array, state: ChartState
) -> tuple[Array, tuple[Array, ...]]:
    """Of candidates [L]: scores without language models [L]; for each model the rows of their parts [MAX_PARTS, L]."""
    forest, kept = search.forest, search.beam.kept
    rule, *slots = unpack_choice(candidates.choice)
    group = forest.groups[candidates.group]  # [L, 4]
    entry = jnp.where(is_used, group[:, FIRST_ENTRY] + rule, 0)
    hypotheses = [group[:, gap] * kept + slot for gap, slot in zip((GAP_ONE, GAP_TWO), slots, strict=True)]
    flat = state.chart.score.reshape(-1)
    score = forest.entry_score[entry] + (flat[hypotheses[0]] + flat[hypotheses[1]])
    by_lm = []
    for rows, programs in zip(forest.rows, forest.entry_program, strict=True):
        program, first_row = programs[entry], rows.shape[0]  # [L, MAX_PARTS]
        parts = [
            jnp.where(part >= 0, part, first_row + jnp.where(part == FIRST_GAP, *hypotheses))
            for part in (program[:, place] for place in range(MAX_PARTS))
        ]
        by_lm.append(jnp.stack(parts))
    return score, tuple(by_lm)


def gains_of(search: ChartSearch, cell: Array, pieces: tuple[Piece, ...]) -> Array:
    """[L]: what language models say of pieces, with the weights of their cells [L]."""
    weights = weights_by_lm(search.lms, search.forest.lm_weight[cell])
    return sum((weight[..., 0] * piece.total).sum(0) for weight, piece in zip(weights, pieces, strict=True))


def _in_one_order(joined: list[Joined]) -> tuple[Array, tuple[Piece, ...]]:
    """Each model sorts lanes in its own way: the first one's is taken for all."""
    first, *others = joined
    pieces = [first.piece]
    for other in others:
        place = jnp.zeros_like(other.lane).at[other.lane].set(jnp.arange(len(other.lane)), unique_indices=True)
        pieces.append(jax.tree.map(lambda array, place=place[first.lane]: array[..., place], other.piece))
    return first.lane, tuple(pieces)
