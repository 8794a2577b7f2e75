"""EM for the weights of a linear mixture: S sets at once, one feature.

    E step: r_m = λ_m p_m / Σ_l λ_l p_l;  M step: λ_m ∝ Σ_j f_j r_m (+ prior counts)
In the normalised variant, Σ_m λ_m k_m p_m / Σ_m λ_m k_m with k_m = 1 if component m knows the conditioning phrase, else
0, components are imagined to be drawn until one knows the phrase: the E step also expects λ_m (1 − k_m) / Σ_l λ_l k_l
rejected draws of m. Both raise the likelihood in every iteration.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.tm.features import LOG_FLOOR
from jaxsmt.tm.fit.log_sums import LogSums, reduce_log_sums, row_sums


class EmProblem(NamedTuple):
    """Per used occurrence, in nats and without constants. A pytree.

    pairs: log(Σ_m λ_m p_m) of the pairs that several components have.
    known: log(Σ_m λ_m k_m) of the phrases that several know; an additional component, of weight 0, knows every phrase.
    single: [S, D] the share of pairs that one component alone has, where others know the phrase.
    prior: [S, D] prior counts.
    """

    pairs: LogSums
    known: LogSums
    single: Array | np.ndarray
    prior: Array | np.ndarray


class EmState(NamedTuple):
    """Of S sets."""

    weights: Array  # [S, D]
    history: Array  # [S, iterations + 1] log-likelihood and log prior before each iteration, and at the end
    iterations: Array  # [S] int32
    is_converged: Array  # [S] the weights have stopped moving
    is_done: Array  # [S] they are final, and the history is complete


def build_em(
    log_values: np.ndarray, counts: np.ndarray, is_known: np.ndarray | None, prior: np.ndarray
) -> tuple[EmProblem, np.ndarray, np.ndarray]:
    """The problem of one feature, what its log-likelihood lacks [S] float64, and the used occurrences [S].

    log_values: [D, A]; counts: [S, A]; is_known: [D, A], None for the plain variant; prior: [S, D] counts.
    """
    log_values = np.where(log_values > LOG_FLOOR, log_values, -np.inf)
    top = log_values.max(0)
    kept = np.where(np.isfinite(top)[None], counts, 0).astype(np.float64)
    used = kept.sum(1)
    per_occurrence = 1 / np.where(used > 0, used, 1)[:, None]
    shares, top = kept * per_occurrence, np.where(np.isfinite(top), top, 0)
    pairs, constant = reduce_log_sums([(np.exp(log_values - top[None]), shares)])
    constant += shares @ top.astype(np.float64)
    known, known_single, known_constant = _known_sums(is_known, log_values, shares)
    single = np.maximum(pairs.single - known_single, 0).astype(np.float32)
    problem = EmProblem(pairs, known, single, (prior * per_occurrence).astype(np.float32))
    return problem, constant - known_constant, used


@partial(jax.jit, static_argnames="max_iterations")
def run_em(problem: EmProblem, tolerance: float, max_iterations: int) -> EmState:
    """EM from equal weights until none of a set moves by the tolerance; a set that has converged stays as it is."""
    num_sets, num_components = problem.single.shape
    rows = jnp.arange(num_sets)
    start = EmState(
        weights=jnp.full((num_sets, num_components), 1 / num_components, jnp.float32),
        history=jnp.full((num_sets, max_iterations + 1), jnp.nan, jnp.float32),
        iterations=jnp.zeros(num_sets, jnp.int32),
        is_converged=jnp.zeros(num_sets, bool),
        is_done=jnp.zeros(num_sets, bool),
    )

    def iterate(state: EmState) -> EmState:
        weights, objective = em_step(problem, state.weights)
        is_final = state.is_converged | (state.iterations >= max_iterations)
        is_still = jnp.abs(weights - state.weights).max(-1) < tolerance
        return EmState(
            weights=jnp.where(is_final[:, None], state.weights, weights),
            history=state.history.at[rows, state.iterations].set(objective),
            iterations=state.iterations + ~is_final,
            is_converged=state.is_converged | (is_still & ~is_final),
            is_done=is_final,
        )

    return jax.lax.while_loop(lambda state: ~state.is_done.all(), iterate, start)


def em_step(problem: EmProblem, weights: Array) -> tuple[Array, Array]:
    """New weights [S, D], and the objective [S] at the old ones."""
    value, gradient = row_sums(problem.pairs, weights)
    known_value, known_gradient = row_sums(problem.known, jnp.pad(weights, ((0, 0), (0, 1))))
    single, prior = jnp.asarray(problem.single), jnp.asarray(problem.prior)
    rejected = known_gradient[:, -1:] - known_gradient[:, :-1]
    expected = weights * (gradient + rejected) + single + prior
    total = expected.sum(-1, keepdims=True)
    objective = value - known_value + ((single + prior) * log_of(weights)).sum(-1)
    return jnp.where(total > 0, expected / jnp.where(total > 0, total, 1), weights), objective


def log_of(weights: Array | np.ndarray) -> Array:
    """Logarithms of weights, finite for 0."""
    return jnp.log(jnp.maximum(weights, 1e-30))


def _known_sums(
    is_known: np.ndarray | None, log_values: np.ndarray, shares: np.ndarray
) -> tuple[LogSums, np.ndarray, np.ndarray]:
    """Σ f log(Σ_m λ_m k_m), the share [S, D] of phrases that one component alone knows, and the constant [S].

    Where one component alone knows the phrase λ plays no part: such pairs are left out.
    """
    num_components, num_pairs = log_values.shape
    if is_known is None:
        nothing = np.zeros((num_components + 1, 0), np.float32)
        sums, constant = reduce_log_sums([(nothing, np.zeros((len(shares), 0)))])
        return sums, np.zeros((len(shares), num_components)), constant
    is_known = is_known | np.isfinite(log_values)  # who has the pair knows the phrase
    alone = is_known.sum(0) == 1
    component = is_known[:, alone].argmax(0)
    single = np.stack([np.bincount(component, row[alone], minlength=num_components) for row in shares])
    table = np.concatenate([is_known, np.ones((1, num_pairs), bool)]).astype(np.float32)
    sums, constant = reduce_log_sums([(table, np.where(alone[None], 0, shares))])
    return sums, single, constant
