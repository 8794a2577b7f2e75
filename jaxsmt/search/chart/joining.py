"""Joining pieces of target text under the language model: the inner loop of the search.

A candidate is up to MAX_PARTS pieces side by side (runs of words in the rule, hypotheses of its gaps). Scoring it means
scoring the open words of all pieces but the first, one after the other. Candidates have between 0 and 16 such words, so
lanes are sorted by that number and step t runs over the lanes that have more than t words, a block at a time: no lane
waits for another.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.rows import CLOSED, COUNT_MASK, Columns, Piece, SearchLm, append_word, columns_of
from jaxsmt.search.chart.structure import MAX_PARTS

Array = Any
_LANE_BITS = 20


class Joined(NamedTuple):
    """Candidates scored by the language model, in the order of their lanes' work.

    piece: what was joined; `total` is what joining added to the pieces' own scores. [..., L]
    lane: [L] int32: which candidate each place of `piece` holds.
    """

    piece: Piece
    lane: Array


class FlatRows(NamedTuple):
    """Rows end to end, and what their columns are."""

    flat: Array
    columns: Columns

    @property
    def num_features(self) -> int:
        return self.columns.width - self.columns.estimate

    def field(self, row: Array, column: Array) -> Array:
        return self.flat.at[row * self.columns.width + column].get(mode="promise_in_bounds")

    def estimate(self, row: Array) -> Array:
        """[F, ...]"""
        bits = [self.field(row, self.columns.estimate + feature) for feature in range(self.num_features)]
        return jax.lax.bitcast_convert_type(jnp.stack(bits), jnp.float32)


class Work(NamedTuple):
    """What a lane still needs from its parts; [MAX_PARTS - 1, L] each."""

    part: Array  # row
    end: Array  # number of open words up to and with this part
    is_closed: Array


def join(lm: SearchLm, rows: Array, parts: Array, is_valid: Array, lm_mixture: Array | None, block: int) -> Joined:
    """Scores candidates.

    rows: [H, width] int32, see `rows`.
    parts: [MAX_PARTS, L] int32 rows of the pieces; unused places hold an empty row.
    is_valid: [L] bool; the other lanes cost nothing.
    lm_mixture: [L, D] weights of the language models, or None for a single one.
    block: lanes per step; it divides L.
    """
    columns, num = columns_of(lm), parts.shape[1]
    pieces = FlatRows(rows.reshape(-1), columns)
    work = open_words(pieces, parts, is_valid)
    num_words = work.end[-1]
    lane = jnp.sort(((255 - num_words) << _LANE_BITS) + jnp.arange(num)) & ((1 << _LANE_BITS) - 1)
    replaced = jnp.where(is_valid[None], pieces.estimate(parts[1:]).sum(1), 0.0)
    mixture = None if lm_mixture is None else lm_mixture[lane]
    work = jax.tree.map(lambda array: array[:, lane], work)
    piece = first_pieces(pieces, parts[0][lane], replaced[:, lane])

    max_words = (MAX_PARTS - 1) * columns.num_words
    lanes_at = (num_words[None] > jnp.arange(max_words)[:, None]).sum(1)  # [T] lanes with more than t words
    blocks_until = jnp.cumsum(-(-lanes_at // block))

    def body(number: Array, piece: Piece) -> Piece:
        step = (blocks_until <= number).sum()
        before = jnp.where(step > 0, blocks_until[step - 1], 0)
        start = (number - before) * block
        own_piece, own_work = jax.tree.map(lambda array: _cut(array, start, block), (piece, work))
        own = None if mixture is None else jax.lax.dynamic_slice_in_dim(mixture, start, block, 0)
        after = _advance(lm, pieces, own_piece, own_work, step, own)
        return jax.tree.map(
            lambda array, part: jax.lax.dynamic_update_slice_in_dim(array, part, start, array.ndim - 1), piece, after
        )

    piece = jax.lax.fori_loop(0, blocks_until[-1], body, piece)
    return Joined(piece, lane)


def open_words(rows: FlatRows, parts: Array, is_valid: Array) -> Work:
    """What is to be scored of candidates; nothing of those that are not valid."""
    info = rows.field(parts[1:], rows.columns.info)
    counts = jnp.where(is_valid[None], info & COUNT_MASK, 0)
    end = jnp.stack([counts[: part + 1].sum(0) for part in range(MAX_PARTS - 1)])
    return Work(parts[1:], end, info >= CLOSED)


def _advance(lm: SearchLm, rows: FlatRows, piece: Piece, work: Work, step: Array, mixture: Array | None) -> Piece:
    """Scores word number `step` of the lanes that have it."""
    which = (step >= work.end).sum(0)  # the part that this word belongs to
    is_active = which < MAX_PARTS - 1
    which = jnp.minimum(which, MAX_PARTS - 2)
    part, end, is_closed = picked(work.part, which), picked(work.end, which), picked(work.is_closed, which)
    begin = jnp.where(which > 0, picked(work.end, jnp.maximum(which - 1, 0)), 0)
    word = rows.field(part, jnp.where(is_active, step - begin, 0))
    after = append_word(lm, piece, word, is_active, mixture)
    passes = is_active & is_closed & (step + 1 == end)  # from here on the part's own words stand
    return after._replace(state=jnp.where(passes, rows.field(part, rows.columns.right), after.state))


def first_pieces(rows: FlatRows, part: Array, replaced: Array) -> Piece:
    """What candidates begin with; replaced: [F, L] estimates of what is scored anew."""
    columns = rows.columns
    info = rows.field(part, columns.info)
    return Piece(
        jnp.stack([rows.field(part, place) for place in range(columns.num_words)]),
        info & COUNT_MASK,
        info >= CLOSED,
        rows.field(part, columns.right),
        rows.estimate(part),
        -replaced,
    )


def picked(table: Array, which: Array) -> Array:
    """[L]: of each lane's column in [R, L] one entry, by comparison (R is small)."""
    found = table[0]
    for row in range(1, table.shape[0]):
        found = jnp.where(which == row, table[row], found)
    return found


def _cut(array: Array, start: Array, size: int) -> Array:
    return jax.lax.dynamic_slice_in_dim(array, start, size, array.ndim - 1)
