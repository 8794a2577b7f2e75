import itertools
from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.tm.features import component_features
from jaxsmt.tm.fit.linear import LinearConfig, fit_linear, fit_linear_features, known_phrases, own_features
from jaxsmt.tm.fit.linear_em import build_em, run_em
from tests.tm.small_fits import random_case, slow_linear_entropy

PHRASES, RULES = random_case(1), random_case(2, kind="hiero")
TIGHT = LinearConfig(tolerance=1e-7, max_iterations=1000)
STEPS = 25
GRID = np.array([(a, b, STEPS - a - b) for a, b in itertools.product(range(STEPS + 1), repeat=2) if a + b <= STEPS])
GRID = (GRID + 0.01) / (STEPS + 0.03)  # [G, 3] on the simplex, not on its edges


def own_probabilities(case):
    """[A, D, 4] of the development pairs, 0 where a model lacks the pair."""
    logs = own_features(case.table, case.development.pair_index).astype(np.float64)
    return np.where(logs > -100, np.exp(logs), 0)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("case", [PHRASES, RULES])
def test_weights_are_the_best_of_a_grid_on_the_simplex(case, normalised):
    fit = fit_linear(case.development, replace(TIGHT, normalised=normalised), case.table)
    np.testing.assert_allclose(fit.weights.sum(-1), 1)
    assert (fit.weights >= 0).all()
    values = own_probabilities(case)
    knows = known_phrases(case.development) if normalised else np.ones(values.shape)
    mixed = np.einsum("gd,adf->gaf", GRID, values) / np.einsum("gd,adf->gaf", GRID, knows)
    logs = np.log2(np.where(values.any(1)[None], mixed, 1))
    for number, counts in enumerate(case.development.counts):
        is_used = values.any(1) * counts[:, None]
        grid = -(counts[None, :, None] * logs).sum(1) / is_used.sum(0)  # [G, 4]
        own = slow_linear_entropy(case, number, fit.weights[number], normalised)
        np.testing.assert_allclose(fit.cross_entropy[number], own, rtol=1e-5)
        np.testing.assert_allclose(fit.used[number], is_used.sum(0))
        assert (own < grid.min(0) + 1e-5).all()
        equal = np.full((4, 3), 1 / 3)
        first = slow_linear_entropy(case, number, equal, normalised)
        np.testing.assert_allclose(fit.start_cross_entropy[number], first, rtol=1e-5)
        if not normalised:  # one optimum: the best grid point is next to it
            best = GRID[grid.argmin(0)]
            assert np.abs(best - fit.weights[number]).max() < 1.5 / STEPS


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("prior", [0.0, 5.0])
def test_likelihood_rises_in_every_iteration(normalised, prior):
    development = PHRASES.development
    features = own_features(PHRASES.table, development.pair_index)
    for feature in range(4):
        known = known_phrases(development)[..., feature].T if normalised else None
        problem, _, used = build_em(features[..., feature].T, development.counts, known, np.full((2, 3), prior))
        state = run_em(problem, 1e-6, 1000)
        assert state.is_done.all()
        for history, iterations in zip(np.asarray(state.history), state.iterations.tolist(), strict=True):
            assert iterations > 2
            assert np.isnan(history[iterations + 1 :]).all()
            rises = np.diff(history[: iterations + 1])
            assert (rises > -3e-6).all()
            assert rises[0] > 1e-4
        assert (used > 0).all()


def test_prior_counts():
    development = PHRASES.development
    centre = np.array([[0.6, 0.3, 0.1]] * 4)
    free = fit_linear(development, TIGHT)
    held = fit_linear(development, replace(TIGHT, prior=1e6), prior_weights=centre * 7)
    np.testing.assert_allclose(held.weights, np.tile(centre, (2, 1, 1)), atol=1e-3)
    assert (held.cross_entropy > free.cross_entropy).all()
    some = fit_linear(development, replace(TIGHT, prior=10.0))
    same = fit_linear(development, replace(TIGHT, prior=10.0), prior_weights=np.full((4, 3), 7.0))
    np.testing.assert_allclose(same.weights, some.weights, atol=1e-6)
    values = np.exp(component_features(development.statistics, np.arange(len(development))).astype(np.float64))
    weights = some.weights[1]  # a fixed point of λ ∝ expected counts + prior
    values = np.where(values > 1e-40, values, 0)
    shares = weights.T[None] * values / np.maximum((weights.T[None] * values).sum(1, keepdims=True), 1e-300)
    expected = (development.counts[1][:, None, None] * shares).sum(0) + 10.0
    np.testing.assert_allclose(weights.T, expected / expected.sum(0), atol=1e-5)
    with pytest.raises(UserError, match="prior counts"):
        fit_linear(development, prior_weights=centre)


def test_sets_together_are_sets_alone_and_the_stop_rule_holds():
    development = PHRASES.development
    fit = fit_linear(development)
    assert (fit.iterations <= 100).all()
    assert fit.is_converged.all()
    tight = fit_linear(development, TIGHT)
    assert (tight.iterations > fit.iterations).all()
    assert (tight.cross_entropy <= fit.cross_entropy + 1e-6).all()
    alone = fit_linear(replace(development, counts=development.counts[[1, 1]]))
    np.testing.assert_allclose(alone.weights[0], fit.weights[1], atol=1e-6)
    short = fit_linear(development, replace(TIGHT, max_iterations=2))
    np.testing.assert_array_equal(short.iterations, 2)
    assert not short.is_converged.any()


def test_empty_sets_and_one_component():
    emptied = replace(PHRASES.development, counts=PHRASES.development.counts * np.array([[1], [0]], np.float32))
    fit = fit_linear(emptied, replace(LinearConfig(), normalised=True))
    np.testing.assert_allclose(fit.weights[1], np.full((4, 3), 1 / 3))
    assert np.isnan(fit.cross_entropy[1]).all()
    one = random_case(7, sizes=(30,), num_sets=2)
    fit = fit_linear(one.development, table=one.table)
    np.testing.assert_array_equal(fit.weights, np.ones((2, 4, 1)))
    np.testing.assert_allclose(fit.cross_entropy[0], slow_linear_entropy(one, 0, np.ones((4, 1))), rtol=1e-5)
    nothing = replace(PHRASES.development, counts=0 * PHRASES.development.counts)
    with pytest.raises(UserError, match="no phrase pair or rule"):
        fit_linear(nothing)


def test_weights_favour_the_component_that_the_text_is_from():
    case = random_case(6, favour=1)
    fit = fit_linear(case.development)
    assert (fit.weights[:, [0, 2]].argmax(-1) == 1).all()  # word counts are not those of the text


def test_features_of_pairs_that_are_missing_everywhere_do_not_count():
    development = PHRASES.development
    features = component_features(development.statistics, np.arange(len(development)))
    features[::2] = -np.inf
    fit = fit_linear_features(development, features, config=TIGHT)
    halved = replace(
        development, counts=development.counts * (np.arange(len(development)) % 2)[None].astype(np.float32)
    )
    kept = fit_linear_features(halved, features, config=TIGHT)
    np.testing.assert_allclose(fit.weights, kept.weights, atol=1e-5)
    np.testing.assert_allclose(fit.used, kept.used)


@pytest.mark.parametrize("setting", [{"tolerance": -1.0}, {"max_iterations": 0}, {"prior": -1.0}])
def test_bad_settings_are_named(setting):
    with pytest.raises(UserError, match=str(next(iter(setting)))):
        LinearConfig(**setting)
