"""Both directions of the HMM in one scan, forward and backward at once: a quarter of the steps, each with more to do.

For devices that are faster on few large steps than on many small ones. The same posteriors as
`posteriors.hmm_posteriors`, but for rounding: backward probabilities have a normaliser of their own, so that they need
not wait for the forward ones, and no sum depends on the order of threads.

D = 2 directions; K positions on either side, the larger of N and M.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.align.posteriors import TINY, Array, Direction, Evidence, Number, position_mask

_UNROLLED = 4  # steps of a loop's iteration, which has launches of its own
_einsum: Any = jnp.einsum


class _Chains(NamedTuple):
    """Both directions as one hidden Markov model of K + 1 states, see `posteriors.hmm_posteriors`.

    weight: [D, K+1, K] jump weights; share: [D, B, K+1] their normalisers, with 1 − p0.
    word: [K, D, B, K+1] scaled emissions of the target words, none in state 0; from_null: [K, D, B]. Behind the last
      word they are 0 and 1, and states stay as they are.
    is_word: [K, D, B]; scale: [K, D, B] what emissions were divided by.
    """

    weight: jax.Array
    share: jax.Array
    word: jax.Array
    from_null: jax.Array
    is_word: jax.Array
    scale: jax.Array


def wide_hmm_posteriors(sides: tuple[Direction, Direction], jump: Array, p0: Number) -> tuple[Evidence, Evidence]:
    """`hmm_posteriors` of both directions; jump: [2, 2L+1] weights, L ≥ K."""
    limit = (jump.shape[1] - 1) // 2
    chains = _chains(sides, jump, p0)
    before, after = _passes(chains)
    ready = before * chains.share[None]
    reached = _product("jdbs,dsi->jdbi", ready, chains.weight)
    arriving = chains.word[..., 1:] * after[..., 1:]
    stay = jnp.sum(before * after, axis=3) * chains.from_null
    mass = jnp.sum(reached * arriving, axis=3) + stay  # what all of a word's posteriors have in common
    factor = jnp.where(chains.is_word, 1.0 / jnp.maximum(mass, TINY), 0.0)
    arriving = arriving * factor[..., None]
    cell = jnp.transpose(reached * arriving, (1, 2, 3, 0))  # [D, B, K, K]
    null = jnp.transpose(stay * factor, (1, 2, 0))
    total = jnp.sum(reached * chains.word[..., 1:], axis=3) + jnp.sum(before, axis=3) * chains.from_null
    log_total = jnp.log(jnp.maximum(total, TINY)) + jnp.log(chains.scale)
    log_likelihood = jnp.sum(jnp.where(chains.is_word, log_total, 0.0), axis=(0, 2))
    moves = chains.weight * _product("jdbs,jdbi->dsi", ready, arriving)
    departing = jnp.sum(ready * _product("jdbi,dsi->jdbs", arriving, chains.weight), axis=0)  # [D, B, K+1]
    found = []
    for direction, side in enumerate(sides):
        _, width, height = side.emission.shape
        own_cell, own_null = cell[direction, :, :width, :height], null[direction, :, :height]
        departures = _departures(departing[direction], side.num_source, limit)
        jumps = _by_width(moves[direction], limit)
        found.append(Evidence(own_cell, own_null, log_likelihood[direction], jnp.float32(0.0), jumps, departures))
    return found[0], found[1]


def _product(axes: str, *factors: jax.Array) -> jax.Array:
    return _einsum(axes, *factors, precision=jax.lax.Precision.HIGHEST)


def _chains(sides: tuple[Direction, Direction], jump: Array, p0: Number) -> _Chains:
    longest, limit = max(sides[0].emission.shape[1:]), (jump.shape[1] - 1) // 2

    def both(parts: list[jax.Array]) -> jax.Array:
        return jnp.stack([jnp.pad(part, [(0, 0), *((0, longest - size) for size in part.shape[1:])]) for part in parts])

    emission, null = both([side.emission for side in sides]), both([side.null for side in sides])
    inside = jnp.stack([position_mask(side.num_source, longest) for side in sides])  # [D, B, K]
    is_word = jnp.stack([position_mask(side.num_target, longest) & (side.num_source > 0)[:, None] for side in sides])
    steps = jnp.arange(longest)[None, :] + 1 - jnp.arange(longest + 1)[:, None]  # [K+1, K] jump widths
    weight = jnp.asarray(jump)[:, steps + limit]
    normaliser = _product("dbi,dsi->dbs", inside.astype(jnp.float32), weight)
    emission = jnp.where(inside[..., None], emission, 0.0)
    scale = jnp.maximum(jnp.maximum(jnp.max(emission, axis=2), null), TINY)  # [D, B, K]
    emission = jnp.where(is_word[:, :, None], emission / scale[:, :, None], 0.0)
    from_null = jnp.where(is_word, p0 * null / scale, 1.0)
    word = jnp.pad(emission, ((0, 0), (0, 0), (1, 0), (0, 0)))
    by_word = (jnp.moveaxis(part, -1, 0) for part in (word, from_null, is_word, scale))
    return _Chains(weight, (1.0 - p0) / jnp.maximum(normaliser, TINY), *by_word)


def _passes(chains: _Chains) -> tuple[jax.Array, jax.Array]:
    """[K, D, B, K+1] each: probabilities of the states before each word, and of what follows behind it.

    A step is the same in both passes, x ↦ after · Σ_s table(s, ·) before(s) x(s) + stay · x, with shares and emissions
    exchanged and the table transposed. Written as a sum it is one launch with all that is done beside it; the barrier
    keeps the normaliser apart, which would make it a kernel that takes minutes to compile.
    """
    num_words, _, size, num_states = chains.word.shape
    table = jnp.pad(chains.weight, ((0, 0), (0, 0), (1, 0)))
    table = jnp.concatenate([table, jnp.swapaxes(table, 1, 2)])[:, None]  # [2D, 1, K+1, K+1]

    def step(state: jax.Array, number: jax.Array) -> tuple[jax.Array, jax.Array]:
        places = number, num_words - 1 - number
        words, stay = (
            [jax.lax.dynamic_index_in_dim(part, place, keepdims=False) for place in places]
            for part in (chains.word, chains.from_null)
        )
        before = state * jnp.concatenate([chains.share, words[1]])
        moved = jnp.sum(before[..., None] * table, axis=2) * jnp.concatenate([words[0], chains.share])
        new = jax.lax.optimization_barrier(moved + state * jnp.concatenate(stay)[..., None])
        return new / jnp.maximum(jnp.sum(new, axis=2, keepdims=True), TINY), state

    start = jnp.zeros((2, size, num_states), jnp.float32).at[:, :, 0].set(1.0)
    start = jnp.concatenate([start, jnp.full_like(start, 1.0 / num_states)])
    states: jax.Array = jax.lax.scan(step, start, jnp.arange(num_words), unroll=_UNROLLED)[1]
    return states[:, :2], states[::-1, 2:]


def _by_width(moves: jax.Array, limit: int) -> jax.Array:
    """[2L+1]: moves [K+1, K] from s to i added up by their width i + 1 − s."""
    num_states, num_words = moves.shape
    state = jnp.arange(num_states)[None, :]
    place = jnp.arange(-num_words, num_words + 1)[:, None] + state - 1  # [2K+1, K+1]
    is_place = (place >= 0) & (place < num_words)
    sums = jnp.sum(jnp.where(is_place, moves[state, jnp.clip(place, 0, num_words - 1)], 0.0), axis=1)
    return jnp.pad(sums, limit - num_words)


def _departures(departing: jax.Array, num_source: Array, limit: int) -> jax.Array:
    """[L+1, L+1]: departures [B, K+1] added up by the length of their sentence."""
    is_length = (jnp.asarray(num_source)[:, None] == jnp.arange(limit + 1)[None]).astype(jnp.float32)
    sums = _product("bn,bs->ns", is_length, departing)
    return jnp.pad(sums, ((0, 0), (0, limit + 1 - sums.shape[1])))
