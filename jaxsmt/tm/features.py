"""The four translation features for given mixture weights (Sennrich, Schwenk and Aransa 2013, section 3).

For each feature its own λ of length D (`FEATURE_NAMES` is their order):
    p(x|y; λ) = Σ_d λ_d c_d(x, y) / Σ_d λ_d c_d(y), 0 where the denominator is 0
    lex(t|s, a; λ) = Π_j mean over links (i, j) of w(t_j|s_i; λ), NULL for an unlinked t_j; lex(s|t) likewise
Natural logarithms, floored at LOG_FLOOR. Features do not change when a λ is scaled.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.devices.traced import traced_once
from jaxsmt.common.ragged import offsets_of, ranges
from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.selection import Selection, select_pairs
from jaxsmt.tm.union import Statistics, UnionView
from jaxsmt.tm.weights import LEX_SOURCE, LEX_TARGET, P_SOURCE, P_TARGET, check_feature_weights

LOG_FLOOR = -100.0
PAIRS_PER_CHUNK = 1 << 16  # a chunk's intermediate values stay in the processor's cache
BLOCK = 64  # applications of one sentence that are worked on together
SENTENCES_PER_CALL = 128  # each has a table of word probabilities of its own


def union_features(union: UnionView, weights: object) -> Array:
    """Checks the weights [4, D] or [S, 4, D] and returns all pairs' features [P, 4] or [S, P, 4]."""
    checked = check_feature_weights(weights, union.names)
    return features(union.statistics, checked) if checked.ndim == 2 else batch_features(union.statistics, checked)


def features(statistics: Statistics, weights: Array | np.ndarray) -> Array:
    """[P, 4] features of all pairs for one λ [4, D]."""
    return batch_features(statistics, weights[None])[0]


