"""Joining all candidates of a step at once, for devices on which a launch costs more than the work of many lanes.

The same as `joining`, in fewer and wider pieces: the words that a lane is to score are laid out before the loop, a
lane is one column of integers, and a step runs once, over the smallest of a few widths that holds all lanes with more
words. Of a lane a step scores two words: some lanes have but one left, and there are half as many steps.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.joining import FlatRows, Work, first_pieces, open_words, picked
from jaxsmt.search.chart.rows import Piece, SearchLm, append_word, columns_of
from jaxsmt.search.chart.structure import MAX_PARTS
from jaxsmt.text.vocabulary import PAD

Array = Any
_WORDS_AT_ONCE = 2  # it divides what MAX_PARTS - 1 parts can have; more would leave lanes idle
_STAYS = -1  # in the place of a state: the automaton's own


def join_all(lm: SearchLm, rows: Array, parts: Array, is_valid: Array, lm_mixture: Array | None, least: int) -> Array:
    """Scores candidates; gives their pieces as integers [R, L] in the order of the candidates, see `unpacked`.

    rows, parts, is_valid, lm_mixture: as for `joining.join`.
    least: so many lanes are scored together if there are not more.
    """
    columns = columns_of(lm)
    pieces = FlatRows(rows.reshape(-1), columns)
    work = open_words(pieces, parts, is_valid)
    most = (MAX_PARTS - 1) * columns.num_words
    place, lane, lanes_at = by_work(work.end[-1], is_valid, most)
    work = jax.tree.map(lambda array: array[:, lane], work)
    script = _script(pieces, work, lanes_at[:-1])
    replaced = sum(pieces.estimate(part) for part in work.part)
    joined = packed(first_pieces(pieces, parts[0][lane], replaced))
    mixture = None if lm_mixture is None else lm_mixture[lane]
    return _scored(lm, joined, script, lanes_at, mixture, least)[:, place]


def _scored(
    lm: SearchLm, joined: Array, script: tuple[Array, Array], lanes_at: Array, mixture: Array | None, least: int
) -> Array:
    """[R, L] after the words of the script; lanes_at: [T + 1] so many lanes have more than t words, and a zero."""
    widths = _widths(least, joined.shape[1])

    def advance(width: int, step: Array, joined: Array) -> Array:
        """Scores words from `step` on of the first lanes. Behind the barrier they may be written where they were."""
        own = None if mixture is None else mixture[:width]
        piece = unpacked(lm, joined[:, :width])
        for later in range(_WORDS_AT_ONCE):
            word, state = (jax.lax.dynamic_slice(array, (step + later, 0), (1, width))[0] for array in script)
            piece = append_word(lm, piece, word, word != PAD, own, by_column=True)
            piece = piece._replace(state=jnp.where(state == _STAYS, piece.state, state))
        return jax.lax.dynamic_update_slice(joined, jax.lax.optimization_barrier(packed(piece)), (0, 0))

    def body(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        step, joined = carry
        which = sum((lanes_at[step] > width).astype(jnp.int32) for width in widths[:-1])
        joined = jax.lax.switch(which, [partial(advance, width) for width in widths], step, joined)
        return step + _WORDS_AT_ONCE, joined

    return jax.lax.while_loop(lambda carry: lanes_at[carry[0]] > 0, body, (jnp.int32(0), joined))[1]


def by_work(num_words: Array, is_valid: Array, most: int) -> tuple[Array, Array, Array]:
    """Candidates [L] by the number of their words, at most `most`, the most first, without a sort.

    Returns: the place of each candidate [L]; the candidate in each place [L], of which those that are not valid have
    none and the last places hold nothing; and how many have more than t words [most + 1].
    """
    num = len(num_words)
    is_number = (most - num_words[None] == jnp.arange(most + 1)[:, None]) & is_valid[None]
    until = jnp.cumsum(is_number, axis=1, dtype=jnp.int32)  # [most + 1, L]
    all_until = jnp.cumsum(until[:, -1])
    first = all_until - until[:, -1]
    place = jnp.where(is_number, first[:, None] + until - 1, 0).sum(0)
    lane = jnp.zeros(num, jnp.int32).at[jnp.where(is_valid, place, num)].set(jnp.arange(num), mode="drop")
    return place, lane, jnp.append(all_until[:-1][::-1], 0)


def _widths(least: int, num: int) -> list[int]:
    """least, twice as much and so on up to `num`, which is the last one."""
    widths = [min(least, num)]
    while widths[-1] < num:
        widths.append(min(2 * widths[-1], num))
    return widths


def _script(pieces: FlatRows, work: Work, lanes_at: Array) -> tuple[Array, Array]:
    """[T, L] each: the words that a lane scores, PAD after the last; the states after them where a part says so.

    lanes_at: [T] so many lanes have more than t words.
    """
    step = jnp.arange(len(lanes_at))[:, None]
    is_active = jnp.arange(work.end.shape[1])[None] < lanes_at[:, None]
    which = jnp.minimum((step[None] >= work.end[:, None]).sum(0), MAX_PARTS - 2)  # the part that a word belongs to
    part, end, is_closed = (picked(array, which) for array in work)
    begin = jnp.where(which > 0, picked(work.end, jnp.maximum(which - 1, 0)), 0)
    word = jnp.where(is_active, pieces.field(part, jnp.where(is_active, step - begin, 0)), PAD)
    passes = is_active & is_closed & (step + 1 == end)  # from here on the part's own words stand
    return word, jnp.where(passes, pieces.field(part, pieces.columns.right), _STAYS)


def packed(piece: Piece) -> Array:
    """[R, L] int32 of pieces."""
    floats = jax.lax.bitcast_convert_type(jnp.concatenate([piece.estimate, piece.total]), jnp.int32)
    flat = jnp.stack([piece.count, piece.is_closed.astype(jnp.int32), piece.state])
    return jnp.concatenate([piece.words, flat, floats])


def unpacked(lm: SearchLm, rows: Array) -> Piece:
    """The pieces of `packed`."""
    num_words, num_features = columns_of(lm).num_words, lm.num_features
    count, is_closed, state = rows[num_words : num_words + 3]
    floats = jax.lax.bitcast_convert_type(rows[num_words + 3 :], jnp.float32)
    estimate, total = floats[:num_features], floats[num_features:]
    return Piece(rows[:num_words], count, is_closed != 0, state, estimate, total)
