"""What the stack search may do."""

from dataclasses import dataclass

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import check_ranges


@dataclass(frozen=True)
class StackConfig:
    """How widely to search, and how far phrases may move.

    kept: S, hypotheses kept of each number of covered words.
    spans: (hypothesis, span) pairs of a stack whose options are looked at.
    scored: options of these that the language model scores.
    slack: options are not scored that the estimates put further behind the stack's best one.
    threshold: hypotheses are dropped that are further behind the stack's best one, estimates included.
    distortion_limit: the longest jump, see `coverage`; -1 is no limit.
    Slack and threshold are in units of the weights' L1 norm (rules, language model, word and phrase penalty).
    """

    kept: int = 100
    spans: int = 256
    scored: int = 400
    slack: float = 6.0
    threshold: float = 4.0
    distortion_limit: int = 6

    def __post_init__(self) -> None:
        ranges = {"kept": (1, 1 << 14), "spans": (1, 1 << 16), "scored": (1, 1 << 16), "distortion_limit": (-1, 200)}
        check_ranges(self, "search.stack", ranges)
        if self.slack < 0 or self.threshold < 0:
            raise UserError(
                f"search.stack has the slack {self.slack} and the threshold {self.threshold}: neither may be negative"
            )
