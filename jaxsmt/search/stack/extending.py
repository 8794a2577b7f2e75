"""Appending phrases to hypotheses under the language models.

To the left of a phrase everything is known, so only its open words (see `chart.rows`) are scored anew: lanes are sorted
by their number, and step t runs over the lanes that have more than t of them, a block at a time.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.lm.automaton import ROOT
from jaxsmt.lm.scoring import look_up
from jaxsmt.search.chart.rows import CLOSED, COUNT_MASK, SearchLm, columns_of
from jaxsmt.text.vocabulary import PAD, SENTENCE_END

Array = Any
BLOCK = 1024  # lanes per step
_LANE_BITS = 24


def append_phrases(
    lm: SearchLm, rows: Array, entry: Array, state: Array, is_valid: Array, lm_mixture: Array | None
) -> tuple[Array, Array]:
    """What a language model adds to the estimates of phrases [F, L], and its states behind them [L].

    rows: [E, width] int32 of phrases, see `chart.rows`.
    entry, state: [L] phrases and the states before them; is_valid: [L] bool, the other lanes cost nothing.
    lm_mixture: [L, D] or None.
    """
    columns, num = columns_of(lm), entry.shape[0]
    flat, first = rows.reshape(-1), entry * columns.width

    def field(column: int) -> Array:
        return flat.at[first + column].get(mode="promise_in_bounds")

    info = field(columns.info)
    count = jnp.where(is_valid, info & COUNT_MASK, 0)
    lane = jnp.sort(((COUNT_MASK - count) << _LANE_BITS) + jnp.arange(num)) & ((1 << _LANE_BITS) - 1)
    size = min(BLOCK, num)
    padded = -(-num // size) * size
    place = jnp.pad(lane, (0, padded - num), constant_values=0)
    counts = jnp.where(jnp.arange(padded) < num, count[place], 0)
    words_at = first[place]
    mixture = None if lm_mixture is None else lm_mixture[place]
    lanes_at = (counts[None] > jnp.arange(columns.num_words)[:, None]).sum(1)
    blocks_until = jnp.cumsum(-(-lanes_at // size))

    def body(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        step = (blocks_until <= number).sum()
        start = (number - jnp.where(step > 0, blocks_until[step - 1], 0)) * size

        def cut(array: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(array, start, size, 0)

        own_state, own_gain = cut(carry[0]), jax.lax.dynamic_slice_in_dim(carry[1], start, size, 1)
        is_active = cut(counts) > step
        word = flat.at[jnp.where(is_active, cut(words_at) + step, 0)].get(mode="promise_in_bounds")
        found = look_up(lm.automaton, jnp.where(is_active, own_state, ROOT), jnp.where(is_active, word, PAD))
        gain = lm.features(found.log_p, None if mixture is None else cut(mixture))
        parts = jnp.where(is_active, found.state, own_state), own_gain + jnp.where(is_active[None], gain, 0.0)
        return tuple(
            jax.lax.dynamic_update_slice_in_dim(array, part, start, array.ndim - 1)
            for array, part in zip(carry, parts, strict=True)
        )  # type: ignore[return-value]

    start = (state[place], jnp.zeros((lm.num_features, padded), jnp.float32))
    after, gain = jax.lax.fori_loop(0, blocks_until[-1], body, start)
    back = jnp.zeros(num, jnp.int32).at[lane].set(jnp.arange(num, dtype=jnp.int32), unique_indices=True)
    bits = jnp.stack([field(column) for column in range(columns.estimate, columns.width)])
    estimate = jax.lax.bitcast_convert_type(bits, jnp.float32)
    return gain[:, back] - estimate, jnp.where(info >= CLOSED, field(columns.right), after[back])


def end_sentences(lm: SearchLm, state: Array, lm_mixture: Array | None) -> Array:
    """[F, L] float32: log p of </s> in states [L]."""
    return lm.features(look_up(lm.automaton, state, jnp.full_like(state, SENTENCE_END)).log_p, lm_mixture)
