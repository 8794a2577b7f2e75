"""Bayesian predictive adaptation of log-linear weights to a few sentences (Sanchis-Trilles & Casacuberta 2015)."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.diagnostics import effective_size, importance_size, r_hat
from jaxsmt.adapt.bpa.likelihood import log_likelihood, oracle_hypotheses
from jaxsmt.adapt.bpa.posterior import Laplace, Prior, laplace, log_posterior, make_posterior
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.adapt.bpa.sampling import (
    ChainConfig,
    Chains,
    heuristic_samples,
    metropolis_hastings,
    normalised_weights,
)
from jaxsmt.tune.lists import TuningLists

_HIGH_R_HAT = 1.1
_SHAPED_SCALE = 2.38  # over √F: the best factor on a proposal that has the target's shape (Gelman et al. 1996)


@dataclass(frozen=True)
class BpaInfo:
    """What a sampler has to tell.

    effective_size: how many independent samples of equal weight the samples are worth; of the worst weight for chains.
    acceptance: [C] or None, of the chains' proposals after the burn-in.
    r_hat: [F] or None; above 1.01 the chains are too short.
    scales: [C] or None, the factors on the proposals that the burn-in found.
    mode: [F] or None, of the posterior, where it was looked for.
    """

    effective_size: float
    acceptance: np.ndarray | None = None
    r_hat: np.ndarray | None = None
    scales: np.ndarray | None = None
    mode: np.ndarray | None = None

    def advice(self) -> str | None:
        """What to change where the samples say little about the posterior; None where they are good enough."""
        if self.r_hat is not None and self.r_hat.max() > _HIGH_R_HAT:
            return (
                f"the chains disagree (R-hat {self.r_hat.max():.2f}): make adapt.chain_length larger or set "
                "adapt.proposal=laplace"
            )
        return None


def adapt(
    lists: TuningLists, weights: np.ndarray, config: BpaConfig | None = None, multiplicities: np.ndarray | None = None
) -> tuple[Votes, BpaInfo]:
    """Votes for reranking from adaptation lists (with statistics of references) and weights λ_T [F].

    multiplicities: [A], how often each sentence counts; once if None.
    """
    config = config or BpaConfig()
    centre = normalised_weights(weights)
    oracle = oracle_hypotheses(lists, centre, config.oracle)
    prior = Prior(centre, config.sigma_prior)
    sample_fn = {"heuristic": _heuristic, "mcmc": _mcmc, "laplace": _laplace}[config.sampler]
    return sample_fn(lists, oracle, prior, config, multiplicities)


def heuristic_votes(
    samples: np.ndarray, log_likelihoods: np.ndarray, prior: Prior, config: BpaConfig
) -> tuple[Votes, BpaInfo]:
    """w_s = p(A | λ_s)^{1/δ} p(λ_s | T) (equation 11): samples [S, F], log_likelihoods [S]."""
    log_weights = log_likelihoods / config.delta + prior.log_density(samples)
    return Votes(samples, log_weights, config.delta, config.viterbi), BpaInfo(importance_size(log_weights))


def _heuristic(
    lists: TuningLists, oracle: np.ndarray, prior: Prior, config: BpaConfig, counts: np.ndarray | None
) -> tuple[Votes, BpaInfo]:
    samples = heuristic_samples(prior.mean, config.num_samples, config.seed)
    return heuristic_votes(samples, log_likelihood(lists, oracle, samples, counts), prior, config)


def _laplace(
    lists: TuningLists, oracle: np.ndarray, prior: Prior, config: BpaConfig, counts: np.ndarray | None
) -> tuple[Votes, BpaInfo]:
    """Draws from the normal distribution around the mode, with importance weights p(A | λ) p(λ | T) / q(λ)."""
    shape = laplace(lists, oracle, prior, counts)
    samples, log_proposal = shape.draw(config.num_samples, config.seed)
    log_target = log_likelihood(lists, oracle, samples, counts) + prior.log_density(samples)
    log_weights = log_target - log_proposal
    info = BpaInfo(importance_size(log_weights), mode=shape.mode)
    return Votes(samples, log_target if config.viterbi else log_weights, 1.0, config.viterbi), info


def _mcmc(
    lists: TuningLists, oracle: np.ndarray, prior: Prior, config: BpaConfig, counts: np.ndarray | None
) -> tuple[Votes, BpaInfo]:
    """Draws of chains, all of the same weight (equation 13).

    With viterbi the draw of highest p(A | λ) p(λ | T) p(e | f, λ) decides (section 5.5).
    """
    shape = laplace(lists, oracle, prior, counts) if config.proposal == "laplace" else None
    starts, proposal = _starts_and_proposal(shape, prior, config)
    chain_config = ChainConfig(config.burn_in, config.chain_length, config.proposal != "fixed")
    posterior = make_posterior(lists, oracle, prior, counts)
    chains = metropolis_hastings(log_posterior, posterior, starts, proposal, chain_config, config.seed)
    samples, times, log_densities = _distinct(chains, config.num_samples)
    worth = effective_size(chains.points)
    info = BpaInfo(
        float(worth.min()), chains.acceptance, r_hat(chains.points), chains.scales,
        None if shape is None else shape.mode,
    )  # fmt: skip
    return Votes(samples, log_densities if config.viterbi else np.log(times), 1.0, config.viterbi), info


def _starts_and_proposal(shape: Laplace | None, prior: Prior, config: BpaConfig) -> tuple[np.ndarray, np.ndarray]:
    """Starts [C, F], the first at the centre and the others spread around it, and the root of the proposals [F, F]."""
    noise = np.random.default_rng(config.seed).normal(size=(config.chains, len(prior.mean)))
    noise[0] = 0.0
    if shape is not None:
        root = shape.root * _SHAPED_SCALE / np.sqrt(len(prior.mean))
        return shape.mode + 2.0 * noise @ shape.root.T, root  # wider than the target, so that R̂ can tell
    root = np.sqrt(config.sigma_proposal) * np.eye(len(prior.mean))
    return prior.mean + noise @ root.T, root


def _distinct(chains: Chains, num_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evenly spaced draws: the different ones [S, F], how often each was drawn [S], log densities [S].

    A chain that rejects stays where it is: points are scored once, however often they were drawn.
    """
    num_chains, length, num_weights = chains.points.shape
    each = -(-num_samples // num_chains)
    kept = ((np.arange(each) + 1) * length) // each - 1
    points = chains.points[:, kept].reshape(-1, num_weights)
    distinct, first, times = np.unique(points, axis=0, return_index=True, return_counts=True)
    return distinct, times, chains.log_densities[:, kept].ravel()[first]
