"""Aligning and extracting in one process, and as tasks of Dask workers on the same machine: seconds of both.

    python benchmarks/cluster.py                      the first 20,000 pairs of law, two workers
    python benchmarks/cluster.py --pairs 10000 20000 40000 --kind hiero

The data folder is $JAXSMT_DATA or ../shared/data beside the repository: <folder>/fr-en/law/train.{fr,en}.gz. Needs
jaxsmt[cluster]. Everything is compiled and workers are there before the clock starts; the largest size decides the
figures of the last line, smaller ones show how times grow. Both ways must give the
same bytes, or it ends with an error. On a machine that does other things, too, CPU-seconds tell more than seconds.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from measure import Measurement, measured, print_figures
from rich.console import Console
from rich.table import Table

from jaxsmt.align.training import train_and_align
from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.cluster.dask_tasks import TasksOnDask
from jaxsmt.common.device import setup_device
from jaxsmt.common.ragged import Ragged
from jaxsmt.extract.config import HIERO, PHRASE, ExtractConfig
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.preparing import PreparedText, prepare_bitext
from jaxsmt.text.reading import BitextSource, read_bitext

DATA = Path(os.environ.get("JAXSMT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Times:
    """What the steps of one size took, one way: seconds, and CPU-seconds of all processes together."""

    pairs: int
    way: str
    steps: dict[str, Measurement]
    rules: int


@dataclass(frozen=True)
class Made:
    """What both ways must have in common."""

    text: PreparedText
    links: Ragged
    counts: RuleCounts

    def arrays(self) -> list[np.ndarray]:
        """All of it."""
        rules = [getattr(self.counts, column.name) for column in fields(self.counts)]
        text = [self.text.bitext.source.values, self.text.bitext.target.values]
        return [*text, self.links.values, *(array for array in rules if array is not None)]


def main() -> None:
    options = parse_options()
    setup_device()
    found: list[Times] = []
    with tempfile.TemporaryDirectory() as scratch:
        tasks = TasksOnDask(WorkersConfig("local", workers=options.workers), Path(scratch) / "tasks")
        try:
            for way in (None, tasks):
                run(options.pairs[0], options.kind, way)  # compiles, and starts the workers
            for number in options.pairs:
                found += compared(number, options.kind, tasks)
        finally:
            tasks.release()
    show(found)
    one, many = found[-2:]
    figures: dict[str, float] = {"pairs": one.pairs, "rules": one.rules, "workers": options.workers}
    for step, alone in one.steps.items():
        together = many.steps[step]
        figures[f"{step}_speedup"] = round(alone.seconds / together.seconds, 3)
        figures[f"{step}_cpu_ratio"] = round(together.cpu_seconds / alone.cpu_seconds, 3)
        figures[f"{step}_cpu_seconds"] = round(alone.cpu_seconds, 2)
    figures["load"] = round(os.getloadavg()[1], 2)
    print_figures(figures)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[20_000], help="sizes, ascending")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", choices=(PHRASE, HIERO), default=PHRASE)
    return parser.parse_args()


def compared(number: int, kind: str, tasks: TasksOnDask) -> list[Times]:
    """Both ways, one after the other."""
    (one, here), (many, there) = run(number, kind, None), run(number, kind, tasks)
    for first, second in zip(one.arrays(), many.arrays(), strict=True):
        if first.dtype != second.dtype or not np.array_equal(first, second):
            raise SystemExit("error: workers give other bytes than one process")
    return [here, there]


@contextmanager
def watched(tasks: TasksOnDask | None) -> Iterator[Measurement]:
    """Measures a block, with the processor time of the workers added."""
    before = worker_cpu(tasks)
    with measured() as found:
        yield found
    found.cpu_seconds += worker_cpu(tasks) - before


def worker_cpu(tasks: TasksOnDask | None) -> float:
    """CPU-seconds of all workers since they were started."""
    return 0.0 if tasks is None or tasks._client is None else sum(tasks._client.run(time.process_time).values())


def run(number: int, kind: str, tasks: TasksOnDask | None) -> tuple[Made, Times]:
    """From raw text to counts."""
    steps: dict[str, Measurement] = {}
    files = [str(DATA / "fr-en" / "law" / f"train.{language}.gz") for language in ("fr", "en")]
    spec = BitextSource(*files, source_language="fr", target_language="en", first=number)
    with watched(tasks) as steps["prepare"]:
        text = prepare_bitext(read_bitext(spec), TextConfig(case="true"), ("fr", "en"), tasks=tasks)
    bitext: Bitext = text.bitext
    with watched(tasks) as steps["align"]:
        sizes = len(text.source.vocabulary), len(text.target.vocabulary)
        links = train_and_align(bitext, *sizes, tasks=tasks)[1]
    with watched(tasks) as steps["extract"]:
        counts = extract_counts(bitext, links, ExtractConfig(kind=kind), tasks=tasks)
    way = "one process" if tasks is None else f"{tasks.num_workers} workers"
    return Made(text, links, counts), Times(len(bitext), way, steps, len(counts))


def show(found: list[Times]) -> None:
    table = Table(title="Seconds (CPU-seconds of all processes)", title_justify="left")
    for name in ("pairs", "way", "preparing", "aligning", "extracting", "rules"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for row in found:
        seconds = (f"{step.seconds:.1f} ({step.cpu_seconds:.1f})" for step in row.steps.values())
        table.add_row(f"{row.pairs:,}", row.way, *seconds, f"{row.rules:,}")
    Console().print(table)


if __name__ == "__main__":
    main()
