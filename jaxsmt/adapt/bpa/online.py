"""Adaptation while one works: translated sentences arrive one by one and the votes follow in milliseconds."""

from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.adapt.bpa.adaptation import heuristic_votes
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.likelihood import log_likelihood, oracle_hypotheses
from jaxsmt.adapt.bpa.posterior import Prior
from jaxsmt.adapt.bpa.rerank import Votes, rerank
from jaxsmt.adapt.bpa.sampling import heuristic_samples, normalised_weights
from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import TuningLists, rows_of


@dataclass(frozen=True)
class OnlineBpa:
    """The heuristic sample, which never changes, and how likely each of its members makes what has been seen.

    samples: [S, F] float64.
    log_likelihoods: [S] float64, log p(A | λ_s) of the sentences so far.
    num_seen: how many they were.
    prior: around λ_T.
    config: of the adaptation.
    """

    samples: np.ndarray
    log_likelihoods: np.ndarray
    num_seen: int
    prior: Prior
    config: BpaConfig

    def update(self, lists: TuningLists) -> "OnlineBpa":
        """The state after more sentences (one or several), whose references are known now."""
        oracle = oracle_hypotheses(lists, self.prior.mean, self.config.oracle)
        more = log_likelihood(lists, oracle, self.samples)
        return replace(self, log_likelihoods=self.log_likelihoods + more, num_seen=self.num_seen + len(lists))

    def votes(self) -> Votes:
        """What `rerank` scores the next sentences with."""
        return heuristic_votes(self.samples, self.log_likelihoods, self.prior, self.config)[0]


def rerank_online(state: OnlineBpa, lists: TuningLists) -> tuple[np.ndarray, OnlineBpa]:
    """The best hypothesis of each list [B] int64 (−1 where it is empty), and the state after the last.

    A sentence is reranked before its reference is looked at, and with all references before it.
    """
    index = np.full(len(lists), -1)
    for sentence in np.flatnonzero(lists.sizes):
        single = rows_of(lists, np.array([sentence]))
        index[sentence] = rerank(single, state.votes()).index[0]
        state = state.update(single)
    return index, state


def online_bpa(weights: np.ndarray, config: BpaConfig | None = None) -> OnlineBpa:
    """The state before the first sentence: votes by the prior alone. weights: λ_T [F]."""
    config = config or BpaConfig()
    if config.sampler != "heuristic":
        raise UserError(f"adapt.sampler is '{config.sampler}': only 'heuristic' can be updated sentence by sentence")
    prior = Prior(normalised_weights(weights), config.sigma_prior)
    samples = heuristic_samples(prior.mean, config.num_samples, config.seed)
    return OnlineBpa(samples, np.zeros(len(samples)), 0, prior, config)
