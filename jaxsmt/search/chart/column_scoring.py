"""`jaxsmt.lm.scoring.look_up` for devices on which a launch costs more than the work of many lanes."""

from typing import Any

import jax
import jax.numpy as jnp

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
from jaxsmt.lm.scoring import LookUp

Array = Any


def look_up_columns(automaton: Automaton, state: Array, word: Array) -> LookUp:
    """The same as `look_up` of an automaton without rest costs; state, word: [N].

    Tables are read number by number instead of row by row: then every value on the way has the shape [N], and XLA puts
    all attempts into one kernel, where rows would be written to memory after each. The barrier at the end keeps it from
    computing the same again for every use of the results.
    """
    known, next_state = (_at(automaton.unigrams, word, column) for column in (UNIGRAM_WORD, UNIGRAM_NEXT))
    log_p = _floats_at(automaton.unigrams, word, UNIGRAM_LOG_P)
    log_backoff = [jnp.zeros_like(column) for column in log_p]
    for _ in range(automaton.order - 1):
        slot = _slots(automaton, state, known)
        found = (_at(automaton.arcs, slot, ARC_STATE) == state) & (_at(automaton.arcs, slot, ARC_WORD) == known)
        next_state = jnp.where(found, _at(automaton.arcs, slot, ARC_NEXT), next_state)
        longer = _floats_at(automaton.arcs, slot, ARC_LOG_P)
        log_p = [jnp.where(found, *columns) for columns in zip(longer, log_p, strict=True)]
        context = jnp.where(found, ROOT, state)
        paid = _floats_at(automaton.states, context, STATE_BACKOFF)
        log_backoff = [before + own for before, own in zip(log_backoff, paid, strict=True)]
        state = _at(automaton.states, context, STATE_SUFFIX)
    totals = [own + paid for own, paid in zip(log_p, log_backoff, strict=True)]
    next_state, *totals = jax.lax.optimization_barrier((next_state, *totals))
    both = jnp.stack(totals, -1)
    return LookUp(both, both, next_state)


def _slots(automaton: Automaton, state: Array, word: Array) -> Array:
    """[N] int32: where the arc (state, word) would be; slot 0 for the root."""
    unsigned = (state.astype(jnp.uint32), word.astype(jnp.uint32))
    slot = find_slots(*unsigned, automaton.seeds, automaton.salt, automaton.arcs.shape[0], _take)
    return jnp.where(state == ROOT, 0, slot.astype(jnp.int32))


def _floats_at(table: Array, row: Array, columns: slice) -> list[Array]:
    """Float32 columns, [N] each, of a table of their bits."""
    bits = (_at(table, row, column) for column in range(table.shape[1])[columns])
    return [jax.lax.bitcast_convert_type(column, jnp.float32) for column in bits]


def _at(table: Array, row: Array, column: int) -> Array:
    return _take(jnp.asarray(table).reshape(-1), row * table.shape[1] + column)


def _take(table: Array, index: Array) -> Array:
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")
