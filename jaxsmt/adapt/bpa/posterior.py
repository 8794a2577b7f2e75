"""The posterior of the weights given an adaptation set: its density for chains, its mode and shape (Laplace)."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.adapt.bpa.blocks import FAR_BELOW, check_finite, fill_block
from jaxsmt.common.sizes import within_an_eighth
from jaxsmt.tune.lists import TuningLists

_SENTENCES_AT_ONCE = 64
_MAX_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Prior:
    """N(λ; mean, variance · I) (the paper's equation 7). mean: [F] float64; variance: σ_T."""

    mean: np.ndarray
    variance: float

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """−‖λ − λ_T‖² / 2σ_T of points [S, F] → [S], without the constant."""
        return -((points - self.mean) ** 2).sum(1) / (2.0 * self.variance)


@partial(jax.tree_util.register_dataclass, data_fields=("features", "counts", "origin", "mean", "variance"),
         meta_fields=())  # fmt: skip
@dataclass(frozen=True)
class Posterior:
    """p(A | λ) p(λ | T) of one adaptation set, on the device.

    features: [F + 1, H, A] float32, those of e* taken off (see ListBlock); sentences last, so that sums over the
        hypotheses of a list are sums of vectors, however few chains there are.
    counts: [A] float32, how often each sentence counts; 0 where A is filled up.
    origin: [A] float32, log partitions at the prior's mean: only differences from there are summed, which are small.
    mean: [F] float32; variance: [] float32.
    """

    features: jax.Array
    counts: jax.Array
    origin: jax.Array
    mean: jax.Array
    variance: jax.Array


def make_posterior(
    lists: TuningLists, oracle: np.ndarray, prior: Prior, multiplicities: np.ndarray | None = None
) -> Posterior:
    """The posterior of the adaptation lists with best hypotheses oracle [A], in few different shapes."""
    check_finite(lists)
    counts = np.ones(len(lists)) if multiplicities is None else multiplicities
    used = np.flatnonzero((lists.sizes > 0) & (counts > 0))
    num_rows = within_an_eighth(max(1, len(used)))
    size = within_an_eighth(max(1, int(lists.sizes[used].max(initial=0))))
    features = np.zeros((num_rows, size, lists.num_features + 1), np.float32)
    features[:, :, -1] = FAR_BELOW
    fill_block(features, lists, used, oracle[used])
    padded = np.zeros(num_rows, np.float32)
    padded[: len(used)] = counts[used]
    mean = jnp.asarray(prior.mean, jnp.float32)
    turned = jnp.asarray(features.transpose(2, 1, 0))
    origin = _log_partitions(turned, mean[None])[0]
    return Posterior(turned, jnp.asarray(padded), origin, mean, jnp.float32(prior.variance))


def log_posterior(posterior: Posterior, points: jax.Array) -> jax.Array:
    """log p(A | λ) p(λ | T) of points [C, F] → [C] float32, relative to its value at λ_T."""
    change = _log_partitions(posterior.features, points) - posterior.origin[None]
    distance = ((points - posterior.mean[None]) ** 2).sum(1)
    evidence = jnp.matmul(change, posterior.counts, precision="highest")
    return -evidence - distance / (2.0 * posterior.variance)


@jax.jit
def _log_partitions(features: jax.Array, points: jax.Array) -> jax.Array:
    """log Σ_h exp λ·h: features [F + 1, H, A], points [C, F] → [C, A]."""
    rows = jnp.concatenate([points, jnp.ones((len(points), 1), jnp.float32)], 1)
    flat = jnp.matmul(rows, features.reshape(len(features), -1), precision="highest")
    scores = flat.reshape(-1, *features.shape[1:])
    highest = scores.max(1)
    return highest + jnp.log(jnp.exp(scores - highest[:, None]).sum(1))


@dataclass(frozen=True)
class Laplace:
    """A normal distribution with the posterior's mode and its curvature there.

    mode: [F] float64.
    root: [F, F] float64, lower triangular; root · rootᵀ is the covariance.
    log_density: of the posterior at the mode, relative to its value at λ_T.
    """

    mode: np.ndarray
    root: np.ndarray
    log_density: float

    def draw(self, num_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draws [S, F] and their log densities [S] under the normal distribution, up to a constant."""
        noise = np.random.default_rng(seed).normal(size=(num_samples, len(self.mode)))
        return self.mode + noise @ self.root.T, -0.5 * (noise**2).sum(1)


def laplace(
    lists: TuningLists, oracle: np.ndarray, prior: Prior, multiplicities: np.ndarray | None = None,
    tolerance: float = 1e-9,
) -> Laplace:  # fmt: skip
    """Finds the mode by Newton's method, in double precision; the log posterior is concave, so there is one mode.

    Ends when a step promises to gain no more than the tolerance.
    """
    check_finite(lists)
    counts = np.ones(len(lists)) if multiplicities is None else np.asarray(multiplicities, np.float64)
    rows = np.flatnonzero((lists.sizes > 0) & (counts > 0))
    point = prior.mean
    value, gradient, curvature = _derivatives(lists, oracle, counts, rows, prior, point)
    first = value
    for _ in range(_MAX_NEWTON_STEPS):
        direction = np.linalg.solve(curvature, gradient)
        promise, step = gradient @ direction, 1.0
        while True:
            trial = point + step * direction
            found = _derivatives(lists, oracle, counts, rows, prior, trial)
            if found[0] >= value + 1e-4 * step * promise or step < 1e-8:
                break
            step *= 0.5
        if found[0] < value or promise <= tolerance:
            break
        point, (value, gradient, curvature) = trial, found
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    return Laplace(point, root, float(value - first))


def _derivatives(
    lists: TuningLists, oracle: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: Prior, point: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The log posterior at a point [F], its gradient [F] and the negative of its second derivatives [F, F].

    d/dλ log p(e* | f, λ) = h(e*) − E h, and its derivative is −Cov h, over the list.
    """
    offset = point - prior.mean
    value = -offset @ offset / (2.0 * prior.variance)
    gradient = -offset / prior.variance
    curvature = np.eye(len(point)) / prior.variance
    for start in range(0, len(rows), _SENTENCES_AT_ONCE):
        some = rows[start : start + _SENTENCES_AT_ONCE]
        features = lists.features[some] - lists.features[some, oracle[some]][:, None]  # [A', H, F]
        scores = np.where(lists.is_real[some], features @ point, -np.inf)
        highest = scores.max(1, keepdims=True)
        chances = np.exp(scores - highest)
        totals = chances.sum(1, keepdims=True)
        chances /= totals
        means = (chances[:, None] @ features)[:, 0]
        value -= counts[some] @ (highest + np.log(totals))[:, 0]
        gradient = gradient - counts[some] @ means
        flat = features.reshape(-1, len(point))
        curvature += (flat * (chances * counts[some][:, None]).reshape(-1, 1)).T @ flat
        curvature -= (means * counts[some][:, None]).T @ means
    return float(value), gradient, curvature
