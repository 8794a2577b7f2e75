"""What a person can set about a language model."""

from dataclasses import dataclass

from jaxsmt.common.settings import LARGEST_NUMBER, SettingError, check_positive, check_ranges

MAX_ORDER = 9  # KenLM's Python package reads models up to order 6


@dataclass(frozen=True)
class LmConfig:
    """How `estimate_lm` estimates.

    order: the longest n-grams, 1 to 9.
    prune: per order from 1 up, the n-grams of that order that occur at most so often are left out;
        orders beyond the last entry take the last one. () keeps everything. The entry of order 1
        must be 0 (cut the vocabulary instead), and entries must not fall.
    memory_budget_gb: the arrays of the estimation stay below this.
    discount_fallback: the discounts (D1, D2, D3+) of an order whose counts are too few to estimate
        them; () makes that an error.
    pad_vocabulary: the unigram distribution is smoothed towards the uniform one over this many words,
        if there are fewer. Models that are to be mixed get the same number (the words of all of them,
        with <unk> and </s>), so that their probabilities of unseen words compare.
    rest_costs: also estimate each lower order as a model of its own, for the chart decoder's estimates
        of words that still lack their left context.
    """

    order: int = 5
    prune: tuple[int, ...] = ()
    memory_budget_gb: float = 4.0
    discount_fallback: tuple[float, ...] = (0.5, 1.0, 1.5)
    pad_vocabulary: int = 0
    rest_costs: bool = True

    def __post_init__(self) -> None:
        prune = list(self.prune)
        check_ranges(self, "", {"order": (1, MAX_ORDER), "pad_vocabulary": (0, LARGEST_NUMBER)})
        check_ranges(self, "", {"prune": (0, LARGEST_NUMBER), "discount_fallback": (0, 3)})
        check_positive(self, "", ["memory_budget_gb"])
        if prune and (prune[0] != 0 or prune != sorted(prune) or len(prune) > self.order):
            problem = f"is {prune} for order {self.order}"
            advice = f"give at most {self.order} counts that begin with 0 and do not fall"
            raise SettingError("", "prune", f"{problem}: {advice}")
        if len(self.discount_fallback) not in (0, 3):
            problem = f"is {list(self.discount_fallback)}: give three discounts, or none"
            raise SettingError("", "discount_fallback", problem)

    @property
    def thresholds(self) -> tuple[int, ...]:
        """One count per order: n-grams that occur at most so often are pruned."""
        prune = tuple(self.prune) or (0,)
        return tuple(prune[min(k, len(prune) - 1)] for k in range(self.order))
