"""Settings of the tuners, as `conf/tune/*` give them."""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxsmt.common.settings import LARGEST_NUMBER, SettingError, check_choices, check_positive, check_ranges

METRICS = ("bleu", "ter")
STRATEGIES = ("cyclic", "steepest")
LEVELS, OPTIMISERS = ("corpus", "sentence"), ("lbfgs", "adam")
MANY = 1_000_000


class TunerSettings:
    """What is true of most tuners."""

    has_gradient: ClassVar[bool] = False  # of expected scores, through which mixtures can be trained


def _check(settings: Any, ranges: dict[str, tuple[float, float]], positive: tuple[str, ...] = ()) -> None:
    """Ranges of a tuner's settings, and those that are above 0."""
    seed = {"seed": (0, LARGEST_NUMBER)} if hasattr(settings, "seed") else {}
    check_ranges(settings, "tune", {**ranges, **seed})
    check_positive(settings, "tune", positive)


@dataclass(frozen=True)
class MertConfig(TunerSettings):
    """Minimum error rate training (Och 2003).

    metric: 'bleu' or 'ter'.
    strategy: 'cyclic' moves along one direction after the other, in random order; 'steepest' searches all directions
        and takes the best step only (what Moses does).
    restarts: random starting points besides the given one.
    restart_low, restart_high: the interval their weights are drawn from.
    random_directions: drawn in every iteration, besides the coordinates.
    perturbation_rounds: afterwards the best point found is perturbed and improved again, so many times.
    perturbed_starts: perturbations in each round.
    perturbation: standard deviation of the logarithm of the factor on a weight.
    tolerance: an ascent ends when an iteration gains no more than this (0.0001 = 0.01 BLEU points).
    max_iterations: of one ascent; a cyclic iteration is one pass over the directions.
    nonnegative: weights of features whose names begin so stay at 0 or above: a negative weight of distances or
        orientations rewards jumps, which fits a small tuning set and no other text.
    shared_starts: starting points of each set when many resampled sets are tuned at once.
    seed: of starting points, directions and perturbations.
    """

    metric: str = "bleu"
    strategy: str = "cyclic"
    restarts: int = 20
    restart_low: float = 0.0
    restart_high: float = 1.0
    random_directions: int = 0
    perturbation_rounds: int = 2
    perturbed_starts: int = 8
    perturbation: float = 0.3
    tolerance: float = 1e-4
    max_iterations: int = 100
    nonnegative: tuple[str, ...] = ("distortion", "reordering")
    shared_starts: int = 6
    seed: int = 1

    def __post_init__(self) -> None:
        check_choices(self, "tune", {"metric": METRICS, "strategy": STRATEGIES})
        counts = ("restarts", "random_directions", "perturbation_rounds", "perturbed_starts")
        ranges = dict.fromkeys(counts, (0, MANY)) | dict.fromkeys(("max_iterations", "shared_starts"), (1, MANY))
        ends = dict.fromkeys(("restart_low", "restart_high"), (-1000000.0, 1000000.0))
        _check(self, {**ranges, **ends, "perturbation": (0.0, 100.0), "tolerance": (0.0, 1.0)})
        if self.restart_low > self.restart_high:
            raise SettingError("tune", "restart_low", f"is {self.restart_low} and above restart_high: give a lower one")


@dataclass(frozen=True)
class MiraConfig(TunerSettings):
    """Batch MIRA (Cherry & Foster 2012).

    step_limit: C, the largest step size.
    decay: of the background statistics, after each sentence.
    iterations: passes over the tuning set; the best of their averaged weights is kept.
    shuffle: sentences in random order, or as they come.
    augment: common weights and deviations of each label, fitted together (Clark, Lavie & Dyer 2012).
    deviation: the scale of what is a label's own; the smaller, the nearer all labels stay to the common weights.
    seed: of the order.
    """

    step_limit: float = 0.01
    decay: float = 0.999
    iterations: int = 60
    shuffle: bool = True
    augment: bool = False
    deviation: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        _check(self, {"decay": (0.0, 1.0), "iterations": (1, MANY)}, ("step_limit", "deviation"))


