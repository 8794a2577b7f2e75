"""How component weights are fitted."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError


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
        if not self.tolerance >= 0:
            raise UserError(f"the tolerance of EM is {self.tolerance}: give a number of at least 0")
        if self.max_iterations < 1:
            raise UserError(f"max_iterations of EM is {self.max_iterations}: give at least 1")
        if not 0 <= self.prior < np.inf:
            raise UserError(f"the prior counts of EM are {self.prior}: give a number of at least 0")


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
        if not self.tolerance > 0:
            raise UserError(f"the tolerance of the weight fit is {self.tolerance}: give a number above 0")
        if self.max_evaluations < 1:
            raise UserError(f"max_evaluations of the weight fit is {self.max_evaluations}: give at least 1")
        if self.prior_deviation is not None and not self.prior_deviation > 0:
            raise UserError(f"prior_deviation is {self.prior_deviation}: give a number above 0, or none at all")
