"""Samplers: chains on a known target, diagnostics, the posterior and its mode, adaptation as a whole."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import kstest

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.diagnostics import effective_size, importance_size, r_hat
from jaxsmt.adapt.bpa.likelihood import log_likelihood, oracle_hypotheses
from jaxsmt.adapt.bpa.online import online_bpa, rerank_online
from jaxsmt.adapt.bpa.posterior import Prior, laplace, log_posterior, make_posterior
from jaxsmt.adapt.bpa.rerank import rerank
from jaxsmt.adapt.bpa.sampling import ChainConfig, heuristic_samples, metropolis_hastings, normalised_weights
from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import best_hypotheses, padded_lists, rows_of

WEIGHTS = np.array([0.4, -0.2, 0.3, 0.1])
TRUTH = np.array([-0.2, 0.5, 0.1, 0.2])
MCMC = BpaConfig(sampler="mcmc", chains=8, burn_in=300, chain_length=500, num_samples=800)


def lists_made_from(weights, num_sentences=60, size=10, seed=0):
    """Lists whose best hypotheses are draws from the log-linear model with the given weights."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(num_sentences, size, len(weights))) * 3
    best = (features @ weights + rng.gumbel(size=(num_sentences, size))).argmax(1)
    edits = np.full((num_sentences, size), 5.0)
    edits[np.arange(num_sentences), best] = 1.0
    ter = np.stack([edits, np.full_like(edits, 10.0)], 2)
    bleu = np.zeros((num_sentences * size, 10), np.int32)
    bleu[:, :2], bleu[:, 2:6], bleu[:, 6:] = 10, (10 - edits.reshape(-1, 1)) * 0.7, [10, 9, 8, 7]
    offsets = np.arange(num_sentences + 1) * size
    return padded_lists(features.reshape(-1, len(weights)), offsets, bleu, ter.reshape(-1, 2))


@pytest.fixture(scope="module")
def lists():
    return lists_made_from(TRUTH)


@pytest.fixture(scope="module")
def mcmc(lists):
    return adapt(lists, WEIGHTS, MCMC)


def gaussian(data, points):
    mean, precision = data
    centred = points - mean[None]
    return -0.5 * jnp.einsum("cf,fg,cg->c", centred, precision, centred)


def test_chains_recover_a_gaussian():
    mean = np.array([1.0, -2.0, 0.5])
    covariance = np.array([[0.5, 0.2, 0.0], [0.2, 0.3, -0.1], [0.0, -0.1, 1.0]])
    data = jnp.asarray(mean, jnp.float32), jnp.asarray(np.linalg.inv(covariance), jnp.float32)
    starts = mean + np.random.default_rng(0).normal(size=(24, 3)) * 2
    config = ChainConfig(burn_in=500, length=3000, adapts=True)
    chains = metropolis_hastings(gaussian, data, starts, 0.01 * np.eye(3), config, seed=1)
    draws = chains.points.reshape(-1, 3)
    worth = effective_size(chains.points).min()
    assert worth > 2000
    assert np.abs(draws.mean(0) - mean).max() < 5 * np.sqrt(1.0 / worth)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=8 * np.sqrt(1.0 / worth))
    assert r_hat(chains.points).max() < 1.01
    assert (np.abs(chains.acceptance - 0.25) < 0.12).all()
    assert (chains.scales > 20).all()  # the proposals were far too small to begin with
    np.testing.assert_allclose(chains.log_densities[0], gaussian(data, chains.points[0].astype(np.float32)), rtol=1e-4)
    thinned = chains.points[:, ::100, 0].ravel()
    assert kstest((thinned - mean[0]) / np.sqrt(covariance[0, 0]), "norm").pvalue > 1e-3


