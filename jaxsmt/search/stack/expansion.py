"""What may come next: spans and options of hypotheses by additive scores, before a language model is asked.

A (hypothesis, span) pair is worth the hypothesis, its jump, the best option of the span in the orientation at hand, and
the future cost of what stays uncovered. Pairs are weighed once, when their hypothesis is kept; a stack takes the best
pairs of all shorter stacks, and of their options, which are ranked by orientation, the best by the same sum.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.search.chart.structure import IMPOSSIBLE
from jaxsmt.search.stack.coverage import Window, count_bits, last_axis, overlaps, uncovered_runs
from jaxsmt.search.stack.future import certain_jumps
from jaxsmt.search.stack.hypotheses import Hypotheses, Search, hypotheses_at, orientation_of, top_k

Array = Any


class _Pairs(NamedTuple):
    """Where the columns of a stack's (hypothesis, span) pairs come from; [S · P] each, sorted by length."""

    length: np.ndarray
    slot: np.ndarray
    span: np.ndarray


class Chosen(NamedTuple):
    """Candidates of one stack; [B, M] each, masks [B, M, W]."""

    worth: Array  # with estimates
    hypothesis: Hypotheses  # the one before
    parent: Array
    entry: Array
    orientation: Array
    offset: Array
    length: Array
    masks: Array


def pair_worths(search: Search, kept: Hypotheses, number: Array) -> Array:
    """[B, S, P] float32: what hypotheses of stack `number` with each span of their windows are worth."""
    options, window, futures = search.options, search.window, search.futures
    num_sentences, num_words = options.first.shape[:2]
    row = jnp.arange(num_sentences)[:, None, None]
    lengths = options.lengths[:, None, None]
    begin, end = uncovered_runs(kept.bits, window.reach)  # [B, S, reach + 1]
    gap = kept.gap[..., None]
    place = last_axis(np.arange(window.reach + 1), 3)

    def future(first: Array, last: Array) -> Array:
        """future(i, j) of positions that may lie behind the sentence."""
        index = (row * (num_words + 1) + jnp.minimum(first, num_words)) * (num_words + 1) + jnp.minimum(last, num_words)
        return futures.reshape(-1).at[index].get(mode="promise_in_bounds")

    run_begin, run_end = gap + begin, jnp.minimum(gap + end, lengths)
    whole, left = future(run_begin, run_end), future(run_begin, gap + place)
    is_run = (begin == place) & (gap + place < lengths)
    before = jnp.where(is_run, whole, 0.0).sum(-1)[..., None]
    at, offset, length = window.offset, last_axis(window.offset, 3), last_axis(window.length, 3)
    start = gap + offset
    stop = start + length
    rest = before - whole[..., at] + left[..., at] + future(stop, run_end[..., at])
    covered = count_bits(kept.bits)[..., None]
    is_last = number + length == lengths
    weight = options.distortion[:, None, None]
    rest = jnp.where(is_last, 0.0, rest - weight * certain_jumps(offset, length, covered))
    jump = jnp.abs(start - kept.end[..., None])
    orientation = orientation_of(start, stop, kept.start[..., None], kept.end[..., None])
    after = options.after.reshape(-1)[kept.entry[..., None] * 3 + orientation]
    span = (row * num_words + jnp.minimum(start, num_words - 1)) * options.first.shape[2] + length - 1
    first, count = options.first.reshape(-1)[span], options.count.reshape(-1)[span]
    best = options.worth.reshape(-1)[orientation * options.worth.shape[1] + first]
    is_free = ~overlaps(kept.bits[:, :, None], window.masks[None, None])
    is_possible = (stop <= lengths) & (count > 0) & (jump <= window.limit) & is_free
    worth = kept.score[..., None] + after + best + rest - weight * jump
    return jnp.where(is_possible & (kept.score > IMPOSSIBLE / 2)[..., None], worth, 2 * IMPOSSIBLE)


def _pairs(window: Window, slots: int) -> _Pairs:
    parts = []
    for length in np.unique(window.length):
        spans = np.flatnonzero(window.length == length)
        slot, span = (column.reshape(-1) for column in np.meshgrid(np.arange(slots), spans, indexing="ij"))
        parts.append((np.full(len(slot), length), slot, span))
    return _Pairs(*(np.concatenate(columns).astype(np.int32) for columns in zip(*parts, strict=True)))


def best_options(search: Search, number: Array, kept: Hypotheses, ring: Array) -> Chosen:
    """The candidates of stack `number` that the language model is to score.

    kept: [N + 1, B, S] all stacks; ring: [R, B, S, P] what the pairs of the last R stacks are worth.
    """
    _, options, window, config, table_limit, *_ = search
    num_sentences, num_words, longest = options.first.shape
    slots, size = config.kept, ring.shape[0]
    parts = []
    for length in np.unique(window.length):
        own = jax.lax.dynamic_index_in_dim(ring, (number - length) % size, keepdims=False)
        spans = np.flatnonzero(window.length == length)
        own = jnp.where(number >= length, own[..., spans[0] : spans[-1] + 1], 2 * IMPOSSIBLE)
        parts.append(own.reshape(num_sentences, -1))
    worth = jnp.concatenate(parts, 1)
    worth, index = top_k(worth, min(config.spans, worth.shape[1]))  # [B, Q]
    pairs = _pairs(window, slots)
    length, slot, span = (jnp.asarray(column)[index] for column in pairs)
    parent = jnp.maximum(number - length, 0) * slots + slot
    row = jnp.arange(num_sentences)[:, None]
    before = hypotheses_at(kept, row, parent, slots)
    offset = jnp.asarray(window.offset)[span]
    start = before.gap + offset
    orientation = orientation_of(start, start + length, before.start, before.end)
    place = (row * num_words + jnp.minimum(start, num_words - 1)) * longest + length - 1
    first, count = options.first.reshape(-1)[place], options.count.reshape(-1)[place]
    rank = last_axis(np.arange(table_limit), 3)
    num_options = options.worth.shape[1]
    ranked = orientation[..., None] * num_options + jnp.where(rank < count[..., None], first[..., None] + rank, 0)
    values = options.worth.reshape(-1)[ranked]
    loss = jnp.where(rank < count[..., None], values - values[..., :1], 2 * IMPOSSIBLE)
    worth, index = top_k((worth[..., None] + loss).reshape(num_sentences, -1), min(config.scored, loss[0].size))
    worth = jnp.where(worth >= worth[:, :1] - config.slack * options.unit[:, None], worth, 2 * IMPOSSIBLE)
    pair = index // table_limit

    def take(array: Array) -> Array:
        return jnp.take_along_axis(array, pair.reshape(*pair.shape, *(1,) * (array.ndim - 2)), 1)

    entry = options.ranked.reshape(-1)[jnp.take_along_axis(ranked.reshape(num_sentences, -1), index, 1)]
    masks = jnp.asarray(window.masks)[take(span)]
    return Chosen(
        worth, jax.tree.map(take, before), take(parent), entry, take(orientation), take(offset), take(length), masks
    )
