"""Batch MIRA (Cherry & Foster 2012): large-margin updates towards hope and away from fear translations."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.sizes import power_of_two
from jaxsmt.evaluate.bleu import LENGTH, MATCHES, NUM_STATISTICS, REFERENCE_LENGTH, TOTALS
from jaxsmt.tune.config import MiraConfig
from jaxsmt.tune.lists import TuningLists, list_score

_LEAST_LENGTH = 64  # of lists


class MiraState(NamedTuple):
    """weights, total: [F] float32, now and summed over the sentences seen; background: [10] decayed BLEU statistics."""

    weights: jax.Array
    total: jax.Array
    num_seen: jax.Array
    background: jax.Array


class _Lists(NamedTuple):
    """features, statistics, is_real: [B, H, F], [B, H, 10] and [B, H], of the lists that are not empty."""

    features: jax.Array
    statistics: jax.Array
    is_real: jax.Array


@dataclass(frozen=True)
class MiraInfo:
    """scores: [I] BLEU of the averaged weights after each pass, none without lists; best: whose weights were taken."""

    scores: np.ndarray
    best: int


def mira(lists: TuningLists, start: np.ndarray, config: MiraConfig | None = None) -> tuple[np.ndarray, MiraInfo]:
    """Weights [F] by batch MIRA on fixed lists, from the start [F]; the averaged weights of the best pass."""
    config = config or MiraConfig()
    keep = np.flatnonzero(lists.sizes > 0)
    if not len(keep):
        return np.array(start, np.float64), MiraInfo(np.zeros(0), 0)
    kept = _Lists(
        jnp.asarray(_lengthened(lists.features[keep] - lists.features[keep, :1]), jnp.float32),
        jnp.asarray(_lengthened(lists.statistics("bleu")[keep]), jnp.float32),
        jnp.asarray(_lengthened(lists.is_real[keep])),
    )
    rng = np.random.default_rng(config.seed)
    state = MiraState(
        jnp.asarray(start, jnp.float32), jnp.zeros(len(start), jnp.float32), jnp.float32(0), _first_background(),
    )  # fmt: skip
    averages, scores = [], []
    for _ in range(config.iterations):
        order = rng.permutation(len(keep)) if config.shuffle else np.arange(len(keep))
        state = _one_pass(state, kept, order, config.step_limit, config.decay)
        averages.append(np.asarray(state.total / state.num_seen, np.float64))
        scores.append(list_score(lists, averages[-1], "bleu"))
    best = int(np.argmax(scores))
    return averages[best], MiraInfo(np.array(scores), best)


def _lengthened(array: np.ndarray) -> np.ndarray:
    """[B, H', ...] with zeros behind [B, H, ...]: lists grow from round to round, and few sizes are compiled."""
    missing = power_of_two(array.shape[1], _LEAST_LENGTH) - array.shape[1]
    return np.pad(array, ((0, 0), (0, missing), *((0, 0) for _ in array.shape[2:])))


def _first_background() -> jax.Array:
    """One pseudo-match of every order, so that the first sentences' BLEU is defined."""
    return jnp.ones(NUM_STATISTICS, jnp.float32)


@jax.jit
def _one_pass(state: MiraState, lists: _Lists, order: jax.Array, step_limit: float, decay: float) -> MiraState:
    """One pass over the sentences in the given order [B] (Cherry & Foster 2012, algorithm 1)."""

    def visit(state: MiraState, sentence: jax.Array) -> tuple[MiraState, None]:
        phi, counts, real = (part[sentence] for part in lists)
        bleu = _background_bleu(counts, state.background)
        score = _product(phi, state.weights)
        hope = jnp.where(real, score + bleu, -jnp.inf).argmax()
        fear = jnp.where(real, score - bleu, -jnp.inf).argmax()
        cost = bleu[hope] - bleu[fear]
        away = phi[hope] - phi[fear]
        loss = cost - _product(away, state.weights)
        step = jnp.clip(loss / jnp.maximum(_product(away, away), 1e-12), 0.0, step_limit)
        is_update = (cost > 0) & (loss > 0)
        weights = state.weights + jnp.where(is_update, step, 0.0) * away
        best = jnp.where(real, score, -jnp.inf).argmax()
        background = decay * state.background + counts[best]
        return MiraState(weights, state.total + weights, state.num_seen + 1, background), None

    return jax.lax.scan(visit, state, order)[0]


def _product(left: jax.Array, right: jax.Array) -> jax.Array:
    """In full float32 on every device."""
    return jnp.matmul(left, right, precision=jax.lax.Precision.HIGHEST)


def _background_bleu(counts: jax.Array, background: jax.Array) -> jax.Array:
    """[H] BLEU of the background with each hypothesis added, times its length there (Chiang et al. 2008, section 3)."""
    joint = counts + background[None]
    log_precision = jnp.log(jnp.maximum(joint[:, MATCHES], 1e-6) / jnp.maximum(joint[:, TOTALS], 1e-6)).mean(1)
    shortness = joint[:, REFERENCE_LENGTH] / jnp.maximum(joint[:, LENGTH], 1e-6) - 1.0
    return jnp.exp(log_precision - jnp.maximum(shortness, 0.0)) * joint[:, REFERENCE_LENGTH]
