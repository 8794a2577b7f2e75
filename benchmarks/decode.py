"""The chart decoder beside Moses' chart decoder: model score and CPU-seconds a sentence at several beams.

Run: python benchmarks/decode.py [--reference FOLDER] [--small] [--cores N]
The rule table, language model, sentences and the other decoder's results come from FOLDER (or JAXSMT_REFERENCE). The
process keeps to one core unless told otherwise, since the reference ran on one. Also shows how time grows with the
length of sentences. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
REFERENCE_CPU = {10: 0.0168, 30: 0.0214, 100: 0.0628, 200: 0.0726, 1000: 0.3338, 5000: 3.4561}  # seconds a sentence
REFERENCE_MEAN = {10: -128.0080, 30: -127.9078, 100: -127.8677, 200: -127.8598, 1000: -127.8462, 5000: -127.8373}
BEAMS = ((16, 48, 32, 48), (24, 64, 48, 96), (24, 80, 64, 112), (48, 128, 96, 192), (64, 192, 128, 512))
MAX_SPAN = 20


def read_options() -> argparse.Namespace:
    default = os.environ.get("JAXSMT_REFERENCE", REPOSITORY.parent / "shared" / "reference")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, default=Path(default), help="folder with text/, lm/ and decode/")
    parser.add_argument("--small", action="store_true", help="20 sentences and two beams")
    parser.add_argument("--cores", type=int, default=1, help="processor cores to use")
    return parser.parse_args()


OPTIONS = read_options()
if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: OPTIONS.cores]))

import numpy as np  # noqa: E402
from measure import measured  # noqa: E402

from jaxsmt.common.ragged import Ragged, concatenate, ragged_from_rows  # noqa: E402
from jaxsmt.lm.arpa import read_arpa  # noqa: E402
from jaxsmt.lm.automaton import Automaton, build_automaton  # noqa: E402
from jaxsmt.search.chart import Beam  # noqa: E402
from jaxsmt.search.decoder import Decoder, Request, SearchConfig, make_decoder  # noqa: E402
from jaxsmt.search.rest import with_rest_costs  # noqa: E402
from jaxsmt.search.rules import FixedRules, fixed_rules  # noqa: E402
from jaxsmt.search.weights import SearchWeights  # noqa: E402
from jaxsmt.text.vocabulary import NUM_RESERVED  # noqa: E402
from jaxsmt.tm.moses import read_scored_table  # noqa: E402

HIERO = SearchWeights(
    rule=(0.15, 0.1, 0.2, 0.1), lm=0.3, word_penalty=-0.3, phrase_penalty=-0.1, glue=-0.2, unknown=1.0
)


@dataclass(frozen=True)
class Setting:
    """The reference's task."""

    rules: FixedRules
    automaton: Automaton
    lm_ids: np.ndarray
    sentences: Ragged
    copies: Ragged
    scores: dict[int, np.ndarray]  # of Moses by pop limit

    def decoder(self, beam: Beam) -> Decoder:
        return make_decoder(self.rules, self.automaton, SearchConfig(beam, max_span=MAX_SPAN), self.lm_ids)

    def request(self, rows: np.ndarray) -> Request:
        return Request(self.sentences.take(rows), self.copies.take(rows).values, HIERO)


@dataclass(frozen=True)
class Run:
    """One beam on all sentences; CPU seconds a sentence, and of the first run in excess of the second."""

    scores: np.ndarray
    cpu: float
    compile_cpu: float
    peak_gb: float


def main() -> None:
    setting = read_setting(OPTIONS.reference)
    rows = np.arange(20 if OPTIONS.small else len(setting.sentences))
    print(f"{len(rows)} sentences, {setting.sentences.lengths[rows].mean():.1f} words each; {OPTIONS.cores} core(s)")
    runs = report_beams(setting, rows)
    best = choose(runs, setting, rows)
    report_growth(setting, best)
    gap = float(runs[best].scores.mean() - setting.scores[200][rows].mean())
    cpu = runs[best].cpu
    result = {
        "chart_score_gap": round(gap, 4),
        "chart_cpu_ratio": round(REFERENCE_CPU[200] / cpu, 3),
        "chart_mean_score": round(float(runs[best].scores.mean()), 4),
        "chart_cpu_seconds": round(cpu, 4),
        "chart_beam": list(best),
        "best_mean_score": round(max(float(run.scores.mean()) for run in runs.values()), 4),
    }
    print(json.dumps(result))