@dataclass(frozen=True)
class ProConfig(TunerSettings):
    """Pairwise ranking optimisation (Hopkins & May 2011).

    samples: Γ, pairs drawn for a sentence.
    kept: Ξ, those of the largest difference that are learnt from.
    min_difference: α, pairs closer than this in sentence BLEU are not considered.
    interpolation: Ψ, the part of the new weights that is mixed with the old ones; 1 takes the new ones alone.
    l2: strength of the penalty ½·l2·|w|² of the logistic regression.
    augment: common weights and deviations of each label, fitted together (Clark, Lavie & Dyer 2012).
    deviation: the scale of what is a label's own; the smaller, the nearer all labels stay to the common weights.
    seed: of the samples.
    """

    samples: int = 5000
    kept: int = 50
    min_difference: float = 0.05
    interpolation: float = 0.1
    l2: float = 1.0
    augment: bool = False
    deviation: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        ranges = {"samples": (1, 100 * MANY), "kept": (1, 100 * MANY), "min_difference": (0.0, 1.0)}
        _check(self, {**ranges, "interpolation": (0.0, 1.0)}, ("l2", "deviation"))


@dataclass(frozen=True)
class RiskConfig(TunerSettings):
    """Minimum risk (Smith & Eisner 2006; Rosti et al. 2011).

    metric: 'bleu' or 'ter'.
    level: 'corpus': the score of expected matches and lengths; 'sentence': the expectation of the sentences' own
        (smoothed) scores.
    optimiser: 'lbfgs' or 'adam'.
    iterations: of the optimiser for each γ, at most.
    learning_rate: of Adam, falling to 0.
    gamma: the first γ; under γ = 1 scores under the start vary by 1 within a list.
    gamma_factor: of the next γ.
    gamma_steps: how many γ there are.
    l2: strength of the prior ½·l2·|u − u₀|² around the start, u being weights times the deviations of their features.
    mixture_l2: strength of the prior ½·l2·|θ − θ₀|² around fitted component weights (mixture.weighting=trained), θ
        being their logarithms.
    restarts: random starting points about the given one, besides it; the best 1-best decides.
    perturbation: how far away they are, against the deviation of the scores.
    augment: common weights and deviations of each label, fitted together (Clark, Lavie & Dyer 2012).
    deviation: the scale of what is a label's own; the smaller, the nearer all labels stay to the common weights.
    seed: of the starting points.
    """

    has_gradient: ClassVar[bool] = True

    metric: str = "bleu"
    level: str = "corpus"
    optimiser: str = "lbfgs"
    iterations: int = 50
    learning_rate: float = 0.05
    gamma: float = 1.0
    gamma_factor: float = 2.0
    gamma_steps: int = 7
    l2: float = 1e-3
    mixture_l2: float = 1e-3
    restarts: int = 0
    perturbation: float = 0.5
    augment: bool = False
    deviation: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        check_choices(self, "tune", {"metric": METRICS, "level": LEVELS, "optimiser": OPTIMISERS})
        counts = {"iterations": (1, MANY), "gamma_steps": (1, 1000), "restarts": (0, MANY)}
        strengths = dict.fromkeys(("l2", "mixture_l2", "perturbation"), (0.0, 1000000000.0))
        _check(self, {**counts, **strengths}, ("learning_rate", "gamma", "gamma_factor", "deviation"))


@dataclass(frozen=True)
class TrustRegionConfig(TunerSettings):
    """Derivative-free optimisation of few parameters (COBYQA, Ragonneau & Zhang 2024, of Powell's family).

    metric: 'bleu' or 'ter', where n-best lists are tuned.
    initial_radius, final_radius: of the trust region.
    max_evaluations: of the objective.
    low, high: bounds of every parameter; None for none.
    """

    metric: str = "bleu"
    initial_radius: float = 0.25
    final_radius: float = 1e-3
    max_evaluations: int = 200
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check_choices(self, "tune", {"metric": METRICS})
        ends = dict.fromkeys(("low", "high"), (-1000000000.0, 1000000000.0))
        _check(self, {"max_evaluations": (1, MANY), **ends}, ("initial_radius", "final_radius"))
        if self.final_radius > self.initial_radius:
            raise SettingError("tune", "final_radius", f"is {self.final_radius} and above initial_radius: lower it")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise SettingError("tune", "low", f"is {self.low} and not below high, {self.high}: give a lower one")
