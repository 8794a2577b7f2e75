"""Features as differentiable functions of mixture weights: equal to the search's; gradients of expected scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.search.nbest.trainable import listed_rules, listed_words, lm_feature, rule_features
from jaxsmt.search.nbest.uses import NONE, DerivationUses
from jaxsmt.search.rules.mixtures import linear_rules
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.union import build_union
from jaxsmt.tune.risk.mixtures import Mixture, MixtureProblem, MixtureSettings, mixture_loss, tangent_loss, tangents_at
from jaxsmt.tune.risk.objective import Gains
from tests.precision import double_precision
from tests.search.ensemble_oracle import small_models
from tests.search.test_search_orientations import small  # noqa: F401 - a fixture

KINDS = ["counts", "linear", "normalised"]


def rules_of(components, kind):
    union = build_union(components)
    if kind == "counts":
        return mixed_rules(union)
    return linear_rules(union, component_table(union, components), kind == "normalised")


@pytest.fixture(params=["orientations", "none"])
def components(request):
    if request.param == "none":
        return small_models(13, (14, 12, 13), ("phrase",) * 3, 6).components
    return request.getfixturevalue("small").components


def random_weights(rng, rules, num):
    weights = rng.uniform(0.05, 1, (5 if rules.orientation_names else 4, num))
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_those_of_the_search(components, kind):
    rules, rng = rules_of(components, kind), np.random.default_rng(1)
    weights = random_weights(rng, rules, len(components))
    for size in (60, 1, 0):
        pairs = rng.integers(0, len(rules.union), size)
        terms, place = rules.terms(pairs)
        found = np.asarray(terms.features(jnp.asarray(weights, jnp.float32)))[place]
        mixture, none = rules.check_mixture(weights[None], 1), np.zeros(len(pairs), np.int64)
        np.testing.assert_allclose(found[:, :4], rules.features(pairs, none, mixture), rtol=2e-5, atol=2e-5)
        if rules.orientation_names:
            np.testing.assert_allclose(found[:, 4:], rules.orientations(pairs, none, mixture), rtol=2e-5, atol=2e-5)
        assert found.shape == (size, 10 if rules.orientation_names else 4)


def random_uses(rng, rules, num, num_models):
    """Derivations of 0 to 4 rules and 1 to 5 words."""
    num_rules, num_words = rng.integers(0, 5, num), rng.integers(1, 6, num)
    used = np.stack(
        [
            rng.integers(0, len(rules.union), num_rules.sum()),
            rng.integers(-1, 3, num_rules.sum()),
            np.where(rng.random(num_rules.sum()) < 0.3, NONE, rng.integers(3, 6, num_rules.sum())),
        ],
        1,
    )
    words = np.log(rng.uniform(0.01, 0.5, (num_words.sum(), num_models))).astype(np.float32)
    return DerivationUses(Ragged(used.astype(np.int32), offsets_of(num_rules)), (Ragged(words, offsets_of(num_words)),))


@pytest.mark.parametrize("kind", KINDS)
def test_listed_features_are_sums(components, kind):
    rules, rng = rules_of(components, kind), np.random.default_rng(4)
    uses, weights = random_uses(rng, rules, 5, 3), random_weights(rng, rules, len(components))
    rows = np.array([[0, 3, -1], [-1, -1, -1], [2, 4, 1]])
    mixture = rules.check_mixture(weights[None], 1)
    found = np.asarray(rule_features(listed_rules(rules, uses, rows), jnp.asarray(weights, jnp.float32)))
    own = np.array([[0.2, 0.5, 0.3]], np.float32)
    of_words = np.asarray(lm_feature(listed_words(uses, 0, rows), jnp.asarray(own)))
    for (b, h), row in np.ndenumerate(rows):
        expected, log_p = np.zeros(found.shape[2]), 0.0
        if row >= 0:
            pairs, before, after = uses.rules[row].T
            none = np.zeros(len(pairs), np.int64)
            expected[:4] = rules.features(pairs, none, mixture).sum(0)
            if rules.orientation_names:
                logs = rules.orientations(pairs, none, mixture)
                for number, columns in enumerate(zip(before, after, strict=True)):
                    for column in columns:
                        if column != NONE:
                            expected[4 + column] += logs[number, column]
            log_p = np.log(np.exp(uses.words[0][row]) @ own[0]).sum()
        np.testing.assert_allclose(found[b, h], expected, rtol=1e-4, atol=1e-4)
        assert of_words[b, h, 0] == pytest.approx(log_p, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", ["bleu", "mean"])
def test_gradients_are_differences(components, kind, measure):
    """Of expected BLEU in w, γ, λ and μ of two labels, all at once."""
    rules, rng = rules_of(components, kind), np.random.default_rng(5)
    uses, num_rows = random_uses(rng, rules, 12, 2), 5 if rules.orientation_names else 4
    rows = np.array([[0, 3, 5], [1, 2, -1], [6, 7, 4], [8, 9, 10], [11, -1, -1]])
    columns = tuple(range(10 if num_rows == 5 else 4))
    mixtures = (
        Mixture(rule_features, columns, (0, 1, 2, 3) + (4,) * (len(columns) - 4), (num_rows, len(components))),
        Mixture(lm_feature, (len(columns),), (0,), (1, 2)),
    )
    size = len(columns) + 2  # one feature that is as it is
    num_thetas = 2 * (num_rows * len(components) + 2)
    with double_precision():
        data = tuple(
            (listed_rules(rules, uses, part), listed_words(uses, 0, part).astype(jnp.float64))
            for part in (rows[:2], rows[2:])
        )
        fixed = np.zeros((5, 3, size))
        fixed[..., -1] = rng.normal(size=(5, 3))
        totals = np.array([9.0, 8.0, 7.0, 6.0])
        statistics = np.concatenate(
            [np.full((5, 3, 2), 9.0), rng.uniform(1, 6, (5, 3, 4)), np.broadcast_to(totals, (5, 3, 4))], 2
        )
        statistics[..., 1] = 9.7  # no bend of the brevity penalty near by
        gains = Gains(jnp.asarray(statistics if measure == "bleu" else statistics[..., 2:3]), jnp.asarray(rows >= 0))
        problem = MixtureProblem(
            jnp.asarray(fixed),
            (jnp.asarray(rng.normal(size=(5, 1, len(columns)))), jnp.zeros((5, 1, 1))),
            (jnp.asarray(rng.uniform(0.05, 0.3, len(columns))), jnp.ones(1)),
            data,
            gains,
            mixtures,
        )
        vector, centre = rng.normal(size=(2, size + num_thetas))
        strengths, counts = jnp.asarray(rng.uniform(0, 0.1, len(vector))), jnp.array([1.0, 2.0, 1.0, 1.0, 0.0])

        @jax.jit
        def loss(at, gamma):
            settings = MixtureSettings(jnp.asarray(centre), strengths, counts, gamma)
            return mixture_loss(at, problem, settings, measure)

        slope, slope_of_gamma = jax.jit(jax.grad(loss, (0, 1)))(jnp.asarray(vector), jnp.float64(0.3))
        assert slope.dtype == np.float64
        for place in range(len(vector)):
            move = 1e-5 * np.eye(len(vector))[place]
            ends = [float(loss(jnp.asarray(vector + sign * move), jnp.float64(0.3))) for sign in (1, -1)]
            assert float(slope[place]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-8), place
        ends = [float(loss(jnp.asarray(vector), jnp.float64(0.3 + sign * 1e-5))) for sign in (1, -1)]
        assert float(slope_of_gamma) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-8)
        tangents = tangents_at(jnp.asarray(vector[size:]), problem)
        settings = MixtureSettings(jnp.asarray(centre), strengths, counts, jnp.float64(0.3))

        def nearby(at):
            return tangent_loss(at, problem, tangents, jnp.asarray(vector), settings, measure)

        value, flat = jax.value_and_grad(nearby)(jnp.asarray(vector))
        assert float(value) == pytest.approx(float(loss(jnp.asarray(vector), jnp.float64(0.3))), rel=1e-9)
        np.testing.assert_allclose(flat, slope, rtol=1e-6, atol=1e-9)
    assert np.abs(np.asarray(slope[size:])).max() > 1e-4  # λ and μ matter
