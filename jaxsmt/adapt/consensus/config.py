"""How translations are chosen by consensus, and how that is tuned."""

from dataclasses import dataclass

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import check_choices, check_ranges

BLEU, CHRF = "bleu", "chrf"
UTILITIES = (BLEU, CHRF)
GAMMAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class ConsensusConfig:
    """What a model with a consensus has.

    utility: u, what likeness is measured by: 'bleu' (sentence BLEU + 1 of tokens) or 'chrf' (of characters).
    nbest: at most so many translations of a list take part, the best ones.
    gamma: γ, the scale of scores: p ∝ exp(γ · score); a score of a bag is the mean of its members'.
    """

    utility: str = BLEU
    nbest: int = 200
    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_choices(self, "consensus", {"utility": UTILITIES})
        check_ranges(self, "consensus", {"nbest": (1, 100_000)})
        if not 0 <= self.gamma < float("inf"):
            raise UserError(f"consensus.gamma is {self.gamma}: give a number of 0 or more")


@dataclass(frozen=True)
class ConsensusTraining(ConsensusConfig):
    """How a consensus is found: `gamma` as given, or where it is None the best of `gammas` on the development sets."""

    gamma: float | None = None  # type: ignore[assignment]
    gammas: tuple[float, ...] = GAMMAS

    def __post_init__(self) -> None:
        for value in self.gammas if self.gamma is None else (self.gamma,):
            ConsensusConfig(self.utility, self.nbest, value)
        if self.gamma is None and not self.gammas:
            raise UserError("consensus.gammas is empty: give numbers to choose from, or one as consensus.gamma")

    def chosen(self, gamma: float) -> ConsensusConfig:
        """With a γ that was found."""
        return ConsensusConfig(self.utility, self.nbest, float(gamma))
