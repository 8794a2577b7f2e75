"""Mixture weights λ as a person gives them."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.common.errors import UserError

FEATURE_NAMES = ("p(s|t)", "lex(s|t)", "p(t|s)", "lex(t|s)")  # the order of all [..., 4] arrays, and of Moses' tables
P_SOURCE, LEX_SOURCE, P_TARGET, LEX_TARGET = range(4)  # their places: what is predicted, p or lex
ORIENTATION = "orientation"  # a fifth row of mixture weights, for lexicalised reordering; see `jaxsmt.tm.reordering`


def check_weights(weights: object, names: Sequence[str]) -> np.ndarray:
    """Mixture weights as float32 [4, D] or [S, 4, D], or a UserError that names what is wrong.

    weights: one λ_d ≥ 0 for each of the four features and D components; [D] or [S, D] where `names` alone matters.
    names: [D] the components.
    """
    array = _as_numbers(weights)
    listed = ", ".join(names)
    if array.ndim == 0 or array.shape[-1] != len(names):
        found = array.shape[-1] if array.ndim else 1
        raise UserError(
            f"the weights have {found} values for {len(names)} components ({listed}): give one per component"
        )
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float32)
    bad = ~np.isfinite(rounded) | (array < 0)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise UserError(
            f"the weight of component '{names[place[-1]]}'{_feature_of(array, place)} is {array[place]:g}: "
            "weights are finite numbers of at least 0"
        )
    empty = ~(rounded > 0).any(-1)
    if empty.any():
        place = tuple(int(i) for i in np.argwhere(empty)[0])
        raise UserError(
            f"all weights{_feature_of(array, (*place, 0))} are 0 ({listed}): give a component a positive one"
        )
    return rounded


def check_feature_weights(weights: object, names: Sequence[str], with_orientation: bool = False) -> np.ndarray:
    """`check_weights` for [4, D] or [S, 4, D]: a row for each of the four features.

    with_orientation: [5, D] or [S, 5, D] will do as well, with a row for the orientations of phrases.
    """
    array = check_weights(weights, names)
    allowed = len(FEATURE_NAMES), len(FEATURE_NAMES) + with_orientation
    if array.ndim not in (2, 3) or array.shape[-2] not in allowed:
        raise UserError(
            f"the weights have shape {list(array.shape)}: give [4, {len(names)}], a row for each of "
            f"{', '.join(FEATURE_NAMES)} and in it one value for each of {', '.join(names)}"
        )
    return array


def _as_numbers(weights: object) -> np.ndarray:
    try:
        return np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"the weights {weights!r} are not a rectangular table of numbers: give one number per feature and component"
        ) from None


def _feature_of(array: np.ndarray, place: tuple[int, ...]) -> str:
    rows = (*FEATURE_NAMES, ORIENTATION)
    if array.ndim < 2 or array.shape[-2] not in (len(FEATURE_NAMES), len(rows)):
        return ""
    return f" for {rows[place[-2]]}"
