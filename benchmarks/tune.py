"""How quick tuning and TER are: MERT against Moses' mert, other tuners, many resampled sets, TER against sacrebleu.

Prints a table; the last line is one JSON object. The reference folder is $JAXSMT_REFERENCE, or shared/reference beside
the repository. All times are CPU seconds of this process, after compilation; the least of several runs counts.
"""

import gzip
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from measure import print_figures
from sacrebleu.metrics.lib_ter import translation_edit_rate

from jaxsmt.common.device import setup_device
from jaxsmt.evaluate.segments import Interner
from jaxsmt.evaluate.ter import ter_statistics
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig, RiskConfig
from jaxsmt.tune.lists import TuningLists, list_score, padded_lists
from jaxsmt.tune.mert.tuner import mert, mert_resampled
from jaxsmt.tune.mira import mira
from jaxsmt.tune.nbest import NBestLists, read_nbest
from jaxsmt.tune.pro import pro
from jaxsmt.tune.risk.tuner import risk
from jaxsmt.tune.scoring import score_lists

REFERENCE = Path(os.environ.get("JAXSMT_REFERENCE", Path(__file__).resolve().parents[2] / "shared" / "reference"))
MOSES_SECONDS, MOSES_BLEU = 5.47, 0.349774  # mert -d 14 -n 20 -r 1 on the reference list
START = np.array([0.3] * 7 + [0.5, -1.0, 0.2] + [0.2] * 4)
NUM_SETS = 30
SEEDS = range(1, 6)
TER_COPIES = 6  # of the reference list, for a job of 100,000 hypotheses
TER_SAMPLE = 600  # hypotheses that sacrebleu counts


