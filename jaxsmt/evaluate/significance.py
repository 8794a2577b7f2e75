"""Is one system better than another? Approximate randomisation and paired bootstrap over cached statistics.

Statistics of a system are [R, B, C]: R replicas (tuner runs), B sentences. With several replicas the tests are those of
Clark et al. 2011: the two systems' replicas are pooled, so that the instability of the optimiser counts as chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

_TRIALS_AT_ONCE = 512

ScoreFn = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class PairedTest:
    """difference: score of the system minus that of the baseline, means over replicas; p_value: two-sided."""

    difference: float
    p_value: float


@partial(jax.jit, static_argnames="num_trials")
def _random_swaps(key: jax.Array, baseline: jax.Array, system: jax.Array, num_trials: int) -> jax.Array:
    """[T, R, C] sums of pseudo-systems: in each trial a sentence comes from the baseline or the system by a coin."""
    coins = jax.random.bernoulli(key, 0.5, (num_trials, *baseline.shape[:2]))
    difference = system - baseline
    return jnp.einsum("trb,rbc->trc", coins.astype(jnp.float32), difference, precision="highest")


@partial(jax.jit, static_argnames="num_trials")
def _resampled_sums(key: jax.Array, statistics: jax.Array, num_trials: int) -> jax.Array:
    """[T, R, C] sums over bootstrap samples of the sentences, the same samples for all R of statistics [R, B, C]."""
    num_sentences = statistics.shape[1]
    drawn = jax.random.randint(key, (num_trials, num_sentences), 0, num_sentences)
    counts = jnp.zeros((num_trials, num_sentences), jnp.float32)
    counts = counts.at[jnp.arange(num_trials)[:, None], drawn].add(1.0)
    return jnp.einsum("tb,rbc->trc", counts, statistics, precision="highest")


def _in_batches(sample_fn: Callable[[jax.Array, int], jax.Array], num_trials: int, seed: int) -> np.ndarray:
    batches = -(-num_trials // _TRIALS_AT_ONCE)
    keys = jax.random.split(jax.random.key(seed), batches)
    parts = [np.asarray(sample_fn(key, _TRIALS_AT_ONCE), np.float64) for key in keys]
    return np.concatenate(parts)[:num_trials]


def approximate_randomisation(
    baseline: np.ndarray, system: np.ndarray, score_fn: ScoreFn, num_trials: int = 10_000, seed: int = 12345
) -> PairedTest:
    """Paired approximate randomisation (Riezler & Maxwell 2005), stratified by replica (Clark et al. 2011, section 4).

    baseline, system: [R, B, C] of equal R. In each trial the translations of a sentence (and replica) change sides by a
    coin; p is the part of trials, and one more, in which the absolute difference of mean scores is as large (sacrebleu
    counts larger ones only, which makes equal systems significantly different).
    """
    difference = float(score_fn(system.sum(1)).mean() - score_fn(baseline.sum(1)).mean())
    first, second = jnp.asarray(baseline, jnp.float32), jnp.asarray(system, jnp.float32)
    moved = _in_batches(lambda key, n: _random_swaps(key, first, second, n), num_trials, seed)
    sums, total = baseline.sum(1)[None] + moved, system.sum(1)[None] - moved
    found = np.abs(score_fn(sums).mean(1) - score_fn(total).mean(1))
    as_large = int((found >= abs(difference) - 1e-9).sum())
    return PairedTest(difference, (as_large + 1) / (num_trials + 1))


def paired_bootstrap(
    baseline: np.ndarray, system: np.ndarray, score_fn: ScoreFn, num_trials: int = 1_000, seed: int = 12345
) -> PairedTest:
    """Paired bootstrap (Koehn 2004) with sacrebleu's p: how often a resampled |difference| exceeds its mean by more
    than the observed one. baseline, system: [R, B, C]."""
    difference = float(score_fn(system.sum(1)).mean() - score_fn(baseline.sum(1)).mean())
    both = jnp.asarray(np.concatenate([baseline, system]), jnp.float32)
    scores = score_fn(_in_batches(lambda key, n: _resampled_sums(key, both, n), num_trials, seed))
    drawn = np.abs(scores[:, len(baseline) :].mean(1) - scores[:, : len(baseline)].mean(1))
    larger = int((drawn - drawn.mean() > abs(difference)).sum()) if drawn.any() else num_trials  # or they are equal
    return PairedTest(difference, (larger + 1) / (num_trials + 1))
