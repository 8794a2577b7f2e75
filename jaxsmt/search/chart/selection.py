"""Choosing among the candidates of cells: the largest of many values, and the best of those that are equal.

Both do the same small steps for every value, without sorting: a sort of a few thousand values takes several times as
long, and the more so the more of them are wanted.
"""

from typing import Any

import jax
import jax.numpy as jnp

Array = Any
_WORD = 32  # bits
_SIGN = 0x80000000
_TABLE_SCALE, _ATTEMPTS = 4, 2


def largest(columns: Array, num: int) -> tuple[Array, Array]:
    """The `num` largest of each column [N, Q] float32 and their places, [Q, num], in no order; of ties the first ones.

    The num-th largest value is found bit by bit; then the places of what is larger, and of what ties with it, are read
    off two rows of bits. Rows of Q values are worked on at a time.
    """
    num_values, num_columns = columns.shape
    keys = _ordered_bits(columns)
    least = _nth_largest(keys, num)[None]
    keys = jnp.pad(keys, ((0, -num_values % _WORD), (0, 0)), constant_values=-_SIGN)
    height = keys.shape[0]
    is_wanted = jnp.concatenate([keys > least, keys == least]).reshape(-1, _WORD, num_columns)
    bits = (is_wanted.astype(jnp.uint32) << jnp.arange(_WORD, dtype=jnp.uint32)[None, :, None]).sum(1, dtype=jnp.uint32)
    place = _first_bits(bits.T, num)
    place = jnp.where(place >= height, place - height, place)
    return columns[place, jnp.arange(num_columns)[:, None]], place


def _ordered_bits(values: Array) -> Array:
    """int32 in the order of the floats."""
    bits = jax.lax.bitcast_convert_type(values, jnp.int32)
    return jnp.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


def _nth_largest(keys: Array, num: int) -> Array:
    """[Q] int32: of [N, Q] the value that `num` reach and fewer exceed."""

    def signed(bits: Array) -> Array:
        return jax.lax.bitcast_convert_type(bits ^ jnp.uint32(_SIGN), jnp.int32)

    def body(step: Array, least: Array) -> Array:
        higher = least | (jnp.uint32(1) << (31 - step).astype(jnp.uint32))
        count = (keys >= signed(higher)[None]).sum(0, dtype=jnp.int32)
        return jnp.where(count >= num, higher, least)

    return signed(jax.lax.fori_loop(0, 32, body, jnp.zeros(keys.shape[1], jnp.uint32)))


def _first_bits(words: Array, num: int) -> Array:
    """[Q, num] int32: the places of the first `num` set bits of [Q, W] uint32; there are at least so many."""
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

    word = jax.lax.fori_loop(0, num_words.bit_length() + 1, halve, jnp.zeros_like(number))  # so many end before the bit
    word = jnp.minimum(word, num_words - 1)
    own, rest = at(words, word), number - at(until - count, word)
    bit = jnp.zeros_like(number)
    for half in (16, 8, 4, 2, 1):
        below = (own >> bit.astype(jnp.uint32)) & jnp.uint32((1 << half) - 1)
        below = jax.lax.population_count(below).astype(jnp.int32)
        is_above = rest >= below
        rest, bit = jnp.where(is_above, rest - below, rest), jnp.where(is_above, bit + half, bit)
    return word * _WORD + bit


def best_equal(names: Array, score: Array) -> Array:
    """[Q, N] int32: the place of the best candidate of the same name, of ties the first one.

    Names fall into the slots of a table by a hash, and are compared in full with the best one there. Where two names
    share a slot the lesser one tries again; after _ATTEMPTS it stays on its own (some one in a thousand).

    names: [n, Q, N] int32; score: [Q, N] float32.
    """
    num_rows, num = score.shape
    size = 1 << (_TABLE_SCALE * num - 1).bit_length()
    place = jnp.broadcast_to(jnp.arange(num)[None], score.shape)
    leader, is_open, hashed = place, jnp.ones(score.shape, bool), _hash(names)
    for _ in range(_ATTEMPTS):
        hashed = _scrambled(hashed)
        slot = (hashed >> (_WORD + 1 - size.bit_length())).astype(jnp.int32) + size * jnp.arange(num_rows)[:, None]
        flat = slot.reshape(-1)
        own = jnp.where(is_open, score, -jnp.inf)
        top = jnp.full(num_rows * size, -jnp.inf).at[flat].max(own.reshape(-1), mode="promise_in_bounds")
        is_top = is_open & (own == top[slot])
        first = jnp.where(is_top, place, num).reshape(-1)
        first = jnp.full(num_rows * size, num, jnp.int32).at[flat].min(first, mode="promise_in_bounds")
        other = jnp.minimum(first[slot], num - 1)
        same = is_open
        for column in names:
            same &= column == jnp.take_along_axis(column, other, 1)
        leader, is_open = jnp.where(same, other, leader), is_open & ~same
    return leader


def _hash(names: Array) -> Array:
    """[Q, N] uint32 of [n, Q, N] int32."""
    hashed = jnp.zeros(names.shape[1:], jnp.uint32)
    for column in names:
        hashed = _scrambled(hashed ^ column.astype(jnp.uint32))
    return hashed


def _scrambled(values: Array) -> Array:
    """A bijection of uint32 that spreads every bit over the upper ones."""
    values = (values ^ (values >> 16)) * jnp.uint32(0x9E3779B1)
    return (values ^ (values >> 15)) * jnp.uint32(0x85EBCA77)
