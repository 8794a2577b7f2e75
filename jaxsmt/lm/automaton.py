"""An n-gram model, or several at once, as an automaton for the device: one int32 state, one look-up per back-off.

A state is a context that still matters: one that some n-gram continues or whose back-off costs something (state
minimisation, Li and Khudanpur 2008). An arc (state, word) is an n-gram of order 2 or more, found by a perfect hash on
the exact key; unigrams are indexed by word. For D models the arcs are the union of their n-grams, with D
log-probabilities each.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.devices.room import check_model_room
from jaxsmt.common.errors import UserError
from jaxsmt.common.sizes import padded_rows, rounded_size
from jaxsmt.lm.model import Level, Lm
from jaxsmt.lm.perfect_hash import SMALLEST_TABLE, build_perfect_hash
from jaxsmt.text.vocabulary import SENTENCE_START, UNKNOWN

ROOT = 0  # the state without context
FORMAT_VERSION = 1
_HUGE_PAGE = 1 << 21  # bytes
_ALIGNMENT = 64  # bytes, what JAX wants of memory it does not copy
ARC_STATE, ARC_WORD, ARC_NEXT, ARC_LOG_P = 0, 1, 2, slice(3, None)  # columns of arcs
STATE_SUFFIX, STATE_BACKOFF = 0, slice(1, None)  # of states
UNIGRAM_NEXT, UNIGRAM_WORD, UNIGRAM_LOG_P = 0, 1, slice(2, None)  # of unigrams
Array = Any  # numpy on the host, JAX on the device


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["arcs", "states", "unigrams", "seeds", "salt", "left_length", "arc_rest", "unigram_rest", "start"],
    meta_fields=["order"],
)
@dataclass(frozen=True)
class Automaton:
    """The automaton of D models. Floats are stored as the bits of float32 inside integer rows: a row is one fetch.

    Sizes are rounded up (`rounded_size`), so that models of about one size share compiled programs: states beyond
    the last are never reached, and words beyond the last are unknown.

    arcs: [slots, 3 + D] int32 rows (state, word, next state, bits of D log p); state is -1 in an empty slot.
    states: [S, 1 + D] int32 rows (state of the context without its first word, bits of D log back-offs).
    unigrams: [V, 2 + D] int32 rows (next state, word as arcs know it, bits of D log p).
    seeds: [buckets] uint16, salt: [1] uint32: the perfect hash of arcs.
    left_length: [S] uint8, the length of the context if some longer context ends in it, else 0.
    arc_rest: [slots, D] float32, unigram_rest: [V, D] float32: log rest costs (see `Level`), or no columns (D = 0)
        where rest costs are plain log-probabilities.
    start: [] int32, the state after <s>.
    order: the longest n-grams.
    """

    arcs: Array
    states: Array
    unigrams: Array
    seeds: Array
    salt: Array
    left_length: Array
    arc_rest: Array
    unigram_rest: Array
    start: Array
    order: int

    @property
    def num_models(self) -> int:
        return self.arcs.shape[1] - ARC_LOG_P.start

    @property
    def num_bytes(self) -> int:
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self))


def build_automaton(lm: Lm, rest_costs: bool = True) -> Automaton:
    """Packs a model on the host; `to_device` brings the result to the device. Without rest costs it is smaller."""
    return pack_levels(lm.levels, lm.is_word, rest_costs)


def pack_levels(levels: tuple[Level, ...], is_word: np.ndarray, rest_costs: bool) -> Automaton:
    """Packs n-gram tables with [G] or [G, D] probabilities; `is_word` [V] has the words that some model knows."""
    is_state = _which_are_states(levels)
    states_after = _number_states(levels, is_state)
    arcs = np.concatenate(
        [_no_arcs(levels[0])] + [_arcs(levels[k], *states_after[k - 1 : k + 1]) for k in range(1, len(levels))]
    )
    seeds, salt, owners = build_perfect_hash(arcs[:, ARC_STATE], arcs[:, ARC_WORD])
    rest_levels = levels if rest_costs and any(_has_rest(level) for level in levels) else ()
    words = np.where(is_word, np.arange(len(is_word)), UNKNOWN)
    unigrams = np.concatenate([states_after[0][:, None], words[:, None], _bits(levels[0].log_p)], axis=1)[words]
    unknown = unigrams[UNKNOWN][None]
    missing = rounded_size(len(words), SMALLEST_TABLE) - len(words)
    unigrams = np.concatenate([unigrams, np.repeat(unknown, missing, axis=0)])
    words = np.concatenate([words, np.full(missing, UNKNOWN)])
    return Automaton(
        _spread(arcs, owners),
        padded_rows(_state_rows(levels, is_state, states_after), SMALLEST_TABLE),
        unigrams.astype(np.int32),
        seeds,
        salt,
        padded_rows(_left_lengths(levels, is_state, states_after), SMALLEST_TABLE),
        _spread(np.concatenate([_columns(level.log_rest) for level in rest_levels[1:]]), owners)
        if len(rest_levels) > 1
        else np.zeros((len(owners), 0), np.float32),
        _columns(rest_levels[0].log_rest)[words] if rest_levels else np.zeros((len(words), 0), np.float32),
        np.int32(states_after[0][SENTENCE_START]),
        len(levels),
    )


def to_device(automaton: Automaton) -> Automaton:
    """Brings an automaton to the device, ready for many queries.

    On the CPU large tables go to memory in huge pages, for which numpy asks, and JAX takes that memory as it is:
    queries are a fifth faster than from a memory-mapped file, which only costs no memory of its own.
    """
    check_model_room(automaton, f"the automaton of {automaton.num_models} language model(s) of order {automaton.order}")
    if jax.default_backend() == "cpu":
        automaton = jax.tree.map(_in_huge_pages, automaton)
    return jax.device_put(automaton)


def _in_huge_pages(array: Array) -> Array:
    array = np.asarray(array)
    if array.nbytes < _HUGE_PAGE:
        return array
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _columns(values: np.ndarray) -> np.ndarray:
    """[G, D] from [G] or [G, D]."""
    return np.ascontiguousarray(values if values.ndim == 2 else values[:, None])


def _bits(values: np.ndarray) -> np.ndarray:
    return _columns(values).view(np.int32)


def _has_rest(level: Level) -> bool:
    return level.log_rest is not level.log_p and not np.array_equal(level.log_rest, level.log_p)


def _which_are_states(levels: tuple[Level, ...]) -> list[np.ndarray]:
    """Per order below the highest, [G] bool: has continuations, or a back-off, or ends a longer state."""
    kept: list[np.ndarray] = []
    for k in range(len(levels) - 2, -1, -1):
        is_state = (_columns(levels[k].log_backoff) != 0).any(axis=1)
        is_state[levels[k + 1].prefix] = True
        if kept:
            is_state[levels[k + 1].suffix[kept[0]]] = True
        kept.insert(0, is_state)
    return kept


def _number_states(levels: tuple[Level, ...], is_state: list[np.ndarray]) -> list[np.ndarray]:
    """Per order, [G] int32: the state after each n-gram: its own, or that of its longest suffix that is one."""
    states_after, num_states = [], 1  # 0 is the root
    shorter = np.zeros(1, np.int32)
    for k, level in enumerate(levels):
        after = shorter[level.suffix]
        if k < len(is_state):
            after[is_state[k]] = num_states + np.arange(is_state[k].sum())
            num_states += int(is_state[k].sum())
        states_after.append(after)
        shorter = after
    return states_after


def _no_arcs(unigrams: Level) -> np.ndarray:
    return np.zeros((0, 3 + _columns(unigrams.log_p).shape[1]), np.int32)


def _arcs(level: Level, below: np.ndarray, here: np.ndarray) -> np.ndarray:
    """[G, 3 + D] int32: the rows of one order, from the states after the n-grams of the order below and of this one."""
    links = np.stack([below[level.prefix], level.word, here], axis=1)
    return np.concatenate([links, _bits(level.log_p)], axis=1)


def _spread(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Rows into the slots of the hash; empty slots hold -1, which is no state."""
    spread = np.full((len(owners), rows.shape[1]), -1, rows.dtype)
    filled = owners >= 0
    spread[filled] = rows[owners[filled]]
    return spread


