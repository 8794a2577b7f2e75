"""Settings of the tuners, as `conf/tune/*` give them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MertConfig:
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
    shared_starts: int = 6
    seed: int = 1


@dataclass(frozen=True)
class MiraConfig:
    """Batch MIRA (Cherry & Foster 2012).

    step_limit: C, the largest step size.
    decay: of the background statistics, after each sentence.
    iterations: passes over the tuning set; the best of their averaged weights is kept.
    shuffle: sentences in random order, or as they come.
    seed: of the order.
    """

    step_limit: float = 0.01
    decay: float = 0.999
    iterations: int = 60
    shuffle: bool = True
    seed: int = 1


@dataclass(frozen=True)
class ProConfig:
    """Pairwise ranking optimisation (Hopkins & May 2011).

    samples: Γ, pairs drawn for a sentence.
    kept: Ξ, those of the largest difference that are learnt from.
    min_difference: α, pairs closer than this in sentence BLEU are not considered.
    interpolation: Ψ, the part of the new weights that is mixed with the old ones; 1 takes the new ones alone.
    l2: strength of the penalty ½·l2·|w|² of the logistic regression.
    seed: of the samples.
    """

    samples: int = 5000
    kept: int = 50
    min_difference: float = 0.05
    interpolation: float = 0.1
    l2: float = 1.0
    seed: int = 1


@dataclass(frozen=True)
class TrustRegionConfig:
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
