"""What the language model needs to know of a piece of target text: one int32 row.

A piece is a hypothesis of the chart, or a run of words inside a rule. Its first words are scored without their left
context; they are the *open* words w_1..w_k, up to the first word after which the automaton's state no longer depends
on what stands to the left (the left state of Heafield, Koehn and Lavie 2012, section 3.2). Joining two pieces scores
the right one's open words again and leaves all its other words as they are.

    columns 0..n-2   the open words (n is the order of the model)
    RIGHT            the automaton's state after the last word
    INFO             number of open words, + CLOSED if the rest does not depend on the left context
    ESTIMATE…        bits of float32: Σ of the open words' rest costs, each given the words of the piece before it;
                     one column for each feature of the model
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.devices.traced import traced_once
from jaxsmt.lm.automaton import (
    ARC_LOG_P,
    ARC_NEXT,
    ARC_STATE,
    ROOT,
    STATE_SUFFIX,
    UNIGRAM_LOG_P,
    UNIGRAM_NEXT,
    UNIGRAM_WORD,
    Automaton,
    to_device,
)
from jaxsmt.lm.scoring import look_up, mix
from jaxsmt.search.chart.column_scoring import look_up_columns
from jaxsmt.text.vocabulary import PAD

Array = Any
CLOSED = 16
COUNT_MASK = 15
LINEAR, LOG_LINEAR, BOTH = "linear", "loglinear", "both"
COMBINATIONS = (LINEAR, LOG_LINEAR, BOTH)


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["automaton", "left_length", "rest_gain"],
    meta_fields=["combination"],
)
@dataclass(frozen=True)
class SearchLm:
    """A language model as the search uses it: D models that share one automaton, as F features.

    automaton: without rest costs of its own.
    left_length: [S] int32, see `Automaton`.
    rest_gain: [S, D] float32: log rest − log p of the last word of the state's context, given the words before it; or
        no columns. Rest costs count for words that stay open; the word that closes a piece is scored by its log p.
    combination: LINEAR: one feature, log Σ_d λ_d p_d; LOG_LINEAR: the D features log p_d (Koehn and Schroeder 2007);
        BOTH: the former, then the latter.
    """

    automaton: Automaton
    left_length: Array
    rest_gain: Array
    combination: str = LINEAR

    @property
    def order(self) -> int:
        return self.automaton.order

    @property
    def num_features(self) -> int:
        return num_lm_features(self.combination, self.automaton.num_models)

    @property
    def has_mixture(self) -> bool:
        """Whether its features depend on weights λ of its models."""
        return self.combination != LOG_LINEAR and self.automaton.num_models > 1

    def features(self, log_p: Array, lm_mixture: Array | None) -> Array:
        """[F, L] from the models' log p [L, D]; lm_mixture: [L, D], or None where there is none."""
        parts = [] if self.combination == LOG_LINEAR else [mix(log_p, lm_mixture)[None]]
        parts += [] if self.combination == LINEAR else [log_p.T]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)


def num_lm_features(combination: str, num_models: int) -> int:
    """F of D models."""
    return {LINEAR: 1, LOG_LINEAR: num_models, BOTH: 1 + num_models}[combination]


