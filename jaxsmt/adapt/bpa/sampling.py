"""Samples of weight vectors: around known weights, and by Metropolis–Hastings (the paper's section 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.devices.spreading import Replicas
from jaxsmt.common.errors import UserError
from jaxsmt.common.norms import l1_norm, l1_normalised

LogDensityFn = Callable[[Any, jax.Array], jax.Array]  # (data, points [C, F]) → [C] log densities up to a constant
_TARGET_ACCEPTANCE = 0.234  # of random-walk proposals in many dimensions (Roberts, Gelman & Gilks 1997)
_ADAPTATION_DECAY = 0.6
_CHAINS_AT_ONCE = 8  # in one call: they fill a vector; calls run side by side, on the devices in turn


def normalised_weights(weights: np.ndarray) -> np.ndarray:
    """Weights [F] with Σ|λ_f| = 1: p(e | f, λ) depends on their scale, and section 4.1 is made for this one."""
    weights = np.asarray(weights, np.float64)
    if not (np.isfinite(weights).all() and weights.any()):
        raise UserError("the weights to adapt are all 0 or not finite: give those that the lists were decoded with")
    return l1_normalised(weights)


def heuristic_samples(weights: np.ndarray, num_samples: int, seed: int = 1) -> np.ndarray:
    """S(λ_T) [S, F] float64: weights [F] first, then each of them moved in turn (section 4.1).

    λ_s = λ_T but for component s mod F, to which a number from U(−0.5, 0.5) is added; then Σ|λ| = 1 again. The sample
    depends on the seed only, and the first S of a larger sample are the sample of size S.
    """
    centre = normalised_weights(weights)
    numbers = np.arange(1, num_samples)
    samples = np.repeat(centre[None], num_samples, 0)
    samples[numbers, numbers % len(centre)] += np.random.default_rng(seed).uniform(-0.5, 0.5, num_samples - 1)
    is_weight = l1_norm(samples)[:, None] > 1e-9  # a single weight may cancel out
    return np.where(is_weight, l1_normalised(samples), centre)


@dataclass(frozen=True)
class ChainConfig:
    """burn_in, length: steps thrown away and kept; adapts: each chain scales its proposals in the burn-in."""

    burn_in: int
    length: int
    adapts: bool = False


@dataclass(frozen=True)
class Chains:
    """C chains of T draws.

    points: [C, T, F] float64.
    log_densities: [C, T] float64.
    acceptance: [C] float64, the part of proposals that was accepted after the burn-in.
    scales: [C] float64, the factor on the proposals after the burn-in.
    """

    points: np.ndarray
    log_densities: np.ndarray
    acceptance: np.ndarray
    scales: np.ndarray


class _State(NamedTuple):
    """points [C, F], log_densities [C], log_scales [C] of the chains."""

    points: jax.Array
    log_densities: jax.Array
    log_scales: jax.Array


def metropolis_hastings(
    log_density_fn: LogDensityFn, data: Any, starts: np.ndarray, proposal: np.ndarray, config: ChainConfig, seed: int
) -> Chains:
    """C random-walk chains (section 4.2, equation 12) from starts [C, F].

    A proposal is λ' + L z with z standard normal; proposal: L [F, F], √σ_o times the identity in the paper. Each chain
    has its own random numbers, so that it does not depend on how many others there are.
    """
    filled = -(-len(starts) // _CHAINS_AT_ONCE) * _CHAINS_AT_ONCE  # with chains that nobody asked for
    points = np.asarray(starts, np.float32)[np.minimum(np.arange(filled), len(starts) - 1)]
    running, copies = [], Replicas(data)
    for piece, begin in enumerate(range(0, filled, _CHAINS_AT_ONCE)):
        drawn = [_randomness(seed, begin + number, proposal, config) for number in range(_CHAINS_AT_ONCE)]
        moves, log_chances = (np.stack(part, 1) for part in zip(*drawn, strict=True))
        some = points[begin : begin + _CHAINS_AT_ONCE]
        running.append(_walk(log_density_fn, copies.on(piece), some, moves, log_chances, config))
    parts = [[np.asarray(part, np.float64) for part in found] for found in running]
    return Chains(*(np.concatenate(column)[: len(starts)] for column in zip(*parts, strict=True)))


@partial(jax.jit, static_argnames=("log_density_fn", "config"))
def _walk(
    log_density_fn: LogDensityFn, data: Any, starts: jax.Array, moves: jax.Array, log_chances: jax.Array,
    config: ChainConfig,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:  # fmt: skip
    """Points [C, T, F], log densities [C, T], acceptance [C] and scales [C] of some chains.

    moves: [T', C, F], of the proposals before scaling; log_chances: [T', C], what a gain must exceed; with the burn-in.
    """

    def step(now: _State, given: tuple[jax.Array, ...]) -> tuple[_State, tuple[jax.Array, ...]]:
        number, move, log_chance = given
        proposed = now.points + jnp.exp(now.log_scales)[:, None] * move
        log_densities = log_density_fn(data, proposed)
        gains = log_densities - now.log_densities
        is_accepted = log_chance < gains
        points = jnp.where(is_accepted[:, None], proposed, now.points)
        log_densities = jnp.where(is_accepted, log_densities, now.log_densities)
        log_scales = _rescaled(now.log_scales, gains, number, config)
        return _State(points, log_densities, log_scales), (points, log_densities, is_accepted)

    begin = _State(starts, log_density_fn(data, starts), jnp.zeros(len(starts), jnp.float32))
    end, (points, log_densities, is_accepted) = jax.lax.scan(step, begin, (jnp.arange(len(moves)), moves, log_chances))
    acceptance = is_accepted[config.burn_in :].mean(0)
    kept = points[config.burn_in :].swapaxes(0, 1), log_densities[config.burn_in :].swapaxes(0, 1)
    return *kept, acceptance, jnp.exp(end.log_scales)


def _randomness(seed: int, number: int, proposal: np.ndarray, config: ChainConfig) -> tuple[np.ndarray, np.ndarray]:
    """Moves L z [T, F] and logarithms of uniform numbers [T] of one chain, float32.

    Drawn on the host: compiling a generator took six times as long as compiling the rest.
    """
    rng = np.random.default_rng((seed, number))
    total = config.burn_in + config.length
    moves = rng.normal(size=(total, len(proposal))) @ np.asarray(proposal, np.float64).T
    return moves.astype(np.float32), np.log1p(-rng.random(total)).astype(np.float32)


def _rescaled(log_scales: jax.Array, gains: jax.Array, number: jax.Array, config: ChainConfig) -> jax.Array:
    """Larger proposals after acceptance, smaller ones after rejection, ever less so (Robbins & Monro 1951)."""
    if not config.adapts:
        return log_scales
    chance = jnp.exp(jnp.minimum(gains, 0.0))
    rate = (number + 1.0) ** -_ADAPTATION_DECAY
    moved = log_scales + rate * (jnp.where(jnp.isnan(chance), 0.0, chance) - _TARGET_ACCEPTANCE)
    return jnp.where(number < config.burn_in, moved, log_scales)
