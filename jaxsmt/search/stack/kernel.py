"""The stack search on the device: all sentences of a batch in lock step by the number of covered words.

Stack n of a sentence holds the S best hypotheses that cover n of its words. It is filled from stacks n - 1, n - 2, …:
  1. a (hypothesis, span) pair is worth the hypothesis, its jump, the best option of the span in the orientation at
     hand, and the future cost of what stays uncovered; these are computed once, when the hypothesis is kept. The best
     pairs of all shorter stacks are taken;
  2. of their options, ranked by orientation, those best by the same sum go to the language models;
  3. equal ones are recombined (same coverage, language-model states, end of the last phrase, its begin if a phrase
     could still be swapped with it, and its scores for orientations of the next phrase; with operations their state and
     cursor), and the S best are kept.
All additive scores are exact but for the first words of a phrase, which are estimated without their context.

Ties: of candidates that are worth the same the one with the shorter last phrase comes first, then the better
hypothesis before it, then the phrase further left, then the better option. What is computed for a sentence depends on
that sentence alone.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.devices.traced import traced_once
from jaxsmt.search.chart.rows import SearchLm, weights_by_lm
from jaxsmt.search.chart.structure import IMPOSSIBLE
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.stack.coverage import cover, has_bit, make_window
from jaxsmt.search.stack.expansion import Chosen, best_options, pair_worths
from jaxsmt.search.stack.extending import PhraseLanes, append_phrases, end_sentences
from jaxsmt.search.stack.future import future_costs
from jaxsmt.search.stack.hypotheses import (
    MONO,
    NO_ENTRY,
    NO_START,
    Hypotheses,
    Options,
    Search,
    StackEdges,
    Stacks,
    hypotheses_at,
    top_k,
)
from jaxsmt.search.stack.operations.appending import (
    OperationLanes,
    Span,
    append_operations,
    end_operations,
    start_operations,
)

Array = Any


class _State(NamedTuple):
    kept: Hypotheses  # [N + 1, B, S]
    ring: Array  # [R, B, S, P] float32: what pairs are worth, of the last R stacks
    edges: StackEdges | None
    num_scored: Array


@traced_once(static_argnames=("config", "table_limit", "block", "keep_edges"), results=(Stacks, StackEdges))
def fill_stacks(
    lms: tuple[SearchLm, ...], options: Options, config: StackConfig, table_limit: int, block: int,
    keep_edges: bool = False,
) -> Stacks:  # fmt: skip
    """Fills all stacks; `table_limit` is the largest number of options a list has, `block` that of `StackTiles`."""
    num_words, longest = options.first.shape[1:]
    window = make_window(num_words, longest, config.distortion_limit)
    search = Search(lms, options, window, config, table_limit, block, future_costs(_best_of_spans(options)))

    def body(number: Array, state: _State) -> _State:
        return _keep_best(search, number, best_options(search, number, state.kept, state.ring), state)

    state = jax.lax.fori_loop(1, options.lengths.max() + 1, body, _start(search, keep_edges))
    kept = state.kept
    return Stacks(
        kept.score, kept.start, kept.end, kept.entry, kept.parent, _totals(lms, options, kept), state.edges,
        state.num_scored,
    )  # fmt: skip


def _best_of_spans(options: Options) -> Array:
    """[B, N, L] float32: the best option of each span between monotone neighbours."""
    best = options.worth[MONO][options.first]
    return jnp.where(options.count > 0, best, IMPOSSIBLE)


def _start(search: Search, keep_edges: bool) -> _State:
    """Stack 0 with the hypothesis that covers nothing."""
    lms, options, window, config, *_ = search
    (num_sentences, num_words, longest), slots = options.first.shape, config.kept
    shape = (num_words + 1, num_sentences, slots)
    zeros = jnp.zeros(shape, jnp.int32)
    score = jnp.full(shape, IMPOSSIBLE, jnp.float32).at[0, :, 0].set(0.0)
    states = tuple(jnp.broadcast_to(lm.automaton.start, shape).astype(jnp.int32) for lm in lms)
    bits = jnp.zeros((*shape, window.masks.shape[1]), jnp.uint32)
    operations = () if options.operations is None else start_operations(options.operations, shape)
    kept = Hypotheses(score, zeros, bits, zeros + NO_START, zeros, zeros + NO_ENTRY, zeros, states, operations)
    ring = jnp.full((longest, num_sentences, slots, len(window.offset)), 2 * IMPOSSIBLE, jnp.float32)
    first = jax.tree.map(lambda array: array[0], kept)
    ring = ring.at[0].set(pair_worths(search, first, jnp.int32(0)))
    edges = None
    if keep_edges:
        shape = (num_words + 1, num_sentences, _num_ranked(config))
        none = jnp.zeros(shape, jnp.int32)
        edges = StackEdges(jnp.full(shape, IMPOSSIBLE, jnp.float32), none, none, none, none, none - 1)
    return _State(kept, ring, edges, jnp.int32(0))


def _num_ranked(config: StackConfig) -> int:
    """T: candidates of a stack among which the kept ones are chosen."""
    return min(2 * config.kept, config.scored)


def _scored(search: Search, chosen: Chosen) -> tuple[Array, Array, tuple[Array, ...], tuple[Array, ...]]:
    """Scores without and with estimates, language-model states, and operations of candidates; [B, M] each."""
    lms, options, block = search.lms, search.options, search.block
    shape, before = chosen.worth.shape, chosen.hypothesis
    is_valid = chosen.worth > IMPOSSIBLE / 2
    entry = jnp.where(is_valid, chosen.entry, NO_ENTRY)
    start = before.gap + chosen.offset
    jump = jnp.abs(start - before.end)
    score = (
        before.score
        + options.after.reshape(-1)[before.entry * 3 + chosen.orientation]
        + options.score[entry]
        + options.before.reshape(-1)[entry * 3 + chosen.orientation]
        - options.distortion[:, None] * jump
    )
    worth, states = chosen.worth, []
    for model, (lm, weight) in enumerate(zip(lms, weights_by_lm(lms, options.lm_weight), strict=True)):
        mixture = options.lm_mixture[model]
        spread = None if mixture is None else jnp.repeat(mixture, shape[1], axis=0)
        lanes = PhraseLanes(entry.reshape(-1), before.states[model].reshape(-1), is_valid.reshape(-1), spread)
        gain, state = append_phrases(lm, options.rows[model], lanes, block)
        change = (weight * gain.reshape(-1, *shape)).sum(0)
        score, worth = score + change, worth + change
        states.append(state.reshape(shape))
    operations: tuple[Array, ...] = ()
    if options.operations is not None:
        span = Span(before.gap, before.bits, start, start + chosen.length)
        behind = OperationLanes(entry, before.operations, is_valid)
        change, operations = append_operations(options.operations, span, behind, block)
        score, worth = score + change, worth + change
    return (
        jnp.where(is_valid, score, 2 * IMPOSSIBLE), jnp.where(is_valid, worth, 2 * IMPOSSIBLE), tuple(states),
        operations,
    )  # fmt: skip


def _keep_best(search: Search, number: Array, chosen: Chosen, state: _State) -> _State:
    """Recombines, keeps S candidates of each sentence and writes them into stack `number`."""
    options, config = search.options, search.config
    score, worth, states, operations = _scored(search, chosen)
    num_scored = (chosen.worth > IMPOSSIBLE / 2).sum(dtype=jnp.int32)
    is_last = (number == options.lengths)[:, None]
    worth = jnp.where(is_last, score, worth)
    worth, index = top_k(worth, min(_num_ranked(config), worth.shape[1]))  # [B, T]

    def take(array: Array) -> Array:
        return jnp.take_along_axis(array, index.reshape(*index.shape, *(1,) * (array.ndim - 2)), 1)

    chosen, score, states, operations = jax.tree.map(take, (chosen, score, states, operations))
    before = chosen.hypothesis
    gap, bits = cover(before.gap, before.bits, chosen.offset, chosen.length, chosen.masks)
    start = before.gap + chosen.offset
    end = start + chosen.length
    found = Hypotheses(score, gap, bits, start, end, chosen.entry, chosen.parent, states, operations)
    twin = _first_equal(_keys(options, found, chosen, is_last))
    is_good = (worth > IMPOSSIBLE / 2) & (worth >= worth[:, :1] - config.threshold * options.unit[:, None])
    is_new = (twin == jnp.arange(index.shape[1])[None]) & is_good
    slot = jnp.where(is_new, jnp.cumsum(is_new, 1) - 1, -1)
    priority = jnp.where(is_new, -jnp.arange(index.shape[1], dtype=jnp.float32)[None], IMPOSSIBLE)
    missing = max(0, config.kept - index.shape[1])
    is_kept, place = top_k(jnp.pad(priority, ((0, 0), (0, missing)), constant_values=IMPOSSIBLE), config.kept)
    is_kept = is_kept > IMPOSSIBLE / 2
    place = jnp.where(is_kept, place, 0)

    def pick(array: Array) -> Array:
        return jnp.take_along_axis(array, place.reshape(*place.shape, *(1,) * (array.ndim - 2)), 1)

    kept = jax.tree.map(pick, found)
    kept = kept._replace(score=jnp.where(is_kept, kept.score, IMPOSSIBLE))
    edges = state.edges
    if edges is not None:
        slot = jnp.take_along_axis(slot, twin, 1)
        slot = jnp.where((slot < config.kept) & is_good, slot, -1)
        own = StackEdges(score, found.start, found.end, found.entry, found.parent, slot)
        own = jax.tree.map(lambda array, part: _widened(part, array.shape[2]), edges, own)
        edges = _written(edges, own, number)
    worths = pair_worths(search, kept, number)
    return _State(
        _written(state.kept, kept, number),
        _written(state.ring, worths, number % state.ring.shape[0]),
        edges,
        state.num_scored + num_scored,
    )


def _written(arrays: Any, parts: Any, number: Array) -> Any:
    """Arrays with their row `number` replaced."""
    return jax.tree.map(lambda array, part: jax.lax.dynamic_update_index_in_dim(array, part, number, 0), arrays, parts)


def _widened(part: Array, size: int) -> Array:
    fill = IMPOSSIBLE if part.dtype == jnp.float32 else -1
    return jnp.pad(part, ((0, 0), (0, size - part.shape[1])), constant_values=fill)


def _keys(options: Options, found: Hypotheses, chosen: Chosen, is_last: Array) -> Array:
    """[B, T, C] int32: all that the future of a hypothesis depends on; of whole sentences only the states."""
    behind = chosen.offset - 2  # the bit of the word before the span
    is_free = (chosen.offset == 1) | ((chosen.offset > 1) & ~has_bit(chosen.hypothesis.bits, jnp.maximum(behind, 0)))
    swappable = jnp.where(is_free, found.start, NO_START)
    after = options.after[found.entry]
    columns = [
        found.gap,
        jnp.where(is_last, 0, found.end),
        jnp.where(is_last, 0, swappable),
        *(jnp.where(is_last, 0, jax.lax.bitcast_convert_type(after[..., o] + 0.0, jnp.int32)) for o in range(3)),
        *(jax.lax.bitcast_convert_type(found.bits[..., word], jnp.int32) for word in range(found.bits.shape[-1])),
        *found.states,
        *found.operations[:1],
        *(jnp.where(is_last, 0, cursor) for cursor in found.operations[1:]),
    ]
    return jnp.stack(columns, -1)


def _first_equal(keys: Array) -> Array:
    """[B, T] int32: the first candidate with the same key [B, T, C]; one itself if a hash deceives."""
    num = keys.shape[1]
    hashed = jnp.zeros(keys.shape[:2], jnp.uint32)
    for column in range(keys.shape[2]):
        hashed = (hashed ^ keys[..., column].astype(jnp.uint32)) * np.uint32(0x9E3779B1)
        hashed = hashed ^ (hashed >> 15)
    own = jnp.arange(num, dtype=jnp.int32)
    same = hashed[:, :, None] == hashed[:, None, :]
    twin = jnp.where(same, own[None, None], num).min(2)
    is_equal = (jnp.take_along_axis(keys, twin[..., None], 1) == keys).all(-1)
    return jnp.where(is_equal, twin, own[None])


def _totals(lms: tuple[SearchLm, ...], options: Options, kept: Hypotheses) -> Array:
    """[B, S] float32: scores of whole sentences with </s>."""
    num_sentences, slots = kept.score.shape[1:]
    row = jnp.arange(num_sentences)[:, None]
    whole = hypotheses_at(kept, row, options.lengths[:, None] * slots + jnp.arange(slots)[None], slots)
    total = whole.score
    for model, (lm, weight) in enumerate(zip(lms, weights_by_lm(lms, options.lm_weight), strict=True)):
        mixture = options.lm_mixture[model]
        spread = None if mixture is None else jnp.repeat(mixture, slots, axis=0)
        log_p = end_sentences(lm, whole.states[model].reshape(-1), spread).reshape(-1, *total.shape)
        total = total + (weight * log_p).sum(0)
    if options.operations is not None:
        total = total + end_operations(options.operations, whole.operations)
    return jnp.where(whole.score > IMPOSSIBLE / 2, total, IMPOSSIBLE)
