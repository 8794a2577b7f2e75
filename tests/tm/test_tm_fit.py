import logging
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.tm.features import features
from jaxsmt.tm.fit.development import development_pairs
from jaxsmt.tm.fit.lbfgs import minimise
from jaxsmt.tm.fit.log_sums import log_sums, reduce_log_sums
from jaxsmt.tm.fit.objective import MIN_WEIGHT, build_problem, evaluate
from jaxsmt.tm.fit.perplexity import PerplexityConfig, cross_entropy, fit_instance_weights
from jaxsmt.tm.restrict import keep_pairs
from jaxsmt.tm.weights import FEATURE_NAMES
from tests.tm.small_fits import random_case, slow_entropy
from tests.tm.small_models import pairs_of

PHRASES, RULES = random_case(1), random_case(2, kind="hiero")


@pytest.mark.parametrize("case", [PHRASES, RULES])
def test_development_pairs_are_those_of_the_sets(case):
    development, pairs = case.development, pairs_of(case.union)
    known = {pair for model in case.models for pair in model.joint}
    assert [pairs[place] for place in development.pair_index] == [p for p in pairs if any(p in s for s in case.sets)]
    for number, wanted in enumerate(case.sets):
        row = development.counts[number]
        found = {pairs[place]: row[a] for a, place in enumerate(development.pair_index) if row[a]}
        assert found == {pair: count for pair, count in wanted.items() if pair in known}
        missing = [count for pair, count in wanted.items() if pair not in known]
        assert missing
        assert development.num_skipped[number] == len(missing)
        assert development.skipped[number] == sum(missing)
        assert development.found[number] == sum(found.values())
    assert development.set_names == ("set 0", "set 1")
    joint = case.union.statistics.joint_counts[:, development.pair_index]
    np.testing.assert_array_equal(development.statistics.joint_counts, joint)


def test_sets_without_pairs_and_without_words_of_the_models():
    component = PHRASES.components[0]
    nothing = keep_pairs(component.rules, np.zeros(0, np.int64))
    vocabularies = component.source_vocabulary, component.target_vocabulary
    found = development_pairs(PHRASES.union, [component.rules, nothing], *vocabularies)
    np.testing.assert_array_equal(found.found, [component.rules.joint_counts.sum(), 0])
    np.testing.assert_array_equal(found.num_skipped, [0, 0])
    sides = component.rules.source_sides
    longer = replace(component.rules, source_sides=np.concatenate([sides, sides[:, :1]], 1))
    assert development_pairs(PHRASES.union, [longer], *vocabularies).num_skipped[0] == len(component)
    strange = type(vocabularies[0])(tuple(word + "x" for word in vocabularies[0].words))
    other = development_pairs(PHRASES.union, [component.rules], strange, vocabularies[1])
    assert (len(other), other.num_skipped[0]) == (0, len(component))
    with pytest.raises(UserError, match=r"no phrase pair or rule .* \(m0, m1, m2\)"):
        fit_instance_weights(other)
    with pytest.raises(UserError, match="at least one"):
        development_pairs(PHRASES.union, [], *vocabularies)
    with pytest.raises(UserError, match="1 development sets have 2 names"):
        development_pairs(PHRASES.union, [nothing], *vocabularies, ["a", "b"])


@pytest.mark.parametrize("num_rows", [0, 1, 300])
def test_reduced_sums_are_the_sums(num_rows):
    rng = np.random.default_rng(num_rows)
    tables = []
    for size in (num_rows, num_rows // 2):
        values = rng.integers(0, 3, (3, size)).astype(np.float32) * (rng.random((3, size)) < 0.6)
        weights = rng.normal(size=(2, size)) * (rng.random(size) < 0.9) * values.any(0)
        tables.append((values, weights))
    sums, constant = reduce_log_sums(tables)
    assert int(sums.num_rows) == sum(int(((x > 0).sum(0)[w.any(0)] > 1).sum()) for x, w in tables)
    mixture = np.exp(rng.normal(size=(2, 3))).astype(np.float32)
    value, gradient = jax.jit(log_sums)(sums, mixture)
    expected, slope = np.zeros(2), np.zeros((2, 3))
    for values, weights in tables:
        mixed = mixture @ np.where(values.any(0), values, 1)
        expected += (weights * np.log(mixed)).sum(1)
        slope += mixture * ((weights / mixed) @ values.T)
    np.testing.assert_allclose(constant + value, expected, atol=1e-4)
    np.testing.assert_allclose(gradient, slope, atol=1e-4)


def test_lbfgs_finds_minima_of_different_functions_at_once():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(4, 6, 6)) * np.geomspace(1, 30, 6)
    matrix = jnp.asarray(factors @ factors.transpose(0, 2, 1) / 30, jnp.float32)
    target = jnp.asarray(rng.normal(size=(4, 6)), jnp.float32)

    def value_fn(point, matrix, target):
        away = point - target
        valley = (away[1] - away[0] ** 2) ** 2 + 0.05 * away @ away  # curved, as Rosenbrock's
        return valley + jnp.log1p(away @ matrix @ away)

    both = jax.vmap(jax.value_and_grad(value_fn))
    solve = jax.jit(lambda start, limit=300: minimise(lambda at: both(at, matrix, target), start, 1e-4, limit))
    found = solve(jnp.zeros((4, 6)))
    np.testing.assert_allclose(found.point, target, atol=1e-3)
    assert found.is_converged.all()
    assert len(set(found.num_iterations.tolist())) > 1
    np.testing.assert_array_equal(solve(target).num_iterations, 0)
    values = np.array([solve(jnp.full((4, 6), 5.0), limit).value for limit in range(1, 60)])
    assert (np.diff(values, axis=0) <= 1e-6).all()
    assert (values[-1] < values[0] - 1).all()


