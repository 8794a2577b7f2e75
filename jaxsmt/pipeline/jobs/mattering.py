"""What mattered in a sweep: how much of the scores' variance each key explains by itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsmt.pipeline.jobs.space import Dimension
from jaxsmt.pipeline.jobs.study import DONE, TriedSettings

FEWEST = 4  # trials that say anything


def explained_shares(space: Sequence[Dimension], tried: Sequence[TriedSettings]) -> dict[str, float]:
    """By key, 0 to 1, largest first: the adjusted R² of scores regressed on the values of the key alone.

    Choices have a mean each, numbers a parabola (of their logarithm, where the range has log). Keys that go together
    in the trials share what they explain, so the sum may be above 1. Empty where fewer than FEWEST trials are done.
    """
    done = [own for own in tried if own.state == DONE]
    if len(done) < FEWEST:
        return {}
    scores = np.array([own.score for own in done], np.float64)
    shares = {own.key: _explained(_columns(own, [trial.values[own.key] for trial in done]), scores) for own in space}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def _columns(own: Dimension, values: Sequence[Any]) -> np.ndarray:
    """[B, F]: what scores are regressed on, besides a constant."""
    places = np.array([own.position(value) for value in values])
    distinct = np.unique(places)
    if not own.has_order or len(distinct) < 3:
        return (places[:, None] == distinct[1:]).astype(np.float64)
    scaled = (places - places.mean()) / places.std()
    return np.stack([scaled, scaled**2], 1)


def _explained(columns: np.ndarray, scores: np.ndarray) -> float:
    """Adjusted R², 0 where nothing is left to be explained or nothing to explain it with."""
    num_rows, num_columns = columns.shape
    total = float(((scores - scores.mean()) ** 2).sum())
    spare = num_rows - num_columns - 1
    if total < 1e-12 or not num_columns or spare < 1:
        return 0.0
    design = np.concatenate([np.ones((num_rows, 1)), columns], 1)
    rest = scores - design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    share = 1 - float(rest @ rest) / total * (num_rows - 1) / spare
    return min(max(round(share, 6), 0.0), 1.0)