def cpu_seconds(work_fn: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of several runs after a first one that compiles."""
    work_fn()
    return min(_timed(work_fn) for _ in range(repeats))


def _timed(work_fn: Callable[[], object]) -> float:
    begin = time.process_time()
    work_fn()
    return time.process_time() - begin


def reference_lists() -> tuple[NBestLists, list[list[str]]]:
    """The reference's n-best lists and their translations."""
    lists = read_nbest(REFERENCE / "tune" / "dev200.nbest100.gz")
    with gzip.open(REFERENCE / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        return lists, [[line.strip()] for line in stream][: len(lists)]


def large_lists(num_sentences: int = 2000, size: int = 100, num_features: int = 14) -> TuningLists:
    """Random lists in which quality depends on the features and on chance."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(num_sentences * size, num_features))
    quality = features @ rng.normal(size=num_features) + rng.normal(size=len(features)) * 3
    length = np.repeat(rng.integers(8, 30, num_sentences), size)
    totals = length[:, None] - np.arange(4)
    chance = 1 / (1 + np.exp(-quality / 6))
    matches = rng.binomial(totals, (chance[:, None] * 0.8) ** np.arange(1, 5))
    bleu = np.concatenate([length[:, None], length[:, None], matches, totals], 1).astype(np.int32)
    return padded_lists(features, np.arange(num_sentences + 1) * size, bleu)


def report(what: str, seconds: float, remark: str = "") -> None:
    print(f"{what:<58} {seconds:9.3f} s  {remark}", flush=True)


def measure_mert(lists: TuningLists) -> tuple[float, float]:
    """Seconds of the default MERT on the reference list and its BLEU minus that of Moses."""
    seconds = cpu_seconds(lambda: mert(lists, START))
    bleu = list_score(lists, mert(lists, START)[0], "bleu")
    report("MERT, 200 × 100-best, 20 restarts and perturbations", seconds, f"BLEU {bleu:.6f} (Moses {MOSES_BLEU})")
    plain = MertConfig(strategy="steepest", perturbation_rounds=0)
    bleu_plain = list_score(lists, mert(lists, START, plain)[0], "bleu")
    report("MERT, the same, steepest steps as Moses takes", cpu_seconds(lambda: mert(lists, START, plain)),
           f"BLEU {bleu_plain:.6f}")  # fmt: skip
    return seconds, bleu - MOSES_BLEU


def measure_others(lists: TuningLists, mert_seconds: float, mert_bleu: float) -> dict[str, float]:
    """Other tuners on the reference list: seconds, BLEU, and BLEU over five seeds; figures of minimum risk."""
    report(
        "MERT, five seeds", mert_seconds, spread_of(lists, [mert(lists, START, MertConfig(seed=s))[0] for s in SEEDS])
    )
    figures = {}
    for name, tune_fn, config in (
        ("MIRA", mira, MiraConfig()),
        ("PRO", pro, ProConfig(interpolation=1.0)),
        ("risk, expected corpus BLEU", risk, RiskConfig()),
        ("risk, five starting points", risk, RiskConfig(restarts=4)),
        ("risk, by Adam", risk, RiskConfig(optimiser="adam")),
        ("risk, expected sentence BLEU", risk, RiskConfig(level="sentence")),
    ):
        found = [tune_fn(lists, START, replace(config, seed=seed))[0] for seed in SEEDS]
        seconds = cpu_seconds(lambda tune_fn=tune_fn, config=config: tune_fn(lists, START, config))
        report(f"{name}, 200 × 100-best", seconds, spread_of(lists, found))
        if config == RiskConfig():
            bleu = list_score(lists, found[0], "bleu")
            figures = {"risk_bleu_gap": bleu - mert_bleu, "risk_ratio": mert_seconds / seconds}
    return figures


def spread_of(lists: TuningLists, found: list[np.ndarray]) -> str:
    """BLEU of the first weights [F], and the range of all."""
    bleu = [list_score(lists, weights, "bleu") for weights in found]
    return f"BLEU {bleu[0]:.6f}, seeds {min(bleu):.6f} to {max(bleu):.6f}"


def measure_sets(lists: TuningLists) -> float:
    """Cost of many resampled sets at once over the cost of one."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(len(lists), np.full(len(lists), 1 / len(lists)), size=NUM_SETS)
    found = mert_resampled(lists, START, counts)[1].scores.max(1).mean()
    together = cpu_seconds(lambda: mert_resampled(lists, START, counts), 2)
    singles: list[float] = []
    in_a_row = _timed(lambda: singles.extend(mert_resampled(lists, START, row[None])[1].scores.max() for row in counts))
    alone = np.mean(singles)
    report(f"{NUM_SETS} resampled sets at once", together, f"mean BLEU of a set {found:.5f}")
    report(f"{NUM_SETS} resampled sets in a row", in_a_row, f"mean BLEU of a set {alone:.5f}")
    return together / (in_a_row / NUM_SETS)


def measure_ter(lists: NBestLists, references: list[list[str]]) -> float:
    """sacrebleu's seconds over ours, per hypothesis."""
    interner = Interner()
    words = interner.encode([text.split() for text in lists.texts])
    goals = interner.encode([text.split() for (text,) in references])
    sentences = lists.sentences
    many = words.take(np.tile(np.arange(len(words)), TER_COPIES))
    owners = np.tile(sentences, TER_COPIES)
    rows = np.random.default_rng(0).choice(len(words), TER_SAMPLE, replace=False)
    pairs = [(lists.texts[k].split(), references[sentences[k]][0].split()) for k in rows]
    counted: list[np.ndarray] = []

    def ours() -> None:
        counted.append(ter_statistics(many, goals, owners, np.arange(len(goals))))

    small = cpu_seconds(lambda: ter_statistics(words, goals, sentences, np.arange(len(goals)))) / len(words)
    large = cpu_seconds(ours, 2) / len(owners)
    theirs = min(_timed(lambda: [translation_edit_rate(*pair) for pair in pairs]) for _ in range(2)) / len(rows)
    expected = [translation_edit_rate(*pair)[0] for pair in pairs]
    assert counted[-1][rows, 0].tolist() == expected, "edits differ from sacrebleu's"
    report(f"TER of {len(words)} hypotheses, per 1,000", small * 1000)
    report(f"TER of {len(owners)} hypotheses, per 1,000", large * 1000)
    times = f"{theirs / large:.0f} times ours ({theirs / small:.0f} on the small job)"
    report("TER by sacrebleu, per 1,000", theirs * 1000, times)
    return theirs / large


def main() -> None:
    setup_device()
    lists, references = reference_lists()
    begin = time.process_time()
    scored = score_lists(lists, references)
    report("BLEU statistics of 16,726 hypotheses", time.process_time() - begin, "(Moses' extractor 0.39 s)")
    mert_seconds, gap = measure_mert(scored)
    risk_figures = measure_others(scored, mert_seconds, gap + MOSES_BLEU)
    set_ratio = measure_sets(scored)
    large = large_lists()
    report("MERT, 2,000 × 100-best × 14 features, 20 restarts", cpu_seconds(lambda: mert(large, np.ones(14)), 1))
    ter_ratio = measure_ter(lists, references)
    figures = {
        "mert_ratio": MOSES_SECONDS / mert_seconds, "mert_bleu_gap": gap, "bootstrap_ratio": set_ratio,
        "ter_ratio": ter_ratio, **risk_figures,
    }  # fmt: skip
    print_figures(figures, digits=6)


if __name__ == "__main__":
    main()
