"""The chart decoder beside Moses' chart decoder: model score and CPU-seconds a sentence at several beams.

Run: python benchmarks/decode.py [--reference FOLDER] [--small] [--cores N] [--only PART …]
The rule table, language model, sentences and the other decoder's results come from FOLDER (or JAXSMT_REFERENCE). The
process keeps to one core unless told otherwise, since the reference ran on one. Parts:
    hiero      beams beside the reference's pop limits
    default    the same with Moses' default weights, which reward glue
    phrase     a phrase table with monotone glue and with swaps: a model of its own, see there
    growth     how time grows with sentence length, K, P and D
    frontier   five beams beside incremental search, on the sentences without unknown words
    stack      the stack decoder beside Moses' phrase-based decoder, on Moses' phrase and reordering tables
    models     what further language models cost the stack decoder
The last line is one JSON object.
"""

import argparse
import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PARTS = ("hiero", "default", "phrase", "growth", "frontier", "stack", "models")
ALONE = {"stack", "models"}  # parts that do without hiero


def read_options() -> argparse.Namespace:
    default = os.environ.get("JAXSMT_REFERENCE", REPOSITORY.parent / "shared" / "reference")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, default=Path(default), help="folder with text/, lm/ and decode/")
    parser.add_argument("--small", action="store_true", help="20 sentences and two beams")
    parser.add_argument("--cores", type=int, default=1, help="processor cores to use")
    only = "parts to run; hiero always runs unless it is stack or models alone"
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help=only)
    return parser.parse_args()


OPTIONS = read_options()
if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: OPTIONS.cores]))

import decode_frontier as frontier  # noqa: E402
import decode_growth as growth  # noqa: E402
import decode_models as models  # noqa: E402
import decode_stack as stack  # noqa: E402
import numpy as np  # noqa: E402
from decode_tasks import Run, Task, default_task, phrase_task, read_task, run  # noqa: E402
from measure import print_figures  # noqa: E402

from jaxsmt.search.chart.structure import Beam  # noqa: E402

# CPU seconds a sentence of Moses by pop limit, and mean scores of runs that are not among the files
REFERENCE_CPU = {10: 0.0168, 30: 0.0214, 100: 0.0628, 200: 0.0726, 1000: 0.3338, 5000: 3.4561}
REFERENCE_MEAN = {10: -128.0080, 30: -127.9078, 100: -127.8677}
DEFAULT_CPU = {200: 0.0784, 1000: 0.3210}
BEAMS = ((16, 48, 32, 48), (24, 64, 48, 96), (24, 80, 64, 112), (48, 128, 96, 192), (64, 192, 128, 512))
SWAP_SPAN = 6


def main() -> None:
    folder = OPTIONS.reference
    if ALONE.issuperset(OPTIONS.only):
        print_figures(report_stack(folder))
        return
    task = read_task(folder)
    rows = np.arange(20 if OPTIONS.small else len(task))
    print(f"{len(rows)} sentences, {task.lengths[rows].mean():.1f} words each; {OPTIONS.cores} core(s)\n")
    runs = report_beams(task, rows, BEAMS[1:3] if OPTIONS.small else BEAMS, REFERENCE_CPU)
    best = choose(runs, task, rows)
    if "default" in OPTIONS.only:
        print("\nMoses' default weights, which reward glue")
        beams = tuple(dict.fromkeys((best, *(BEAMS[-3:-2] if OPTIONS.small else BEAMS[-3:]))))
        report_beams(default_task(folder, task), rows, beams, DEFAULT_CPU)
    if "phrase" in OPTIONS.only:
        report_phrases(folder, task, Beam(*best), rows)
    if "growth" in OPTIONS.only:
        growth.report_lengths(task, Beam(*best), rows)
        growth.report_kept(task, Beam(*best), rows)
        growth.report_rules(folder, task, Beam(*best), rows)
        growth.report_components(folder, task, Beam(*best), rows)
    found = figures(runs, best, task, rows)
    if "frontier" in OPTIONS.only and not OPTIONS.small:
        found |= frontier.report(folder, task)
    print_figures(found | report_stack(folder))


def report_stack(folder: Path) -> dict:
    """Those parts that the stack decoder has to itself."""
    reports = {"stack": stack.report, "models": models.report}
    chosen = [report_fn for part, report_fn in reports.items() if part in OPTIONS.only]
    return {name: value for report_fn in chosen for name, value in report_fn(folder, OPTIONS.small).items()}


def figures(runs: dict[tuple[int, ...], Run], best: tuple[int, ...], task: Task, rows: np.ndarray) -> dict:
    chosen = runs[best]
    return {
        "chart_score_gap": round(float(chosen.scores.mean() - task.scores[200][rows].mean()), 4),
        "chart_cpu_ratio": round(REFERENCE_CPU[200] / chosen.cpu, 3),
        "chart_mean_score": round(float(chosen.scores.mean()), 4),
        "chart_cpu_seconds": round(chosen.cpu, 4),
        "chart_beam": list(best),
        "best_mean_score": round(max(float(found.scores.mean()) for found in runs.values()), 4),
    }


def report_beams(
    task: Task, rows: np.ndarray, beams: tuple[tuple[int, ...], ...], reference_cpu: dict[int, float]
) -> dict[tuple[int, ...], Run]:
    """Ours at several beams, then the reference: scores of the same sentences, and the time it is stated to take."""
    columns = f"{'mean score':>11} {'best':>5} {'CPU s':>8} {'compile':>8} {'peak GB':>8}"
    print(f"{'kept rules expanded neighbours':>32} {columns}")
    best_seen = np.maximum.reduce([scores[rows] for scores in task.scores.values()])
    runs = {}
    for widths in beams:
        runs[widths] = found = run(task, Beam(*widths), rows)
        at_best = int((found.scores > best_seen - 0.002).sum())
        name = " ".join(f"{width:4d}" for width in widths)
        figures = f"{at_best:5d} {found.cpu:8.4f} {found.compile_cpu:7.1f}s {found.peak_gb:8.2f}"
        print(f"{name:>32} {found.scores.mean():11.4f} {figures}")
    for pops, seconds in reference_cpu.items():
        if pops in task.scores or len(rows) == len(task):
            mean = task.scores[pops][rows].mean() if pops in task.scores else REFERENCE_MEAN[pops]
            print(f"{f'the reference, pop limit {pops}':>32} {mean:11.4f} {'':5} {seconds:8.4f}")
    return runs


def choose(runs: dict[tuple[int, ...], Run], task: Task, rows: np.ndarray) -> tuple[int, ...]:
    """The cheapest beam that scores at least what the reference does at pop limit 200; the best one if none does."""
    target = task.scores[200][rows].mean()
    good = [widths for widths, found in runs.items() if found.scores.mean() >= target]
    return (
        min(good, key=lambda widths: runs[widths].cpu)
        if good
        else max(runs, key=lambda widths: runs[widths].scores.mean())
    )


def report_phrases(folder: Path, task: Task, beam: Beam, rows: np.ndarray) -> None:
    """Phrases without distortion: not Moses' model, so no scores of Moses stand beside these."""
    print("\nphrase table, no distortion and no lexical reordering (another model than Moses': scores are our own)")
    print(f"{'':32} {'mean score':>11} {'CPU s':>8}")
    for name, swap_span in (("monotone glue", 0), (f"blocks of up to {SWAP_SPAN} words swapped", SWAP_SPAN)):
        found = run(phrase_task(folder, task, swap_span), beam, rows)
        print(f"{name:>32} {found.scores.mean():11.4f} {found.cpu:8.4f}")


if __name__ == "__main__":
    main()
