"""The comparison of Sanchis-Trilles & Casacuberta (2015), sections 5.3 to 5.7, on small sets, repeated.

All methods rerank the same n-best lists of the test set. (In the paper the re-estimated systems decode anew.)
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.blocks import BlockedLists, blocked
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.likelihood import log_likelihood, oracle_hypotheses
from jaxsmt.adapt.bpa.posterior import Prior
from jaxsmt.adapt.bpa.rerank import Votes, best_by_votes
from jaxsmt.adapt.bpa.sampling import heuristic_samples, normalised_weights
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import track
from jaxsmt.evaluate.bleu import corpus_bleu
from jaxsmt.evaluate.ter import ter_score
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig
from jaxsmt.tune.lists import TuningLists, best_hypotheses, rows_of
from jaxsmt.tune.mert.tuner import mert
from jaxsmt.tune.tuner import TunerConfig, make_tuner

BAYESIAN = ("heuristic", "heuristic-viterbi", "mcmc", "mcmc-viterbi", "laplace", "laplace-viterbi")
REESTIMATED = ("mert", "mira", "pro", "mert+")
METHODS = ("unadapted", *BAYESIAN, *REESTIMATED)


@dataclass(frozen=True)
class ComparisonConfig:
    """What is compared.

    methods: of METHODS.
    sizes: |A|, sentences of an adaptation set.
    repetitions: sets drawn for each size.
    with_replacement: a sentence may be drawn more than once for a set.
    seed: of the sets.
    bpa, mert, mira, pro: settings of the methods; PRO takes the new weights alone, since it is run once.
    """

    methods: tuple[str, ...] = ("unadapted", "heuristic", "mcmc", "mert", "mira", "pro", "mert+")
    sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)
    repetitions: int = 10
    with_replacement: bool = True
    seed: int = 1
    bpa: BpaConfig = field(default_factory=BpaConfig)
    mert: MertConfig = field(default_factory=MertConfig)
    mira: MiraConfig = field(default_factory=MiraConfig)
    pro: ProConfig = field(default_factory=lambda: ProConfig(interpolation=1.0))

    def __post_init__(self) -> None:
        for name in ("methods", "sizes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown:
            raise UserError(f"method '{unknown[0]}' is unknown: choose of {', '.join(METHODS)}")
        if not self.methods or not self.sizes or min(self.sizes) < 1 or self.repetitions < 1:
            raise UserError("a comparison needs a method, sizes of at least 1 and at least one repetition: give them")


@dataclass(frozen=True)
class Comparison:
    """Results of M methods with Z sizes of adaptation sets and R repetitions.

    bleu, ter: [M, Z, R, 10], [M, Z, R, 2] float64, statistics of the test set summed.
    seconds: [M, Z] float64, CPU time of one adaptation and reranking (the median of the repetitions).
    """

    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    bleu: np.ndarray
    ter: np.ndarray
    seconds: np.ndarray

    def scores(self, metric: str) -> np.ndarray:
        """[M, Z, R] in per cent."""
        return ter_score(self.ter) if metric == "ter" else corpus_bleu(self.bleu)

    def means(self, metric: str) -> np.ndarray:
        """[M, Z]."""
        return self.scores(metric).mean(2)

    def intervals(self, metric: str) -> np.ndarray:
        """[M, Z]: 2σ over the repetitions, half the 95 % interval (section 5); 0 for a single one."""
        scores = self.scores(metric)
        return 2.0 * scores.std(2, ddof=1) if scores.shape[2] > 1 else np.zeros(scores.shape[:2])

    def precisions(self) -> np.ndarray:
        """[M, Z, 4]: n-gram precisions in per cent, mean over the repetitions."""
        return (100.0 * self.bleu[..., 2:6] / np.maximum(self.bleu[..., 6:10], 1.0)).mean(2)

    def brevity(self) -> np.ndarray:
        """[M, Z]: min(1, length over reference length) as section 5.7 defines it, mean over the repetitions."""
        return np.minimum(1.0, self.bleu[..., 0] / np.maximum(self.bleu[..., 1], 1.0)).mean(2)


@dataclass(frozen=True)
class _Task:
    """What every method gets: λ_T, the lists, counts [Z, R, P] of the pool's sentences in the adaptation sets."""

    centre: np.ndarray
    dev: TuningLists
    pool: TuningLists
    test: BlockedLists
    counts: np.ndarray
    config: ComparisonConfig


