"""An operation sequence model in the stack search: one more automaton, whose words are operations.

What a phrase adds is its program (see `jaxsmt.osm.phrases`), and the gaps and jumps from the cursor, which stands
behind the last block of source words, to the phrase's first block. Those depend on the coverage and the cursor alone,
so with the automaton's state the cursor is all that a hypothesis has to remember.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.lm.automaton import ROOT
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.stack.coverage import bits_below, count_bits, has_bit, last_bit, run_begins
from jaxsmt.search.stack.extending import Lanes, end_sentences, run_lanes, run_pieces

Array = Any
NAME = "osm"  # of the feature
MOST_MOVES = 4  # gap, forward, back, gap
NUM_HEAD = 3
_GAP, _FORWARD, _BACK = range(3)  # places in `move_ids`; a jump back by n is at _BACK + n - 1


class OperationOptions(NamedTuple):
    """The operations of E options; B sentences.

    lm: one feature; move_ids: [J] int32, see `OperationTable`.
    tokens, start, size, lead, first, last: programs, see `PhrasePrograms`; start and size are [E, NUM_CONTEXTS].
    estimate: [E] float32, log p of the option's operations without context.
    heads: [E, NUM_HEAD] int32, how little of a program is enough, see `estimate_operations`.
    weight: [B] float32; mixture: [B, D] float32 or None.
    steps: [T] int32, 0 to T - 1: no program has more tokens.
    """

    lm: SearchLm
    move_ids: Array
    tokens: Array
    start: Array
    size: Array
    lead: Array
    first: Array
    last: Array
    estimate: Array
    heads: Array
    weight: Array
    mixture: Array | None
    steps: Array


class Span(NamedTuple):
    """Spans and the coverage before them; [...] each, bits [..., W]. See `coverage`."""

    gap: Array
    bits: Array
    start: Array
    end: Array


class Moves(NamedTuple):
    """What leads to the first block of a phrase; [...] each.

    gap, forward, back, gap_after: in this order; back is the number of the gap, 0 for no jump, the others are bool.
    context: of the phrase, see `jaxsmt.osm.phrases`; behind: how many gaps are behind its own.
    """

    gap: Array
    forward: Array
    back: Array
    gap_after: Array
    context: Array
    behind: Array


def moves_to(span: Span, cursor: Array, first: Array) -> Moves:
    """cursor: [...] where it stands; first: [...] where the first block begins in the span. As `jaxsmt.osm.operations`.

    Words before the front, behind which nothing is covered, are covered or in gaps. From the span on, gaps and runs of
    covered words take turns up to the front, so there are as many of the ones as of the others.
    """
    from jaxsmt.osm.phrases import COVERED_NEXT, FRONT, NUM_CONTEXTS, OPEN_NEXT  # few searches need that room

    base = span.gap + 1  # the word of bit 0
    num_words = span.bits.shape[-1]

    def is_open(place: Array) -> Array:
        return (place >= span.gap) & ~has_bit(span.bits, place - base)

    front = span.gap + last_bit(span.bits) + jnp.where((span.bits != 0).any(-1), 2, 1)
    word = span.start + first
    is_ahead, is_inside = cursor < word, word < front
    between = bits_below(word - base, num_words) & ~bits_below(cursor - base, num_words)
    in_one_gap = is_inside & (cursor >= span.gap) & (count_bits(span.bits & between) == 0)
    skips = is_ahead & ((cursor == front) | in_one_gap)
    moves = (cursor != word) & ~skips
    runs = count_bits(run_begins(span.bits) & ~bits_below(span.end - base, num_words))
    back = jnp.where(moves & is_inside, runs, 0)
    is_left = (span.start > 0) & is_open(span.start - 1)
    forward = moves & is_ahead
    leaves = moves & (cursor < front) & is_open(cursor)
    gap_after = ((back > 0) & ((first > 0) | is_left)) | (forward & (front < word))
    next_word = jnp.where(has_bit(span.bits, span.end - base), COVERED_NEXT, OPEN_NEXT)
    context = NUM_CONTEXTS // 2 * is_left + jnp.where(front <= span.start, FRONT, next_word)
    return Moves(skips | leaves, forward, back, gap_after, context, jnp.maximum(runs - 1, 0))


def _packed(moves: Moves, move_ids: Array) -> tuple[Array, list[Array]]:
    """How many moves there are [L], and their ids, MOST_MOVES of [L]."""
    last = move_ids.shape[0] - 1
    jump = move_ids[jnp.minimum(_BACK - 1 + moves.back, last)]
    ids = [move_ids[_GAP], move_ids[_FORWARD], jump, move_ids[_GAP]]
    happens = [moves.gap, moves.forward, moves.back > 0, moves.gap_after]
    before = [sum(part.astype(jnp.int32) for part in happens[:place]) for place in range(MOST_MOVES + 1)]
    packed = [
        sum(jnp.where(happens[m] & (before[m] == place), ids[m], 0) for m in range(place, MOST_MOVES))
        for place in range(MOST_MOVES)
    ]
    return before[-1], packed


class OperationLanes(NamedTuple):
    """Phrases behind hypotheses; [B, M] each.

    entry: options in their spans; before: state and cursor; is_valid: the others cost nothing.
    """

    entry: Array
    before: tuple[Array, ...]
    is_valid: Array


def append_operations(
    options: OperationOptions, span: Span, phrases: OperationLanes, block: int
) -> tuple[Array, tuple[Array, ...]]:
    """The weighted change of the estimated score [B, M], and state and cursor behind the phrases [B, M] each.

    block: lanes per step.
    """
    entry, (state, cursor), is_valid = phrases
    shape = entry.shape
    moves = moves_to(span, cursor, options.first[entry])
    context = entry * options.start.shape[1] + moves.context
    start, count = (column.reshape(-1)[context] for column in (options.start, options.size))
    num_moves, ids = _packed(moves, options.move_ids)
    head, right, bits = (options.heads.reshape(-1)[entry * NUM_HEAD + column] for column in range(NUM_HEAD))
    is_head = (head > 0) & ((num_moves == 0) | (options.lead[entry] == 0))
    count = jnp.where(is_valid, jnp.where(is_head, head, count) + num_moves, 0)
    columns = (start, options.lead[entry], num_moves, moves.behind, *ids)
    more = tuple(column.reshape(-1) for column in columns)
    mixture = None if options.mixture is None else jnp.repeat(options.mixture, shape[1], axis=0)
    lanes = Lanes(count.reshape(-1), state.reshape(-1), mixture, more)
    most = options.steps.shape[0] + MOST_MOVES
    gain, after = run_lanes(options.lm, lanes, partial(_token_at, options), most, block)
    estimate = jnp.where(is_head, jax.lax.bitcast_convert_type(bits, jnp.float32), options.estimate[entry])
    change = options.weight[:, None] * (gain[0].reshape(shape) - estimate)
    return change, (jnp.where(is_head, right, after.reshape(shape)), span.start + options.last[entry])


def _token_at(options: OperationOptions, step: Array, is_active: Array, *columns: Array) -> Array:
    """Operation `step` of programs with moves put in behind `lead` tokens; columns [L]: see `append_operations`."""
    start, lead, num_moves, behind, *ids = columns
    rank = step - lead
    is_move = (rank >= 0) & (rank < num_moves)
    place = start + step - jnp.where(rank >= 0, num_moves, 0)
    token = options.tokens.at[jnp.where(is_active & ~is_move, place, 0)].get(mode="promise_in_bounds")
    token = _resolved(options.move_ids, token, behind)
    for place_of_move, own in enumerate(ids):
        token = jnp.where(is_move & (rank == place_of_move), own, token)
    return token


def _resolved(move_ids: Array, token: Array, behind: Array | int) -> Array:
    """Ids of operations, of tokens that may be jumps back."""
    number = jnp.clip(_BACK - 1 + behind - token, 0, move_ids.shape[0] - 1)
    return jnp.where(token < 0, move_ids[number], token)


def start_operations(options: OperationOptions, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """State and cursor of hypotheses that cover nothing."""
    return jnp.broadcast_to(options.lm.automaton.start, shape).astype(jnp.int32), jnp.zeros(shape, jnp.int32)


def end_operations(options: OperationOptions, operations: tuple[Array, ...]) -> Array:
    """[B, S] float32: the weighted log p of the end in the states of whole sentences."""
    state = operations[0]
    mixture = None if options.mixture is None else jnp.repeat(options.mixture, state.shape[1], axis=0)
    log_p = end_sentences(options.lm, state.reshape(-1), mixture)[0]
    return options.weight[:, None] * log_p.reshape(state.shape)


class ProgramLanes(NamedTuple):
    """Programs of E options, to be scored without context; [E] each, mixture [E, D] or None."""

    start: Array
    count: Array
    mixture: Array | None


@partial(jax.jit, static_argnames="block")
def estimate_operations(
    lm: SearchLm, move_ids: Array, tokens: Array, programs: ProgramLanes, steps: Array, block: int
) -> tuple[Array, Array]:
    """[E] float32: log p of programs without context and moves; jumps back are those of a phrase that nothing follows.

    The other arguments as in `OperationOptions`. Also [E, NUM_HEAD] int32: the number of operations behind which a
    program no longer depends on what comes before it, 0 if it always does; the state behind the whole program; the bits
    of log p of those operations without context. Where nothing is put in between them, they are all that is to score.
    """

    def token_at(step: Array, is_active: Array, start: Array) -> Array:
        token = tokens.at[jnp.where(is_active, start + step, 0)].get(mode="promise_in_bounds")
        return _resolved(move_ids, token, 0)

    lanes = Lanes(programs.count, jnp.full_like(programs.start, ROOT), programs.mixture, (programs.start,))
    gain, state, open_gain, head = run_pieces(lm, lanes, token_at, steps.shape[0], block)
    return gain[0], jnp.stack([head, state, jax.lax.bitcast_convert_type(open_gain[0], jnp.int32)], 1)
