"""How component weights are fitted."""

from dataclasses import dataclass

from jaxsmt.common.settings import LARGEST_NUMBER, check_positive, check_ranges


@dataclass(frozen=True)
class LinearConfig:
    """How linear weights are fitted: EM from equal weights.

    tolerance: stop when no weight moves by as much.
    max_iterations: at the most.
    normalised: leave out components that do not know the conditioning phrase.
    prior: Dirichlet prior counts of each component, added to its expected occurrences (0: maximum likelihood).
    """

    tolerance: float = 1e-3
    max_iterations: int = 100
    normalised: bool = False
    prior: float = 0.0

    def __post_init__(self) -> None:
        ranges = {"tolerance": (0.0, 1.0), "max_iterations": (1, LARGEST_NUMBER), "prior": (0.0, 1e9)}
        check_ranges(self, "mixture.linear", ranges)


@dataclass(frozen=True)
class PerplexityConfig:
    """How instance weights are fitted.

    tolerance: of the gradient, in bits; about that much cross-entropy may be left to gain.
    max_evaluations: of the objective, at the most.
    prior_deviation: standard deviation of a normal prior on log λ (MAP), which keeps the weights of small sets near
        the prior's; None: no prior (maximum likelihood).
    """

    tolerance: float = 1e-6
    max_evaluations: int = 400
    prior_deviation: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "mixture.perplexity", ["tolerance", "prior_deviation"])
        check_ranges(self, "mixture.perplexity", {"max_evaluations": (1, LARGEST_NUMBER)})
