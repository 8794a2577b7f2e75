"""The four translation features for given mixture weights (Sennrich, Schwenk and Aransa 2013, section 3).

For each feature its own λ of length D (`FEATURE_NAMES` is their order):
    p(x|y; λ) = Σ_d λ_d c_d(x, y) / Σ_d λ_d c_d(y), 0 where the denominator is 0
    lex(t|s, a; λ) = Π_j mean over links (i, j) of w(t_j|s_i; λ), NULL for an unlinked t_j; lex(s|t) likewise
Natural logarithms, floored at LOG_FLOOR. Features do not change when a λ is scaled.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.tm.union import Statistics, UnionView
from jaxsmt.tm.weights import check_feature_weights

LOG_FLOOR = -100.0
PAIRS_PER_CHUNK = 1 << 16  # a chunk's intermediate values stay in the processor's cache


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
    weights = _scaled(jnp.asarray(weights))
    num_pairs = statistics.source_index.shape[0]
    size = min(pairs_per_chunk, num_pairs)
    result = jnp.zeros((weights.shape[0], num_pairs, 4), jnp.float32)
    if not num_pairs:
        return result
    source_totals = _mix(weights[:, 2], statistics.source_counts)
    target_totals = _mix(weights[:, 0], statistics.target_counts)
    source_factors, target_factors = _log_factors(statistics, weights)

    def fill(chunk: Array, result: Array) -> Array:
        start = jnp.minimum(chunk * size, num_pairs - size)  # the last chunk overlaps the one before

        def cut(array: Array | np.ndarray, axis: int = 0) -> Array:
            return jax.lax.dynamic_slice_in_dim(jnp.asarray(array), start, size, axis)

        joint = cut(statistics.joint_counts, 1)
        columns = (
            _log_ratio(_mix(weights[:, 0], joint), target_totals[:, cut(statistics.target_index)]),
            source_factors[:, cut(statistics.source_factors)].sum(-1),
            _log_ratio(_mix(weights[:, 2], joint), source_totals[:, cut(statistics.source_index)]),
            target_factors[:, cut(statistics.target_factors)].sum(-1),
        )
        values = jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)
        return jax.lax.dynamic_update_slice_in_dim(result, values, start, 1)

    num_chunks = -(-num_pairs // size)
    return fill(jnp.int32(0), result) if num_chunks == 1 else jax.lax.fori_loop(0, num_chunks, fill, result)


@jax.jit
def application_features(
    statistics: Statistics, weights: Array | np.ndarray, pair_index: Array, sentence_index: Array
) -> Array:
    """[A, 4] features of rule applications, each with the weights of its sentence.

    weights: [B, 4, D]; pair_index: [A] pairs; sentence_index: [A] rows of `weights`.
    Besides [A, D] counts it makes a table of the B·(L + C) lexical factors: restrict the union to the
    sentences at hand (`jaxsmt.tm.restrict`) to keep it small.
    """
    weights = _scaled(jnp.asarray(weights))
    pair_index, sentence_index = jnp.asarray(pair_index), jnp.asarray(sentence_index)
    joint = jnp.asarray(statistics.joint_counts)[:, pair_index].T  # [A, D]
    of_source = jnp.asarray(statistics.source_counts)[:, jnp.asarray(statistics.source_index)[pair_index]].T
    of_target = jnp.asarray(statistics.target_counts)[:, jnp.asarray(statistics.target_index)[pair_index]].T
    own = weights[sentence_index]  # [A, 4, D]
    source_factors, target_factors = _log_factors(statistics, weights)
    row = sentence_index[:, None]
    columns = (
        _log_ratio((own[:, 0] * joint).sum(-1), (own[:, 0] * of_target).sum(-1)),
        source_factors[row, jnp.asarray(statistics.source_factors)[pair_index]].sum(-1),
        _log_ratio((own[:, 2] * joint).sum(-1), (own[:, 2] * of_source).sum(-1)),
        target_factors[row, jnp.asarray(statistics.target_factors)[pair_index]].sum(-1),
    )
    return jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)


def pair_features(statistics: Statistics, weights: Array | np.ndarray, pair_index: Array) -> Array:
    """[A, 4] features of the given pairs [A] for one λ [4, D]."""
    return application_features(statistics, weights[None], pair_index, jnp.zeros(len(pair_index), jnp.int32))


def _scaled(weights: Array) -> Array:
    """Each λ divided by its largest value: extreme scales neither overflow nor vanish in float32."""
    return weights / jax.lax.stop_gradient(weights.max(-1, keepdims=True))


def _mix(weights: Array, counts: Array | np.ndarray) -> Array:
    """Σ_d λ_d c_d: weights [S, D], counts [D, N] → [S, N], in full float32 on every device."""
    return jnp.matmul(weights, jnp.asarray(counts), precision=jax.lax.Precision.HIGHEST)


def _log_ratio(numerator: Array, denominator: Array) -> Array:
    """log(numerator / denominator), −∞ where either is 0; its gradient is finite everywhere."""
    is_positive = (numerator > 0) & (denominator > 0)
    ratio = jnp.where(is_positive, numerator, 1) / jnp.where(is_positive, denominator, 1)
    return jnp.where(is_positive, jnp.log(ratio), -jnp.inf)


def _log_factors(statistics: Statistics, weights: Array) -> tuple[Array, Array]:
    """Log factors by factor id [S, L + 2 + C] of lex(s|t) and of lex(t|s)."""
    pairs = jnp.asarray(statistics.word_pairs)
    source_totals = _mix(weights[:, 3], statistics.source_word_counts)[:, pairs[:, 0]]
    target_totals = _mix(weights[:, 1], statistics.target_word_counts)[:, pairs[:, 1]]
    of_source = _ratio(_mix(weights[:, 1], statistics.word_joint_counts), target_totals)  # w(s|t)
    of_target = _ratio(_mix(weights[:, 3], statistics.word_joint_counts), source_totals)  # w(t|s)
    return (
        _factor_table(of_source, jnp.asarray(statistics.source_factor_links)),
        _factor_table(of_target, jnp.asarray(statistics.target_factor_links)),
    )


def _ratio(numerator: Array, denominator: Array) -> Array:
    return jnp.where(denominator > 0, numerator, 0) / jnp.where(denominator > 0, denominator, 1)


def _factor_table(word_probabilities: Array, links: Array) -> Array:
    """Log factors in the order of factor ids: word pairs, unknown pair, nothing, means over links."""
    num_samples, num_words = word_probabilities.shape
    nothing = jnp.zeros((num_samples, 2))
    padded = jnp.concatenate([word_probabilities, nothing], 1)
    num_links = (links <= num_words).sum(-1).astype(jnp.float32)
    means = padded[:, links].sum(-1) / num_links[None]
    values = jnp.concatenate([word_probabilities, nothing + jnp.array([0.0, 1.0])[None], means], 1)
    return jnp.where(values > 0, jnp.log(jnp.where(values > 0, values, 1)), -jnp.inf)
