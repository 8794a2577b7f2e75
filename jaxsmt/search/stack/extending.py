"""Appending phrases to hypotheses under the language models.

To the left of a phrase everything is known, so only its open words (see `chart.rows`) are scored anew: lanes are sorted
by their number, and step t runs over the lanes that have more than t of them, a block at a time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.lm.automaton import ROOT
from jaxsmt.lm.scoring import look_up
from jaxsmt.search.chart.rows import CLOSED, COUNT_MASK, SearchLm, columns_of
from jaxsmt.text.vocabulary import PAD, SENTENCE_END

Array = Any
_LANE_BITS = 24


class PhraseLanes(NamedTuple):
    """L phrases behind hypotheses.

    entry, state: [L] int32, the phrase and the state before it; is_valid: [L] bool, the other lanes cost nothing.
    mixture: [L, D] or None.
    """

    entry: Array
    state: Array
    is_valid: Array
    mixture: Array | None


def append_phrases(lm: SearchLm, rows: Array, phrases: PhraseLanes, block: int) -> tuple[Array, Array]:
    """What a language model adds to the estimates of phrases [F, L], and its states behind them [L].

    rows: [E, width] int32 of phrases, see `chart.rows`; block: lanes per step.
    """
    columns = columns_of(lm)
    flat, first = rows.reshape(-1), phrases.entry * columns.width

    def field(column: int) -> Array:
        return flat.at[first + column].get(mode="promise_in_bounds")

    def word_at(step: Array, is_active: Array, words_at: Array) -> Array:
        return flat.at[jnp.where(is_active, words_at + step, 0)].get(mode="promise_in_bounds")

    info = field(columns.info)
    count = jnp.where(phrases.is_valid, info & COUNT_MASK, 0)
    lanes = Lanes(count, phrases.state, phrases.mixture, (first,))
    gain, after = run_lanes(lm, lanes, word_at, columns.num_words, block)
    bits = jnp.stack([field(column) for column in range(columns.estimate, columns.width)])
    estimate = jax.lax.bitcast_convert_type(bits, jnp.float32)
    return gain - estimate, jnp.where(info >= CLOSED, field(columns.right), after)


class Lanes(NamedTuple):
    """L runs of words to be scored; [L] each.

    count: int32, the number of words; state: before them; mixture: [L, D] or None; more: what the words follow from.
    """

    count: Array
    state: Array
    mixture: Array | None
    more: tuple[Array, ...]


def run_lanes(lm: SearchLm, lanes: Lanes, word_at: Callable[..., Array], most: int, block: int) -> tuple[Array, Array]:
    """Σ of the features of the words of each lane [F, L], and the states behind them [L].

    word_at: (step, is_active, *more) → words, of some lanes; most: no lane has more words; block: lanes per step.
    """
    gain, after, *_ = _run(lm, lanes, word_at, (most, block), False)
    return gain, after


def run_pieces(
    lm: SearchLm, lanes: Lanes, word_at: Callable[..., Array], most: int, block: int
) -> tuple[Array, Array, Array, Array]:
    """`run_lanes` from the root; also Σ of the open words alone [F, L], and their number [L], 0 if all are open.

    Open words and closing as in `chart.rows`: behind them it does not matter what stands to the left.
    """
    gain, after, open_gain, count = _run(lm, lanes, word_at, (most, block), True)
    return gain, after, open_gain, count


def _run(
    lm: SearchLm, lanes: Lanes, word_at: Callable[..., Array], limits: tuple[int, int], with_open: bool
) -> tuple[Array, ...]:
    (most, block), num = limits, lanes.count.shape[0]
    size = min(block, num)
    lane_bits = _LANE_BITS if most <= COUNT_MASK else num.bit_length()
    assert most.bit_length() + lane_bits < 32, "so many words of so many lanes are not to be sorted by whole numbers"
    lane = jnp.sort(((most - lanes.count) << lane_bits) + jnp.arange(num)) & ((1 << lane_bits) - 1)
    padded = -(-num // size) * size
    place = jnp.pad(lane, (0, padded - num), constant_values=0)
    counts = jnp.where(jnp.arange(padded) < num, lanes.count[place], 0)
    mixture = None if lanes.mixture is None else lanes.mixture[place]
    more = [part[place] for part in lanes.more]
    lanes_at = (counts[None] > jnp.arange(most)[:, None]).sum(1)
    blocks_until = jnp.cumsum(-(-lanes_at // size))

    def body(number: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        step = (blocks_until <= number).sum()
        start = (number - jnp.where(step > 0, blocks_until[step - 1], 0)) * size

        def cut(array: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(array, start, size, 0)

        own_state, own_gain, *own_open = (
            jax.lax.dynamic_slice_in_dim(array, start, size, array.ndim - 1) for array in carry
        )
        is_active = cut(counts) > step
        word = word_at(step, is_active, *map(cut, more))
        found = look_up(lm.automaton, jnp.where(is_active, own_state, ROOT), jnp.where(is_active, word, PAD))
        gain = lm.features(found.log_p, None if mixture is None else cut(mixture))
        parts = [jnp.where(is_active, found.state, own_state), own_gain + jnp.where(is_active[None], gain, 0.0)]
        if with_open:
            open_gain, closed_at = own_open
            is_open = is_active & (closed_at == 0)
            left = lm.left_length.at[found.state].get(mode="promise_in_bounds")
            closes = is_open & ((left != step + 1) | (step + 1 >= lm.order - 1))
            parts += [open_gain + jnp.where(is_open[None], gain, 0.0), jnp.where(closes, step + 1, closed_at)]
        return tuple(
            jax.lax.dynamic_update_slice_in_dim(array, part, start, array.ndim - 1)
            for array, part in zip(carry, parts, strict=True)
        )

    none = jnp.zeros((lm.num_features, padded), jnp.float32)
    carry = (lanes.state[place], none, *((none, jnp.zeros(padded, jnp.int32)) if with_open else ()))
    after, gain, *opened = jax.lax.fori_loop(0, blocks_until[-1], body, carry)
    back = jnp.zeros(num, jnp.int32).at[lane].set(jnp.arange(num, dtype=jnp.int32), unique_indices=True)
    return gain[:, back], after[back], *(array[..., back] for array in opened)


def end_sentences(lm: SearchLm, state: Array, lm_mixture: Array | None) -> Array:
    """[F, L] float32: log p of </s> in states [L]."""
    return lm.features(look_up(lm.automaton, state, jnp.full_like(state, SENTENCE_END)).log_p, lm_mixture)
