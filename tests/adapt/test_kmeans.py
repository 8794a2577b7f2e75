"""k-means on directions: against brute force, at the edges, and to the bit where that is promised."""

import itertools

import jax
import numpy as np
import pytest

from jaxsmt.adapt.clusters import kmeans
from jaxsmt.adapt.clusters.kmeans import assign, fit_kmeans, mean_direction
from jaxsmt.common.errors import UserError

update = jax.jit(kmeans._update)
RESTARTS = 32  # one number, one dimension and k = 3 almost everywhere: the kernel is compiled once


def cosine_distance(centroids, vectors, assignment):
    """J: the mean of 1 − cos over vectors [B, D] that are not zero, each with the centroid it is assigned to."""
    real = np.flatnonzero(vectors.any(1))
    own, size = centroids[assignment[real]], np.linalg.norm(vectors[real], axis=1)
    return np.mean(1 - (own * vectors[real]).sum(1) / np.linalg.norm(own, axis=1) / size)


def random_vectors(seed, size, positive=True):
    vectors = np.random.default_rng(seed).normal(size=(size, 3))
    return np.abs(vectors) if positive else vectors


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def best_objective(vectors, num_clusters):
    """The lowest J over all partitions: a cluster with sum s of its n unit vectors costs n − |s|."""
    points = unit(vectors)
    costs = []
    for choice in itertools.product(range(num_clusters), repeat=len(points) - 1):
        label = np.array([0, *choice])
        sums = [np.linalg.norm(points[label == c].sum(axis=0)) for c in range(num_clusters)]
        costs.append(1 - sum(sums) / len(points))
    return min(costs)


@pytest.mark.parametrize(("seed", "positive"), [(0, True), (1, False), (2, True)])
def test_enough_restarts_find_the_best_of_all_partitions(seed, positive):
    vectors = random_vectors(seed, 8, positive)
    fit = fit_kmeans(vectors, 3, RESTARTS, seed)
    best = best_objective(vectors, 3)
    assert cosine_distance(fit.centroids, vectors, fit.assignment) == pytest.approx(best, abs=1e-9)
    assert fit.objective[-1] == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_result_is_a_fixed_point_and_the_objective_never_rises(seed):
    vectors = random_vectors(seed, 60)
    fit = fit_kmeans(vectors, 3, RESTARTS, seed)
    assert len(fit.objective) > 1
    assert (np.diff(fit.objective) <= 1e-7).all()
    for c in range(3):
        np.testing.assert_allclose(fit.centroids[c], mean_direction(vectors[fit.assignment == c]), atol=1e-12)
    np.testing.assert_array_equal(fit.assignment, (unit(vectors) @ fit.centroids.T).argmax(axis=1))
    assert (np.diff(np.bincount(fit.assignment)) <= 0).all()  # the largest cluster first
    again = fit_kmeans(vectors, 3, RESTARTS, seed)
    np.testing.assert_array_equal(fit.centroids, again.centroids)
    np.testing.assert_array_equal(fit.objective, again.objective)


def test_scaled_vectors_have_the_same_clusters():
    vectors = random_vectors(3, 40)
    scales = 10 ** np.random.default_rng(0).uniform(-100, 100, (40, 1))
    fit, scaled = fit_kmeans(vectors, 3, RESTARTS), fit_kmeans(vectors * scales, 3, RESTARTS)
    np.testing.assert_array_equal(fit.assignment, scaled.assignment)
    np.testing.assert_allclose(fit.centroids, scaled.centroids, atol=1e-12)
    np.testing.assert_array_equal(assign(fit.centroids * 7, vectors), fit.assignment)


def test_directions_that_float32_cosines_cannot_tell_apart():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([0, 1, 2], 20))
    ways = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    vectors = 10 + 2e-3 * ways[groups] + 1e-4 * rng.normal(size=(60, 3))
    fit = fit_kmeans(vectors, 3, RESTARTS)
    pairs = {(int(a), int(b)) for a, b in zip(fit.assignment, groups, strict=True)}
    assert len(pairs) == 3
    cosines = (unit(vectors).astype(np.float32) @ fit.centroids.astype(np.float32).T).argmax(axis=1)
    assert (cosines != fit.assignment).any()  # or this test would not be one


def test_one_cluster_is_the_whole_set():
    vectors = random_vectors(0, 50)
    fit = fit_kmeans(vectors, 1, 2)
    assert (fit.assignment == 0).all()
    np.testing.assert_allclose(fit.centroids, [mean_direction(vectors)], atol=1e-12)
    np.testing.assert_allclose(fit.centroids[0], unit(unit(vectors).sum(axis=0, keepdims=True))[0], atol=1e-12)
    single = fit_kmeans(vectors[:1], 1, 2)
    np.testing.assert_allclose(single.centroids, unit(vectors[:1]))


def test_fewer_directions_than_clusters(caplog):
    two = random_vectors(5, 2)[np.array([0, 1, 1, 0, 1])] * np.arange(1, 6)[:, None]
    fit = fit_kmeans(two, 3, RESTARTS)
    assert fit.assignment.tolist() == [1, 0, 0, 1, 0]
    assert "there are 2 clusters, not 3" in caplog.text
    few = random_vectors(6, 3)  # as many clusters as vectors, and more
    for num_clusters in (3, 10):
        fit = fit_kmeans(few, num_clusters, RESTARTS)
        assert sorted(fit.assignment) == [0, 1, 2]
        assert fit.objective[-1] == pytest.approx(0, abs=1e-6)


