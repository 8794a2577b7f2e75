"""Comparing systems' outputs: scores, deviations over tuner runs, significance, one small table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import LARGEST_NUMBER, check_choices, check_ranges
from jaxsmt.evaluate.bleu import bleu_statistics, corpus_bleu
from jaxsmt.evaluate.chrf import chrf_score, chrf_statistics
from jaxsmt.evaluate.segments import Interner, bleu_tokens, characters, ter_tokens
from jaxsmt.evaluate.significance import PairedTest, approximate_randomisation, paired_bootstrap
from jaxsmt.evaluate.ter import ter_score, ter_statistics

TESTS = {"randomisation": approximate_randomisation, "bootstrap": paired_bootstrap}


@dataclass(frozen=True)
class MetricOnArrays:
    """tokens_fn: what of a text is counted; count_fn: statistics [K, C]; score_fn: sums [..., C] → per cent."""

    name: str
    tokens_fn: Callable[[str], Sequence[str]]
    count_fn: Callable[..., np.ndarray]
    score_fn: Callable[[np.ndarray], np.ndarray]


METRICS = {
    "bleu": MetricOnArrays("BLEU", bleu_tokens, bleu_statistics, corpus_bleu),
    "ter": MetricOnArrays("TER", ter_tokens, ter_statistics, ter_score),
    "chrf": MetricOnArrays("chrF2", characters, chrf_statistics, chrf_score),
}


@dataclass(frozen=True)
class CompareConfig:
    """metrics: of bleu, ter, chrf; test: 'randomisation' or 'bootstrap'; trials of it; seed."""

    metrics: tuple[str, ...] = ("bleu", "ter", "chrf")
    test: str = "randomisation"
    trials: int = 10_000
    seed: int = 12345

    def __post_init__(self) -> None:
        check_choices(self, "evaluate", {"metrics": METRICS, "test": TESTS})
        check_ranges(self, "evaluate", {"trials": (1, 10_000_000), "seed": (0, LARGEST_NUMBER)})


@dataclass(frozen=True)
class SystemScore:
    """mean, deviation: over the replicas (deviation with R − 1; 0 for one); versus: the test against the baseline."""

    mean: float
    deviation: float
    num_replicas: int
    versus: PairedTest | None


def segment_statistics(metric: str, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """[B, C]: statistics of detokenised outputs, equal to sacrebleu's; references: at least one for each sentence."""
    return replica_statistics(metric, [outputs], references)[0]


def replica_statistics(
    metric: str, replicas: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> np.ndarray:
    """[R, B, C]: the same for several outputs of the same sentences."""
    if metric not in METRICS:
        raise UserError(f"metric '{metric}' is unknown: choose of {', '.join(METRICS)}")
    for outputs in replicas:
        if len(outputs) != len(references):
            raise UserError(f"{len(outputs)} translations against {len(references)} references: give as many of both")
    if not all(len(texts) for texts in references):
        raise UserError("a sentence has no reference: give at least one for each")
    how, interner = METRICS[metric], Interner()
    words = interner.encode([how.tokens_fn(text) for outputs in replicas for text in outputs])
    goals = interner.encode([how.tokens_fn(text) for texts in references for text in texts])
    sentences = np.arange(len(references))
    owner = np.repeat(sentences, [len(texts) for texts in references])
    counted = how.count_fn(words, goals, np.tile(sentences, len(replicas)), owner)
    return counted.reshape(len(replicas), len(references), counted.shape[1])


def compare_systems(
    systems: Mapping[str, Sequence[Sequence[str]]], references: Sequence[Sequence[str]],
    config: CompareConfig | None = None,
) -> dict[str, dict[str, SystemScore]]:  # fmt: skip
    """{system: {metric: score}}; the first system is the baseline the others are tested against.

    systems: for each name its replicas (outputs of one or more tuner runs), detokenised; all with equally many replicas
    as the baseline where they are tested. references: for each sentence one or more.
    """
    config = config or CompareConfig()
    if not systems or not references:
        raise UserError("nothing to compare: give at least one system and one sentence")
    sizes = {name: len(replicas) for name, replicas in systems.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise UserError(f"systems have different numbers of runs ({listed}): give equally many of each")
    results: dict[str, dict[str, SystemScore]] = {name: {} for name in systems}
    for metric in config.metrics:
        counted = {name: replica_statistics(metric, outputs, references) for name, outputs in systems.items()}
        baseline = next(iter(counted.values()))
        for number, (name, statistics) in enumerate(counted.items()):
            scores = METRICS[metric].score_fn(statistics.sum(1))
            test = None
            if number:
                test = TESTS[config.test](baseline, statistics, METRICS[metric].score_fn, config.trials, config.seed)
            deviation = float(scores.std(ddof=1)) if len(scores) > 1 else 0.0
            results[name][metric] = SystemScore(float(scores.mean()), deviation, len(scores), test)
    return results


def stars(p_value: float) -> str:
    """*** p ≤ 0.001, ** p ≤ 0.01, * p ≤ 0.05."""
    return "*" * sum(p_value <= limit for limit in (0.05, 0.01, 0.001))