def compare(
    dev: TuningLists, pool: TuningLists, test: TuningLists, config: ComparisonConfig | None = None,
    weights: np.ndarray | None = None,
) -> Comparison:  # fmt: skip
    """Runs all methods; the lists carry BLEU and TER statistics (`score_lists` with_ter).

    dev: of the old domain, for MERT+ and, where weights λ_T [F] are not given, to tune them with MERT.
    pool: of the new domain, which adaptation sets are drawn from. test: what is reranked and scored.
    """
    config = config or ComparisonConfig()
    if weights is None:
        weights = mert(dev, np.ones(dev.num_features), config.mert)[0]
    counts = draw_sets(len(pool), config)
    task = _Task(normalised_weights(weights), dev, pool, blocked(test), counts, config)
    chosen, seconds = [], []
    for method in track(config.methods, "methods", len(config.methods)):
        index, spent = _run(method, task)
        chosen.append(index)
        seconds.append(spent)
    bleu, ter = (_summed(test, np.array(chosen), metric) for metric in ("bleu", "ter"))
    return Comparison(config.methods, config.sizes, bleu, ter, np.array(seconds))


def draw_sets(num_sentences: int, config: ComparisonConfig) -> np.ndarray:
    """[Z, R, P] int64: how often each sentence of the pool is in each adaptation set.

    A set depends on the seed, its size and the number of the repetition only.
    """
    if not config.with_replacement and max(config.sizes) > num_sentences:
        raise UserError(f"{max(config.sizes)} sentences cannot be drawn from {num_sentences} without replacement")
    if not num_sentences:
        raise UserError("there are no sentences to draw adaptation sets from: give n-best lists of the new domain")
    counts = np.zeros((len(config.sizes), config.repetitions, num_sentences), np.int64)
    for place, size in enumerate(config.sizes):
        for repetition in range(config.repetitions):
            rng = np.random.default_rng((config.seed, size, repetition))
            drawn = rng.choice(num_sentences, size, replace=config.with_replacement)
            np.add.at(counts[place, repetition], drawn, 1)
    return counts


def _summed(test: TuningLists, chosen: np.ndarray, metric: str) -> np.ndarray:
    """Statistics of the chosen hypotheses [M, Z, R, B] → [M, Z, R, C]; empty lists count nothing."""
    statistics = test.statistics(metric)
    filled = np.flatnonzero(test.sizes > 0)
    sums = [statistics[filled, index[filled]].sum(0) for index in chosen.reshape(-1, chosen.shape[-1])]
    return np.array(sums, np.float64).reshape(*chosen.shape[:3], -1)


def _run(method: str, task: _Task) -> tuple[np.ndarray, np.ndarray]:
    """Best hypotheses [Z, R, B] and seconds [Z] of a method."""
    if method.startswith("heuristic"):
        return _run_heuristic(method, task)
    choose_fn = _choose_fn(method, task)
    sizes, repetitions = task.counts.shape[:2]
    index = np.zeros((sizes, repetitions, len(task.test.lists)), np.int64)
    seconds = np.zeros((sizes, repetitions))
    for place in range(sizes):
        for repetition in range(repetitions):
            begin = time.process_time()
            index[place, repetition] = choose_fn(task.counts[place, repetition], repetition)
            seconds[place, repetition] = time.process_time() - begin
    return index, np.median(seconds, 1)


def _choose_fn(method: str, task: _Task) -> Callable[[np.ndarray, int], np.ndarray]:
    """The function from counts [P] and the number of the repetition to the best hypotheses [B]."""
    if method in BAYESIAN:
        return lambda counts, repetition: _bayesian(method, task, counts, repetition)
    if method == "unadapted":
        return lambda counts, repetition: best_hypotheses(task.test.lists, task.centre)
    settings: dict[str, TunerConfig] = {"mira": task.config.mira, "pro": task.config.pro}
    tuner = make_tuner(settings.get(method, task.config.mert))

    def reestimated(counts: np.ndarray, repetition: int) -> np.ndarray:
        lists = rows_of(task.pool, np.repeat(np.arange(len(counts)), counts))
        if method == "mert+":
            lists = joined_lists(task.dev, lists)
        return best_hypotheses(task.test.lists, tuner(lists, task.centre)[0])

    return reestimated


def _bpa_config(method: str, task: _Task, seed: int) -> BpaConfig:
    sampler, _, variant = method.partition("-")
    return replace(task.config.bpa, sampler=sampler, viterbi=variant == "viterbi", seed=seed)


def _bayesian(method: str, task: _Task, counts: np.ndarray, repetition: int) -> np.ndarray:
    config = _bpa_config(method, task, task.config.bpa.seed + repetition)
    used = np.flatnonzero(counts)
    votes, _ = adapt(rows_of(task.pool, used), task.centre, config, counts[used])
    return best_by_votes(task.test, votes, votes.log_weights[None])[0]


