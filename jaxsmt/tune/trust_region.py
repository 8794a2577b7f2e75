"""Derivative-free tuning of few parameters for any score: COBYQA (Ragonneau & Zhang 2024), of Powell's family."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jaxsmt.tune.config import TrustRegionConfig
from jaxsmt.tune.lists import TuningLists, list_score


@dataclass(frozen=True)
class TrustRegionInfo:
    """points: [E, F] evaluated; scores: [E]."""

    points: np.ndarray
    scores: np.ndarray


def maximise(
    score_fn: Callable[[np.ndarray], float], start: np.ndarray, config: TrustRegionConfig | None = None
) -> tuple[np.ndarray, TrustRegionInfo]:
    """The best point [F] evaluated and all that were; score_fn gives a number to make large for parameters [F]."""
    from scipy.optimize import Bounds, minimize  # only here: it takes as long to load as half of JAX

    config = config or TrustRegionConfig()
    points: list[np.ndarray] = []
    scores: list[float] = []

    def cost(point: np.ndarray) -> float:
        points.append(np.array(point, np.float64))
        scores.append(float(score_fn(points[-1])))
        return -scores[-1]

    low = -np.inf if config.low is None else config.low
    high = np.inf if config.high is None else config.high
    start = np.clip(np.asarray(start, np.float64), low, high)
    options = {
        "initial_tr_radius": config.initial_radius, "final_tr_radius": config.final_radius,
        "maxfev": config.max_evaluations, "scale": False,
    }  # fmt: skip
    minimize(cost, start, method="COBYQA", bounds=Bounds(low, high), options=options)
    best = int(np.argmax(scores))
    return points[best], TrustRegionInfo(np.array(points), np.array(scores))


def trust_region(
    lists: TuningLists, start: np.ndarray, config: TrustRegionConfig | None = None
) -> tuple[np.ndarray, TrustRegionInfo]:
    """Weights [F] that maximise the objective of the 1-best in the lists; for few features."""
    config = config or TrustRegionConfig()
    return maximise(lambda weights: list_score(lists, weights, config.metric), start, config)
