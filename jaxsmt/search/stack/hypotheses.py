"""What the stack search works on: options of spans, hypotheses, and what is found."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.stack.coverage import Window
from jaxsmt.search.stack.operations.appending import OperationOptions

Array = Any
MONO, SWAPPED, OTHER = range(3)
NO_ENTRY = 0  # the option of a hypothesis that covers nothing
NO_START = -1


class Options(NamedTuple):
    """What the spans of B sentences of at most N words may become; E options, of which the first is NO_ENTRY.

    rows: for each language model [E, width] int32, see `chart.rows`.
    score: [E] float32 with penalties and estimated language-model scores.
    before, after: [E, 3] float32: weighted scores of orientations to the previous and to the next phrase.
    ranked: [3, E] int32: the options of a list by falling worth in an orientation; worth: [3, E] float32.
    first, count: [B, N, L] int32: the list of a span by begin and length.
    lengths: [B] int32; lm_weight: [B, M] float32, of all features of all models; distortion, unit: [B] float32.
    lm_mixture: for each language model [B, D] float32 or None.
    operations: of the operation sequence model, if there is one.
    """

    rows: tuple[Array, ...]
    score: Array
    before: Array
    after: Array
    ranked: Array
    worth: Array
    first: Array
    count: Array
    lengths: Array
    lm_weight: Array
    distortion: Array
    unit: Array
    lm_mixture: tuple[Array | None, ...]
    operations: OperationOptions | None = None


class Search(NamedTuple):
    """What stays the same while stacks are filled.

    table_limit: the largest number of options a list has; block: see `StackTiles`.
    futures: [B, N + 1, N + 1], see `future`.
    """

    lms: tuple[SearchLm, ...]
    options: Options
    window: Window
    config: StackConfig
    table_limit: int
    block: int
    futures: Array


class Hypotheses(NamedTuple):
    """[..., S] each, but bits [..., S, W] and states, for each language model [..., S].

    score: without estimates, IMPOSSIBLE where there is none.
    gap, bits: coverage. start, end: the last phrase's span; entry: its option.
    parent: stack · S + slot of the hypothesis before it.
    operations: state of the operation sequence model and where its cursor is, if there is such a model.
    """

    score: Array
    gap: Array
    bits: Array
    start: Array
    end: Array
    entry: Array
    parent: Array
    states: tuple[Array, ...]
    operations: tuple[Array, ...] = ()


class StackEdges(NamedTuple):
    """The best candidates of each stack that the language models scored, best first, for lists; [N + 1, B, T]."""

    score: Array
    start: Array
    end: Array
    entry: Array
    parent: Array
    slot: Array  # the hypothesis that the candidate is or was recombined into; -1 if it was dropped


class Stacks(NamedTuple):
    """What was found.

    score, start, end, entry, parent: [N + 1, B, S] as in `Hypotheses`, best first, estimates included.
    total: [B, S] float32: scores of whole sentences with </s>, of the hypotheses in stack `length`.
    num_scored: [] int32: candidates that the language model scored.
    """

    score: Array
    start: Array
    end: Array
    entry: Array
    parent: Array
    total: Array
    edges: StackEdges | None
    num_scored: Array


def hypotheses_at(kept: Hypotheses, row: Array, parent: Array, slots: int) -> Hypotheses:
    """Hypotheses [B, Q] of all stacks, by stack · S + slot."""
    stack, slot = parent // slots, parent % slots
    num_sentences = kept.score.shape[1]
    place = (stack * num_sentences + row) * slots + slot

    def take(array: Array) -> Array:
        return array.reshape(-1, *array.shape[3:])[place]

    return jax.tree.map(take, kept)


def top_k(values: Array, num: int) -> tuple[Array, Array]:
    """`jax.lax.top_k`, kept apart from what is done with its result (see `chart.kernel`)."""
    return jax.lax.optimization_barrier(jax.lax.top_k(values, num))


def orientation_of(start: Array, stop: Array, last_start: Array, last_end: Array) -> Array:
    """MONO where a span begins at the end of the last phrase, SWAPPED where it ends at its begin, else OTHER."""
    return jnp.where(start == last_end, MONO, jnp.where(stop == last_start, SWAPPED, OTHER))