def read_setting(folder: Path) -> Setting:
    """Reads the reference's files; prints what that takes."""
    if not (folder / "decode").is_dir():
        raise SystemExit(f"'{folder}' has no folder decode/: give the reference's folder with --reference")
    with measured() as reading:
        table = read_scored_table(folder / "decode" / "rule-table.test100.gz")
        lm = with_rest_costs(read_arpa(folder / "lm" / "A.en.5.arpa.gz"))
        text = [line.split() for line in lines(folder / "text" / "pydoc-test100.fr.gz")]
        setting = Setting(
            fixed_rules(table),
            build_automaton(lm),
            np.array([*range(NUM_RESERVED), *lm.vocabulary.encode(table.target_vocabulary.words)], np.int32),
            ragged_from_rows([table.source_vocabulary.encode(row) for row in text]),
            ragged_from_rows([lm.vocabulary.encode(row) for row in text]),
            {pops: moses_scores(folder, pops) for pops in (200, 1000, 5000)},
        )
    print(f"reading table and language model: {reading.cpu_seconds:.1f} CPU-s")
    return setting


def moses_scores(folder: Path, pops: int) -> np.ndarray:
    return np.array([float(line.split("\t")[1]) for line in lines(folder / "decode" / f"hiero.pop{pops}.1best.tsv.gz")])


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]


def report_beams(setting: Setting, rows: np.ndarray) -> dict[tuple[int, ...], Run]:
    columns = f"{'mean score':>11} {'best':>5} {'CPU s':>8} {'compile':>8} {'peak GB':>8}"
    print(f"{'kept rules expanded neighbours':>32} {columns}")
    best_seen = np.maximum.reduce([scores[rows] for scores in setting.scores.values()])
    runs = {}
    for widths in BEAMS[1:3] if OPTIONS.small else BEAMS:
        runs[widths] = run = decode(setting, Beam(*widths), rows)
        at_best = int((run.scores > best_seen - 0.002).sum())
        name = " ".join(f"{width:4d}" for width in widths)
        figures = f"{run.scores.mean():11.4f} {at_best:5d} {run.cpu:8.4f} {run.compile_cpu:7.1f}s {run.peak_gb:8.2f}"
        print(f"{name:>32} {figures}")
    for pops, cpu in REFERENCE_CPU.items():
        print(f"{f'the reference, pop limit {pops}':>32} {REFERENCE_MEAN[pops]:11.4f} {'':5} {cpu:8.4f}")
    return runs


def decode(setting: Setting, beam: Beam, rows: np.ndarray, repeats: int = 2) -> Run:
    decoder, request = setting.decoder(beam), setting.request(rows)
    with measured() as first:
        derivations = decoder.translate(request)
    seconds = []
    for _ in range(repeats):
        with measured() as again:
            decoder.translate(request)
        seconds.append(again.cpu_seconds)
    scores = np.array([derivation.score for derivation in derivations])
    return Run(scores, min(seconds) / len(rows), first.cpu_seconds - min(seconds), first.peak_gb)


def choose(runs: dict[tuple[int, ...], Run], setting: Setting, rows: np.ndarray) -> tuple[int, ...]:
    """The cheapest beam that scores at least what the reference does at pop limit 200; the best one if none does."""
    target = setting.scores[200][rows].mean()
    good = [widths for widths, run in runs.items() if run.scores.mean() >= target]
    return (
        min(good, key=lambda widths: runs[widths].cpu)
        if good
        else max(runs, key=lambda widths: runs[widths].scores.mean())
    )


def report_growth(setting: Setting, widths: tuple[int, ...]) -> None:
    """CPU time by sentence length, and by number of sentences."""
    beam, lengths = Beam(*widths), setting.sentences.lengths
    print("words      sentences  CPU ms a sentence  CPU ms a word")
    for low, high in ((1, 10), (11, 20), (21, 30), (31, 40)):
        rows = np.flatnonzero((lengths >= low) & (lengths <= high))
        if len(rows):
            cpu = decode(setting, beam, rows, repeats=1).cpu
            print(f"{f'{low}-{high}':10} {len(rows):9d}  {cpu * 1e3:17.1f}  {cpu * 1e3 / lengths[rows].mean():13.2f}")
    joined = concatenate([setting.sentences] * 3)
    request = Request(joined, np.concatenate([setting.copies.values] * 3), HIERO)
    with measured() as batch:
        setting.decoder(beam).translate(request)
    print(f"{len(joined)} sentences in one request: {batch.cpu_seconds / len(joined) * 1e3:.1f} CPU ms a sentence")


if __name__ == "__main__":
    main()
