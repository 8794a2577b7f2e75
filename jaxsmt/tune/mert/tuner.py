"""Minimum error rate training (Och 2003) with exact line searches, from many starting points, for many sets."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.norms import l1_normalised
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import TuningLists, best_hypotheses, objective
from jaxsmt.tune.mert.ascent import Ascents, ascend, ascents_from
from jaxsmt.tune.mert.line_search import SearchSpace, search_space


@dataclass(frozen=True)
class MertInfo:
    """What a MERT run saw.

    points: [Q, F] the end points of all ascents, L1-normalised.
    scores: [R, Q] the objective of each set there, of the actual 1-best.
    num_lines: lines searched.
    """

    points: np.ndarray
    scores: np.ndarray
    num_lines: int


def mert(lists: TuningLists, start: np.ndarray, config: MertConfig | None = None) -> tuple[np.ndarray, MertInfo]:
    """Weights [F] with |w|₁ = 1 that maximise the objective of the 1-best in the lists, from the start [F]."""
    weights, info = mert_resampled(lists, start, np.ones((1, len(lists))), config)
    return weights[0], info


def mert_resampled(
    lists: TuningLists, start: np.ndarray, multiplicities: np.ndarray, config: MertConfig | None = None
) -> tuple[np.ndarray, MertInfo]:
    """One tuning for each of R resampled sets: multiplicities [R, B] (how often a sentence counts) → weights [R, F].

    Good points of one set are good starting points for another one drawn from the same sentences. So the restarts are
    run once, for the mean of all sets; the points they reach are scored for every set (one matrix product), and each
    set goes on with its own ascents from its best ones, all sets side by side. For one set this is plain MERT.
    """
    config = config or MertConfig()
    multiplicities = np.asarray(multiplicities, np.float64)
    space = search_space(lists, config.metric, config.nonnegative)
    rng = np.random.default_rng(config.seed)
    random_starts = rng.uniform(config.restart_low, config.restart_high, (config.restarts, len(start)))
    starts = np.concatenate([np.asarray(start, np.float64)[None], random_starts])
    pool, num_lines = _search_everywhere(space, starts, multiplicities.mean(0), config, rng)
    if len(multiplicities) > 1:
        own_starts = _best_for_each_set(lists, pool, multiplicities, config)
        ended, more = ascend(space, own_starts, multiplicities, config, rng)
        pool, num_lines = np.concatenate([pool, ended.points]), num_lines + more
    scores = point_scores(lists, pool, multiplicities, config.metric)
    normal = l1_normalised(pool)
    return normal[scores.argmax(1)], MertInfo(normal, scores, num_lines)


def _search_everywhere(
    space: SearchSpace, starts: np.ndarray, multiplicities: np.ndarray, config: MertConfig, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """The end points [Q, F] of ascents from all starts and from perturbations of the best of them; lines searched."""
    ended, num_lines = ascend(space, _for_one_set(space.inside(starts)), multiplicities[None], config, rng)
    points, scores = ended.points, ended.scores
    for _ in range(config.perturbation_rounds):
        best = points[scores.argmax()]
        shape = (config.perturbed_starts, len(best))
        spread = config.perturbation * np.abs(best).mean() * 0.05  # so that a weight of 0 moves too
        perturbed = best * np.exp(config.perturbation * rng.normal(size=shape)) + spread * rng.normal(size=shape)
        ended, more = ascend(space, _for_one_set(space.inside(perturbed)), multiplicities[None], config, rng)
        points, scores = np.concatenate([points, ended.points]), np.concatenate([scores, ended.scores])
        num_lines += more
    return points, num_lines


def _for_one_set(points: np.ndarray) -> Ascents:
    return ascents_from(points, np.zeros(len(points), np.int64))


def _best_for_each_set(lists: TuningLists, pool: np.ndarray, multiplicities: np.ndarray, config: MertConfig) -> Ascents:
    """The best distinct points of a pool [Q, F] for every set, as starts of its own ascents."""
    pool = np.unique(pool, axis=0)
    scores = point_scores(lists, pool, multiplicities, config.metric)
    chosen = np.argsort(-scores, 1, kind="stable")[:, : config.shared_starts]
    return ascents_from(pool[chosen.ravel()], np.repeat(np.arange(len(multiplicities)), chosen.shape[1]))


def point_scores(lists: TuningLists, points: np.ndarray, multiplicities: np.ndarray, metric: str) -> np.ndarray:
    """The objective of each set at each point, of the actual 1-best: points [Q, F], multiplicities [R, B] → [R, Q]."""
    statistics, rows = lists.statistics(metric), np.arange(len(lists))
    chosen = [statistics[rows, best_hypotheses(lists, point)] for point in points]  # Q × [B, C]
    return np.stack([objective(multiplicities @ part, metric) for part in chosen], 1)
