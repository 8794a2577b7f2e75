"""Sums by key on the device that no order of threads decides: whole numbers are added instead of floats.

A scatter that adds floats is done atomically on a GPU, and which thread comes first decides the last digits. Whole
numbers add up to the same in any order. Values between 0 and 1 are cut into parts of so few bits that the sums of all
their parts stay below 2³²; the sums of the parts are put together at the end. Where keys are known on the host and
stay the same from call to call, `segments` needs no scatter at all.
"""

from typing import Any

import jax.numpy as jnp

Array = Any
RESOLUTION = 24  # bits behind the point that values have at least: as many as a float32 has
_LIMIT = (1 << 32) - 1


def part_bits(num_values: int, most: int) -> tuple[int, ...]:
    """Bits of the parts that values are cut into, first those right behind the point; RESOLUTION or more in all.

    num_values: how many values there are. most: what all of them add up to at most, which bounds the sums of first
      parts, with as much again for rounding; a later part is bounded by its bits alone.
    """
    first, other = (min((_LIMIT // max(number, 1)).bit_length() - 1, RESOLUTION) for number in (2 * most, num_values))
    if min(first, other) < 1:
        raise ValueError(f"{num_values} values that add up to {most} are too many for sums of whole numbers")
    num_others = -(-max(RESOLUTION - first, 0) // other)
    return (first, *(other,) * max(num_others, 1))


def cut(values: Array, bits: tuple[int, ...]) -> list[Array]:
    """Values in 0 … 1 as parts of whole numbers, uint32; the last one is rounded to the nearest."""
    rest, parts = jnp.clip(values, 0.0, 1.0), []
    for number in bits[:-1]:
        rest = rest * 2.0**number
        parts.append(jnp.floor(rest))
        rest = rest - parts[-1]  # exact: all that is left are the lower digits
    parts.append(jnp.round(rest * 2.0 ** bits[-1]))
    return [part.astype(jnp.uint32) for part in parts]


def put_together(parts: list[Array], bits: tuple[int, ...]) -> Array:
    """float32 from sums of parts, the small ones added first."""
    total = jnp.zeros(parts[0].shape, jnp.float32)
    for part, number in zip(reversed(parts), reversed(bits), strict=True):
        total = (total + part.astype(jnp.float32)) * 2.0**-number
    return total


def add_by_key(sums: Array, keys: Array, values: Array, most: int) -> Array:
    """Sums [P, D] with the values [N, D] of all their keys [N] added, the same bits for every order of the values.

    values: in 0 … 1, exact to 2^-RESOLUTION or finer. most: see `part_bits`, of one column. What is 0 and what has a
    key outside of 0 … P - 1 is left out: padding would all wait for one place.
    """
    bits = part_bits(len(keys), most)
    parts = jnp.concatenate(cut(values, bits), axis=1)  # [N, D · parts]
    keys = jnp.where((parts > 0).any(1) & (keys >= 0), keys, len(sums))
    added = jnp.zeros((len(sums), parts.shape[1]), jnp.uint32).at[keys].add(parts, mode="drop")
    # only what was touched is put together: all places that a key writes to get the same
    fresh = put_together(jnp.split(added.at[keys].get(mode="fill", fill_value=0), len(bits), axis=1), bits)
    old = sums.at[keys].get(mode="fill", fill_value=0)
    return sums.at[keys].set(old + fresh, mode="drop")
