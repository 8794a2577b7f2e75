"""The cross-entropy of development pairs as a function of component weights λ, for one feature and many sets.

    H(λ) = −Σ_(s,t) p̃(s,t) log p(x|y; λ), over the pairs whose feature is not 0 for every λ
Frequencies of pairs are added up per count vector (`log_sums`) and per lexical factor, of which many pairs share each:
an evaluation costs what is different, not what is frequent.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.devices.segments import SumTree, gathered, sum_tree
from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.fit.log_sums import MIN_ROWS, LogSums, log_sums, reduce_log_sums
from jaxsmt.tm.weights import FEATURE_NAMES

MIN_WEIGHT = 1e-9  # relative to the largest of a λ
MIN_LINKS = 4  # of a mean, with padding: one shape for most models
TERMS_PER_SUM = 1 << 10  # float32 numbers added up in one go


class Means(NamedTuple):
    """Σ_c W_c log(Σ_k w_k · scale_c), w_k = Σ_d λ_d c_d(x,y) / Σ_d λ_d c_d(y): words with several links. A pytree.

    L word pairs, C different sums; both are padded. Without any such word all sizes are 0.
    """

    joint: Array | np.ndarray  # [D, L] float32 word-pair counts
    totals: Array | np.ndarray  # [D, L] float32 counts of the given word
    links: Array | np.ndarray  # [C, M] int32 word pairs; L for none
    scale: Array | np.ndarray  # [C] float32: 1 over the sum at λ = 1
    weights: Array | np.ndarray  # [S, C] float32, negative; 0 for padding
    order: SumTree  # in which gradients of word pairs are summed over `links`


class Objective(NamedTuple):
    """Cross-entropy of S sets in nats, minus that at λ = 1. A pytree.

    A relative frequency is a quotient of sums over d, and so is a lexical factor of one word pair: they are in `sums`.
    """

    sums: LogSums
    means: Means


class Problem(NamedTuple):
    """One feature's objective and what belongs to it.

    constant: [S] float64, cross-entropy at λ = 1 in nats.
    used: [S] float64, occurrences of the pairs that count.
    """

    objective: Objective
    constant: np.ndarray
    used: np.ndarray


class _Words(NamedTuple):
    """Word-pair counts for one direction."""

    joint: np.ndarray  # [D, L] float32
    totals: np.ndarray  # [D, V] float32 counts of the words that are given
    given: np.ndarray  # [L] int32 the given word of each pair


def build_problem(development: DevelopmentPairs, feature: int) -> Problem:
    """The objective of one feature, by its place in FEATURE_NAMES."""
    data = development.statistics
    joint, pairs = np.asarray(data.word_joint_counts), np.asarray(data.word_pairs)
    match FEATURE_NAMES[feature]:
        case "p(s|t)":
            return _frequency_problem(development, data.target_index, data.target_counts)
        case "p(t|s)":
            return _frequency_problem(development, data.source_index, data.source_counts)
        case "lex(s|t)":
            words = _Words(joint, np.asarray(data.target_word_counts), pairs[:, 1])
            return _lexical_problem(development.counts, data.source_factors, data.source_factor_links, words)
        case _:
            words = _Words(joint, np.asarray(data.source_word_counts), pairs[:, 0])
            return _lexical_problem(development.counts, data.target_factors, data.target_factor_links, words)


def value_and_gradient(objective: Objective, point: Array) -> tuple[Array, Array]:
    """The objective [S] at log λ [S, D] of any scale, and its gradient with respect to log λ."""
    log_mixture = limited_log_mixture(point)
    value, gradient = log_sums(objective.sums, jnp.exp(log_mixture))
    if len(objective.means.links):
        mean_value, pull_back = jax.vjp(lambda at: _mean_value(objective.means, at), log_mixture)
        value, gradient = value + mean_value, gradient + pull_back(jnp.ones_like(mean_value))[0]
    return value, jnp.where(log_mixture > np.log(MIN_WEIGHT), gradient, 0)


evaluate = jax.jit(value_and_gradient)


def limited_log_mixture(point: Array) -> Array:
    """log λ scaled to a largest weight of 1, none below MIN_WEIGHT."""
    return jnp.maximum(point - point.max(-1, keepdims=True), np.log(MIN_WEIGHT))


def _mean_value(means: Means, log_mixture: Array) -> Array:
    exact = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    mixture = jnp.exp(log_mixture)
    quotients = exact(mixture, jnp.asarray(means.joint)) / exact(mixture, jnp.asarray(means.totals))
    padded = jnp.concatenate([quotients, jnp.zeros((len(mixture), 1))], 1)
    links = jnp.asarray(means.links)
    sums = gathered(padded.T, links.reshape(-1), means.order).reshape(*links.shape, -1).sum(1).T
    terms = jnp.asarray(means.weights) * jnp.log(sums * jnp.asarray(means.scale)[None])
    return terms.reshape(len(mixture), -1, TERMS_PER_SUM).sum(-1).sum(-1)


def _frequency_problem(development: DevelopmentPairs, index: np.ndarray, totals: np.ndarray) -> Problem:
    """Of p(x|y) with the marginals c_d(y) [D, ·], those of pair a at index[a]."""
    joint = np.asarray(development.statistics.joint_counts)
    shares, used = _shares(development.counts, _has_counts(joint))
    ids, place = _used_ids(index, totals.shape[1])
    sums, constant = reduce_log_sums([(joint, -shares), (np.asarray(totals)[:, ids], _added(shares, place, len(ids)))])
    return Problem(Objective(sums, _no_means(len(joint), len(shares))), constant, used)


def _lexical_problem(counts: np.ndarray, factors: np.ndarray, links: np.ndarray, words: _Words) -> Problem:
    """Of lex(x|y), from frequencies [S, A], factor ids [A, ·] and links [C, M] (see `jaxsmt.tm.factors`)."""
    num_words = words.joint.shape[1]
    is_word = np.append(_has_counts(words.joint), [False, False])  # neither the unknown pair nor padding
    is_positive = np.concatenate([is_word[:-1], [True], is_word[links].any(1)])
    shares, used = _shares(counts, is_positive[factors].all(1))
    ids, weights = _factor_weights(factors, shares, len(is_positive))
    sums, constant = _word_sums(ids[ids < num_words], weights[:, ids < num_words], words)
    several = ids > num_words + 1
    means, mean_constant = _build_means(links[ids[several] - num_words - 2], -weights[:, several], is_word, words)
    return Problem(Objective(sums, means), constant + mean_constant, used)


def _factor_weights(factors: np.ndarray, shares: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The factor ids below `size` of pairs that count, and how often each set has them [S, ·] float64."""
    is_used = np.zeros(size, bool)
    is_used[factors[shares.any(0)]] = True
    ids = np.nonzero(is_used)[0]
    columns = np.ascontiguousarray(factors.T)
    weights = np.zeros((len(shares), len(ids)))
    for row, share in zip(weights, shares, strict=True):
        for column in columns:
            row += np.bincount(column, share, minlength=size)[ids]
    return ids, weights


