"""Settings of Bayesian predictive adaptation, as `conf/adapt/bpa.yaml` gives them."""

from dataclasses import dataclass

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import LARGEST_NUMBER, check_choices, check_positive, check_ranges

SAMPLERS = ("heuristic", "mcmc", "laplace")
PROPOSALS = ("fixed", "scaled", "laplace")
ORACLES = ("ter", "bleu")


@dataclass(frozen=True)
class BpaConfig:
    """Bayesian predictive adaptation (Sanchis-Trilles & Casacuberta 2015).

    sampler: 'heuristic' (section 4.1: one weight at a time is moved; the sample is the same for every adaptation set),
        'mcmc' (section 4.2: Metropolis–Hastings) or 'laplace' (a normal distribution around the mode of the posterior,
        corrected by importance weights).
    num_samples: weight vectors that vote, the unadapted one included ('heuristic'); as many draws are taken evenly from
        the chains ('mcmc').
    delta: δ, the leveraging factor of equation 11; 'heuristic' only.
    sigma_prior: σ_T, the variance (not the deviation: equation 8 divides by 2σ_T) of each weight around λ_T.
    sigma_proposal: σ_o, the variance of each weight of a Metropolis–Hastings proposal.
    proposal: 'fixed' keeps σ_o; 'scaled' adapts it in the burn-in until about a quarter of the proposals is accepted;
        'laplace' also gives proposals the shape of the posterior around its mode.
    chains: run side by side.
    burn_in: steps of each chain that are thrown away.
    chain_length: steps of each chain after the burn-in.
    viterbi: the best sample decides alone instead of the sum over all.
    oracle: 'ter' or 'bleu' (smoothed): what makes a hypothesis the best of its list.
    seed: of the samples.
    """

    sampler: str = "heuristic"
    num_samples: int = 1000
    delta: float = 4.0
    sigma_prior: float = 0.1
    sigma_proposal: float = 0.01
    proposal: str = "scaled"
    chains: int = 16
    burn_in: int = 500
    chain_length: int = 1000
    viterbi: bool = False
    oracle: str = "ter"
    seed: int = 1

    def __post_init__(self) -> None:
        check_choices(self, "adapt", {"sampler": SAMPLERS, "proposal": PROPOSALS, "oracle": ORACLES})
        check_positive(self, "adapt", ["delta", "sigma_prior", "sigma_proposal"])
        check_ranges(self, "adapt", dict.fromkeys(("num_samples", "chains", "chain_length"), (1, 10000000)))
        check_ranges(self, "adapt", {"burn_in": (0, 10_000_000), "seed": (0, LARGEST_NUMBER)})
        if self.sampler == "mcmc" and self.chains * self.chain_length < self.num_samples:
            raise UserError(
                f"adapt.num_samples is {self.num_samples} and {self.chains} chains of {self.chain_length} steps have "
                "fewer draws: make adapt.chain_length larger"
            )
