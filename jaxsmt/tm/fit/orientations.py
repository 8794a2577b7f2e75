"""Component weights λ of lexicalised reordering, from the orientations of development pairs.

    H(λ) = −Σ_(s,t) Σ_o p̃(s,t,o) log2 p(o|s, t; λ), orientations to the previous and to the next phrase together
with p(o|s, t; λ) as in `jaxsmt.tm.reordering`, minimised over log λ as the translation features' cross-entropies are
(`jaxsmt.tm.fit.perplexity`). H does not change with the scale of λ. A pair that one component alone has does not
depend on λ, and pairs with equal counts are one: an evaluation costs what is different.

A weight that can be MIN_WEIGHT times the largest at no cost in H is exactly that, so is one on which H does not depend
while it depends on others.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.devices.spreading import placed
from jaxsmt.common.errors import UserError
from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.fit.objective import MIN_WEIGHT, limited_log_mixture
from jaxsmt.tm.fit.perplexity import Found, PerplexityConfig, minimise_mixture
from jaxsmt.tm.fit.results import FeatureFit, fit_pieces
from jaxsmt.tm.reordering import SMOOTHING, mixed_orientations
from jaxsmt.tm.selection import MIN_SIZE
from jaxsmt.tm.weights import check_weights

ROWS_PER_CHUNK = 1 << 11  # stays in the cache, and sums of so few float32 numbers are exact enough


class OrientationObjective(NamedTuple):
    """Cross-entropy of S sets in nats, minus that at λ = 1. A pytree.

    N different counts of a pair's three orientations to one side, in chunks of M: N is padded to K·M.
    """

    counts: Array | np.ndarray  # [K, D, M, 3] float32; padding is 0
    weights: Array | np.ndarray  # [K, S, M, 3] float32 −p̃, 0 for padding
    equal_logs: Array | np.ndarray  # [K, M, 3] float32 log p at λ = 1


class OrientationProblem(NamedTuple):
    """The objective and what belongs to it.

    constant: [S] float64, cross-entropy at λ = 1 in nats.
    used: [S] float64, the orientations that count: two for each occurrence of a pair that a component has.
    is_useful: [S, D] bool, the components on whose weight the objective depends.
    """

    objective: OrientationObjective
    constant: np.ndarray
    used: np.ndarray
    is_useful: np.ndarray


def fit_orientation_weights(
    development: DevelopmentPairs, config: PerplexityConfig | None = None, prior_weights: object = None
) -> FeatureFit:
    """Weights λ [S, D] of least cross-entropy, in bits per orientation, for every development set.

    Args:
      development: from `development_pairs`, with orientations.
      config: when to stop, and how strong the prior is.
      prior_weights: [D] or [S, D] the centre of the prior; ones if None.
    """
    config = config or PerplexityConfig()
    if prior_weights is not None and config.prior_deviation is None:
        raise UserError("prior weights were given without a prior_deviation: say how far weights may be from them")
    equal = np.ones(len(development.component_names))
    centre = np.log(_checked(development, equal if prior_weights is None else prior_weights))

    def begin(number: int, _: int, rows: slice) -> tuple[OrientationProblem, Found]:
        problem = build_orientation_problem(development.sets(rows))
        return problem, _begin_fit(problem, config, centre[rows], number)

    return fit_pieces(len(centre), 1, begin, _fit)[0]


def _begin_fit(problem: OrientationProblem, config: PerplexityConfig, centre: np.ndarray, number: int) -> Found:
    """What `minimise_mixture` will find, on the device of piece `number`; centre: [S, D], of the prior if any."""
    if config.prior_deviation is None:  # a weight of no use starts small and is lowered at no cost
        centre, precision = np.where(problem.is_useful, 0, np.log(MIN_WEIGHT)), np.zeros_like(problem.used)
    else:
        precision = np.where(problem.used > 0, 1 / np.maximum(problem.used, 1), 0) / config.prior_deviation**2
    return minimise_mixture(
        placed(problem.objective, number), centre.astype(np.float32), precision.astype(np.float32),
        config.tolerance * np.log(2), config.max_evaluations, orientation_value_and_gradient,
    )  # fmt: skip


def _fit(begun: tuple[OrientationProblem, Found]) -> FeatureFit:
    problem, (log_mixture, value, iterations, is_converged) = begun
    mixture = np.exp(np.asarray(log_mixture, np.float64))
    return FeatureFit(
        weights=mixture / mixture[:, :1],
        cross_entropy=_bits(problem, np.asarray(value)),
        start_cross_entropy=_bits(problem, np.zeros(len(mixture))),
        iterations=np.asarray(iterations),
        is_converged=np.asarray(is_converged),
        used=problem.used,
    )


def orientation_cross_entropy(development: DevelopmentPairs, weights: object) -> np.ndarray:
    """[S] bits per orientation at given λ [D] or [S, D]; NaN where a set has no pair that counts."""
    problem = build_orientation_problem(development)
    value, _ = _evaluate(problem.objective, jnp.log(_checked(development, weights)))
    return _bits(problem, np.asarray(value))


def build_orientation_problem(development: DevelopmentPairs) -> OrientationProblem:
    """What depends on λ in the orientations of development pairs, and what does not."""
    if development.orientations is None or development.orientation_counts is None:
        raise UserError(
            "neither weights of orientations nor their perplexity can be had without orientation counts of the "
            "components and of the development text: extract both with orientations=true"
        )
    counts = development.orientation_counts.reshape(len(development.component_names), -1, 3)
    found = development.orientations.reshape(len(development.set_names), -1, 3).astype(np.float64)
    is_known = counts.sum(-1) > 0  # [D, 2A]
    found = found * (is_known.sum(0) > 0)[None, :, None]
    used = found.sum((1, 2))
    shares = found / np.where(used > 0, used, 1)[:, None, None]
    smoothed = counts.sum(0, dtype=np.float64) + SMOOTHING
    constant = -np.einsum("sno,no->s", shares, np.log(smoothed / smoothed.sum(-1, keepdims=True)))
    several = np.flatnonzero((is_known.sum(0) > 1) & shares.any((0, 2)))
    is_useful = np.stack([is_known[:, several[row[several].any(1)]].any(1) for row in shares])
    return OrientationProblem(_grouped(counts[:, several], shares[:, several]), constant, used, is_useful)


def orientation_value_and_gradient(objective: OrientationObjective, point: Array) -> tuple[Array, Array]:
    """The objective [S] at log λ [S, D] of any scale, and its gradient with respect to log λ."""
    log_mixture = limited_log_mixture(point)

    def add_chunk(sums: tuple[Array, Array], chunk: OrientationObjective) -> tuple[tuple[Array, Array], None]:
        value, pull_back = jax.vjp(lambda at: _chunk_value(chunk, at), log_mixture)
        return (sums[0] + value, sums[1] + pull_back(jnp.ones_like(value))[0]), None

    start = jnp.zeros(len(point), jnp.float32), jnp.zeros_like(log_mixture)
    (value, gradient), _ = jax.lax.scan(add_chunk, start, OrientationObjective(*map(jnp.asarray, objective)))
    return value, jnp.where(log_mixture > np.log(MIN_WEIGHT), gradient, 0)


_evaluate = jax.jit(orientation_value_and_gradient)


def _chunk_value(chunk: OrientationObjective, log_mixture: Array) -> Array:
    """[S] of one chunk."""
    mixture = jnp.exp(log_mixture).T[:, :, None]  # [D, S, 1]
    logs = jnp.log(mixed_orientations(jnp.asarray(chunk.counts)[:, None], mixture))  # [S, M, 3]
    return (chunk.weights * (logs - chunk.equal_logs[None])).sum((1, 2))


def _grouped(counts: np.ndarray, shares: np.ndarray) -> OrientationObjective:
    """The objective of counts [D, n, 3] with p̃ [S, n, 3]; equal counts become one."""
    num_components, num, _ = counts.shape
    rows = np.ascontiguousarray(counts.transpose(1, 0, 2)).reshape(num, num_components * 3)
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    size = power_of_two(len(distinct), MIN_SIZE)
    weights = np.zeros((len(shares), size, 3))
    for table, share in zip(weights, shares, strict=True):
        np.subtract.at(table, place.reshape(-1), share)
    wide = np.zeros((size, num_components, 3), np.float32)
    wide[: len(distinct)] = distinct.reshape(-1, num_components, 3)
    smoothed = wide.sum(1, dtype=np.float64) + SMOOTHING
    logs = np.log(smoothed / smoothed.sum(-1, keepdims=True)).astype(np.float32)
    chunk = min(size, ROWS_PER_CHUNK)
    return OrientationObjective(
        np.ascontiguousarray(wide.reshape(-1, chunk, num_components, 3).transpose(0, 2, 1, 3)),
        np.ascontiguousarray(weights.reshape(len(shares), -1, chunk, 3).transpose(1, 0, 2, 3), np.float32),
        logs.reshape(-1, chunk, 3),
    )


def _bits(problem: OrientationProblem, value: np.ndarray) -> np.ndarray:
    """[S] float64 from the objective [S]; NaN where nothing counts."""
    return np.where(problem.used > 0, (problem.constant + value.astype(np.float64)) / np.log(2), np.nan)


def _checked(development: DevelopmentPairs, weights: object) -> np.ndarray:
    """[S, D] float32 with a largest weight of 1 and none below MIN_WEIGHT."""
    checked = check_weights(weights, development.component_names)
    limited = np.maximum(checked / checked.max(-1, keepdims=True), np.float32(MIN_WEIGHT))
    return np.broadcast_to(limited, (len(development.set_names), checked.shape[-1]))