def weights_by_lm(lms: Sequence[SearchLm], lm_weight: Array) -> list[Array]:
    """For each language model [F, B, 1], from the weights [B, M] of all their features."""
    ends = np.cumsum([lm.num_features for lm in lms]).tolist()
    return [lm_weight[:, begin:end].T[:, :, None] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def prepare_lm(automaton: Automaton, combination: str = LINEAR) -> SearchLm:
    """Brings a language model to the device, its rest costs laid out by state: one fetch a word instead of five."""
    num_arcs, num_words = len(automaton.arcs), len(automaton.unigrams)
    gain = _rest_gains(jax.tree.map(np.asarray, automaton))
    plain = replace(
        automaton, arc_rest=np.zeros((num_arcs, 0), np.float32), unigram_rest=np.zeros((num_words, 0), np.float32)
    )
    left_length = np.asarray(automaton.left_length).astype(np.int32)
    return SearchLm(to_device(plain), jax.device_put(left_length), jax.device_put(gain), combination)


def _rest_gains(automaton: Automaton) -> np.ndarray:
    """[S, D] or [S, 0] float32"""
    num_states = len(automaton.states)
    if not automaton.unigram_rest.shape[1]:
        return np.zeros((num_states, 0), np.float32)
    gain = np.zeros((num_states, automaton.num_models), np.float32)
    suffix, length = automaton.states[:, STATE_SUFFIX], np.zeros(num_states, np.int32)
    for _ in range(automaton.order):  # the context without its first word is one word shorter
        length = np.where(np.arange(num_states) == ROOT, 0, length[suffix] + 1).astype(np.int32)
    arcs, unigrams = automaton.arcs, automaton.unigrams
    before, after = arcs[:, ARC_STATE], arcs[:, ARC_NEXT]
    own = np.flatnonzero((before >= 0) & (length[after] == length[before] + 1))  # leads to its own context
    gain[after[own]] = automaton.arc_rest[own] - np.ascontiguousarray(arcs[own, ARC_LOG_P]).view(np.float32)
    after, word = unigrams[:, UNIGRAM_NEXT], unigrams[:, UNIGRAM_WORD]
    own = np.flatnonzero((length[after] == 1) & (word == np.arange(len(unigrams))))
    log_p = np.ascontiguousarray(unigrams[own, UNIGRAM_LOG_P]).view(np.float32)
    gain[after[own]] = automaton.unigram_rest[own] - log_p
    return gain


class Columns(NamedTuple):
    """Where things stand in a row, for one model; the estimates are the last columns."""

    num_words: int
    right: int
    info: int
    estimate: int
    width: int


def columns_of(lm: SearchLm) -> Columns:
    num_words = max(lm.order - 1, 1)
    return Columns(num_words, num_words, num_words + 1, num_words + 2, num_words + 2 + lm.num_features)


class Piece(NamedTuple):
    """Pieces under construction, one a lane; [L] each, but words [n-1, L], estimate and total [F, L]."""

    words: Array
    count: Array  # int32
    is_closed: Array  # bool
    state: Array  # int32
    estimate: Array  # float32, of the open words
    total: Array  # float32, of all words scored so far, open ones by estimate


def empty_pieces(lm: SearchLm, num: int) -> Piece:
    """Pieces without words; under a unigram model nothing is ever open."""
    zeros = jnp.zeros((lm.num_features, num), jnp.float32)
    return Piece(
        jnp.zeros((columns_of(lm).num_words, num), jnp.int32),
        jnp.zeros(num, jnp.int32),
        jnp.full(num, lm.order == 1),
        jnp.full(num, ROOT, jnp.int32),
        zeros,
        zeros,
    )


def append_word(
    lm: SearchLm, piece: Piece, word: Array, is_active: Array, lm_mixture: Array | None, by_column: bool = False
) -> Piece:
    """Scores one more word in each active lane; word, is_active: [L]; lm_mixture: [L, D] or None.

    by_column: looks the words up with `look_up_columns`.
    """
    ask = look_up_columns if by_column else look_up
    found = ask(lm.automaton, jnp.where(is_active, piece.state, ROOT), jnp.where(is_active, word, PAD))
    was_open = is_active & ~piece.is_closed
    count = piece.count + was_open
    closes = (_at(lm.left_length, found.state) != count) | (count >= lm.order - 1)
    log_p = found.log_p
    if lm.rest_gain.shape[1]:
        log_p = log_p + jnp.where((was_open & ~closes)[:, None], _at(lm.rest_gain, found.state), 0.0)
    gain = jnp.where(is_active[None], lm.features(log_p, lm_mixture), 0.0)
    place = jnp.arange(piece.words.shape[0])[:, None]
    return Piece(
        jnp.where(was_open[None] & (place == piece.count[None]), word[None], piece.words),
        count,
        piece.is_closed | (was_open & closes),
        jnp.where(is_active, found.state, piece.state),
        piece.estimate + jnp.where(was_open[None], gain, 0.0),
        piece.total + gain,
    )


def _at(table: Array, index: Array) -> Array:
    return table.at[index].get(mode="promise_in_bounds")


def pack(piece: Piece) -> Array:
    """[L, width] int32 rows."""
    info = piece.count + CLOSED * piece.is_closed
    bits = jax.lax.bitcast_convert_type(piece.estimate, jnp.int32)
    return jnp.concatenate([piece.words, jnp.stack([piece.state, info]), bits]).T


def names_of(piece: Piece) -> Array:
    """[n + 1, ...] int32: all that the language model can tell pieces by; the estimate follows from the words."""
    info = piece.count + CLOSED * piece.is_closed
    return jnp.concatenate([piece.words, jnp.stack([piece.state, info])])


@traced_once()
def score_runs(lm: SearchLm, words: Array, longest: Array, lm_mixture: Array | None) -> tuple[Array, Array, Array]:
    """Of runs of words [S, L], padded with PAD: rows [S, width], estimated and plain Σ log p [F, S].

    longest: [] int32 the length of the longest run; no step is made beyond.
    """

    def step(position: Array, carry: tuple[Piece, Array]) -> tuple[Piece, Array]:
        piece, log_p = carry
        word = jax.lax.dynamic_index_in_dim(words, position, 1, keepdims=False)
        found = lm.features(look_up(lm.automaton, piece.state, word).log_p, lm_mixture)
        piece = append_word(lm, piece, word, word != PAD, lm_mixture)
        return piece, log_p + jnp.where((word != PAD)[None], found, 0.0)

    start = (empty_pieces(lm, words.shape[0]), jnp.zeros((lm.num_features, words.shape[0]), jnp.float32))
    piece, log_p = jax.lax.fori_loop(0, longest, step, start)
    return pack(piece), piece.total, log_p


def start_row(lm: SearchLm) -> np.ndarray:
    """[width] int32: the row of <s>, which closes everything to its right."""
    columns = columns_of(lm)
    row = np.zeros(columns.width, np.int32)
    row[columns.right] = int(lm.automaton.start)
    row[columns.info] = CLOSED
    return row


def empty_row(lm: SearchLm) -> np.ndarray:
    """[width] int32: the row of no words at all."""
    row = np.zeros(columns_of(lm).width, np.int32)
    row[columns_of(lm).info] = CLOSED if lm.order == 1 else 0
    return row
