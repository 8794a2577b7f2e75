"""Weights of orientations from development text, against the definition and scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from jaxsmt.common.errors import UserError
from jaxsmt.tm.fit import orientations as module
from jaxsmt.tm.fit.development import development_pairs
from jaxsmt.tm.fit.objective import MIN_WEIGHT
from jaxsmt.tm.fit.orientations import (
    build_orientation_problem,
    fit_orientation_weights,
    orientation_cross_entropy,
    orientation_value_and_gradient,
)
from jaxsmt.tm.fit.perplexity import PerplexityConfig, fit_instance_weights
from jaxsmt.tm.union import build_union
from tests.tm.small_fits import random_case
from tests.tm.test_tm_reordering import random_counts, slow_orientations

CASE = random_case(1)


def development_with(counts: np.ndarray, found: np.ndarray):
    """Development pairs with orientations [D, A, 6] of components and [S, A, 6] of sets."""
    names = tuple(f"c{d}" for d in range(len(counts))), tuple(f"set {s}" for s in range(len(found)))
    return replace(
        CASE.development, component_names=names[0], set_names=names[1], orientations=found, orientation_counts=counts
    )


def random_development(seed: int, num_components: int = 3, num_pairs: int = 80, true_weights=(1.0, 0.3, 0.1)):
    """Sets whose orientations are drawn from a mixture of components that have habits of their own."""
    rng = np.random.default_rng(seed)
    habits = rng.dirichlet((1, 0.5, 1), (num_components, num_pairs, 2))
    totals = rng.integers(0, 30, (num_components, num_pairs, 1)) * (rng.random((num_components, num_pairs, 1)) < 0.7)
    counts = rng.multinomial(np.broadcast_to(totals, habits.shape[:-1]), habits)
    weights = np.array(true_weights)[:, None, None, None]
    mixed = (weights * (counts + 0.1)).sum(0)
    occurrences = rng.integers(0, 20, (2, num_pairs, 1))
    found = rng.multinomial(np.broadcast_to(occurrences, (2, num_pairs, 2)), mixed / mixed.sum(-1, keepdims=True))
    return development_with(
        counts.reshape(num_components, num_pairs, 6).astype(np.float32),
        found.reshape(2, num_pairs, 6).astype(np.float32),
    )


def slow_bits(development, number: int, weights: np.ndarray) -> float:
    """Bits per orientation of a set at λ [D]."""
    total = used = 0.0
    for a, counts in enumerate(np.moveaxis(development.orientation_counts, 1, 0)):
        if counts.any():
            found = development.orientations[number, a].astype(float)
            total -= found @ np.log2(slow_orientations(counts, weights))
            used += found.sum()
    return total / used


def test_development_orientations_are_those_of_the_sets():
    rng = np.random.default_rng(2)
    components = [
        replace(part, rules=replace(part.rules, orientation_counts=random_counts(rng, 1, len(part))[0]))
        for part in CASE.components
    ]
    union = build_union(components)
    text = components[1]
    bare = replace(text.rules, orientation_counts=None)
    vocabularies = text.source_vocabulary, text.target_vocabulary
    found = development_pairs(union, [text.rules, bare], *vocabularies)
    np.testing.assert_array_equal(found.orientations[0], union.orientation_counts[1, found.pair_index])
    np.testing.assert_array_equal(found.orientations[1], 0)
    np.testing.assert_array_equal(found.orientation_counts, union.orientation_counts[:, found.pair_index])
    assert development_pairs(union, [bare], *vocabularies).orientations is None
    assert CASE.development.orientation_counts is None
    with pytest.raises(UserError, match="orientations=true"):
        fit_orientation_weights(CASE.development)


def test_cross_entropy_and_gradient_equal_the_definition(monkeypatch):
    development = random_development(3)
    point = np.random.default_rng(4).normal(size=(2, 3))
    expected = [slow_bits(development, s, np.exp(point[s])) for s in range(2)]
    np.testing.assert_allclose(orientation_cross_entropy(development, np.exp(point)), expected, rtol=1e-5)
    np.testing.assert_allclose(orientation_cross_entropy(development, 50 * np.exp(point)), expected, rtol=1e-5)
    monkeypatch.setattr(module, "ROWS_PER_CHUNK", 32)
    objective = build_orientation_problem(development).objective
    assert len(objective.counts) > 1
    value, gradient = orientation_value_and_gradient(objective, point.astype(np.float32))
    equal = [slow_bits(development, s, np.ones(3)) for s in range(2)]
    np.testing.assert_allclose(value / np.log(2), np.subtract(expected, equal), atol=1e-5)
    for s, d in np.ndindex(2, 3):
        ends = [slow_bits(development, s, np.exp(point[s] + step * np.eye(3)[d])) for step in (1e-3, -1e-3)]
        np.testing.assert_allclose(gradient[s, d], (ends[0] - ends[1]) / 2e-3 * np.log(2), atol=1e-5)


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_fits_are_as_good_as_those_of_scipy(seed):
    development = random_development(seed)
    fit = fit_orientation_weights(development)
    assert fit.is_converged.all()
    np.testing.assert_array_equal(fit.weights[:, 0], 1)
    for s in range(2):
        slow = minimize(
            lambda free, s=s: slow_bits(development, s, np.exp([0, *free])), np.zeros(2), method="Nelder-Mead",
            options={"xatol": 1e-4, "fatol": 1e-9},
        )  # fmt: skip
        assert fit.cross_entropy[s] <= slow.fun + 1e-6
        np.testing.assert_allclose(fit.cross_entropy[s], slow_bits(development, s, fit.weights[s]), rtol=1e-5)
        np.testing.assert_allclose(np.log(fit.weights[s, 1:]), slow.x, atol=0.02)
        np.testing.assert_allclose(fit.start_cross_entropy[s], slow_bits(development, s, np.ones(3)), rtol=1e-6)
    assert (fit.cross_entropy < fit.start_cross_entropy).all()
    known = development.orientation_counts.any((0, 2))
    np.testing.assert_allclose(fit.used, development.orientations[:, known].sum((1, 2)))


def test_sets_are_fitted_apart_and_order_does_not_matter():
    development = random_development(8)
    both = fit_orientation_weights(development)
    alone = fit_orientation_weights(
        replace(development, set_names=("set 1",), orientations=development.orientations[1:])
    )
    np.testing.assert_allclose(alone.weights[0], both.weights[1], rtol=1e-3)
    order = np.random.default_rng(0).permutation(80)
    shuffled = replace(
        development, orientations=development.orientations[:, order],
        orientation_counts=development.orientation_counts[:, order],
    )  # fmt: skip
    np.testing.assert_allclose(fit_orientation_weights(shuffled).weights, both.weights, rtol=1e-3)


def test_weights_of_no_use_are_the_least():
    rng = np.random.default_rng(9)
    good = rng.multinomial(40, (0.1, 0.8, 0.1), (60, 2)).reshape(60, 6).astype(np.float32)
    bad = rng.multinomial(40, (0.8, 0.1, 0.1), (60, 2)).reshape(60, 6).astype(np.float32)
    absent = np.zeros_like(good)
    fit = fit_orientation_weights(development_with(np.stack([bad, good, absent]), 5 * good[None]))
    np.testing.assert_allclose(fit.weights[0] / fit.weights[0].max(), [MIN_WEIGHT, 1, MIN_WEIGHT], rtol=1e-5)


def test_a_prior_keeps_weights_near():
    development = random_development(5)
    free = fit_orientation_weights(development)
    held = fit_orientation_weights(development, PerplexityConfig(prior_deviation=1e-3))
    np.testing.assert_allclose(held.weights, 1, atol=0.05)
    centre = fit_orientation_weights(development, PerplexityConfig(prior_deviation=1e-3), [1.0, 0.5, 2.0])
    np.testing.assert_allclose(centre.weights, np.broadcast_to([1, 0.5, 2], (2, 3)), rtol=0.05)
    assert (free.cross_entropy <= held.cross_entropy + 1e-6).all()
    with pytest.raises(UserError, match="prior_deviation"):
        fit_orientation_weights(development, prior_weights=[1.0, 0.5, 2.0])


@pytest.mark.parametrize(("num_components", "num_pairs"), [(1, 0), (1, 1), (1, 30), (2, 0), (2, 1)])
def test_nothing_to_fit_means_equal_weights(num_components, num_pairs):
    counts = np.zeros((num_components, num_pairs, 6), np.float32)
    counts[0] = [2, 1, 0, 0, 1, 2]
    found = np.ones((2, num_pairs, 6), np.float32)
    found[1] = 0  # a set without pairs
    fit = fit_orientation_weights(development_with(counts, found))
    np.testing.assert_array_equal(fit.weights, 1)
    np.testing.assert_array_equal(fit.used, [6 * num_pairs, 0])
    np.testing.assert_array_equal(np.isnan(fit.cross_entropy), [num_pairs == 0, True])


def test_tables_show_orientations_with_the_other_weights():
    fit = fit_instance_weights(CASE.development)
    plain = fit.table()[1]
    fitted = fit_orientation_weights(random_development(6))
    rows = replace(fit, reordering=fitted).table()[1]
    assert [row for row in rows if row[1] != "orientation"] == plain
    assert [row[0] for row in rows if row[1] == "orientation"] == list(fit.set_names)
    assert rows[4][2:5] == [f"{weight:.4g}" for weight in fitted.weights[0]]