def test_zero_vectors_take_no_part():
    vectors = random_vectors(7, 30)
    with_zeros = np.insert(vectors, [0, 5, 30], 0, axis=0)
    fit, other = fit_kmeans(vectors, 3, RESTARTS), fit_kmeans(with_zeros, 3, RESTARTS)
    np.testing.assert_array_equal(fit.centroids, other.centroids)
    is_zero = ~with_zeros.any(axis=1)
    np.testing.assert_array_equal(other.assignment[~is_zero], fit.assignment)
    assert (other.assignment[is_zero] == 0).all()


def test_empty_clusters_move_to_the_farthest_vectors():
    vectors = unit(random_vectors(8, 20, positive=False))
    points = jax.tree.map(jax.numpy.asarray, kmeans._to_points(vectors))
    same = jax.numpy.tile(points.shifted[:1], (3, 1))  # all three on one vector: the second and third are empty
    own = kmeans._distances(points, same).min(axis=1) * points.is_real
    moved, is_reseeded = update(points, same, jax.numpy.zeros(len(own), jax.numpy.int32), own)
    assert is_reseeded
    by_distance = np.argsort(-((vectors - vectors[0]) ** 2).sum(axis=1), kind="stable")
    np.testing.assert_allclose(moved[1:] + points.shift[None], vectors[by_distance[:2]], atol=1e-6)
    np.testing.assert_allclose(moved[0] + points.shift, mean_direction(vectors), atol=1e-6)
    on_them = own * 0  # every vector on its centroid: nowhere better to go
    moved, is_reseeded = update(points, same, jax.numpy.zeros(len(own), jax.numpy.int32), on_them)
    assert not is_reseeded
    np.testing.assert_array_equal(moved[1:], same[1:])


def test_a_cluster_whose_vectors_cancel_keeps_its_centroid():
    vectors = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    points = jax.tree.map(jax.numpy.asarray, kmeans._to_points(vectors))
    old = points.shifted[:3]
    moved, _ = update(points, old, jax.numpy.zeros(64, jax.numpy.int32), jax.numpy.zeros(64))
    np.testing.assert_array_equal(moved, old)
    fit = fit_kmeans(vectors, 3, RESTARTS)
    assert np.isfinite(fit.centroids).all()
    assert cosine_distance(fit.centroids, vectors, fit.assignment) == pytest.approx(best_objective(vectors, 3))


def test_assignment_depends_on_no_other_vector():
    rng = np.random.default_rng(0)
    centroids, vectors = rng.normal(size=(5, 3)), rng.normal(size=(200, 3))
    whole = assign(centroids, vectors)
    np.testing.assert_array_equal(np.concatenate([assign(centroids, row[None]) for row in vectors]), whole)
    order = rng.permutation(200)
    np.testing.assert_array_equal(assign(centroids, vectors[order]), whole[order])
    assert assign(centroids, vectors[:0]).shape == (0,)
    twice = np.concatenate([centroids, centroids])
    np.testing.assert_array_equal(assign(twice, vectors), whole)  # the first of equal ones
    assert assign(np.eye(3), np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 0]])).tolist() == [0, 1, 0]


def test_the_best_of_all_rounds_of_restarts_wins(monkeypatch):
    vectors = random_vectors(9, 60)
    monkeypatch.setattr(kmeans, "_DISTANCES_AT_ONCE", RESTARTS * 3 * 64)
    keys = jax.random.split(jax.random.key(4), 2 * RESTARTS)
    points = kmeans._to_points(unit(vectors))
    rounds = [kmeans._fit(points, part, 3, 100) for part in (keys[:RESTARTS], keys[RESTARTS:])]
    best = min(float(state.objective[state.iteration - 1]) for state in rounds)
    fit = fit_kmeans(vectors, 3, 2 * RESTARTS, 4)
    assert fit.objective[-1] == best
    monkeypatch.setattr(kmeans, "_ASSIGNED_AT_ONCE", 7)  # two rows at a time
    np.testing.assert_array_equal(assign(fit.centroids, vectors), fit.assignment)


@pytest.mark.parametrize(
    ("vectors", "options", "message"),
    [
        (np.ones((3, 2)), {"num_clusters": 0}, "number of clusters is 0"),
        (np.ones((3, 2)), {"num_clusters": 2, "restarts": 0}, "number of restarts is 0"),
        (np.ones((3, 2)), {"num_clusters": 2, "max_iterations": 0}, "number of iterations is 0"),
        (np.zeros((3, 2)), {"num_clusters": 2}, "nothing to cluster"),
        (np.zeros((0, 2)), {"num_clusters": 2}, "nothing to cluster"),
        (np.array([[1, 2], [np.inf, 1]]), {"num_clusters": 2}, "sentence 2 is not finite"),
    ],
)
def test_bad_input_is_named(vectors, options, message):
    with pytest.raises(UserError, match=message):
        fit_kmeans(vectors, **options)


def test_vectors_must_fit_the_centroids():
    with pytest.raises(ValueError, match="do not fit"):
        assign(np.eye(3), np.ones((2, 4)))