def _state_rows(levels: tuple[Level, ...], is_state: list[np.ndarray], states_after: list[np.ndarray]) -> np.ndarray:
    """[S, 1 + D] int32. The root points to itself at no cost, so that a loop may run past it."""
    shorter = np.zeros(1, np.int32)
    rows = [np.zeros((1, 1 + _columns(levels[0].log_p).shape[1]), np.int32)]
    for level, kept, after in zip(levels, is_state, states_after, strict=False):
        suffix = shorter[level.suffix[kept]]
        rows.append(np.concatenate([suffix[:, None], _bits(level.log_backoff[kept])], axis=1))
        shorter = after
    return np.concatenate(rows)


def _left_lengths(levels: tuple[Level, ...], is_state: list[np.ndarray], states_after: list[np.ndarray]) -> np.ndarray:
    lengths = [np.zeros(1, np.uint8)]
    for k, kept in enumerate(is_state):
        extends = np.zeros(len(kept), bool)
        if k + 1 < len(is_state):
            extends[levels[k + 1].suffix[is_state[k + 1]]] = True
        lengths.append(np.where(extends[kept], k + 1, 0).astype(np.uint8))
    return np.concatenate(lengths)


def save_automaton(automaton: Automaton, path: str | Path) -> None:
    """Writes one safetensors file."""
    arrays = {name: np.asarray(value) for name, value in vars(automaton).items() if name != "order"}
    save_arrays(path, arrays | {"format": np.array([FORMAT_VERSION, automaton.order], np.int32)})


def load_automaton(path: str | Path) -> Automaton:
    """Opens what `save_automaton` wrote, memory-mapped; `to_device` brings it to the device."""
    arrays = open_arrays(path)
    version, order = arrays.pop("format", np.zeros(2, np.int32)).tolist()
    if version != FORMAT_VERSION or "arcs" not in arrays:
        raise UserError(f"'{path}' is not a language-model automaton of this version: delete it and run train.py again")
    return Automaton(**arrays, order=order)
