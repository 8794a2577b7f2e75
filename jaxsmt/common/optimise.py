"""Minima of smooth functions on the device, by optax's L-BFGS and Adam."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

HISTORY = 10  # steps that the curvature is estimated from
PATIENCE = 8  # iterations in which neither value nor gradient becomes less: rounding hides the rest


class Minimum(NamedTuple):
    """Where the search ended.

    point: as the start. value: []. slope: [] the largest entry of the gradient. num_iterations: [] int32.
    is_converged: [] the slope is below the tolerance, or float32 can tell no better point.
    """

    point: Array
    value: Array
    slope: Array
    num_iterations: Array
    is_converged: Array


class _Search(NamedTuple):
    point: Array
    state: optax.OptState
    least_value: Array  # []
    least_slope: Array  # []
    num_iterations: Array  # []
    num_idle: Array  # [] iterations since one of both was lowered


def minimise(loss_fn: Callable[[Array], Array], start: Array, tolerance: float | Array, max_iterations: int) -> Minimum:
    """The minimum that L-BFGS finds from `start`, an array of any shape (Nocedal & Wright 2006, algorithm 7.5).

    To be called inside of jit: all iterations and line searches are one program.

    Args:
      loss_fn: a differentiable function to a number.
      tolerance: the search ends where no entry of the gradient is larger.
    """
    solver = optax.lbfgs(memory_size=HISTORY)
    value_and_gradient = optax.value_and_grad_from_state(loss_fn)

    def advance(search: _Search) -> _Search:
        value, gradient = value_and_gradient(search.point, state=search.state)
        moves, state = solver.update(gradient, search.state, search.point, value=value, grad=gradient, value_fn=loss_fn)
        slope, value = _slope(state), state[-1].value
        is_better = (slope < search.least_slope) | (value < search.least_value)
        return _Search(
            optax.apply_updates(search.point, moves), state, jnp.minimum(value, search.least_value),
            jnp.minimum(slope, search.least_slope), search.num_iterations + 1,
            jnp.where(is_better, 0, search.num_idle + 1),
        )  # fmt: skip

    def goes_on(search: _Search) -> Array:
        is_open = (search.num_iterations == 0) | (_slope(search.state) > tolerance)
        return is_open & (search.num_iterations < max_iterations) & (search.num_idle < PATIENCE)

    infinite, none = jnp.array(np.inf, start.dtype), jnp.int32(0)
    found = jax.lax.while_loop(goes_on, advance, _Search(start, solver.init(start), infinite, infinite, none, none))
    slope = _slope(found.state)
    is_converged = (slope <= tolerance) | (found.num_idle >= PATIENCE)
    return Minimum(found.point, found.state[-1].value, slope, found.num_iterations, is_converged)


def descend(loss_fn: Callable[[Array], Array], start: Array, rate: float | Array, num_steps: int) -> Minimum:
    """Where so many steps of Adam (Kingma & Ba 2015) lead to, whose rate falls to 0 along half a cosine.

    To be called inside of jit. For functions with bends, where a line search would stop; num_steps: at least 1.
    """
    solver = optax.adam(optax.cosine_decay_schedule(rate, num_steps))
    value_and_gradient = jax.value_and_grad(loss_fn)

    def advance(_: Array, search: tuple[Array, optax.OptState]) -> tuple[Array, optax.OptState]:
        moves, state = solver.update(value_and_gradient(search[0])[1], search[1], search[0])
        return optax.apply_updates(search[0], moves), state

    point, _ = jax.lax.fori_loop(0, num_steps, advance, (start, solver.init(start)))
    value, gradient = value_and_gradient(point)
    return Minimum(point, value, jnp.abs(gradient).max(), jnp.int32(num_steps), jnp.array(False))


def _slope(state: optax.OptState) -> Array:
    """The largest entry of the gradient where the last line search ended."""
    return jnp.abs(state[-1].grad).max()