def test_a_chain_does_not_depend_on_the_others(lists):
    prior = Prior(WEIGHTS, 0.1)
    posterior = make_posterior(lists, oracle_hypotheses(lists, WEIGHTS), prior)
    config = ChainConfig(MCMC.burn_in, MCMC.chain_length, adapts=True)
    starts = np.repeat(WEIGHTS[None], 16, 0)
    many, few = (
        metropolis_hastings(log_posterior, posterior, some, 0.1 * np.eye(4), config, seed=5)
        for some in (starts[:11], starts[:3])
    )
    np.testing.assert_array_equal(many.points[:3], few.points)
    assert len(np.unique(many.points[:, -1], axis=0)) == 11


def test_diagnostics_tell_good_chains_from_bad():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(8, 1000, 2))
    assert r_hat(noise).max() < 1.01
    np.testing.assert_allclose(effective_size(noise), 8000, rtol=0.15)
    slow = np.zeros((8, 1000, 1))
    for step in range(1, 1000):
        slow[:, step] = 0.8 * slow[:, step - 1] + noise[:, step, :1]
    np.testing.assert_allclose(effective_size(slow), 8000 * 0.2 / 1.8, rtol=0.25)  # (1 − ρ) / (1 + ρ)
    apart = noise + 2.0 * np.arange(8)[:, None, None]
    assert r_hat(apart).min() > 2
    assert effective_size(apart).max() < 30
    wider = noise * (1 + np.arange(8))[:, None, None]  # same place, different spread
    assert r_hat(wider).min() > 1.1
    assert r_hat(np.ones((4, 10, 1))).tolist() == [1.0]
    assert np.isnan(r_hat(noise[:, :3])).all()
    assert importance_size(np.log([1.0, 1.0, 1e-300])) == pytest.approx(2.0)


def test_heuristic_samples_move_one_weight_each():
    samples = heuristic_samples(5 * WEIGHTS, 41, seed=7)
    centre = normalised_weights(WEIGHTS)
    np.testing.assert_allclose(samples[0], centre)
    np.testing.assert_allclose(np.abs(samples).sum(1), 1.0)
    for number, sample in enumerate(samples[1:], 1):
        others = np.arange(4) != number % 4
        scale = sample[others] / centre[others]
        np.testing.assert_allclose(scale, scale[0])  # all others keep their proportions
        assert abs(sample[number % 4] / scale[0] - centre[number % 4]) <= 0.5
    np.testing.assert_array_equal(samples[:20], heuristic_samples(WEIGHTS * 5, 20, seed=7))
    assert not np.array_equal(samples, heuristic_samples(WEIGHTS, 41, seed=8))
    np.testing.assert_allclose(np.abs(heuristic_samples(np.array([0.1]), 50)).sum(1), 1.0)
    with pytest.raises(UserError, match="all 0"):
        heuristic_samples(np.zeros(4), 10)


def test_mode_is_where_the_gradient_vanishes_and_near_the_truth(lists):
    oracle, prior = oracle_hypotheses(lists, WEIGHTS), Prior(WEIGHTS, 0.1)
    found = laplace(lists, oracle, prior)

    def value(point):
        scores = lists.features @ point
        probs = scores[np.arange(60), oracle] - np.logaddexp.reduce(scores, 1)
        return probs.sum() + prior.log_density(point[None])[0]

    assert np.abs(approx_fprime(found.mode, value, 1e-6)).max() < 1e-2
    gradients = [approx_fprime(found.mode + step, value, 1e-5) for step in 1e-3 * np.eye(4)]
    curvature = -(np.array(gradients) - approx_fprime(found.mode, value, 1e-5)) / 1e-3
    np.testing.assert_allclose(found.root @ found.root.T @ curvature, np.eye(4), atol=0.02)
    assert found.log_density == pytest.approx(value(found.mode) - value(WEIGHTS), rel=1e-6)
    distance = [np.linalg.norm(laplace(rows_of(lists, np.arange(n)), oracle, prior).mode - TRUTH) for n in (0, 15, 60)]
    assert distance[0] == pytest.approx(np.linalg.norm(WEIGHTS - TRUTH))
    assert distance[0] > distance[1] > distance[2]
    points = jnp.asarray(found.draw(8, seed=1)[0], jnp.float32)
    density = log_posterior(make_posterior(lists, oracle, prior), points)
    np.testing.assert_allclose(density, [value(np.asarray(p)) - value(WEIGHTS) for p in points], rtol=1e-4, atol=1e-4)