@pytest.mark.parametrize("case", [PHRASES, RULES])
def test_cross_entropy_equals_the_definition(case):
    weights = np.exp(np.random.default_rng(3).normal(size=(2, 4, 3)) * 2).astype(np.float32)
    found = cross_entropy(case.development, weights)
    for number in range(2):
        np.testing.assert_allclose(found[number], slow_entropy(case, number, weights[number]), rtol=1e-5)
    np.testing.assert_allclose(cross_entropy(case.development, 1e-3 * weights), found, rtol=1e-5)
    used = np.stack([build_problem(case.development, feature).used for feature in range(4)], 1)
    np.testing.assert_allclose(used[:, 0], case.development.found)
    assert (used[:, [1, 3]] < used[:, [0]]).any()  # some lexical weights are 0


@pytest.mark.parametrize("case", [PHRASES, RULES])
def test_gradients_equal_differences(case):
    point = np.random.default_rng(4).normal(size=(2, 3))
    weights = np.broadcast_to(np.exp(point)[:, None], (2, 4, 3))
    for feature in range(4):
        _, gradient = evaluate(build_problem(case.development, feature).objective, point.astype(np.float32))
        for place in np.ndindex(2, 3):
            changed = weights.copy()
            ends = []
            for step in (1e-3, -1e-3):
                changed[place[0], :, place[1]] = np.exp(point[place] + step)
                ends.append(slow_entropy(case, place[0], changed[place[0]])[feature])
            np.testing.assert_allclose(gradient[place], (ends[0] - ends[1]) / 2e-3 * np.log(2), atol=1e-5)


def test_weights_have_a_lower_bound():
    for feature in range(4):
        objective = build_problem(PHRASES.development, feature).objective
        at_bound, beyond = (evaluate(objective, np.float32([[0, low, 1], [1, 0, low]])) for low in (-21, -40))
        np.testing.assert_array_equal(beyond[1][[0, 1], [1, 2]], 0)
        np.testing.assert_allclose(beyond[0], at_bound[0])
        assert np.isfinite(beyond[0]).all()
        assert np.abs(beyond[1]).max() > 1e-3


@pytest.mark.parametrize("case", [PHRASES, RULES])
def test_no_other_weights_are_better(case):
    fit = fit_instance_weights(case.development)
    assert fit.is_converged.all()
    assert (fit.weights >= 1e-9).all()
    np.testing.assert_array_equal(fit.weights[..., 0], 1)
    rng = np.random.default_rng(5)
    for number in range(2):
        equal = slow_entropy(case, number, np.ones((4, 3)))
        np.testing.assert_allclose(fit.start_cross_entropy[number], equal, rtol=1e-6)
        own = slow_entropy(case, number, fit.weights[number])
        np.testing.assert_allclose(fit.cross_entropy[number], own, rtol=1e-6)
        for scale in np.repeat([0.03, 0.3, 3.0], 12):  # near and far
            start = fit.weights[number] if scale < 3 else 1.0
            other = slow_entropy(case, number, start * np.exp(scale * rng.normal(size=(4, 3))))
            assert (own < other + 2e-6).all()


def test_sets_together_are_sets_alone():
    fit = fit_instance_weights(PHRASES.development)
    for number in range(2):
        twice = replace(PHRASES.development, counts=PHRASES.development.counts[[number, number]])
        again = fit_instance_weights(twice)
        np.testing.assert_array_equal(again.weights[0], again.weights[1])
        np.testing.assert_array_equal(is_lowest(again.weights[0]), is_lowest(fit.weights[number]))
        np.testing.assert_allclose(again.cross_entropy[0], fit.cross_entropy[number], atol=1e-6)
        ours, theirs = (features(PHRASES.development.statistics, x) for x in (again.weights[0], fit.weights[number]))
        np.testing.assert_allclose(ours, theirs, atol=5e-3)  # a step along the flat valley of H changes p by so much


def is_lowest(weights):
    return weights / weights.max(-1, keepdims=True) < 1.01 * MIN_WEIGHT


