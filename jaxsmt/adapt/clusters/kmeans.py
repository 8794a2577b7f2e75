"""k-means with cosine similarity (spherical k-means, Dhillon and Modha 2001) on the device, all restarts in one kernel.

A vector counts by its direction only: x̂ = x / |x|. The mean cosine distance that is minimised is

    J = 1/B Σ_b (1 − x̂_b · c_{a(b)}) = 1/2B Σ_b |x̂_b − c_{a(b)}|²,   |c| = 1,

and the best centroid of a cluster is the direction of Σ x̂. Vectors of entropies all point almost the same way, with
cosines near 1 of which float32 keeps few digits. So the kernel works on what is left after a common shift, x̂ − m with m
the mean of all x̂: distances do not change and are small differences no longer.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.sizes import power_of_two

Array = Any
_SMALLEST_BATCH = 64  # rows are padded to powers of two from here on: few compilations
_DISTANCES_AT_ONCE = 1 << 24  # restarts that run side by side are as many as fit
_SAME_POINT = 1e-6  # squared, of the largest distance from the mean: what is nearer gets no cluster of its own
_ASSIGNED_AT_ONCE = 1 << 22
_dot = partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)  # no shorter floats on devices that have them


@dataclass(frozen=True)
class KMeans:
    """What `fit_kmeans` found.

    centroids: [k, D] float64, unit vectors; the largest cluster first.
    assignment: [B] int32, the cluster of every vector.
    objective: [iterations] float64, J at every assignment of the best restart; it never rises.
    """

    centroids: np.ndarray
    assignment: np.ndarray
    objective: np.ndarray


class _Points(NamedTuple):
    """B shifted unit vectors: [B, D], which are real [B] 0 or 1, the shift m [D], and |m|² − 1."""

    shifted: Array
    is_real: Array
    shift: Array
    shift_excess: Array


class _State(NamedTuple):
    """One restart: shifted centroids [k, D], assignment [B], J by iteration, and how far it is."""

    centroids: Array
    assignment: Array
    objective: Array  # [max_iterations]
    iteration: Array
    is_done: Array


def fit_kmeans(
    vectors: np.ndarray, num_clusters: int, restarts: int = 16, seed: int = 0, max_iterations: int = 100
) -> KMeans:
    """Clusters of vectors by direction: k-means++ starts, Lloyd's iterations, the best of all restarts.

    An empty cluster moves to the vector that is farthest from its centroid. Where there are fewer different directions
    than clusters, there are only as many clusters as directions. Ties go to the lower index everywhere (cluster,
    vector, restart), so the same vectors and seed give the same clusters. Zero vectors have no direction: they take no
    part, and are assigned to cluster 0, the largest.

    Args:
      vectors: [B, D]; scaling a row by a positive number changes nothing.
      num_clusters: k; 1 is the whole set.
    """
    vectors = _checked(vectors, num_clusters, restarts, max_iterations)
    unit, is_real = _unit_rows(vectors)
    real = unit[is_real]
    num_used = min(num_clusters, len(real))
    points = _to_points(real)
    at_once = max(1, min(restarts, _DISTANCES_AT_ONCE // (num_used * len(points.shifted))))
    keys = jax.random.split(jax.random.key(seed), restarts)
    parts = [_fit(points, keys[at : at + at_once], num_used, max_iterations) for at in range(0, restarts, at_once)]
    found = min(parts, key=lambda state: float(state.objective[state.iteration - 1]))  # the first of equal ones
    centroids = _centroids_of(real, np.asarray(found.assignment)[: len(real)], num_used)
    centroids = _largest_first(centroids, assign(centroids, real))
    if len(centroids) < num_clusters:
        log.warning("there are %d clusters, not %d: no more different sentences", len(centroids), num_clusters)
    objective = np.asarray(found.objective, np.float64)[: int(found.iteration)]
    return KMeans(centroids, assign(centroids, vectors), objective)


def assign(centroids: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """[B] int32: the centroid with the largest cosine for every vector, the first of equal ones.

    In float64 and with one order of additions for every row, on the host: a sentence's cluster depends on no other
    sentence, to the bit.

    Args:
      centroids: [k, D]; vectors: [B, D].
    """
    centroids = _unit_rows(np.asarray(centroids, np.float64))[0]
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != centroids.shape[1]:
        raise ValueError(f"vectors of shape {vectors.shape} do not fit centroids of shape {centroids.shape}")
    nearest = np.zeros(len(vectors), np.int32)
    step = max(1, _ASSIGNED_AT_ONCE // len(centroids))
    for at in range(0, len(vectors), step):
        part = vectors[at : at + step]
        similarity = np.zeros((len(part), len(centroids)))
        for column, coordinates in zip(part.T, centroids.T, strict=True):
            similarity += column[:, None] * coordinates
        nearest[at : at + step] = similarity.argmax(axis=1)
    return nearest


def mean_direction(vectors: np.ndarray) -> np.ndarray:
    """[D] float64: the unit vector with the largest sum of cosines to the vectors; zeros where there is none."""
    unit, _ = _unit_rows(np.asarray(vectors, np.float64))
    return _unit_rows(unit.sum(axis=0, keepdims=True))[0][0]


def _checked(vectors: np.ndarray, num_clusters: int, restarts: int, max_iterations: int) -> np.ndarray:
    vectors = np.asarray(vectors, np.float64)
    for name, number in (("clusters", num_clusters), ("restarts", restarts), ("iterations", max_iterations)):
        if number < 1:
            raise UserError(f"the number of {name} is {number}: give 1 or more")
    if vectors.ndim != 2 or not vectors.any():
        raise UserError("there is nothing to cluster, every sentence is empty: give a text with words")
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise UserError(f"the vector of sentence {row + 1} is not finite: check the language models")
    return vectors


def _unit_rows(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors [B, D], zero where a vector is, and which are not zero [B]."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)  # squares neither overflow nor vanish
    norm = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    return scaled / np.where(norm > 0, norm, 1), norm[:, 0] > 0


def _to_points(unit: np.ndarray) -> _Points:
    """Shifts in float64, rounds to float32, pads to a power of two."""
    shift = unit.mean(axis=0)
    size = power_of_two(len(unit), _SMALLEST_BATCH)
    shifted = np.zeros((size, unit.shape[1]), np.float32)
    shifted[: len(unit)] = unit - shift
    is_real = (np.arange(size) < len(unit)).astype(np.float32)
    return _Points(shifted, is_real, shift.astype(np.float32), np.float32(shift @ shift - 1))


def _centroids_of(unit: np.ndarray, assignment: np.ndarray, num_clusters: int) -> np.ndarray:
    """[k, D] float64: the centroids of clusters that have members."""
    members = [unit[assignment == cluster] for cluster in range(num_clusters)]
    return np.stack([mean_direction(rows) for rows in members if len(rows)])


def _largest_first(centroids: np.ndarray, assignment: np.ndarray) -> np.ndarray:
    """Centroids by falling size of their clusters, equal sizes by their first member; without those nobody is near."""
    sizes = np.bincount(assignment, minlength=len(centroids))
    first = np.full(len(centroids), len(assignment))
    np.minimum.at(first, assignment, np.arange(len(assignment)))
    order = np.lexsort((first, -sizes))
    return centroids[order[sizes[order] > 0]]


@partial(jax.jit, static_argnames=("num_clusters", "max_iterations"))
def _fit(points: _Points, keys: Array, num_clusters: int, max_iterations: int) -> _State:
    """Restarts side by side, one per key; the state of that with the lowest J, the first of equal ones."""

    def one_restart(key: Array) -> _State:
        start = _first_state(points, _plus_plus(points, key, num_clusters), max_iterations)
        return jax.lax.while_loop(
            lambda state: ~state.is_done & (state.iteration < max_iterations), partial(_iterate, points), start
        )

    states = jax.vmap(one_restart)(keys)
    last = jnp.take_along_axis(states.objective, states.iteration[:, None] - 1, axis=1)[:, 0]
    return jax.tree.map(lambda leaf: leaf[jnp.argmin(last)], states)


def _plus_plus(points: _Points, key: Array, num_clusters: int) -> Array:
    """[k, D] starting centroids: vectors drawn with probability ∝ distance² from those already drawn."""

    def draw(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        centroids, distance = carry
        chosen = jax.random.categorical(jax.random.fold_in(key, k), jnp.log(distance))  # none left: the first
        centroids = centroids.at[k].set(points.shifted[chosen])
        return centroids, jnp.minimum(distance, _distances(points, centroids[k][None])[:, 0] * points.is_real)

    empty = jnp.zeros((num_clusters, points.shifted.shape[1]), jnp.float32)
    return jax.lax.fori_loop(0, num_clusters, draw, (empty, points.is_real))[0]


def _first_state(points: _Points, centroids: Array, max_iterations: int) -> _State:
    nobody = jnp.full(points.is_real.shape, -1, jnp.int32)
    return _State(centroids, nobody, jnp.zeros(max_iterations), jnp.int32(0), jnp.bool(False))


def _distances(points: _Points, centroids: Array) -> Array:
    """[B, k]: |x̂ − c|² = 2 (1 − cos), from shifted vectors and centroids."""
    squares = [jnp.sum(rows**2, axis=1) for rows in (points.shifted, centroids)]
    return jnp.maximum(squares[0][:, None] - 2 * _dot(points.shifted, centroids.T) + squares[1][None], 0)


def _iterate(points: _Points, state: _State) -> _State:
    """Assigns, notes J, moves the centroids; done when nothing moved."""
    distances = _distances(points, state.centroids)
    assignment = jnp.argmin(distances, axis=1).astype(jnp.int32)
    own = jnp.min(distances, axis=1) * points.is_real
    objective = _dot(own, points.is_real) / (2 * jnp.sum(points.is_real))
    centroids, is_reseeded = _update(points, state.centroids, assignment, own)
    is_done = jnp.all((assignment == state.assignment) | (points.is_real == 0)) & ~is_reseeded
    history = state.objective.at[state.iteration].set(objective)
    return _State(centroids, assignment, history, state.iteration + 1, is_done)


def _update(points: _Points, centroids: Array, assignment: Array, own: Array) -> tuple[Array, Array]:
    """New centroids [k, D], and whether an empty cluster has moved to a far vector.

    Args:
      own: [B] the squared distance of every vector to its centroid.
    """
    num_clusters = len(centroids)
    members = (assignment[:, None] == jnp.arange(num_clusters)[None]) * points.is_real[:, None]  # [B, k]
    sizes = jnp.sum(members, axis=0)
    means = _dot(members.T, points.shifted) / jnp.maximum(sizes, 1)[:, None]
    moved = _to_sphere(points, means, centroids)
    # the j-th empty cluster takes the j-th farthest vector, unless that is as good as on its centroid
    is_empty = sizes == 0
    far, farthest = jax.lax.top_k(own, num_clusters)
    rank = jnp.maximum(jnp.cumsum(is_empty) - 1, 0)
    spread = jnp.max(jnp.sum(points.shifted**2, axis=1))
    takes = is_empty & (far[rank] > _SAME_POINT * spread)
    moved = jnp.where(is_empty[:, None], centroids, moved)
    return jnp.where(takes[:, None], points.shifted[farthest[rank]], moved), jnp.any(takes)


def _to_sphere(points: _Points, means: Array, centroids: Array) -> Array:
    """Means s of shifted vectors as shifted unit vectors, without cancellation: the old ones where a mean vanishes.

    (m + s)/n − m = s/n − m (n² − 1)/(n (n + 1)),   n = |m + s|,   n² − 1 = |m|² − 1 + 2 m·s + |s|².
    """
    excess = points.shift_excess + 2 * _dot(means, points.shift) + jnp.sum(means**2, axis=1)
    norm = jnp.sqrt(jnp.maximum(1 + excess, 0))[:, None]
    safe = jnp.maximum(norm, 1e-6)
    on_sphere = means / safe - points.shift[None] * (excess[:, None] / (safe * (safe + 1)))
    return jnp.where(norm > 1e-6, on_sphere, centroids)
