"""One pass of EM over the cells of a corpus, both directions at once: e_step per batch, statistics add up."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.align.agreement import agreed_cells, agreed_evidence, packed_links
from jaxsmt.align.lexicon import Lexicon, LexiconCounts, carry_hot
from jaxsmt.align.positions import Positions
from jaxsmt.align.posteriors import Array, Direction, Evidence, Number, diagonal_posteriors, hmm_posteriors
from jaxsmt.align.wide import wide_hmm_posteriors
from jaxsmt.common.devices.fixed_point import add_by_key

UNSEEN = 1e-9  # probability of a word pair that was never seen in training


class PaddedPairs(NamedTuple):
    """A batch of sentence pairs with the pair numbers of their cells."""

    pair_index: Array  # [B, N, M] int32; -1 for unknown pairs
    source: Array  # [B, N] int32 words
    target: Array  # [B, M]
    num_source: Array  # [B]
    num_target: Array  # [B]


class BatchSums(NamedTuple):
    """Small sums of a batch, forward and reverse along the first axis."""

    log_likelihood: Array  # [2]
    feature: Array  # [2]
    null: Array  # [2] expected number of words from NULL
    jump: Array  # [2, 2L+1]
    departures: Array  # [2, L+1, L+1]


class PassKind(NamedTuple):
    """What is computed in a pass; every kind is compiled on its own.

    agreement: expected counts of links are products of both directions' posteriors.
    wide: few large steps, and sums that no order of threads decides, as a GPU wants it; a processor is faster without.
    """

    model: str
    agreement: bool = False
    wide: bool = False


class Parameters(NamedTuple):
    """All that the posteriors depend on beside the text, and what their product must exceed to be a link."""

    lexicon: Lexicon
    positions: Positions
    p0: Number
    threshold: Number


class FoundLinks(NamedTuple):
    """The most probable partner of every word, -1 for NULL; and the links that both directions agree on.

    Posterior decoding; for the models without memory the first two are the Viterbi alignment. Ties go to NULL, then to
    the smaller position.
    """

    for_target: Array  # [B, M] int32 source positions, by the forward direction
    for_source: Array  # [B, N] int32 target positions, by the reverse direction
    agreed: Array  # [B, N, ⌈M/8⌉] uint8 bits, where the product of the posteriors is above the threshold


def posteriors(
    batch: PaddedPairs, lexicon: Lexicon, positions: Positions, p0: Number, model: str, is_closed: bool,
    wide: bool = False,
) -> tuple[Evidence, Evidence]:  # fmt: skip
    """Evidence of the forward direction with cells [B, N, M], and of the reverse one with cells [B, M, N].

    is_closed: all pairs are known (training); otherwise index -1 gets the probability UNSEEN. wide: see `PassKind`.
    """
    flat = batch.pair_index.reshape(-1)
    if is_closed:
        rows = lexicon.pair.at[flat].get(mode="promise_in_bounds")
    else:
        rows = jnp.where((flat < 0)[:, None], UNSEEN, lexicon.pair[jnp.maximum(flat, 0)])
    rows = jax.lax.optimization_barrier(rows)  # gather once; fused into its uses it would be done several times
    emission = rows.reshape(*batch.pair_index.shape, 2)
    limit = (positions.jump.shape[1] - 1) // 2
    empty = jnp.zeros(2 * limit + 1, jnp.float32), jnp.zeros((limit + 1, limit + 1), jnp.float32)
    lengths = batch.num_source, batch.num_target
    sides = (
        Direction(emission[..., 0], lexicon.null_target[batch.target], *lengths),
        Direction(jnp.swapaxes(emission[..., 1], 1, 2), lexicon.null_source[batch.source], *lengths[::-1]),
    )
    if wide and model == "hmm":
        return wide_hmm_posteriors(sides, positions.jump, p0)
    found = []
    for direction, side in enumerate(sides):
        if model == "hmm":
            found.append(hmm_posteriors(side, positions.jump[direction], p0, empty))
        else:
            found.append(diagonal_posteriors(side, positions.tension[direction], p0, empty))
    return found[0], found[1]


def e_step(
    counts: LexiconCounts, batch: PaddedPairs, parameters: Parameters, kind: PassKind
) -> tuple[LexiconCounts, BatchSums, FoundLinks]:
    """Adds a batch's expected counts to `counts` (which is used up); also its small sums and its links.

    The links come almost for free here, and so training needs no program of its own for them.
    """
    counts, sums, found = _e_step(counts, batch, parameters, kind)
    return carry_hot(counts), sums, found


@partial(jax.jit, static_argnames="kind", donate_argnames="counts")
def _e_step(
    counts: LexiconCounts, batch: PaddedPairs, parameters: Parameters, kind: PassKind
) -> tuple[LexiconCounts, BatchSums, FoundLinks]:
    forward, reverse = posteriors(batch, *parameters[:3], kind.model, is_closed=True, wide=kind.wide)
    found = _found(forward, reverse, parameters.threshold)
    if kind.agreement:
        forward, reverse = agreed_evidence(forward, reverse)
    counts = (_counted_exactly if kind.wide else _counted)(counts, batch, forward, reverse)
    both = [jnp.stack([a, b]) for a, b in zip(forward[2:], reverse[2:], strict=True)]
    null = jnp.stack([jnp.sum(forward.null), jnp.sum(reverse.null)])
    return counts, BatchSums(both[0], both[1], null, both[2], both[3]), found


def _counted(counts: LexiconCounts, batch: PaddedPairs, forward: Evidence, reverse: Evidence) -> LexiconCounts:
    """Adds the expected counts of links and of words from NULL."""
    pair = counts.pair.at[batch.pair_index.reshape(-1)].add(_cells(forward, reverse), mode="promise_in_bounds")
    null_target = jnp.zeros_like(counts.null_target).at[batch.target].add(forward.null)
    null_source = jnp.zeros_like(counts.null_source).at[batch.source].add(reverse.null)
    return counts._replace(
        pair=pair, null_target=counts.null_target + null_target, null_source=counts.null_source + null_source
    )


def _counted_exactly(counts: LexiconCounts, batch: PaddedPairs, forward: Evidence, reverse: Evidence) -> LexiconCounts:
    """`_counted` without sums of floats: every word has at most 1 to give, which bounds what is added up."""

    def added(sums: jax.Array, words: Array, null: jax.Array) -> jax.Array:
        return add_by_key(sums[:, None], jnp.reshape(words, -1), null.reshape(-1, 1), words.size)[:, 0]

    most = max(batch.source.size, batch.target.size)
    return counts._replace(
        pair=add_by_key(counts.pair, batch.pair_index.reshape(-1), _cells(forward, reverse), most),
        null_target=added(counts.null_target, batch.target, forward.null),
        null_source=added(counts.null_source, batch.source, reverse.null),
    )


def _cells(forward: Evidence, reverse: Evidence) -> jax.Array:
    """[B · N · M, 2]: both directions' posteriors of every cell, computed once."""
    cells = jnp.stack([forward.cell, jnp.swapaxes(reverse.cell, 1, 2)], axis=-1).reshape(-1, 2)
    return jax.lax.optimization_barrier(cells)


@partial(jax.jit, static_argnames=("model", "wide"))
def find_links(batch: PaddedPairs, parameters: Parameters, model: str, wide: bool = False) -> FoundLinks:
    """The links of a batch under fixed parameters; wide: see `PassKind`."""
    return _found(*posteriors(batch, *parameters[:3], model, is_closed=False, wide=wide), parameters.threshold)


def _found(forward: Evidence, reverse: Evidence, threshold: Number) -> FoundLinks:
    return FoundLinks(_best(forward), _best(reverse), packed_links(agreed_cells(forward, reverse), threshold))


def _best(evidence: Evidence) -> jax.Array:
    position = jnp.argmax(evidence.cell, axis=1)
    return jnp.where(jnp.max(evidence.cell, axis=1) > evidence.null, position, -1).astype(jnp.int32)


def add_sums(parts: list[BatchSums]) -> BatchSums:
    """Adds the sums of all batches in float64 on the host."""
    fields = zip(*parts, strict=True)
    return BatchSums(*(np.sum(np.stack([np.asarray(x, np.float64) for x in field]), axis=0) for field in fields))
