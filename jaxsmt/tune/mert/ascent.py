"""Many ascents at once, each from line search to line search until no step helps."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.mert.line_search import SearchSpace, best_steps, feasible_steps, line_events

_LINES_AT_ONCE = 128


@dataclass(frozen=True)
class Ascents:
    """Q ascents: where they are, how good that is, and what for.

    points: [Q, F] weights.
    scores: [Q] objective of the points as the line search saw it; −inf before the first step.
    sets: [Q] int64: the row of the multiplicities that an ascent is for.
    """

    points: np.ndarray
    scores: np.ndarray
    sets: np.ndarray

    def take(self, rows: np.ndarray) -> "Ascents":
        return Ascents(self.points[rows], self.scores[rows], self.sets[rows])


def ascents_from(points: np.ndarray, sets: np.ndarray) -> Ascents:
    """Ascents that start at points [Q, F]."""
    return Ascents(points.astype(np.float64), np.full(len(points), -np.inf), sets)


def ascend(
    space: SearchSpace, ascents: Ascents, multiplicities: np.ndarray, config: MertConfig, rng: np.random.Generator
) -> tuple[Ascents, int]:
    """Improves all ascents until an iteration gains too little; multiplicities [R, B] of the sets.

    Returns where they ended and the number of lines searched.
    """
    iterate = _steepest_iteration if config.strategy == "steepest" else _cyclic_iteration
    points, scores = ascents.points.copy(), ascents.scores.copy()
    moving, num_lines = np.arange(len(points)), 0
    for _ in range(config.max_iterations):
        if not len(moving) or not space.blocks:
            break
        directions = rng.normal(size=(config.random_directions, points.shape[1]))
        before = scores[moving]
        now = Ascents(points[moving], before, ascents.sets[moving])
        after = iterate(space, now, multiplicities, np.concatenate([np.eye(points.shape[1]), directions]), rng)
        points[moving], scores[moving] = after.points, after.scores
        num_lines += len(moving) * (points.shape[1] + len(directions))
        moving = moving[after.scores - before > config.tolerance]
    return Ascents(points, scores, ascents.sets), num_lines


def _steepest_iteration(
    space: SearchSpace, ascents: Ascents, multiplicities: np.ndarray, axes: np.ndarray, rng: np.random.Generator
) -> Ascents:
    """Searches all directions [D, F] and takes the best step; of equal ones the first."""
    num, num_axes = len(ascents.points), len(axes)
    scores, steps = _search(
        space, np.repeat(ascents.points, num_axes, 0), np.tile(axes, (num, 1)),
        np.repeat(ascents.sets, num_axes), multiplicities,
    )  # fmt: skip
    best = scores.reshape(num, num_axes).argmax(1)
    rows = np.arange(num) * num_axes + best
    return _stepped(ascents, axes[best] * steps[rows][:, None], scores[rows])


def _cyclic_iteration(
    space: SearchSpace, ascents: Ascents, multiplicities: np.ndarray, axes: np.ndarray, rng: np.random.Generator
) -> Ascents:
    """Steps along one direction [D, F] after the other, all ascents in the same random order."""
    for axis in axes[rng.permutation(len(axes))]:
        directions = np.repeat(axis[None], len(ascents.points), 0)
        scores, steps = _search(space, ascents.points, directions, ascents.sets, multiplicities)
        ascents = _stepped(ascents, directions * steps[:, None], scores)
    return ascents


def _stepped(ascents: Ascents, moves: np.ndarray, scores: np.ndarray) -> Ascents:
    is_better = scores > ascents.scores
    points = np.where(is_better[:, None], ascents.points + moves, ascents.points)
    return Ascents(points, np.maximum(scores, ascents.scores), ascents.sets)


def _search(
    space: SearchSpace, points: np.ndarray, directions: np.ndarray, sets: np.ndarray, multiplicities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Best scores and steps [L] of lines [L, F], so many at a time."""
    found = []
    all_once = bool((multiplicities == 1).all())
    for rows, events in line_events(space, points, directions, _LINES_AT_ONCE):
        limits = feasible_steps(space, points[rows], directions[rows]) if space.is_nonnegative.any() else None
        found.append(best_steps(space, events, None if all_once else multiplicities[sets[rows]], limits))
    return np.concatenate([scores for scores, _ in found]), np.concatenate([steps for _, steps in found])
