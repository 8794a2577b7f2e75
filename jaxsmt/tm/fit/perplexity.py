"""Instance weighting: component weights λ of least cross-entropy on development pairs (Sennrich 2012, section 4.2).

    H(λ) = −Σ_(s,t) p̃(s,t) log2 p(x|y; λ), one λ for each of the four features
minimised over log λ by L-BFGS with exact gradients. H does not change with the scale of λ, so no component plays a
special part: a useless first component gets a small weight like any other. Only the result is scaled to λ_1 = 1.

A component that the text has no use for would have λ = 0. On the way there the gradient with respect to log λ vanishes,
so where the search stops would be a matter of rounding: a weight that can be MIN_WEIGHT times the largest at no cost
in H is exactly that.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.devices.spreading import placed
from jaxsmt.common.errors import UserError
from jaxsmt.tm.fit.config import PerplexityConfig
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.fit.lbfgs import ValueAndGradient, minimise
from jaxsmt.tm.fit.objective import (
    MIN_WEIGHT,
    Problem,
    build_problem,
    evaluate,
    limited_log_mixture,
    value_and_gradient,
)
from jaxsmt.tm.fit.results import FeatureFit, MixtureFit, check_development, fit_pieces, join_features
from jaxsmt.tm.weights import FEATURE_NAMES, check_feature_weights

START_WEIGHT = 1e-3  # at least, relative to the largest: where weights vanish, so do gradients
SMALL_WEIGHT = 1e-2  # relative to the largest: what is below may be on its way to 0
Found = tuple[Array, Array, Array, Array]  # log λ [S, D], objective, accepted steps and whether converged [S]


def fit_instance_weights(
    development: DevelopmentPairs, config: PerplexityConfig | None = None, prior_weights: object = None
) -> MixtureFit:
    """Weights λ [S, 4, D] of least cross-entropy for every development set and feature.

    Args:
      development: from `development_pairs`.
      config: when to stop, and how strong the prior is.
      prior_weights: [4, D] or [S, 4, D] the centre of the prior, such as the weights of all sets together; ones if
        None.
    """
    config = config or PerplexityConfig()
    check_development(development)
    if prior_weights is not None and config.prior_deviation is None:
        raise UserError("prior weights were given without a prior_deviation: say how far weights may be from them")
    shape = (len(development.set_names), len(FEATURE_NAMES), len(development.component_names))
    centre = np.zeros(shape, np.float32)
    if prior_weights is not None:
        centre += np.log(_checked_mixtures(development, prior_weights))

    def begin(number: int, feature: int, rows: slice) -> tuple[Problem, Found]:
        problem = build_problem(development.sets(rows), feature)
        return problem, _begin_fit(problem, config, centre[rows, feature], number)

    return join_features(development, fit_pieces(shape[0], shape[1], begin, _feature_fit))


def cross_entropy(development: DevelopmentPairs, weights: object) -> np.ndarray:
    """[S, 4] bits per used occurrence at given λ [4, D] or [S, 4, D]; NaN where a set has no pair that counts."""
    check_development(development)
    mixtures = _checked_mixtures(development, weights)
    columns = []
    for feature in range(len(FEATURE_NAMES)):
        problem = build_problem(development, feature)
        value, _ = evaluate(problem.objective, jnp.log(mixtures[:, feature]))
        bits = (problem.constant + np.asarray(value, np.float64)) / np.log(2)
        columns.append(np.where(problem.used > 0, bits, np.nan))
    return np.stack(columns, 1)


def _checked_mixtures(development: DevelopmentPairs, weights: object) -> np.ndarray:
    """[S, 4, D] float32 with a largest weight of 1 and none below MIN_WEIGHT."""
    checked = check_feature_weights(weights, development.component_names)
    limited = np.maximum(checked / checked.max(-1, keepdims=True), np.float32(MIN_WEIGHT))
    return np.broadcast_to(limited, (len(development.set_names), *checked.shape[-2:]))


def _begin_fit(problem: Problem, config: PerplexityConfig, centre: np.ndarray, number: int) -> Found:
    """What `minimise_mixture` will find, on the device of piece `number`; centre: [S, D]."""
    precision = np.zeros_like(problem.used)
    if config.prior_deviation is not None:  # −log of the prior, per occurrence
        precision = np.where(problem.used > 0, 1 / np.maximum(problem.used, 1e-30), 0) / config.prior_deviation**2
    return minimise_mixture(
        placed(problem.objective, number), centre, precision.astype(np.float32),
        config.tolerance * np.log(2), config.max_evaluations,
    )  # fmt: skip


def _feature_fit(begun: tuple[Problem, Found]) -> FeatureFit:
    problem, (log_mixture, value, iterations, is_converged) = begun
    mixture = np.exp(np.asarray(log_mixture, np.float64))
    return FeatureFit(
        weights=mixture / mixture[:, :1],
        cross_entropy=(problem.constant + np.asarray(value, np.float64)) / np.log(2),
        start_cross_entropy=problem.constant / np.log(2),
        iterations=np.asarray(iterations),
        is_converged=np.asarray(is_converged),
        used=problem.used,
    )


@partial(jax.jit, static_argnames="value_and_gradient_fn")
def minimise_mixture(
    objective: Any, centre: Array | np.ndarray, precision: Array | np.ndarray, tolerance: float, max_evaluations: int,
    value_and_gradient_fn: Callable[[Any, Array], tuple[Array, Array]] = value_and_gradient,
) -> Found:  # fmt: skip
    """log λ [S, D] (the largest 0), the objective there [S], accepted steps [S], converged [S].

    objective: a pytree for value_and_gradient_fn, which gives values [S] and gradients at log λ [S, D] of any scale.
    precision: [S] of the normal prior around centre [S, D].
    """
    start = jnp.maximum(centre - centre.max(-1, keepdims=True), np.log(START_WEIGHT))

    def evaluate_at(point: Array) -> tuple[Array, Array]:
        return value_and_gradient_fn(objective, point)

    def penalised(point: Array) -> tuple[Array, Array]:
        value, gradient = evaluate_at(point)
        away = point - centre
        return value + precision * (away**2).sum(-1) / 2, gradient + precision[:, None] * away

    found = minimise(penalised, start, tolerance, max_evaluations)
    value = found.value - precision * ((found.point - centre) ** 2).sum(-1) / 2
    point, value = _lower_useless(evaluate_at, limited_log_mixture(found.point), value, precision == 0, tolerance)
    return point, value, found.num_iterations, found.is_converged


def _lower_useless(
    evaluate_at: ValueAndGradient, point: Array, value: Array, is_free: Array, tolerance: float
) -> tuple[Array, Array]:
    """log λ [S, D] with every weight at MIN_WEIGHT that can be there, one after the other, the smallest first.

    Args:
      evaluate_at: the objective.
      point, value: log λ [S, D], the largest 0, and the objective there [S].
      is_free: [S] sets without a prior, which would say where a weight belongs.
      tolerance: what the objective may rise by for each weight.
    """
    floor = np.float32(np.log(MIN_WEIGHT))

    def is_open(point: Array, is_tried: Array) -> Array:
        return (point < np.log(SMALL_WEIGHT)) & (point > floor) & ~is_tried & is_free[:, None]

    def lower_one(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        point, value, is_tried = carry
        left = is_open(point, is_tried)
        smallest = jnp.where(left, point, jnp.inf).argmin(-1)
        is_next = left & (jnp.arange(point.shape[1])[None] == smallest[:, None])
        lowered = jnp.where(is_next, floor, point)
        new_value, _ = evaluate_at(lowered)
        is_taken = left.any(-1) & (new_value <= value + tolerance)
        return (
            jnp.where(is_taken[:, None], lowered, point), jnp.where(is_taken, new_value, value), is_tried | is_next
        )  # fmt: skip

    start = point, value, jnp.zeros_like(point, bool)
    return jax.lax.while_loop(lambda carry: is_open(carry[0], carry[2]).any(), lower_one, start)[:2]
