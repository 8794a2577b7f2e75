"""A step of the chart search in few launches: what is done a tile at a time elsewhere is one piece of work here.

Candidates keep their places by cell, those that are none too; only what the language model scores is put side by side
(`wide_joining`). What is found is what the narrow steps find, see `kernel`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.evaluation import gains_of, placed
from jaxsmt.search.chart.keeping import Recombined
from jaxsmt.search.chart.rows import Piece, names_of
from jaxsmt.search.chart.selection import best_equal_in_place
from jaxsmt.search.chart.structure import IMPOSSIBLE, Candidates, ChartSearch, ChartState
from jaxsmt.search.chart.wide_joining import join_all, unpacked

Array = Any


class Scored(NamedTuple):
    """Candidates of Q cells, N to a cell; R: see `wide_joining.packed`."""

    score: Array  # [Q, N] float32; 2·IMPOSSIBLE where there is none
    candidates: Candidates  # [Q, N]
    is_used: Array  # [Q, N] bool
    pieces: tuple[Array, ...]  # by language model [R, Q, N] int32


def score_all(search: ChartSearch, cells: Array, proposed: tuple[Array, Candidates], state: ChartState) -> Scored:
    """Scores the candidates of cells [Q] with their estimates, [Q, M] each; impossible ones are none."""
    estimate, candidates = proposed
    shape, is_used = estimate.shape, (estimate > IMPOSSIBLE / 2).reshape(-1)
    cell = jnp.repeat(cells, shape[1])
    flat = Candidates(*(array.reshape(-1) for array in candidates))
    score, parts = placed(search, flat, is_used, state)
    mixtures = [None if mixture is None else mixture[cell] for mixture in search.forest.lm_mixture]
    joined = [
        join_all(lm, rows, own, is_used, mixture, search.tiles.block)
        for lm, rows, own, mixture in zip(search.lms, state.rows, parts, mixtures, strict=True)
    ]
    gains = gains_of(search, cell, _pieces(search, joined))
    # one rounding too few, where a compiler makes one instruction of product and sum, would be another result
    score = jnp.where(is_used, score + jnp.where(gains == gains, gains, 0.0), 2 * IMPOSSIBLE)
    by_cell = tuple(part.reshape(len(part), *shape) for part in joined)
    return Scored(score.reshape(shape), candidates, is_used.reshape(shape), by_cell)


def both_rounds(first: Scored, second: Scored, num_first: int) -> Scored:
    """The first `num_first` candidates of each cell of round 1, then all of round 2."""
    return jax.tree.map(lambda one, two: jnp.concatenate([one[..., :num_first], two], -1), first, second)


def recombined_all(search: ChartSearch, found: Scored) -> Recombined:
    """What is the same of the candidates of each cell."""
    num = found.score.shape[1]
    names = jnp.concatenate([names_of(piece) for piece in _pieces(search, found.pieces)])
    leader = best_equal_in_place(names.reshape(len(names), -1), found.score, found.is_used) % num

    def pieces_at(place: Array) -> tuple[Piece, ...]:
        flat = (place + num * jnp.arange(len(place))[:, None]).reshape(-1)
        return _pieces(search, [part.reshape(len(part), -1)[:, flat] for part in found.pieces])

    return Recombined(found.score, found.candidates, leader, pieces_at)


def _pieces(search: ChartSearch, rows: Sequence[Array]) -> tuple[Piece, ...]:
    """By language model; rows: [R, ...] each."""
    return tuple(unpacked(lm, part) for lm, part in zip(search.lms, rows, strict=True))
