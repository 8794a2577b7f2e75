"""Minimum risk training (Smith & Eisner 2006; Rosti et al. 2011): weights by the gradient of expected quality."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.norms import l1_norm, l1_normalised
from jaxsmt.common.optimise import Minimum, descend, minimise
from jaxsmt.tune.augment import plain_columns
from jaxsmt.tune.config import RiskConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.mert.tuner import point_scores
from jaxsmt.tune.risk.objective import Gains, expected_score, gains, measure_of, padded, padded_counts

TOLERANCE = 1e-6  # of the largest entry of the gradient


@dataclass(frozen=True)
class RiskInfo:
    """What a run saw.

    points: [R, Q, F] where the searches of each set ended; scores: [R, Q] the objective of the actual 1-best there.
    expected: [R, Q] the expected objective under the last γ.
    """

    points: np.ndarray
    scores: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True)
class Scales:
    """Between weights w and what is searched: u = w · spread / size, so that one step length fits all features.

    spread: [F] deviation of each feature within the lists in which it varies; 1 where it never does.
    size: deviation of the scores within lists under the weights at the start; 1 where they all are equal.
    """

    spread: np.ndarray
    size: float

    def inside(self, weights: np.ndarray) -> np.ndarray:
        return weights * self.spread / self.size

    def outside(self, points: np.ndarray) -> np.ndarray:
        return points * self.size / self.spread


class RiskProblem(NamedTuple):
    """features: [B, H, F] float32, centred in each list and divided by their spread; gains: of the hypotheses."""

    features: Array
    gains: Gains


class RiskSettings(NamedTuple):
    """What a search is told: centre [F] and strength l2 [] of the prior, how often sentences count, γ [].

    multiplicities: [B], or [Q, B] for Q searches.
    """

    centre: Array
    multiplicities: Array
    gamma: Array
    l2: Array


class Descent(NamedTuple):
    """How minima are searched, and what of; programs are compiled for it."""

    measure: str
    optimiser: str
    iterations: int


def risk(lists: TuningLists, start: np.ndarray, config: RiskConfig | None = None) -> tuple[np.ndarray, RiskInfo]:
    """Weights [F] of least risk on fixed lists, from the start [F], whose L1 norm they keep."""
    weights, info = risk_resampled(lists, start, np.ones((1, len(lists))), config)
    return weights[0], info


def risk_resampled(
    lists: TuningLists, start: np.ndarray, multiplicities: np.ndarray, config: RiskConfig | None = None
) -> tuple[np.ndarray, RiskInfo]:
    """One tuning for each of R resampled sets: multiplicities [R, B] (how often a sentence counts) → weights [R, F].

    All sets and all starting points are searched side by side, by one program for each γ. The lists lie on the device
    as they are, 4·B·H·F bytes with padding, sparse features too.
    """
    config = config or RiskConfig()
    start, multiplicities = np.asarray(start, np.float64), np.asarray(multiplicities, np.float64)
    if not lists.is_real.any():
        shape = (len(multiplicities), 1)
        return np.tile(start, shape), RiskInfo(np.tile(start, (*shape, 1)), np.zeros(shape), np.zeros(shape))
    problem, scales = risk_problem(lists, start, config)
    starts = scales.inside(_starts(start, scales, config))  # [Q, F]
    num_sets, num_starts = len(multiplicities), len(starts)
    counts = padded_counts(multiplicities, len(problem.features))
    points = jnp.asarray(np.tile(starts, (num_sets, 1)), jnp.float32)
    counts_of_points = jnp.asarray(np.repeat(counts, num_starts, 0), jnp.float32)
    found = _anneal(problem, points, jnp.asarray(scales.inside(start), jnp.float32), counts_of_points, config)
    shape = (num_sets, num_starts)
    ended = scales.outside(np.asarray(found.point, np.float64)).reshape(*shape, len(start))
    scores = np.stack([
        point_scores(lists, points, counted[None], config.metric)[0]
        for points, counted in zip(ended, multiplicities, strict=True)
    ])  # fmt: skip
    best = ended[np.arange(num_sets), scores.argmax(1)]
    norm = l1_norm(start) if start.any() else 1.0
    return l1_normalised(best) * norm, RiskInfo(ended, scores, -np.asarray(found.value).reshape(shape))


def risk_problem(lists: TuningLists, start: np.ndarray, config: RiskConfig) -> tuple[RiskProblem, Scales]:
    """Lists as the search wants them, and how its points are to be read."""
    real, sizes = lists.is_real[..., None], np.maximum(lists.sizes, 1)
    centred = lists.features - (lists.features.sum(1) / sizes[:, None])[:, None]  # what fills lists is 0
    centred *= real
    spread = _spread(centred, lists.sizes)[plain_columns(lists.feature_names)]  # so that deviations cost more
    size = _spread((centred @ start)[..., None], lists.sizes)[0]
    centred /= spread
    worth = gains(lists, config.metric, config.level)
    worth = worth._replace(statistics=worth.statistics.astype(jnp.float32))
    return RiskProblem(jnp.asarray(padded(centred), jnp.float32), worth), Scales(spread, float(size))


def _spread(centred: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[F]: root mean square of centred features [B, H, F] in lists of given sizes [B] where they are not all 0."""
    squares = np.einsum("bhf,bhf->bf", centred, centred)
    counted = ((squares > 1e-12) * sizes[:, None]).sum(0)
    return np.where(counted > 0, np.sqrt(squares.sum(0) / np.maximum(counted, 1)), 1.0)


