"""Minimum risk in log-linear weights and in the weights of mixtures that features are computed with, together.

Features are functions of mixture weights λ = softmax θ, one vector for each row of an array [L, D], and every label
has arrays of its own. Reverse differentiation through look-ups would add up in the order of threads, so derivatives
are taken forwards: a column of features depends on one row of λ only, so D directions give them all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.norms import l1_norm, l1_normalised
from jaxsmt.common.optimise import Minimum
from jaxsmt.tune.config import RiskConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.risk.objective import Gains, expected_score, padded_counts
from jaxsmt.tune.risk.tuner import Descent, Scales, descent_of, least, risk_problem

ROUNDS = 2  # of tangents under one γ
HALVINGS = 5  # of a step that goes too far
FeatureFn = Callable[[Any, Array], Array]


@dataclass(frozen=True)
class Mixture:
    """Features that depend on the rows of one array of mixture weights.

    feature_fn: (data, λ [L, D]) → [B, H, C].
    columns: [C] their places among the F features; rows: [C] the row of λ that each depends on.
    shape: (L, D).
    """

    feature_fn: FeatureFn
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    shape: tuple[int, int]


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("fixed", "shifts", "scales", "data", "gains"),
    meta_fields=("mixtures",),
)
@dataclass(frozen=True)
class MixtureProblem:
    """Lists whose sentences are sorted by label.

    fixed: [B', H', F] float32, centred and divided by their spread, 0 in the columns of mixtures.
    shifts: for each mixture [B, 1, C] what is taken off; scales: [C] what it is multiplied by.
    data: for each label, for each mixture what `feature_fn` wants.
    gains: of the hypotheses.
    """

    fixed: Array
    shifts: tuple[Array, ...]
    scales: tuple[Array, ...]
    data: tuple[tuple[Any, ...], ...]
    gains: Gains
    mixtures: tuple[Mixture, ...]

    @property
    def num_features(self) -> int:
        """F"""
        return self.fixed.shape[2]


class MixtureSettings(NamedTuple):
    """What a search is told: centre and strengths of the prior on (u, θ), how often sentences count [B'], γ []."""

    centre: Array
    strengths: Array
    multiplicities: Array
    gamma: Array


def _values_and_slopes(mixture: Mixture, data: Any, weights: Array) -> tuple[Array, Array]:
    """Features [B, H, C], and how they change [D, B, H, C] with λ_d of the row [L, D] that each depends on."""

    def along(direction: Array) -> tuple[Array, Array]:
        moves = jnp.broadcast_to(direction[None], weights.shape)
        return jax.jvp(partial(mixture.feature_fn, data), (weights,), (moves,))

    return jax.vmap(along, out_axes=(None, 0))(jnp.eye(weights.shape[1], dtype=weights.dtype))


def local_features(mixture: Mixture, data: Any, weights: Array) -> Array:
    """feature_fn(data, λ) [B, H, C] whose derivatives in λ [L, D] are computed forwards."""
    here = jax.lax.stop_gradient(weights)
    values, slopes = _values_and_slopes(mixture, data, here)
    steps = (weights - here)[jnp.array(mixture.rows)]  # [C, D], all 0, but not their derivatives
    moved = (jax.lax.stop_gradient(slopes) * steps.T[:, None, None]).sum(0)
    return jax.lax.stop_gradient(values) + moved


def unpacked(thetas: Array, mixtures: Sequence[Mixture], num_labels: int) -> list[list[Array]]:
    """For each label, for each mixture λ = softmax θ [L, D], from all θ in one vector."""
    found: list[list[Array]] = []
    place = 0
    for _ in range(num_labels):
        found.append([])
        for mixture in mixtures:
            size = mixture.shape[0] * mixture.shape[1]
            found[-1].append(jax.nn.softmax(thetas[place : place + size].reshape(mixture.shape), axis=-1))
            place += size
    return found


def mixture_loss(vector: Array, problem: MixtureProblem, settings: MixtureSettings, measure: str) -> Array:
    """[]: minus the expected quality under (u, θ) = `vector`, and the prior ½ Σ strength · (· − centre)²."""
    point = vector[: problem.num_features]
    labels = unpacked(vector[problem.num_features :], problem.mixtures, len(problem.data))
    added = []
    for number, mixture in enumerate(problem.mixtures):
        parts = [
            local_features(mixture, data[number], weights[number])
            for data, weights in zip(problem.data, labels, strict=True)
        ]
        own = (jnp.concatenate(parts) - problem.shifts[number]) * problem.scales[number][None, None]
        added.append((own * point[jnp.array(mixture.columns)][None, None]).sum(-1))
    return _loss(vector, problem, added, settings, measure)


def _loss(
    vector: Array, problem: MixtureProblem, added: Sequence[Array], settings: MixtureSettings, measure: str
) -> Array:
    """[]: the loss where the features of mixtures add these to the scores, [B, H] each."""
    point = vector[: problem.num_features]
    scores = jnp.matmul(problem.fixed, point, precision=jax.lax.Precision.HIGHEST)
    for own in added:
        missing = [(0, whole - size) for whole, size in zip(scores.shape, own.shape, strict=True)]
        scores = scores + jnp.pad(own, missing)
    quality = expected_score(settings.gamma * scores, problem.gains, settings.multiplicities, measure)
    return (settings.strengths * (vector - settings.centre) ** 2).sum() / 2 - quality


class Tangents(NamedTuple):
    """Features of one mixture about a point: of all labels values [B, H, C], slopes in θ [B, H, C, D], label [B]."""

    values: Array
    slopes: Array
    label: Array


@jax.jit
def tangents_at(thetas: Array, problem: MixtureProblem) -> tuple[Tangents, ...]:
    """The features and their derivatives in θ; no feature depends on the scale of λ, so d/dθ_d is λ_d d/dλ_d."""
    labels = unpacked(thetas, problem.mixtures, len(problem.data))
    found = []
    for number, mixture in enumerate(problem.mixtures):
        parts = [
            _values_and_slopes(mixture, data[number], own[number])
            for data, own in zip(problem.data, labels, strict=True)
        ]
        label = np.repeat(np.arange(len(parts)), [len(values) for values, _ in parts])
        slopes = [
            jnp.moveaxis(slope, 0, -1) * own[number][jnp.array(mixture.rows)][None, None]
            for (_, slope), own in zip(parts, labels, strict=True)
        ]
        values = jnp.concatenate([values for values, _ in parts])
        found.append(Tangents(values, jnp.concatenate(slopes), jnp.asarray(label)))
    return tuple(found)


def tangent_loss(
    vector: Array, problem: MixtureProblem, tangents: tuple[Tangents, ...], origin: Array, settings: MixtureSettings,
    measure: str,
) -> Array:  # fmt: skip
    """`mixture_loss` with features that are linear in θ about `origin`: cheap, and exact there in value and slope."""
    num_features, num_labels = problem.num_features, len(problem.data)
    point = vector[:num_features]
    moves = (vector - origin)[num_features:].reshape(num_labels, -1)
    added, place = [], 0
    for number, mixture in enumerate(problem.mixtures):
        size = mixture.shape[0] * mixture.shape[1]
        own = moves[:, place : place + size].reshape(num_labels, *mixture.shape)[:, jnp.array(mixture.rows)]
        place += size
        values, slopes, label = tangents[number]
        moved = values + (slopes * own[label][:, None]).sum(-1) - problem.shifts[number]
        weights = point[jnp.array(mixture.columns)] * problem.scales[number]
        added.append((moved * weights[None, None]).sum(-1))
    return _loss(vector, problem, added, settings, measure)


_exact = jax.jit(mixture_loss, static_argnames="measure")


@partial(jax.jit, static_argnames="descent")
def _search(
    vector: Array, problem: MixtureProblem, tangents: tuple[Tangents, ...], settings: MixtureSettings, rate: Array,
    descent: Descent,
) -> Minimum:  # fmt: skip
    def loss(at: Array) -> Array:
        return tangent_loss(at, problem, tangents, vector, settings, descent.measure)

    return least(loss, vector, rate, descent)


def _advance(
    vector: Array, problem: MixtureProblem, settings: MixtureSettings, config: RiskConfig
) -> tuple[Array, float]:
    """A better point under one γ, and its loss: the minimum about tangents, or nearer where the features bend."""
    rate, descent = jnp.float32(config.learning_rate), descent_of(config)
    value = float(_exact(vector, problem, settings, descent.measure))
    for _ in range(ROUNDS):
        tangents = tangents_at(vector[problem.num_features :], problem)
        goal = _search(vector, problem, tangents, settings, rate, descent).point
        for halving in range(HALVINGS):
            tried = vector + (goal - vector) * 0.5**halving
            found = float(_exact(tried, problem, settings, descent.measure))
            if found < value:
                vector, value = tried, found
                break
        else:
            break
    return vector, value


class Point(NamedTuple):
    """Log-linear weights [F], and θ of all labels and mixtures in one vector, logarithms of λ."""

    weights: np.ndarray
    thetas: np.ndarray


def mixture_risk(
    lists: TuningLists, mixtures: tuple[Mixture, ...], data: tuple[tuple[Any, ...], ...], start: Point,
    centre: np.ndarray, config: RiskConfig,
) -> tuple[Point, float]:  # fmt: skip
    """The point of least risk, and the expected quality there, with the priors taken off.

    Under each γ features are replaced by their tangents in θ, the minimum is found, and again from there; a step that
    makes the true loss no smaller is halved (the prox-linear method: Drusvyatskiy & Lewis 2018).

    lists: sentences sorted by label, features as they are under the start; data: as in `MixtureProblem`, of the same
    sentences and as many hypotheses. centre: θ that the prior is around.
    """
    problem, scales = _mixture_problem(lists, mixtures, data, start, config)
    inside = scales.inside(start.weights)
    vector = jnp.asarray(np.concatenate([inside, start.thetas]), jnp.float32)
    centres = jnp.asarray(np.concatenate([inside, centre]), jnp.float32)
    strengths = np.repeat([config.l2, config.mixture_l2], [len(inside), len(centre)])
    counts = jnp.asarray(padded_counts(np.ones((1, len(lists))), len(problem.fixed))[0], jnp.float32)
    for step in range(config.gamma_steps):
        gamma = jnp.float32(config.gamma * config.gamma_factor**step)
        settings = MixtureSettings(centres, jnp.asarray(strengths, jnp.float32), counts, gamma)
        vector, value = _advance(vector, problem, settings, config)
    ended = np.asarray(vector, np.float64)
    weights = scales.outside(ended[: len(inside)])
    norm = l1_norm(start.weights) if start.weights.any() else 1.0
    return Point(l1_normalised(weights) * norm, ended[len(inside) :]), -value


def _mixture_problem(
    lists: TuningLists, mixtures: tuple[Mixture, ...], data: tuple[tuple[Any, ...], ...], start: Point,
    config: RiskConfig,
) -> tuple[MixtureProblem, Scales]:  # fmt: skip
    whole, scales = risk_problem(lists, start.weights, config)
    means = lists.features.sum(1) / np.maximum(lists.sizes, 1)[:, None]  # [B, F]
    columns = [list(mixture.columns) for mixture in mixtures]
    is_fixed = np.ones(lists.num_features, bool)
    is_fixed[[column for own in columns for column in own]] = False
    problem = MixtureProblem(
        whole.features * jnp.asarray(is_fixed, jnp.float32)[None, None],
        tuple(jnp.asarray(means[:, None, own], jnp.float32) for own in columns),
        tuple(jnp.asarray(1.0 / scales.spread[own], jnp.float32) for own in columns),
        data,
        whole.gains,
        mixtures,
    )
    return problem, scales
