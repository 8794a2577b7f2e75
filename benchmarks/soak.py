"""Hostile treatment for a long time: kills, races, damaged files, drawn configurations and text; figures of what held.

    python benchmarks/soak.py                              all of it, on a corpus of a few sentences
    python benchmarks/soak.py --only kills races           some of it
    python benchmarks/soak.py --only kills --stride 1      a kill at every single rename

The harness is that of the tests (tests/faults; pip install -e '.[test]'). Last line: one JSON object;
kills_identical must equal kills, and config_tracebacks, lines_lost, flips_silent, flip_tracebacks, race_failures be 0.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import print_figures
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the harness of the tests

from jaxsmt.common.device import setup_device
from tests.faults.damage import damage_model, damage_store
from tests.faults.drawn_configs import draw_configs
from tests.faults.drawn_lines import drawn_lines, translate_lines
from tests.faults.forked import Forker, Job
from tests.faults.kills import QUICK, killed_and_whole, races
from tests.pipeline.small_corpus import write_corpus

Figures = dict[str, int]
Part = Callable[[argparse.Namespace, Path], tuple[Figures, list[str]]]
LINES_AT_ONCE = 2500


def main() -> None:
    options = parse_options()
    setup_device()
    figures: Figures = {}
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.only or PARTS:
            started = time.perf_counter()
            found, complaints = PARTS[name](options, Path(scratch) / name)
            figures |= found
            rows.append((name, found, time.perf_counter() - started))
            for complaint in complaints:
                print(f"{name}: {complaint}", file=sys.stderr)
            print(f"{name}: {found}", file=sys.stderr, flush=True)
    show(rows)
    print_figures(dict(figures))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), help="parts to run; all by default")
    parser.add_argument("--stride", type=int, default=6, help="renames between two kills")
    parser.add_argument("--flips", type=int, default=8, help="flipped bits in each file; half as many truncations")
    parser.add_argument("--races", type=int, default=32)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--configs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0, help="of flips and lines; configurations are always the same")
    return parser.parse_args()


def soak_kills(options: argparse.Namespace, scratch: Path) -> tuple[Figures, list[str]]:
    """Train, tune, sweep and decode are killed along their renames; what they make must be the same."""
    with Forker(scratch / "said") as forker:
        found = killed_and_whole(forker, scratch, options.stride)
    complaints = [f"differs: {name}" for name in found.differing]
    print(f"kills by command: {found.kills}", file=sys.stderr)
    return {"kills": found.number, "kills_identical": 0 if complaints else found.number}, complaints


def soak_races(options: argparse.Namespace, scratch: Path) -> tuple[Figures, list[str]]:
    """Two and three processes, of one host and of two, train on one fresh folder."""
    with Forker(scratch / "said") as forker:
        found = races(forker, scratch, options.races)
    return {"races": found.number, "race_failures": len(found.failures)}, found.failures


def soak_flips(options: argparse.Namespace, scratch: Path) -> tuple[Figures, list[str]]:
    """Flipped bits and truncations in every file of a model and of a store."""
    folder = trained(scratch)
    kinds = {"flipped": options.flips, "truncated": options.flips // 2, "emptied": 1, "removed": 1}
    rng = np.random.default_rng(options.seed)
    parts = [damage_model(folder / "model", kinds, rng), damage_store(folder / "artefacts", kinds, rng)]
    silent = [text for part in parts for text in part.silent]
    tracebacks = [text for part in parts for text in part.tracebacks]
    figures = {
        "flips": sum(part.number for part in parts), "flips_silent": len(silent), "flip_tracebacks": len(tracebacks)
    }  # fmt: skip
    return figures, silent + tracebacks


def soak_lines(options: argparse.Namespace, scratch: Path) -> tuple[Figures, list[str]]:
    """Lines of all of Unicode are translated."""
    model = trained(scratch) / "model"
    lines = drawn_lines(options.lines, options.seed)
    blocks = [lines[start : start + LINES_AT_ONCE] for start in range(0, len(lines), LINES_AT_ONCE)]
    parts = [translate_lines(scratch, model, block) for block in blocks]
    complaints = [text for part in parts for text in part.tracebacks]
    return {"lines": sum(part.lines for part in parts), "lines_lost": sum(part.lost for part in parts)}, complaints


def soak_configs(options: argparse.Namespace, scratch: Path) -> tuple[Figures, list[str]]:
    """Configurations drawn from the schema come to work or are refused with a sentence."""
    model = trained(scratch) / "model"
    place = scratch / "place"
    place.mkdir()
    found = draw_configs(place, write_corpus(scratch / "corpus"), model, options.configs)
    print(f"configurations: {found.working} came to work, {found.refused} were refused", file=sys.stderr)
    return {"configs": found.number, "config_tracebacks": len(found.tracebacks)}, found.tracebacks


PARTS: dict[str, Part] = {
    "flips": soak_flips, "kills": soak_kills, "races": soak_races, "lines": soak_lines, "configs": soak_configs
}  # fmt: skip


def trained(scratch: Path) -> Path:
    """A folder with a small model and its artefacts."""
    folder = scratch / "trained"
    corpus = write_corpus(scratch / "corpus")
    with Forker(scratch / "said") as forker:
        ended = forker.run(Job(["train", *corpus, *QUICK, "translate=[]", f"work_dir={folder}"]))[0]
    if ended.code:
        raise SystemExit(ended.errors)
    return folder


def show(rows: list[tuple[str, Figures, float]]) -> None:
    table = Table("part", "figures", "seconds", title="What was done to it, and what held", title_justify="left")
    for name, figures, seconds in rows:
        listed = ", ".join(f"{value:,} {key.replace('_', ' ')}" for key, value in figures.items())
        table.add_row(name, listed, f"{seconds:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
