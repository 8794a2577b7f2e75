"""Future costs: what the words that are not yet translated will add to the score, estimated.

    future(i, j) = max over segmentations of words i..j-1 of Σ best option of the segment,
each option with its penalties, its own language-model score and, for its neighbours, the orientations of monotone text
(Koehn 2010, section 6.2.5, has it without orientations). A coverage costs the sum over its uncovered runs.
Jumps that are certain to come are counted as soon as they are (Moore and Quirk 2007): back to the first gap, and over
every covered word behind it.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.structure import IMPOSSIBLE

Array = Any


def future_costs(best: Array) -> Array:
    """[B, N + 1, N + 1] float32: future(i, j); best: [B, N, L] of the spans that begin at i, by length.

    0 where i ≥ j, about IMPOSSIBLE where no options fill the span.
    """
    num_sentences, num_words, longest = best.shape
    row = jnp.arange(num_words + 1)
    costs = jnp.broadcast_to(
        jnp.where(row[:, None] >= row[None, :], 0.0, IMPOSSIBLE), (num_sentences, num_words + 1, num_words + 1)
    ).astype(jnp.float32)

    def fill(end: Array, costs: Array) -> Array:
        found = jnp.full((num_sentences, num_words + 1), IMPOSSIBLE, jnp.float32)
        for length in range(1, min(longest, num_words) + 1):
            begin = end - length
            before = jax.lax.dynamic_index_in_dim(costs, jnp.maximum(begin, 0), 2, keepdims=False)  # [B, N + 1]
            last = jax.lax.dynamic_index_in_dim(best[:, :, length - 1], jnp.maximum(begin, 0), 1)  # [B, 1]
            total = jnp.where(row[None] <= begin, before + last, IMPOSSIBLE)
            found = jnp.maximum(found, total)
        column = jnp.where(row[None] < end, jnp.maximum(found, IMPOSSIBLE), 0.0)
        return jax.lax.dynamic_update_index_in_dim(costs, column, end, 2)

    return jax.lax.fori_loop(1, num_words + 1, fill, costs)


def certain_jumps(offset: Array, length: Array, covered: Array) -> Array:
    """[...] int32: words to jump over after taking a span; covered: [...] words behind the first gap before that."""
    return jnp.where(offset == 0, covered, offset + length + covered + length)