@partial(jax.jit, static_argnames="pairs_per_chunk")
def batch_features(
    statistics: Statistics, weights: Array | np.ndarray, pairs_per_chunk: int = PAIRS_PER_CHUNK
) -> Array:
    """[S, P, 4] features of all pairs for S vectors λ [S, 4, D].

    Runs over the pairs in chunks: beside the result it needs memory for the sides and word pairs only.
    """
    weights = scaled(jnp.asarray(weights))
    num_pairs = statistics.source_index.shape[0]
    size = min(pairs_per_chunk, num_pairs)
    result = jnp.zeros((weights.shape[0], num_pairs, 4), jnp.float32)
    if not num_pairs:
        return result
    source_totals = mix(weights[:, P_TARGET], statistics.source_counts)
    target_totals = mix(weights[:, P_SOURCE], statistics.target_counts)
    source_factors, target_factors = _log_factors(statistics, weights)

    def fill(chunk: Array, result: Array) -> Array:
        start = jnp.minimum(chunk * size, num_pairs - size)  # the last chunk overlaps the one before

        def cut(array: Array | np.ndarray, axis: int = 0) -> Array:
            return jax.lax.dynamic_slice_in_dim(jnp.asarray(array), start, size, axis)

        joint = cut(statistics.joint_counts, 1)
        columns = (
            log_ratio(mix(weights[:, P_SOURCE], joint), target_totals[:, cut(statistics.target_index)]),
            source_factors[:, cut(statistics.source_factors)].sum(-1),
            log_ratio(mix(weights[:, P_TARGET], joint), source_totals[:, cut(statistics.source_index)]),
            target_factors[:, cut(statistics.target_factors)].sum(-1),
        )
        values = jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)
        return jax.lax.dynamic_update_slice_in_dim(result, values, start, 1)

    num_chunks = -(-num_pairs // size)
    return fill(jnp.int32(0), result) if num_chunks == 1 else jax.lax.fori_loop(0, num_chunks, fill, result)


def application_features(
    statistics: Statistics, weights: np.ndarray, pair_index: np.ndarray, sentence_index: np.ndarray
) -> np.ndarray:
    """[A, 4] float32 features of rule applications, each with the weights of its sentence.

    weights: [B, 4, D]; pair_index: [A] pairs; sentence_index: [A] rows of `weights`.
    Only the statistics that these pairs need go to the device, with padded shapes.
    """
    selection, place = select_pairs(statistics, pair_index)
    selection = jax.tree.map(jnp.asarray, selection)
    slot, first_block = _slots(np.asarray(sentence_index), len(weights))
    blocks = np.zeros((first_block[-1], BLOCK), np.int32)
    blocks.reshape(-1)[slot] = place
    row = np.repeat(np.arange(len(weights), dtype=np.int32) % SENTENCES_PER_CALL, np.diff(first_block))
    found = [np.zeros((0, BLOCK, 4), np.float32)]
    for first in range(0, len(weights), SENTENCES_PER_CALL):
        few = weights[first : first + SENTENCES_PER_CALL]
        begin, end = first_block[[first, first + len(few)]].tolist()
        missing = power_of_two(len(few), 1) - len(few), power_of_two(end - begin, 16) - (end - begin)
        tables = _mixed_tables(selection, np.pad(few, ((0, missing[0]), (0, 0), (0, 0)), constant_values=1))
        own_blocks, own_row = (
            np.pad(blocks[begin:end], ((0, missing[1]), (0, 0))),
            np.pad(row[begin:end], (0, missing[1])),
        )
        found.append(np.asarray(_mixed_features(selection, tables, own_blocks, own_row))[: end - begin])
    return np.take(np.concatenate(found).reshape(-1, 4), slot, axis=0)


def _slots(sentence_index: np.ndarray, num_sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each application [A] goes if every sentence has whole blocks, and each sentence's first block [B + 1]."""
    counts = np.bincount(sentence_index, minlength=num_sentences)
    first_block = offsets_of(-(-counts // BLOCK))
    order = np.argsort(sentence_index, kind="stable")
    slot = np.empty(len(order), np.int64)
    slot[order] = ranges(first_block[:-1] * BLOCK, counts)[0]
    return slot, first_block


def pair_features(statistics: Statistics, weights: np.ndarray, pair_index: np.ndarray) -> np.ndarray:
    """[A, 4] features of the given pairs [A] for one λ [4, D]."""
    return application_features(statistics, weights[None], pair_index, np.zeros(len(pair_index), np.int32))


def component_features(statistics: Statistics, pair_index: np.ndarray) -> np.ndarray:
    """[A, D, 4] float32: the features of pairs [A] in each component alone, −∞ in all four where it lacks the pair.

    Row d is λ = 1 for component d and 0 for the others. The alignment is the union's, that of the first component that
    has the pair; `jaxsmt.tm.component_table` has the features under each component's own alignment.
    """
    selection, place = select_pairs(statistics, pair_index)
    return np.asarray(_single_features(selection))[place]


class MixedTables(NamedTuple):
    """What is mixed once for each of U vectors λ, for the pairs of a selection."""

    weights: Array  # [U, 4, D], scaled
    source_totals: Array  # [U, s]
    source_factors: Array  # [U, W + 2 + C] log factors by factor id, of lex(s|t)
    target_factors: Array  # likewise, of lex(t|s)


@traced_once(results=(MixedTables,))
def _mixed_tables(selection: Selection, weights: Array) -> MixedTables:
    weights = scaled(jnp.asarray(weights, jnp.float32))
    word_joint = [mix(weights[:, feature], selection.word_joint) for feature in (LEX_SOURCE, LEX_TARGET)]
    of_source = ratio(word_joint[0], mix(weights[:, LEX_SOURCE], selection.word_target_totals))  # w(s|t)
    of_target = ratio(word_joint[1], mix(weights[:, LEX_TARGET], selection.word_source_totals))  # w(t|s)
    return MixedTables(
        weights,
        mix(weights[:, P_TARGET], selection.source_totals),
        factor_table(of_source, selection.source_links),
        factor_table(of_target, selection.target_links),
    )


@traced_once()
def _mixed_features(selection: Selection, tables: MixedTables, blocks: Array, row: Array) -> Array:
    """[G, BLOCK, 4] features of selected pairs [G, BLOCK], block g under λ number row [G]."""
    own = tables.weights[row]  # [G, 4, D]
    sums = [jnp.zeros(blocks.shape, jnp.float32) for _ in range(3)]
    for d in range(own.shape[2]):  # a loop over D fuses into one pass; a sum over an axis of D does not
        by_target, by_source = own[:, 0, d, None], own[:, 2, d, None]
        joint = selection.joint[d][blocks]
        sums[0] += by_target * joint
        sums[1] += by_target * selection.target_totals[d][blocks]
        sums[2] += by_source * joint
    columns = (
        log_ratio(sums[0], sums[1]),
        _factor_sums(tables.source_factors, selection.source_factors, blocks, row),
        log_ratio(sums[2], _rows_at(tables.source_totals, row, selection.source_place[blocks])),
        _factor_sums(tables.target_factors, selection.target_factors, blocks, row),
    )
    return jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)


@jax.jit
def _single_features(selection: Selection) -> Array:
    """[n, D, 4]: see `component_features`."""
    selection = Selection(*map(jnp.asarray, selection))
    pairs = jnp.arange(selection.joint.shape[1])[None]  # [1, n]: a block for each component
    pairs = jnp.broadcast_to(pairs, selection.joint.shape)
    row = jnp.arange(selection.joint.shape[0])
    of_source = factor_table(ratio(selection.word_joint, selection.word_target_totals), selection.source_links)
    of_target = factor_table(ratio(selection.word_joint, selection.word_source_totals), selection.target_links)
    columns = (
        log_ratio(selection.joint, selection.target_totals),
        _factor_sums(of_source, selection.source_factors, pairs, row),
        log_ratio(selection.joint, selection.source_totals[:, selection.source_place]),
        _factor_sums(of_target, selection.target_factors, pairs, row),
    )
    values = jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)  # [D, n, 4]
    return jnp.where(selection.joint[..., None] > 0, values, -jnp.inf).transpose(1, 0, 2)


def _factor_sums(table: Array, factors: Array, blocks: Array, row: Array) -> Array:
    """[G, N] log lex of pairs [G, N] under row [G] of the log factors [U, ·]; factors: [·, n] ids."""
    total = jnp.zeros(blocks.shape, jnp.float32)
    for column in factors:
        total += _rows_at(table, row, column[blocks])
    return total


def _rows_at(table: Array, row: Array, column: Array) -> Array:
    """table[row[g], column[g, n]]: [U, T], [G], [G, N] → [G, N]."""
    return table.reshape(-1)[row[:, None] * table.shape[1] + column]


def scaled(weights: Array) -> Array:
    """Each λ divided by its largest value: extreme scales neither overflow nor vanish in float32."""
    return weights / jax.lax.stop_gradient(weights.max(-1, keepdims=True))


def mix(weights: Array, counts: Array | np.ndarray) -> Array:
    """Σ_d λ_d c_d: weights [S, D], counts [D, N] → [S, N], in full float32 on every device."""
    return jnp.matmul(weights, jnp.asarray(counts), precision=jax.lax.Precision.HIGHEST)


def log_ratio(numerator: Array, denominator: Array) -> Array:
    """log(numerator / denominator), −∞ where either is 0; its gradient is finite everywhere."""
    is_positive = (numerator > 0) & (denominator > 0)
    ratio = jnp.where(is_positive, numerator, 1) / jnp.where(is_positive, denominator, 1)
    return jnp.where(is_positive, jnp.log(ratio), -jnp.inf)


def _log_factors(statistics: Statistics, weights: Array) -> tuple[Array, Array]:
    """Log factors by factor id [S, L + 2 + C] of lex(s|t) and of lex(t|s)."""
    pairs = jnp.asarray(statistics.word_pairs)
    source_totals = mix(weights[:, LEX_TARGET], statistics.source_word_counts)[:, pairs[:, 0]]
    target_totals = mix(weights[:, LEX_SOURCE], statistics.target_word_counts)[:, pairs[:, 1]]
    of_source = ratio(mix(weights[:, LEX_SOURCE], statistics.word_joint_counts), target_totals)  # w(s|t)
    of_target = ratio(mix(weights[:, LEX_TARGET], statistics.word_joint_counts), source_totals)  # w(t|s)
    return (
        factor_table(of_source, jnp.asarray(statistics.source_factor_links)),
        factor_table(of_target, jnp.asarray(statistics.target_factor_links)),
    )


def ratio(numerator: Array, denominator: Array) -> Array:
    return jnp.where(denominator > 0, numerator, 0) / jnp.where(denominator > 0, denominator, 1)


def factor_table(word_probabilities: Array, links: Array) -> Array:
    """Log factors in the order of factor ids: word pairs, unknown pair, nothing, means over links."""
    num_samples, num_words = word_probabilities.shape
    nothing = jnp.zeros((num_samples, 2))
    padded = jnp.concatenate([word_probabilities, nothing], 1)
    num_links = jnp.maximum((links <= num_words).sum(-1), 1).astype(jnp.float32)  # rows may be padding
    means = padded[:, links].sum(-1) / num_links[None]
    values = jnp.concatenate([word_probabilities, nothing + jnp.array([0.0, 1.0])[None], means], 1)
    return jnp.where(values > 0, jnp.log(jnp.where(values > 0, values, 1)), -jnp.inf)
