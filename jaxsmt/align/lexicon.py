"""Word translation probabilities of both directions over sparse word pairs, and their M-step.

Direction 0 (forward) generates target words from source words, t(e|f); direction 1 (reverse) the other way, t(f|e).
Both live side by side in one array [P, 2], so that one gather and one scatter serve both.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.align.cells import WordPairs
from jaxsmt.common.sizes import padded_rows, rounded_size

SMALLEST = 1e-30  # probabilities below are raised to it: products with priors must stay normal float32 numbers
_DIGAMMA_SHIFT = 6  # the asymptotic series is used from here on


class Lexicon(NamedTuple):
    """t(e|f) and t(f|e) for P pairs, and the NULL word's translations.

    P is rounded up (`rounded_size`), here and in the counts: what is compiled for one text serves the next.
    """

    pair: jax.Array  # [P, 2] forward, reverse
    null_target: jax.Array  # [V'] t(e|NULL), forward
    null_source: jax.Array  # [V] t(f|NULL), reverse


class LexiconCounts(NamedTuple):
    """Expected counts; batches add to it. Hot pairs are carried to their own two-part sums after every batch."""

    pair: jax.Array  # [P, 2]; zero for hot pairs between batches
    hot: jax.Array  # [num_hot, 2] the sum
    hot_rest: jax.Array  # [num_hot, 2] what rounding took from the sum (Knuth's two-sum)
    null_target: jax.Array  # [V']
    null_source: jax.Array  # [V]


def uniform_lexicon(pairs: WordPairs) -> Lexicon:
    """Every word as likely as any other; what EM starts with."""
    num_source, num_target = np.sum(np.bincount(pairs.source_word[pairs.is_seen]) > 0), np.sum(
        np.bincount(pairs.target_word[pairs.is_seen]) > 0)  # fmt: skip
    forward, reverse = 1.0 / max(int(num_target), 1), 1.0 / max(int(num_source), 1)
    pair = jnp.tile(jnp.array([[forward, reverse]], jnp.float32), (rounded_size(len(pairs)), 1))
    return Lexicon(
        pair,
        jnp.full(len(pairs.hot_target), forward, jnp.float32),
        jnp.full(len(pairs.hot_source), reverse, jnp.float32),
    )


def zero_counts(pairs: WordPairs) -> LexiconCounts:
    hot = jnp.zeros((pairs.num_hot, 2), jnp.float32)
    return LexiconCounts(
        jnp.zeros((rounded_size(len(pairs)), 2), jnp.float32),
        hot,
        jnp.zeros_like(hot),
        jnp.zeros(len(pairs.hot_target), jnp.float32),
        jnp.zeros(len(pairs.hot_source), jnp.float32),
    )


def carry_hot(counts: LexiconCounts) -> LexiconCounts:
    """Moves the counts of hot pairs to their sums, with the rounding error kept (two-sum); uses up `counts`."""
    num_hot = counts.hot.shape[0]
    if not num_hot:
        return counts
    # reading and clearing are two programs: in one, XLA would copy all P pairs instead of clearing in place
    total, rest = _two_sum(counts.hot, counts.hot_rest, counts.pair)
    return counts._replace(pair=_cleared(counts.pair, num_hot), hot=total, hot_rest=rest)


@jax.jit
def _two_sum(total: jax.Array, rest: jax.Array, pair: jax.Array) -> tuple[jax.Array, jax.Array]:
    fresh = pair[: total.shape[0]]
    after = total + fresh
    shadow = after - total
    return after, rest + ((total - (after - shadow)) + (fresh - shadow))


@partial(jax.jit, static_argnames="num_hot", donate_argnames="pair")
def _cleared(pair: jax.Array, num_hot: int) -> jax.Array:
    return pair.at[:num_hot].set(0.0)


def add_counts(first: LexiconCounts, second: LexiconCounts) -> LexiconCounts:
    """Counts of two parts of a text together; which one is first makes no difference."""
    total, rest = _two_sum(first.hot, first.hot_rest + second.hot_rest, second.hot)
    return LexiconCounts(
        first.pair + second.pair, total, rest, first.null_target + second.null_target,
        first.null_source + second.null_source,
    )  # fmt: skip


def m_step(counts: LexiconCounts, pairs: WordPairs, alpha: float, extra: np.ndarray | None = None) -> Lexicon:
    """Normalises expected counts to a lexicon.

    alpha = 0: relative frequencies, of counts with `extra` added. alpha > 0: the mean-field optimum under a Dirichlet
    prior, t(e|f) = exp ψ(c(f,e) + α(f,e)) / exp ψ(Σ_e' (c(f,e') + α(f,e'))) over the pairs seen
    (Beal 2003; Dyer et al. 2013, section 2.2).

    extra: [P] what α(f,e) = alpha + extra has beyond alpha; 0 everywhere where it is not given.
    """
    num_hot = pairs.num_hot
    pair = np.asarray(counts.pair)
    if num_hot or extra is not None:
        pair = pair.copy()
    if num_hot:
        pair[:num_hot] = np.asarray(counts.hot) + np.asarray(counts.hot_rest)
    if extra is not None:
        pair[: len(pairs)] += (extra * pairs.is_seen)[:, None]
    denominators = []
    sides = (pairs.source_word, len(pairs.hot_source)), (pairs.target_word, len(pairs.hot_target))
    for side, (word, size) in enumerate(sides):
        total = np.bincount(word, pair[: len(word), side], minlength=size)  # float64
        if alpha:
            total = total + alpha * np.bincount(word[pairs.is_seen], minlength=size)
        denominators.append(jnp.asarray(total.astype(np.float32)))
    return Lexicon(
        _normalise_pairs(pair, padded_rows(pairs.source_word), padded_rows(pairs.target_word), *denominators, alpha),
        _normalise_null(counts.null_target, alpha),
        _normalise_null(counts.null_source, alpha),
    )


@jax.jit
def _normalise_pairs(pair, source_word, target_word, total_source, total_target, alpha):
    total = jnp.stack([total_source[source_word], total_target[target_word]], axis=1)
    return _ratio(pair, total, alpha)


@jax.jit
def _normalise_null(count: jax.Array, alpha: jax.Array) -> jax.Array:
    is_seen = count > 0
    total = jnp.sum(count) + alpha * jnp.sum(is_seen)
    return jnp.where(is_seen, _ratio(count, jnp.broadcast_to(total, count.shape), alpha), SMALLEST)


def _ratio(count: jax.Array, total: jax.Array, alpha: jax.Array) -> jax.Array:
    frequency = count / jnp.maximum(total, SMALLEST)
    mean_field = exp_digamma(jnp.maximum(count + alpha, 1e-3)) / exp_digamma(jnp.maximum(total, 1e-3))
    return jnp.clip(jnp.where(alpha > 0, mean_field, frequency), SMALLEST, 1.0)


def exp_digamma(x: jax.Array) -> jax.Array:
    """exp ψ(x) for x > 0: ψ(x) = ψ(x + 6) − Σ_{k<6} 1/(x+k), the asymptotic series at x + 6."""
    shifted = x + _DIGAMMA_SHIFT
    inverse = 1.0 / (shifted * shifted)
    series = jnp.log(shifted) - 0.5 / shifted - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
    below = sum(1.0 / (x + k) for k in range(_DIGAMMA_SHIFT))
    return jnp.exp(series - below)
