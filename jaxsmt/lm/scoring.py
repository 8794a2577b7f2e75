"""Scoring words with the automaton on the device, batched: one look-up for all models, then their mixture."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.common.sizes import power_of_four
from jaxsmt.lm.automaton import (
    ARC_LOG_P,
    ARC_NEXT,
    ARC_STATE,
    ARC_WORD,
    ROOT,
    STATE_BACKOFF,
    STATE_SUFFIX,
    UNIGRAM_LOG_P,
    UNIGRAM_NEXT,
    UNIGRAM_WORD,
    Automaton,
)
from jaxsmt.lm.perfect_hash import find_slots
from jaxsmt.text.vocabulary import PAD, SENTENCE_END

Array = Any
_STEP_WORDS = 1 << 16  # words per batch of `word_log_probs`, padding included


class LookUp(NamedTuple):
    """What the D models say about a word in its context.

    log_p: [..., D] float32, log p_d(word | state).
    log_rest: [..., D] float32, the rest cost where the whole context matched, else log p (see `search.chart.rows`).
    state: [...] int32, the state after the word.
    """

    log_p: Array
    log_rest: Array
    state: Array


@jax.jit
def look_up(automaton: Automaton, state: Array, word: Array) -> LookUp:
    """All models' log p(word | state), by at most `order` - 1 branch-free back-offs.

    Args:
      state, word: int32 of one shape [...].
    """
    shape, state, word = state.shape, state.reshape(-1), word.reshape(-1)
    unigram = _take(automaton.unigrams, word)
    log_p = _floats(unigram[:, UNIGRAM_LOG_P])
    rest = _take(automaton.unigram_rest, word) if _has_rest(automaton) else log_p
    search = _Search(state, unigram[:, UNIGRAM_NEXT], log_p, jnp.zeros_like(log_p))
    log_rest = jnp.where((state == ROOT)[:, None], rest, log_p)
    for attempt in range(automaton.order - 1):
        slot = _slots(automaton, search.state, unigram[:, UNIGRAM_WORD])
        search, found = _back_off_once(automaton, search, unigram[:, UNIGRAM_WORD], slot)
        # a rest cost is for a match of the whole context: what was backed off to will not match longer n-grams either
        is_whole = attempt == 0 and _has_rest(automaton)
        rest = _take(automaton.arc_rest, slot) if is_whole else search.log_p
        log_rest = jnp.where(found[:, None], rest, log_rest)
    log_p, log_rest = (values + search.log_backoff for values in (search.log_p, log_rest))
    columns = (*shape, automaton.num_models)
    return LookUp(log_p.reshape(columns), log_rest.reshape(columns), search.next_state.reshape(shape))


def _has_rest(automaton: Automaton) -> bool:
    return automaton.unigram_rest.shape[1] > 0


class _Search(NamedTuple):
    """The search for N words: the context still to try (the root once found), and the best entry so far."""

    state: Array  # [N]
    next_state: Array  # [N]
    log_p: Array  # [N, D]
    log_backoff: Array  # [N, D], paid so far


def _back_off_once(automaton: Automaton, search: _Search, word: Array, slot: Array) -> tuple[_Search, Array]:
    """Looks at the arc of the context; where it is not, pays the back-off and drops the first word. Also: found [N]."""
    arc = _take(automaton.arcs, slot)
    found = (arc[:, ARC_STATE] == search.state) & (arc[:, ARC_WORD] == word)
    context = _take(automaton.states, jnp.where(found, ROOT, search.state))
    search = _Search(
        context[:, STATE_SUFFIX],
        jnp.where(found, arc[:, ARC_NEXT], search.next_state),
        jnp.where(found[:, None], _floats(arc[:, ARC_LOG_P]), search.log_p),
        search.log_backoff + _floats(context[:, STATE_BACKOFF]),
    )
    return search, found


def _slots(automaton: Automaton, state: Array, word: Array) -> Array:
    """[N] int32: where the arc (state, word) would be; slot 0, which stays in the cache, for the root.

    The barrier keeps XLA from fusing the hash into the row fetch, where it would be computed anew for every column.
    """
    num_slots = automaton.arcs.shape[0]
    unsigned = (state.astype(jnp.uint32), word.astype(jnp.uint32))
    slot = find_slots(*unsigned, automaton.seeds, automaton.salt, num_slots, _take).astype(jnp.int32)
    return jax.lax.optimization_barrier(jnp.where(state == ROOT, 0, slot))


def _take(table: Array, index: Array) -> Array:
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")


def _floats(bits: Array) -> Array:
    return jax.lax.bitcast_convert_type(bits, jnp.float32)


def mix(log_p: Array, weights: Array | None) -> Array:
    """log Σ_d λ_d p_d: [...] from log_p [..., D] and weights that begin with the same axes and end in D.

    A weight of 1 gives that model's log p to the bit. Without weights there must be one model.
    """
    if weights is None:
        if log_p.shape[-1] != 1:
            raise ValueError(f"the automaton holds {log_p.shape[-1]} models: give their weights")
        return log_p[..., 0]
    missing = log_p.ndim - weights.ndim
    weights = weights.reshape(*weights.shape[:-1], *(1,) * missing, weights.shape[-1])
    used = jnp.where(weights > 0, log_p, -jnp.inf)
    top = jnp.max(used, axis=-1, keepdims=True)
    return (top + jnp.log(jnp.sum(weights * jnp.exp(used - top), axis=-1, keepdims=True)))[..., 0]


def score(automaton: Automaton, state: Array, word: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """log p(word | state) and the state after the word; states that compare equal score all futures alike.

    Args:
      automaton: of one model, or of D models for exact linear mixtures Σ_d λ_d p_d(word | state).
      state: [...] int32: `automaton.start` after <s>, ROOT without context, or what `score` returned.
      word: [...] int32; </s> is a word like others, words that no model knows are <unk>.
      weights: [B, ..., D] mixture weights for the leading axes of `state` (per sentence, say); none for one model.
    """
    found = look_up(automaton, state, word)
    return mix(found.log_p, weights), found.state


@jax.jit
def _score_rows(automaton: Automaton, words: Array, longest: Array) -> Array:
    """[T, B, D] log p of sentences laid out as columns [T, B]; nothing is done beyond `longest` words."""

    def step(place: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        state, log_p = carry
        found = look_up(automaton, state, jax.lax.dynamic_index_in_dim(words, place, keepdims=False))
        return found.state, jax.lax.dynamic_update_index_in_dim(log_p, found.log_p, place, 0)

    start = jnp.broadcast_to(automaton.start, words.shape[1:])
    log_p = jnp.zeros((*words.shape, automaton.num_models), jnp.float32)
    return jax.lax.fori_loop(0, longest, step, (start, log_p))[1]


def word_log_probs(automaton: Automaton, sentences: Ragged) -> Ragged:
    """Every model's log p of every word and of </s> at each sentence's end.

    Returns: rows one longer than the sentences, values [T + R, D] float32.
    """
    automaton = jax.device_put(automaton)
    lengths = sentences.lengths + 1
    offsets = offsets_of(lengths)
    values = np.zeros((int(offsets[-1]), automaton.num_models), np.float32)
    left = np.argsort(-lengths, kind="stable")
    while len(left):  # the longest first, padded to few shapes: few compilations
        longest = int(lengths[left[0]])
        width = power_of_four(longest, 32)
        size = min(max(1, _STEP_WORDS // width), power_of_four(len(left), 64))
        rows, left = left[:size], left[size:]
        words = np.full((size, width), PAD, np.int32)
        words[: len(rows)] = sentences.padded(rows, width, PAD)
        words[np.arange(len(rows)), lengths[rows] - 1] = SENTENCE_END
        scores = np.asarray(_score_rows(automaton, words.T, np.int32(longest))).transpose(1, 0, 2)[: len(rows)]
        inside = np.arange(width) < lengths[rows][:, None]
        values[(offsets[rows][:, None] + np.arange(width))[inside]] = scores[inside]
    return Ragged(values, offsets)


def sentence_log_probs(automaton: Automaton, sentences: Ragged) -> np.ndarray:
    """[R, D] float64: every model's log p of every sentence, </s> included."""
    words = word_log_probs(automaton, sentences)
    totals = np.zeros((len(words), words.values.shape[1]))
    np.add.at(totals, words.row_index, words.values)
    return totals


def sentence_entropies(automaton: Automaton, sentences: Ragged) -> np.ndarray:
    """[R, D] float64: every model's cross-entropy in bits per word (</s> counts as one) of every sentence."""
    return -sentence_log_probs(automaton, sentences) / np.log(2) / (sentences.lengths + 1)[:, None]
