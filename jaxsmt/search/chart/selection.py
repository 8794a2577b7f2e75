"""Choosing among the candidates of cells: the largest of many values, and the best of those that are equal.

Both do the same small steps for every value, without sorting: a sort of a few thousand values takes several times as
long, and the more so the more of them are wanted.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Array = Any
_WORD = 32  # bits
_LEVEL_BITS = 14
_LEVELS = (1 << _LEVEL_BITS) - 1  # without that of what is below
_BITS_AT_ONCE = 4  # of a level, where steps are wide
_PLACE_BITS = 17  # with those of a level they fill a positive number
_SORTED_AT_ONCE = 2048  # values that a block of a graphics card sorts in one launch
_TINY = 1e-30
_TABLE_SCALE, _ATTEMPTS = 4, 2


def largest(columns: Array, num: int, least: Array, wide: bool = False) -> tuple[Array, Array]:
    """The `num` largest of each column [N, Q] float32 and their places, [Q, num], in no order; of ties the first ones.

    Between the smallest value of a column that is not below `least` [Q] and its largest one, values tie that differ by
    less than one in _LEVELS; all below tie too. The level of the num-th largest value is found bit by bit; then the
    places of what is above, and of what ties with it, are read off two rows of bits. Rows of Q values are worked on at
    a time. wide: more work in fewer steps (few values are sorted, of many several bits are found at a time); the result
    is the same.
    """
    num_values, num_columns = columns.shape
    if wide and num_values <= _SORTED_AT_ONCE:
        place = _first_by_sorting(_levels(columns, least), num)
        return columns[place, jnp.arange(num_columns)[:, None]], place
    levels = jnp.pad(_levels(columns, least), ((0, -num_values % _WORD), (0, 0)), constant_values=-1)
    levels = jax.lax.optimization_barrier(levels.reshape(-1, _WORD, num_columns))
    lowest = (_nth_largest_wide if wide else _nth_largest)(levels, num)[None, None]
    place = _first_bits(jnp.concatenate([_bits_of(levels > lowest), _bits_of(levels == lowest)]).T, num, wide)
    height = levels.shape[0] * _WORD
    place = jnp.where(place >= height, place - height, place)
    return columns[place, jnp.arange(num_columns)[:, None]], place


def _first_by_sorting(levels: Array, num: int) -> Array:
    """[Q, num] places of the highest `num` of levels [N, Q], what ties with the last one behind the others.

    A key is made of level and place, so that equal ones need no second look.
    """
    place = jnp.arange(levels.shape[0], dtype=jnp.int32)
    keys = ((_LEVELS - levels.T.astype(jnp.int32)) << _PLACE_BITS) | place[None]
    first = jnp.sort(keys, axis=1)[:, :num]
    level, place = first >> _PLACE_BITS, first & ((1 << _PLACE_BITS) - 1)
    is_tie = (level == level[:, -1:]).astype(jnp.int32)
    return jnp.sort((is_tie << _PLACE_BITS) | place, axis=1) & ((1 << _PLACE_BITS) - 1)


def _levels(columns: Array, least: Array) -> Array:
    """[N, Q] int16: 0 for what is below `least`, else 1 and more in the order of the values."""
    is_above = columns >= least[None]
    floor = jnp.where(is_above, columns, jnp.inf).min(0)
    top = columns.max(0)
    scale = jnp.where(top > floor, _LEVELS / jnp.maximum(top - floor, _TINY), 0.0)
    level = jnp.clip((columns - floor[None]) * scale[None], 0, _LEVELS - 1).astype(jnp.int16)
    return jnp.where(is_above, level + jnp.int16(1), jnp.int16(0))


def _nth_largest(levels: Array, num: int) -> Array:
    """[Q] int16: of [W, 32, Q] the level that `num` reach and fewer exceed."""

    def body(step: Array, lowest: Array) -> Array:
        higher = lowest | (jnp.int16(1) << (_LEVEL_BITS - 1 - step).astype(jnp.int16))
        reaches = levels >= higher[None, None]
        count = _folded(reaches.astype(jnp.int16), jnp.add).sum(0, dtype=jnp.int32)
        return jnp.where(count >= num, higher, lowest)

    return jax.lax.fori_loop(0, _LEVEL_BITS, body, jnp.zeros(levels.shape[2], jnp.int16))


def _nth_largest_wide(levels: Array, num: int) -> Array:
    """`_nth_largest` by several bits at a time: how many of the levels that they may give are reached often enough."""
    lowest, left = jnp.zeros(levels.shape[2], jnp.int16), _LEVEL_BITS
    while left:
        bits = min(_BITS_AT_ONCE, left)
        left -= bits
        steps = jnp.arange(1, 1 << bits, dtype=jnp.int16) << jnp.int16(left)
        higher = lowest[None] | steps[:, None]  # [2^bits - 1, Q]
        count = jnp.sum(levels[None] >= higher[:, None, None], axis=(1, 2), dtype=jnp.int32)
        lowest = lowest | (jnp.sum(count >= num, axis=0, dtype=jnp.int16) << jnp.int16(left))
    return lowest


def _bits_of(is_set: Array) -> Array:
    """[W, Q] uint32 from [W, 32, Q]."""
    return _folded(is_set.astype(jnp.uint32) << jnp.arange(_WORD, dtype=jnp.uint32)[None, :, None], jnp.bitwise_or)


def _folded(array: Array, combine: Any) -> Array:
    """[W, Q] from [W, 32, Q], written out: a reduction would write its whole input to memory first."""
    folded = array[:, 0]
    for place in range(1, _WORD):
        folded = combine(folded, array[:, place])
    return folded


def top_k(values: Array, num: int, wide: bool = False) -> tuple[Array, Array]:
    """`jax.lax.top_k`, kept apart from what is done with its result; not on wide devices, where it always sorts.

    XLA's fast program for the largest values is chosen by the shape of the code around it; a slice of the result makes
    it a whole sort, which takes fifteen times as long.
    """
    found = jax.lax.top_k(values, num)
    return found if wide else jax.lax.optimization_barrier(found)


def _first_bits(words: Array, num: int, wide: bool = False) -> Array:
    """[Q, num] int32: the places of the first `num` set bits of [Q, W] uint32; there are at least so many.

    wide: the search is written out, which is one launch instead of a loop of them.
    """
    num_rows, num_words = words.shape
    count = jax.lax.population_count(words).astype(jnp.int32)
    until = jnp.cumsum(count, 1)
    number = jnp.broadcast_to(jnp.arange(num)[None], (num_rows, num))
    row = num_words * jnp.arange(num_rows)[:, None]

    def at(array: Array, place: Array) -> Array:
        return array.reshape(-1).at[row + place].get(mode="promise_in_bounds")

    def halve(step: Array, word: Array) -> Array:
        further = word + (1 << num_words.bit_length() >> step)
        is_before = at(until, jnp.minimum(further, num_words) - 1) <= number
        return jnp.where((further <= num_words) & is_before, further, word)

    word, num_steps = jnp.zeros_like(number), num_words.bit_length() + 1
    if wide:
        for step in range(num_steps):
            word = halve(step, word)
    else:
        word = jax.lax.fori_loop(0, num_steps, halve, word)  # so many end before the bit
    word = jnp.minimum(word, num_words - 1)
    own, rest = at(words, word), number - at(until - count, word)
    bit = jnp.zeros_like(number)
    for half in (16, 8, 4, 2, 1):
        below = (own >> bit.astype(jnp.uint32)) & jnp.uint32((1 << half) - 1)
        below = jax.lax.population_count(below).astype(jnp.int32)
        is_above = rest >= below
        rest, bit = jnp.where(is_above, rest - below, rest), jnp.where(is_above, bit + half, bit)
    return word * _WORD + bit


def best_equal(names: Array, score: Array, cell: Array, order: Array, shape: tuple[int, int]) -> Array:
    """[L] int32: the `order` of the best lane of the same cell and name, of ties the least.

    Names fall into the slots of a table by a hash, and are compared in full with the best one there; each cell has a
    table of its own. Where two names share a slot the lesser one tries again; after _ATTEMPTS it stays on its own (some
    one in a thousand).

    names: [n, L] int32; score: [L] float32; cell: [L] int32 in 0..Q-1; order: [L] int32 in 0..Q·N-1, different for all
      lanes but those that hold nothing, whose order is Q·N; shape: Q and N.
    """
    end = shape[0] * shape[1]
    lane = jnp.zeros(end + 1, jnp.int32).at[order].set(jnp.arange(len(order)), mode="promise_in_bounds")
    return _leaders(names, score, cell, order, shape, lambda first: lane[first])


def best_equal_in_place(names: Array, score: Array, is_used: Array) -> Array:
    """[Q, N] int32: what `best_equal` finds for lanes that lie by cell; names: [n, Q·N]; score, is_used: [Q, N]."""
    shape, num = score.shape, score.size
    place = jnp.arange(num, dtype=jnp.int32)
    order = jnp.where(is_used.reshape(-1), place, num)

    def lane_of(first: Array) -> Array:
        return jnp.minimum(first, num - 1)

    return _leaders(names, score.reshape(-1), place // shape[1], order, shape, lane_of).reshape(shape)


def _leaders(
    names: Array, score: Array, cell: Array, order: Array, shape: tuple[int, int], lane_of: Callable[[Array], Array]
) -> Array:
    """See `best_equal`; lane_of: the lanes that hold orders."""
    num_cells, num = shape
    size = 1 << (_TABLE_SCALE * num - 1).bit_length()
    end = num_cells * num
    leader, is_open, hashed = order, order < end, _hash(names)
    for _ in range(_ATTEMPTS):
        hashed = _scrambled(hashed)
        slot = (hashed >> (_WORD + 1 - size.bit_length())).astype(jnp.int32) + size * cell
        own = jnp.where(is_open, score, -jnp.inf)
        top = jnp.full(num_cells * size, -jnp.inf).at[slot].max(own, mode="promise_in_bounds")
        first = jnp.where(is_open & (own == top[slot]), order, end)
        first = jnp.full(num_cells * size, end, jnp.int32).at[slot].min(first, mode="promise_in_bounds")[slot]
        other = lane_of(first)
        same = is_open
        for column in names:
            same = same & (column == column[other])
        leader, is_open = jnp.where(same, first, leader), is_open & ~same
    return leader


def _hash(names: Array) -> Array:
    """[...] uint32 of [n, ...] int32."""
    hashed = jnp.zeros(names.shape[1:], jnp.uint32)
    for column in names:
        hashed = _scrambled(hashed ^ column.astype(jnp.uint32))
    return hashed


def _scrambled(values: Array) -> Array:
    """A bijection of uint32 that spreads every bit over the upper ones."""
    values = (values ^ (values >> 16)) * jnp.uint32(0x9E3779B1)
    return (values ^ (values >> 15)) * jnp.uint32(0x85EBCA77)