def test_repeated_sentences_equal_multiplicities(lists):
    prior, counts = Prior(WEIGHTS, 0.1), np.array([2, 0, 1])
    some, repeated = rows_of(lists, np.array([0, 1, 2])), rows_of(lists, np.array([0, 0, 2]))
    first, second = (oracle_hypotheses(part, WEIGHTS) for part in (some, repeated))
    np.testing.assert_allclose(laplace(some, first, prior, counts).mode, laplace(repeated, second, prior).mode)
    points = jnp.asarray(heuristic_samples(WEIGHTS, 8), jnp.float32)
    ours, theirs = make_posterior(some, first, prior, counts), make_posterior(repeated, second, prior)
    np.testing.assert_allclose(log_posterior(ours, points), log_posterior(theirs, points), rtol=1e-4, atol=1e-5)


def mean_weights(votes):
    """Σ_s w_s λ_s / Σ_s w_s [F]."""
    weights = np.exp(votes.log_weights - votes.log_weights.max())
    return weights @ votes.samples / weights.sum()


def test_samplers_agree_on_the_posterior(lists, mcmc):
    """Chains and importance samples come from different code and have the same mean."""
    votes, info = mcmc
    assert info.r_hat.max() < 1.05
    assert 0.1 < info.acceptance.mean() < 0.5
    others, other_info = adapt(lists, WEIGHTS, BpaConfig(sampler="laplace", num_samples=2000))
    assert other_info.effective_size > 500
    np.testing.assert_allclose(mean_weights(votes), mean_weights(others), atol=0.02)
    shaped, shaped_info = adapt(lists, WEIGHTS, replace(MCMC, proposal="laplace"))
    np.testing.assert_allclose(mean_weights(shaped), mean_weights(others), atol=0.02)
    assert shaped_info.effective_size > info.effective_size / 2
    assert np.linalg.norm(mean_weights(votes) - TRUTH) < 0.5 * np.linalg.norm(WEIGHTS - TRUTH)
    assert 200 < len(votes.samples) <= 800
    assert np.exp(votes.log_weights).sum() == pytest.approx(800)  # points drawn more than once are kept once


def test_same_seed_same_bytes(lists, mcmc):
    votes, _ = adapt(lists, WEIGHTS, MCMC)
    np.testing.assert_array_equal(votes.samples, mcmc[0].samples)
    np.testing.assert_array_equal(votes.log_weights, mcmc[0].log_weights)
    other, _ = adapt(lists, WEIGHTS, replace(MCMC, seed=2))
    assert other.samples.shape != votes.samples.shape or not np.array_equal(other.samples, votes.samples)


