"""Orientations as rule models give them, against the definitions."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.search.rules.ensemble import EnsembleConfig
from jaxsmt.search.rules.ensemble_spans import ensemble_rules
from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules
from jaxsmt.search.rules.model import fixed_rules, mixed_rules
from jaxsmt.tm.reordering import ORIENTATION_NAMES, component_orientations
from jaxsmt.tm.scored import score_component
from tests.search.ensemble_oracle import Small, small_models
from tests.tm.test_tm_reordering import slow_orientations

WEIGHTS = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 2, 1, 1], [0.1, 4, 2, 3]])
LACKS = np.full(6, 1 / 3)


@pytest.fixture(scope="module")
def small():
    """Four components that share pairs; the last one has no orientations."""
    found = small_models(13, (14, 12, 13, 12), ("phrase",) * 4, 6)
    rng = np.random.default_rng(1)
    components = []
    for component in found.components[:3]:
        joint = component.rules.joint_counts.astype(int)
        sides = [rng.multinomial(joint, (0.5, 0.2, 0.3)) for _ in range(2)]
        counts = np.concatenate(sides, 1).astype(np.float32)
        components.append(replace(component, rules=replace(component.rules, orientation_counts=counts)))
    return Small(found.models, [*components, found.components[3]], found.weights)


@pytest.fixture(scope="module")
def own(small):
    """{(pair, component): [6] probabilities} of the components that know them."""
    counts = small.union.orientation_counts
    return {(p, d): component_orientations(counts[d, p])[0] for p, d in small.own if d < 3}


@pytest.fixture(scope="module")
def asked(small):
    rng = np.random.default_rng(2)
    return rng.integers(0, len(small.pairs), 200), rng.integers(0, len(WEIGHTS), 200)


def check(rules, small, asked, mixture, slow):
    """Compares with slow(pair, profile) probabilities; sizes 0 and 1 as well."""
    pairs, profile = asked
    found = rules.orientations(pairs, profile, mixture)
    assert found.dtype == np.float32
    assert found.shape == (len(pairs), len(rules.orientation_names))
    expected = [slow(p, u) for p, u in zip(pairs.tolist(), profile.tolist(), strict=True)]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
    assert rules.orientations(pairs[:0], profile[:0], mixture).shape == (0, found.shape[1])
    np.testing.assert_allclose(rules.orientations(pairs[3:4], profile[3:4], mixture), found[3:4], atol=1e-6)


def test_counts_are_mixed(small, asked):
    rules = mixed_rules(small.union)
    counts = small.union.orientation_counts
    four = np.random.default_rng(3).uniform(0.1, 2, (4, 4, 4))
    mixture = rules.check_mixture(four, 4)
    check(rules, small, asked, mixture, lambda p, u: slow_orientations(counts[:, p], four[u, 2]))
    five = rules.check_mixture(np.concatenate([four, WEIGHTS[:, None]], 1), 4)
    check(rules, small, asked, five, lambda p, u: slow_orientations(counts[:, p], WEIGHTS[u]))
    np.testing.assert_array_equal(rules.features(*asked, five), rules.features(*asked, mixture))
    np.testing.assert_array_equal(
        rules.bound_shift(np.arange(3), np.arange(3), five), rules.bound_shift(np.arange(3), np.arange(3), mixture)
    )
    with pytest.raises(UserError, match="shape"):
        rules.check_mixture(np.ones((6, 4)), 1)


def slow_linear(own, weights, p):
    known = [(weights[d], own[p, d]) for d in range(4) if (p, d) in own and weights[d] > 0]
    return sum(w * values for w, values in known) / sum(w for w, _ in known) if known else LACKS


def test_linear_mixtures_mix_probabilities(small, own, asked):
    rules = linear_rules(small.union, small.table)
    four = np.random.default_rng(3).uniform(0.1, 2, (4, 4, 4))
    mixture = rules.check_mixture(four, 4)
    check(rules, small, asked, mixture, lambda p, u: slow_linear(own, four[u, 2], p))
    five = rules.check_mixture(np.concatenate([four, WEIGHTS[:, None]], 1), 4)
    check(rules, small, asked, five, lambda p, u: slow_linear(own, WEIGHTS[u], p))
    np.testing.assert_array_equal(rules.features(*asked, five), rules.features(*asked, mixture))
    normalised = linear_rules(small.union, small.table, is_normalised=True)
    np.testing.assert_array_equal(normalised.features(*asked, five), normalised.features(*asked, mixture))


def test_log_linear_mixtures_have_those_of_all_models(small, own, asked):
    rules = log_linear_rules(small.union, small.table)
    assert len(rules.orientation_names) == 24
    assert rules.orientation_names[6:8] == ("mono to previous m1", "swap to previous m1")
    check(rules, small, asked, None, lambda p, _: np.concatenate([own.get((p, d), LACKS) for d in range(4)]))


def test_fill_up_takes_the_first(small, own, asked):
    rules = fill_up_rules(small.union, small.table)
    check(rules, small, asked, None, lambda p, _: next((own[p, d] for d in range(4) if (p, d) in own), LACKS))


@pytest.mark.parametrize("config", [EnsembleConfig("wsum"), EnsembleConfig("wsum", normalise_spans=True)])
def test_sums_mix_probabilities(small, own, asked, config):
    rules = ensemble_rules(small.union, small.table, small.weights, config)
    check(rules, small, asked, rules.check_mixture(WEIGHTS, 4), lambda p, u: slow_linear(own, WEIGHTS[u], p))


def test_maxima_take_the_component_of_the_score(small, own, asked):
    rules = ensemble_rules(small.union, small.table, small.weights, EnsembleConfig("wmax", normalise_weights=False))

    def slow(p, u):
        scores = small.scores_of(p)
        psi = [np.log(w) + s if w > 0 else -np.inf for w, s in zip(WEIGHTS[u], scores, strict=True)]
        return own.get((p, int(np.argmax(psi))), LACKS)

    check(rules, small, asked, rules.check_mixture(WEIGHTS, 4), slow)


def test_products_have_geometric_means(small, own, asked):
    rules = ensemble_rules(small.union, small.table, small.weights, EnsembleConfig("prod"))

    def slow(p, u):
        known = [(WEIGHTS[u, d], own[p, d]) for d in range(4) if (p, d) in own and WEIGHTS[u, d] > 0]
        if not known:
            return LACKS
        return np.exp(sum(w * np.log(values) for w, values in known) / sum(w for w, _ in known))

    check(rules, small, asked, rules.check_mixture(WEIGHTS, 4), slow)


def test_switched_rules_have_their_components(small, own):
    rules = ensemble_rules(small.union, small.table, small.weights, EnsembleConfig("switch:max"))
    rows, table = np.arange(len(small.table)), small.table
    found = rules.orientations(rows, np.zeros(len(rows), int), rules.check_mixture(None, 1))
    expected = [own.get((int(p), int(d)), LACKS) for p, d in zip(table.pair, table.component, strict=True)]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)
    assert rules.orientation_names == ORIENTATION_NAMES


def test_one_hot_weights_are_that_component_in_all_models(small, own):
    one_hot = np.eye(4)[1]
    pairs = np.array([p for p in range(len(small.pairs)) if (p, 1) in own])
    expected = np.log([own[p, 1] for p in pairs])
    models = [mixed_rules(small.union), linear_rules(small.union, small.table)]
    cases = [(rules, np.tile(one_hot, (4, 1))) for rules in models]
    for operation in ("wsum", "wmax", "prod"):
        config = EnsembleConfig(operation)
        cases.append((ensemble_rules(small.union, small.table, small.weights, config), one_hot))
    for rules, weights in cases:
        found = rules.orientations(pairs, np.zeros(len(pairs), int), rules.check_mixture(weights, 1))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_fixed_tables(small):
    component = small.components[0]
    table = score_component(component)
    probabilities = component_orientations(component.rules.orientation_counts).astype(np.float32)
    probabilities[2] = np.nan
    rules = fixed_rules(table, probabilities)
    pairs = np.arange(len(table))
    expected = np.where(np.isnan(probabilities), 1, probabilities)  # Moses does not count what it does not know
    np.testing.assert_allclose(np.exp(rules.orientations(pairs, pairs, None)), expected, rtol=1e-6)
    assert rules.orientation_names == ORIENTATION_NAMES


def test_models_without_orientations_have_no_features():
    bare = small_models(13)
    arguments = bare.union, bare.table
    models = [
        mixed_rules(bare.union), linear_rules(*arguments), log_linear_rules(*arguments), fill_up_rules(*arguments),
        fixed_rules(score_component(bare.components[0])),
        *(ensemble_rules(*arguments, bare.weights, EnsembleConfig(name)) for name in ("wsum", "switch:sum")),
    ]  # fmt: skip
    for rules in models:
        assert rules.orientation_names == ()
        found = rules.orientations(np.arange(3), np.zeros(3, int), rules.check_mixture(None, 1))
        np.testing.assert_array_equal(found, np.zeros((3, 6)))
