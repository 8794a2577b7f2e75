"""Which source words are translated: the first gap, and bits for what is covered behind it.

A hypothesis may be extended by a span that begins at the first gap g, or by one that ends at most `distortion_limit`
words behind g, so that the search can always come back to g; and the jump from the end of the last phrase to the span
is at most the limit. This is how Moses' cube pruning has it. So all covered words behind g lie in a window of that many
words, whatever the length of the sentence. Bit k of the coverage stands for word g + 1 + k; words of 32 bits.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = Any
WORD = 32
NO_END = 1 << 20


class Window(NamedTuple):
    """The P spans that a hypothesis may take next, relative to its first gap; sorted by (length, offset).

    offset, length: [P] int32.
    masks: [P, W] uint32: the bits that a span covers; the first gap itself has none.
    reach: positions g, g + 1, …, g + reach may be in an uncovered run that a span touches.
    limit: the longest jump.
    """

    offset: np.ndarray
    length: np.ndarray
    masks: np.ndarray
    reach: int
    limit: int


def make_window(max_words: int, max_length: int, distortion_limit: int) -> Window:
    """The window of sentences of at most `max_words` words and phrases of at most `max_length`."""
    limit = max_words if distortion_limit < 0 else min(distortion_limit, max_words)
    spans = [
        (offset, length)
        for length in range(1, min(max_length, max_words) + 1)
        for offset in range(max(limit - length + 1, 1))
        if offset + length <= max_words
    ]
    offset, size = (np.array(column, np.int32) for column in zip(*spans, strict=True))
    num_words = -(-max(limit - 1, 1) // WORD)
    bit = np.arange(num_words * WORD)
    covers = (bit >= offset[:, None] - 1) & (bit < (offset + size)[:, None] - 1)
    packed = (covers.reshape(len(spans), num_words, WORD) << np.arange(WORD, dtype=np.uint64)).sum(-1)
    return Window(offset, size, packed.astype(np.uint32), max(limit, 1), limit)


def last_axis(values: np.ndarray, num_axes: int) -> np.ndarray:
    """[1, …, 1, n] from [n]."""
    return values.reshape(*(1,) * (num_axes - 1), -1)


def overlaps(bits: Array, masks: Array) -> Array:
    """[...] bool: whether coverage and spans [..., W] have a word in common."""
    return ((bits & masks) != 0).any(-1)


def count_bits(bits: Array) -> Array:
    """[...] int32: how many words are covered behind the first gap."""
    return jax.lax.population_count(bits).sum(-1).astype(jnp.int32)


def has_bit(bits: Array, place: Array) -> Array:
    """[...] bool: bit `place` [...] of [..., W]; places outside have none."""
    word = last_axis(np.arange(bits.shape[-1]), bits.ndim)
    inside = word == (place // WORD)[..., None]
    return (jnp.where(inside, bits >> (place % WORD)[..., None].astype(jnp.uint32), 0) & 1).any(-1)


def bits_below(place: Array, num_words: int) -> Array:
    """[..., W] uint32: all bits before bit `place` [...]."""
    first = WORD * last_axis(np.arange(num_words), place.ndim + 1)
    num = jnp.clip(place[..., None] - first, 0, WORD)
    some = (np.uint32(1) << jnp.minimum(num, WORD - 1).astype(jnp.uint32)) - np.uint32(1)
    return jnp.where(num == WORD, np.uint32(0xFFFFFFFF), some)


def last_bit(bits: Array) -> Array:
    """[...] int32: the highest bit of [..., W], -1 where there is none."""
    first = WORD * last_axis(np.arange(bits.shape[-1], dtype=np.int32), bits.ndim)
    return jnp.where(bits != 0, first + WORD - 1 - jax.lax.clz(bits).astype(jnp.int32), -1).max(-1)


def run_begins(bits: Array) -> Array:
    """[..., W] uint32: the first bit of each run of bits."""
    carried = jnp.concatenate([jnp.zeros_like(bits[..., :1]), bits[..., :-1] >> (WORD - 1)], -1)
    return bits & ~((bits << 1) | carried)


def cover(gap: Array, bits: Array, offset: Array, length: Array, masks: Array) -> tuple[Array, Array]:
    """First gap [...] and bits [..., W] after taking a span: offset, length [...], masks [..., W]."""
    ahead = _shifted(bits, length - 1)  # bit 0 is now word gap + length
    run = _trailing_ones(ahead)
    at_gap = offset == 0
    moved = _shifted(ahead, run + 1)
    return jnp.where(at_gap, gap + length + run, gap), jnp.where(at_gap[..., None], moved, bits | masks)


def _shifted(bits: Array, amount: Array) -> Array:
    """[..., W] uint32: bits moved down by `amount` [...] ≥ 0."""
    num = bits.shape[-1]
    whole, part = amount // WORD, (amount % WORD).astype(jnp.uint32)
    columns = []
    for word in range(num):
        low, high = (_word_at(bits, word + whole + more) for more in (0, 1))
        carried = jnp.where(part > 0, high << ((WORD - part) % WORD), 0)
        columns.append((low >> part) | carried)
    return jnp.stack(columns, -1)


def _word_at(bits: Array, place: Array) -> Array:
    """[...] uint32: word `place` [...], 0 outside; W is small."""
    found = jnp.zeros_like(bits[..., 0])
    for word in range(bits.shape[-1]):
        found = jnp.where(place == word, bits[..., word], found)
    return found


def _trailing_ones(bits: Array) -> Array:
    """[...] int32: how many of the lowest bits are set without a gap."""
    total, whole = jnp.zeros(bits.shape[:-1], jnp.int32), jnp.ones(bits.shape[:-1], bool)
    for word in range(bits.shape[-1]):
        value = bits[..., word]
        ones = jax.lax.population_count(value & ~(value + 1)).astype(jnp.int32)
        total = total + jnp.where(whole, ones, 0)
        whole = whole & (ones == WORD)
    return total


def uncovered_runs(bits: Array, reach: int) -> tuple[Array, Array]:
    """Of positions 0..reach behind the first gap: where the uncovered run around them begins and ends.

    bits: [..., W]. Returns [..., reach + 1] int32 each; a run that goes on to the end of the sentence ends at NO_END.
    """
    place = last_axis(np.arange(reach + 1), bits.ndim)
    covered = _unpacked(bits, reach)
    begin = jax.lax.cummax(jnp.where(covered, place + 1, 0), axis=bits.ndim - 1)
    end = jax.lax.cummin(jnp.where(covered, place, NO_END), axis=bits.ndim - 1, reverse=True)
    return begin.astype(jnp.int32), end.astype(jnp.int32)


def _unpacked(bits: Array, reach: int) -> Array:
    """[..., reach + 1] bool: whether words g, g + 1, … are covered; g is not."""
    place = np.arange(reach)
    word = np.minimum(place // WORD, bits.shape[-1] - 1)
    set_bits = (bits[..., word] >> last_axis((place % WORD).astype(np.uint32), bits.ndim)) & 1 > 0
    inside = set_bits & last_axis(place < bits.shape[-1] * WORD, bits.ndim)
    return jnp.concatenate([jnp.zeros_like(inside[..., :1]), inside], -1)