def test_weights_of_no_use_are_the_lowest_wherever_the_search_stopped():
    """Of the component that a set was not drawn from; stated by the objective, not by the last steps of the search."""
    case = random_case(6, favour=1)
    fit = fit_instance_weights(case.development)
    longer = fit_instance_weights(case.development, PerplexityConfig(tolerance=1e-7, max_evaluations=2000))
    lowest = is_lowest(fit.weights)
    assert lowest[:, [0, 2]].any()
    np.testing.assert_array_equal(lowest, is_lowest(longer.weights))
    for number, feature, component in np.ndindex(lowest.shape):
        raised = fit.weights[number].copy()
        raised[feature, component] = 1e-3 * raised[feature].max()
        other = slow_entropy(case, number, raised)[feature]
        if lowest[number, feature, component]:  # more weight does not help
            assert other > fit.cross_entropy[number, feature] - 2e-6
    held = fit_instance_weights(case.development, PerplexityConfig(prior_deviation=1.0))
    assert not is_lowest(held.weights).any()  # a prior says where a weight belongs


@pytest.mark.parametrize("favour", [0, 1, 2])
def test_weights_favour_the_component_that_the_text_is_from(favour):
    """Also the first component, whose reported weight is always 1, and where it is worth nothing."""
    case = random_case(6, favour=favour)
    fit = fit_instance_weights(case.development)
    for feature in (0, 2):
        assert (fit.weights[:, feature].argmax(-1) == favour).all()
    assert (fit.cross_entropy[:, [0, 2]] < fit.start_cross_entropy[:, [0, 2]]).all()
    assert (fit.cross_entropy <= fit.start_cross_entropy + 1e-6).all()


def test_one_component_and_an_empty_set(caplog):
    one = random_case(7, sizes=(30,), num_sets=1)
    fit = fit_instance_weights(one.development)
    np.testing.assert_array_equal(fit.weights, np.ones((1, 4, 1)))
    np.testing.assert_allclose(fit.cross_entropy, fit.start_cross_entropy)
    np.testing.assert_allclose(fit.cross_entropy[0], slow_entropy(one, 0, np.ones((4, 1))), rtol=1e-6)
    development = PHRASES.development
    counts = development.counts * np.array([[1], [0]], np.float32)
    emptied = replace(development, counts=counts)
    with caplog.at_level(logging.WARNING, "jaxsmt"):
        fit = fit_instance_weights(emptied)
    assert "'set 1' is in a component: its weights stay equal" in caplog.text
    np.testing.assert_array_equal(fit.weights[1], np.ones((4, 3)))
    held = fit_instance_weights(emptied, PerplexityConfig(prior_deviation=1.0))
    np.testing.assert_array_equal(held.weights[1], np.ones((4, 3)))
    assert np.isnan(fit.cross_entropy[1]).all()
    assert np.isfinite(fit.cross_entropy[0]).all()


def test_priors_hold_weights_near_their_centre():
    development = PHRASES.development
    free = fit_instance_weights(development)
    centre = np.exp(np.random.default_rng(8).normal(size=(4, 3)))
    centre /= centre[:, :1]
    held = fit_instance_weights(development, PerplexityConfig(prior_deviation=1e-3), centre)
    np.testing.assert_allclose(held.weights, np.tile(centre, (2, 1, 1)), rtol=1e-2)
    between = fit_instance_weights(development, PerplexityConfig(prior_deviation=0.5))
    loose = fit_instance_weights(development, PerplexityConfig(prior_deviation=100.0))
    np.testing.assert_allclose(loose.cross_entropy, free.cross_entropy, atol=1e-4)
    assert (between.cross_entropy > free.cross_entropy).all()
    np.testing.assert_allclose(between.cross_entropy, cross_entropy(development, between.weights), atol=1e-6)
    assert (between.cross_entropy < free.start_cross_entropy + 1e-6).all()
    for number in range(2):  # the gradient of the prior balances that of the data
        point = np.log(between.weights[number].astype(np.float64))
        point -= point.mean(-1, keepdims=True)
        for feature in range(4):
            problem = build_problem(development, feature)
            rows = np.zeros((2, 3), np.float32)
            rows[number] = point[feature]
            gradient = np.asarray(evaluate(problem.objective, rows)[1])[number]
            np.testing.assert_allclose(gradient, -point[feature] / 0.25 / problem.used[number], atol=1e-5)
    with pytest.raises(UserError, match="prior_deviation"):
        fit_instance_weights(development, prior_weights=centre)


def test_the_table_for_people():
    fit = fit_instance_weights(PHRASES.development)
    head, rows = fit.table()
    assert head[:5] == ["set", "feature", "m0", "m1", "m2"]
    assert [row[:3] for row in rows] == [[name, feature, "1"] for name in fit.set_names for feature in FEATURE_NAMES]
    assert all(len(row) == len(head) for row in rows)
    assert float(rows[5][6]) == pytest.approx(fit.cross_entropy[1, 1], abs=1e-4)


@pytest.mark.parametrize("setting", [{"tolerance": 0.0}, {"max_evaluations": 0}, {"prior_deviation": -1.0}])
def test_bad_settings_are_named(setting):
    with pytest.raises(UserError, match=str(next(iter(setting)))):
        PerplexityConfig(**setting)
