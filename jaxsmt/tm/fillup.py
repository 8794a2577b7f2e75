"""Fill-up: each pair's features from the first component that has it (Bisazza, Ruiz and Federico 2011)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsmt.common.errors import UserError


class FillUp(NamedTuple):
    """Features of A pairs filled up from D components.

    features: [A, 4] log features.
    origin: [A] int32 the component they come from; −1 for a pair that none has.
    indicators: [A, D − 1] float32, 1 in column k for pairs from the component of rank k + 1: features for the tuner.
    """

    features: np.ndarray
    origin: np.ndarray
    indicators: np.ndarray


def fill_up(log_features: np.ndarray, is_present: np.ndarray, order: Sequence[int] | None = None) -> FillUp:
    """Takes each pair's features from the first component in `order` that has the pair.

    Args:
      log_features: [A, D, 4] of each component alone.
      is_present: [A, D] bool, whether the component has the pair.
      order: the components from the most trusted to the least; the given one if None.
    """
    num_components = is_present.shape[1]
    ranking = np.arange(num_components) if order is None else np.asarray(order)
    if sorted(ranking.tolist()) != list(range(num_components)):
        raise UserError(f"the fill-up order {ranking.tolist()} does not name each of {num_components} components once")
    ranked = is_present[:, ranking]
    rank, has_any = ranked.argmax(1), np.asarray(ranked.any(1))
    origin = ranking[rank]
    indicators = (rank[:, None] == np.arange(1, num_components)) & has_any[:, None]
    return FillUp(
        features=log_features[np.arange(len(origin)), origin],
        origin=np.where(has_any, origin, -1).astype(np.int32),
        indicators=indicators.astype(np.float32),
    )
