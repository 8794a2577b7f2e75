"""How many settings a sweep tries, and how it chooses them."""

from dataclasses import dataclass

from jaxsmt.common.settings import LARGEST_NUMBER, check_ranges


@dataclass(frozen=True)
class StudyConfig:
    """How many trials there are, and how they are chosen.

    trials: in all; random_trials: the first ones, which are drawn evenly; seed: of all draws.
    prune: a trial ends early whose tuning is behind the median of the others at the same iteration.
    prune_after: so many whole trials come before that.
    """

    trials: int = 20
    random_trials: int = 8
    seed: int = 1
    prune: bool = True
    prune_after: int = 5

    def __post_init__(self) -> None:
        check_ranges(self, "study", dict.fromkeys(("trials", "random_trials", "prune_after"), (1, 100_000)))
        check_ranges(self, "study", {"seed": (0, LARGEST_NUMBER)})