def test_viterbi_of_chains_takes_the_density_of_the_draws(lists, mcmc):
    votes, _ = adapt(lists, WEIGHTS, replace(MCMC, viterbi=True))
    np.testing.assert_array_equal(votes.samples, mcmc[0].samples)
    oracle = oracle_hypotheses(lists, WEIGHTS)
    points = np.concatenate([votes.samples[:50], normalised_weights(WEIGHTS)[None]])
    density = log_likelihood(lists, oracle, points) + Prior(WEIGHTS, 0.1).log_density(points)
    np.testing.assert_allclose(votes.log_weights[:50], density[:-1] - density[-1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sampler", ["heuristic", "laplace"])
def test_adaptation_moves_the_ranking_towards_the_truth_unless_the_prior_forbids(lists, sampler):
    test = lists_made_from(TRUTH, seed=1)
    unadapted, ideal = (best_hypotheses(test, weights) for weights in (WEIGHTS, TRUTH))
    config = BpaConfig(sampler=sampler, num_samples=100)
    free, bound = (
        rerank(test, adapt(lists, WEIGHTS, replace(config, sigma_prior=sigma))[0]).index for sigma in (0.1, 1e-9)
    )
    assert (free == ideal).mean() > (unadapted == ideal).mean() + 0.1
    np.testing.assert_array_equal(bound, unadapted)  # σ_T → 0


def test_nothing_overflows_with_a_large_set(lists):
    wild = replace(lists, features=lists.features * 100)
    votes, info = adapt(rows_of(wild, np.arange(2000) % 60), WEIGHTS, BpaConfig(num_samples=100))
    assert votes.log_weights.max() < -1e4
    assert info.effective_size >= 1
    found = rerank(lists, votes)
    assert np.isfinite(found.scores).all()
    chained, info = adapt(wild, WEIGHTS, replace(MCMC, proposal="laplace"), np.full(60, 2000 // 60))
    assert np.isfinite(chained.samples).all()
    assert info.acceptance.min() > 0.05
    assert np.isfinite(rerank(lists, chained).scores).all()


def test_sentences_one_by_one_equal_all_at_once(lists):
    config = BpaConfig(num_samples=100)
    state = online_bpa(WEIGHTS, config)
    np.testing.assert_array_equal(state.votes().log_weights, state.prior.log_density(state.samples))
    for sentence in range(12):
        state = state.update(rows_of(lists, np.array([sentence])))
    state = state.update(rows_of(lists, np.zeros(0, np.int64)))
    together, _ = adapt(rows_of(lists, np.arange(12)), WEIGHTS, config)
    assert state.num_seen == 12
    np.testing.assert_allclose(state.votes().log_weights, together.log_weights, rtol=1e-6)
    np.testing.assert_array_equal(rerank(lists, state.votes()).index, rerank(lists, together).index)
    chosen, state = rerank_online(online_bpa(WEIGHTS, config), rows_of(lists, np.arange(5)))
    assert state.num_seen == 5
    for sentence in range(5):  # a choice depends on what came before it, and on nothing else
        votes, _ = adapt(rows_of(lists, np.arange(sentence)), WEIGHTS, config)
        assert chosen[sentence] == rerank(rows_of(lists, np.array([sentence])), votes).index[0]
    with pytest.raises(UserError, match="only 'heuristic'"):
        online_bpa(WEIGHTS, MCMC)


def test_an_empty_set_leaves_the_prior(lists):
    nothing = rows_of(lists, np.zeros(0, np.int64))
    votes, _ = adapt(nothing, WEIGHTS, BpaConfig(num_samples=10))
    np.testing.assert_allclose(votes.log_weights, Prior(WEIGHTS, 0.1).log_density(votes.samples), atol=1e-12)
    votes, info = adapt(nothing, WEIGHTS, BpaConfig(sampler="laplace", num_samples=500))
    assert info.effective_size == pytest.approx(500)  # the normal distribution is the posterior itself
    np.testing.assert_allclose(votes.samples.var(0), 0.1, rtol=0.3)
    points = jnp.asarray(votes.samples[:8], jnp.float32)
    density = log_posterior(make_posterior(nothing, np.zeros(0, np.int64), Prior(WEIGHTS, 0.1)), points)
    np.testing.assert_allclose(density, Prior(WEIGHTS, 0.1).log_density(votes.samples[:8]), rtol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sampler": "gibbs"}, "adapt.sampler is 'gibbs'"),
        ({"delta": 0.0}, "adapt.delta is 0.0"),
        ({"sigma_prior": float("nan")}, "adapt.sigma_prior is nan"),
        ({"num_samples": 0}, "adapt.num_samples is 0"),
        ({"burn_in": -1}, "adapt.burn_in is -1"),
        ({"sampler": "mcmc", "chains": 1, "chain_length": 10}, "adapt.chain_length"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(UserError, match=message):
        BpaConfig(**wrong)


def test_sets_of_similar_size_share_a_compiled_kernel(lists):
    shapes = set()
    for number in range(50, 57):
        some = rows_of(lists, np.arange(number))
        oracle = oracle_hypotheses(some, WEIGHTS)
        shapes.add(make_posterior(some, oracle, Prior(WEIGHTS, 0.1)).features.shape)
    assert len(shapes) == 1