def _run_heuristic(method: str, task: _Task) -> tuple[np.ndarray, np.ndarray]:
    """All sets at once: the sample is the same for all of them, so probabilities are computed once (section 4.1)."""
    config = _bpa_config(method, task, task.config.bpa.seed)
    prior = Prior(task.centre, config.sigma_prior)
    samples = heuristic_samples(task.centre, config.num_samples, config.seed)
    oracle = oracle_hypotheses(task.pool, task.centre, config.oracle)
    sets = task.counts.reshape(-1, task.counts.shape[2])
    log_weights = log_likelihood(task.pool, oracle, samples, sets) / config.delta + prior.log_density(samples)
    votes = Votes(samples, log_weights[0], config.delta, config.viterbi)
    index = best_by_votes(task.test, votes, log_weights).reshape(*task.counts.shape[:2], -1)
    seconds = []
    for counts in task.counts[:, 0]:  # what one adaptation costs, had it been done alone
        begin = time.process_time()
        _bayesian(method, task, counts, 0)
        seconds.append(time.process_time() - begin)
    return index, np.array(seconds)


SWEEPABLE = (*(item.name for item in fields(BpaConfig) if item.name not in ("sampler", "viterbi", "oracle")), "nbest")


def sweep(
    dev: TuningLists, pool: TuningLists, test: TuningLists, parameter: str, values: Sequence,
    config: ComparisonConfig | None = None, weights: np.ndarray | None = None,
) -> dict[str, Comparison]:  # fmt: skip
    """The comparison for each value of a setting of BpaConfig, or of 'nbest', the size of all lists, by value."""
    config = config or ComparisonConfig()
    if parameter not in SWEEPABLE:
        raise UserError(f"'{parameter}' cannot be swept over: choose one of {', '.join(SWEEPABLE)}")
    if weights is None:
        weights = mert(dev, np.ones(dev.num_features), config.mert)[0]
    found = {}
    for value in values:
        if parameter == "nbest":
            cut = [first_hypotheses(lists, value) for lists in (dev, pool, test)]
            found[str(value)] = compare(cut[0], cut[1], cut[2], config, weights)
        else:
            one = replace(config, bpa=_changed(config.bpa, parameter, value))
            found[str(value)] = compare(dev, pool, test, one, weights)
    return found


def _changed(config: BpaConfig, parameter: str, value: Any) -> BpaConfig:
    if parameter == "sigma_proposal":  # which other proposals soon forget
        config = replace(config, proposal="fixed")
    return replace(config, **{parameter: value})


def comparison_text(comparison: Comparison, metric: str) -> str:
    """Mean ± 2σ of each method and size as text."""
    means, intervals = comparison.means(metric), comparison.intervals(metric)
    lines = [f"{metric.upper():<18}" + "".join(f"{size:>15}" for size in comparison.sizes)]
    for number, method in enumerate(comparison.methods):
        cells = [f"{f'{m:.2f} ± {i:.2f}':>15}" for m, i in zip(means[number], intervals[number], strict=True)]
        lines.append(f"{method:<18}" + "".join(cells))
    return "\n".join(lines) + "\n"


def precision_text(comparison: Comparison, sizes: Sequence[int]) -> str:
    """The paper's table 3: n-gram precisions (per cent) and brevity of each method, for some of the sizes."""
    precisions, brevity = comparison.precisions(), comparison.brevity()
    lines = []
    for size in sizes:
        place = comparison.sizes.index(size)
        lines.append(f"{f'{size} sentences':<18}" + "".join(f"{n:>8}-gram" for n in range(1, 5)) + "   brevity")
        for number, method in enumerate(comparison.methods):
            cells = "".join(f"{value:13.1f}" for value in precisions[number, place])
            lines.append(f"{method:<18}{cells}{brevity[number, place]:10.3f}")
    return "\n".join(lines) + "\n"


def first_hypotheses(lists: TuningLists, size: int) -> TuningLists:
    """The first `size` hypotheses of every list: shorter n-best lists of the same decoder."""
    parts = (lists.features, lists.is_real, lists.bleu, lists.ter)
    features, is_real, bleu, ter = (None if part is None else part[:, :size] for part in parts)
    assert features is not None
    assert is_real is not None
    return TuningLists(features, is_real, bleu, ter, lists.feature_names)


def joined_lists(first: TuningLists, second: TuningLists) -> TuningLists:
    """The sentences of one set followed by those of another with the same features."""
    if first.feature_names != second.feature_names:
        raise UserError(
            f"n-best lists with the features {' '.join(first.feature_names)} and {' '.join(second.feature_names)} "
            "cannot be joined: make them with one configuration"
        )
    size = max(first.is_real.shape[1], second.is_real.shape[1])

    def both(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
        if one is None or other is None:
            return None
        pad = [np.pad(part, [(0, 0), (0, size - part.shape[1])] + [(0, 0)] * (part.ndim - 2)) for part in (one, other)]
        return np.concatenate(pad)

    features, is_real = both(first.features, second.features), both(first.is_real, second.is_real)
    assert features is not None
    assert is_real is not None
    return TuningLists(
        features, is_real, both(first.bleu, second.bleu), both(first.ter, second.ter), first.feature_names
    )
