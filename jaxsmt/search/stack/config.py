"""What the stack search may do."""

import math
from dataclasses import dataclass

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
        numbers = {"kept": (1, 1 << 14), "spans": (1, 1 << 16), "scored": (1, 1 << 16), "distortion_limit": (-1, 200)}
        check_ranges(self, "search.stack", {**numbers, "slack": (0.0, math.inf), "threshold": (0.0, math.inf)})