def _word_sums(ids: np.ndarray, weights: np.ndarray, words: _Words) -> tuple[LogSums, np.ndarray]:
    """The factors of one word pair each, ids [N] with weights [S, N]; and their value [S] at λ = 1."""
    given, place = _used_ids(words.given[ids], words.totals.shape[1])
    joint, totals = words.joint[:, ids], words.totals[:, given]
    return reduce_log_sums([(joint, -weights), (totals, _added(weights, place, len(given)))])


def _build_means(
    links: np.ndarray, weights: np.ndarray, is_word: np.ndarray, words: _Words
) -> tuple[Means, np.ndarray]:
    """The sums over rows of links [C, M] with weights [S, C], and their value [S] at λ = 1."""
    if not len(links):
        return _no_means(len(words.joint), len(weights)), np.zeros(len(weights))
    num_words = words.joint.shape[1]
    num_links = (links <= num_words).sum(1)
    ids, place = _used_ids(np.where(is_word[links], links, num_words), num_words + 1)
    ids = ids[ids < num_words]  # what has no count is the last id, and so in the last place
    joint, totals = words.joint[:, ids], words.totals[:, words.given[ids]]
    quotients = np.append(joint.sum(0, dtype=np.float64) / totals.sum(0, dtype=np.float64), 0)
    sums = quotients[place].sum(1)
    constant = weights @ np.log(sums / num_links)
    return _padded_means(joint, totals, np.where(place < len(ids), place, -1), 1 / sums, weights), constant


def _padded_means(
    joint: np.ndarray, totals: np.ndarray, links: np.ndarray, scale: np.ndarray, weights: np.ndarray
) -> Means:
    """Fills up to powers of two with a word pair of quotient 1, and with sums of that; links of −1 mean none."""
    num_words, num_sums = power_of_two(joint.shape[1] + 1, MIN_ROWS), power_of_two(len(links), MIN_ROWS)
    num_links = power_of_two(links.shape[1], MIN_LINKS)
    wide_links = np.full((num_sums, num_links), num_words, np.int32)
    wide_links[len(links) :, 0] = num_words - 1
    wide_links[: len(links), : links.shape[1]] = np.where(links < 0, num_words, links)
    counts = np.ones((2, len(joint), num_words), np.float32)
    counts[0, :, : joint.shape[1]], counts[1, :, : joint.shape[1]] = joint, totals
    wide_scale, wide_weights = np.ones(num_sums, np.float32), np.zeros((len(weights), num_sums), np.float32)
    wide_scale[: len(links)], wide_weights[:, : len(links)] = scale, weights
    order = sum_tree(np.where(wide_links < num_words, wide_links, -1).reshape(-1), num_words + 1, MIN_ROWS)
    return Means(counts[0], counts[1], wide_links, wide_scale, wide_weights, order)


def _no_means(num_components: int, num_sets: int) -> Means:
    none = np.zeros((num_components, 0), np.float32)
    no_links, no_scale, no_weights = np.zeros((0, 1), np.int32), np.zeros(0, np.float32), np.zeros((num_sets, 0))
    return Means(none, none, no_links, no_scale, no_weights.astype(np.float32), ())


def _has_counts(table: np.ndarray) -> np.ndarray:
    """[N] bool: the columns of [D, N] that are not 0 for every λ."""
    return np.asarray((table > 0).any(0))


def _shares(counts: np.ndarray, is_used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p̃ [S, A] float64 over the used pairs (0 for a set without any), and their occurrences [S]."""
    kept = np.where(is_used[None], counts, 0).astype(np.float64)
    used = kept.sum(1)
    return kept / np.where(used > 0, used, 1)[:, None], used


def _used_ids(ids: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ids below `size`, ascending, and the place of each id among them."""
    is_used = np.zeros(size, bool)
    is_used[ids] = True
    place = np.cumsum(is_used) - 1
    return np.nonzero(is_used)[0], place[ids]


def _added(weights: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """[S, size] float64: the weights [S, N] added up by place [N]."""
    return np.stack([np.bincount(place, row, minlength=size) for row in weights])