def _starts(start: np.ndarray, scales: Scales, config: RiskConfig) -> np.ndarray:
    """[1 + restarts, F]: the start, and random points about it, as far away as `perturbation` says."""
    rng = np.random.default_rng(config.seed)
    noise = scales.outside(rng.normal(size=(config.restarts, len(start)))) / np.sqrt(max(len(start), 1))
    return np.concatenate([start[None], start + config.perturbation * noise])


def _anneal(problem: RiskProblem, points: Array, centre: Array, multiplicities: Array, config: RiskConfig) -> Minimum:
    """The minima that points [Q, F] lead to, γ growing from step to step; multiplicities [Q, B], centre [F]."""
    rate, descent = jnp.float32(config.learning_rate), descent_of(config)
    for step in range(config.gamma_steps):
        gamma = jnp.float32(config.gamma * config.gamma_factor**step)
        settings = RiskSettings(centre, multiplicities, gamma, jnp.float32(config.l2))
        found = _search(problem, points, settings, rate, descent)
        points = found.point
    return found


def descent_of(config: RiskConfig) -> Descent:
    return Descent(measure_of(config.metric, config.level), config.optimiser, config.iterations)


def risk_loss(point: Array, problem: RiskProblem, settings: RiskSettings, measure: str) -> Array:
    """[]: minus the expected quality under u = `point` [F], and the prior ½·l2·|u − u₀|² around the centre."""
    scores = jnp.matmul(problem.features, point, precision=jax.lax.Precision.HIGHEST)
    quality = expected_score(settings.gamma * scores, problem.gains, settings.multiplicities, measure)
    return settings.l2 / 2 * ((point - settings.centre) ** 2).sum() - quality


@partial(jax.jit, static_argnames="descent")
def _search(problem: RiskProblem, points: Array, settings: RiskSettings, rate: Array, descent: Descent) -> Minimum:
    """Minima from points [Q, F] of sets with multiplicities [Q, B]."""

    def search(point: Array, counts: Array) -> Minimum:
        own = settings._replace(multiplicities=counts)
        return least(lambda u: risk_loss(u, problem, own, descent.measure), point, rate, descent)

    return jax.vmap(search)(points, settings.multiplicities)


def least(loss_fn: Callable[[Array], Array], start: Array, rate: Array, descent: Descent) -> Minimum:
    """The minimum of a loss that a point leads to; rate: of Adam."""
    if descent.optimiser == "adam":
        return descend(loss_fn, start, rate, descent.iterations)
    return minimise(loss_fn, start, TOLERANCE, descent.iterations)
