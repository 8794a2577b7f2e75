"""Decoding and aligning on one device and on two, host devices of the same processor: seconds of both.

    python benchmarks/devices.py                      5,000 pairs of law, 256 lines, one device and two
    python benchmarks/devices.py --pairs 20000 --devices 4 --extract hiero

The data folder is $JAXSMT_DATA or ../shared/data beside the repository: <folder>/fr-en/law/{train,test}.{fr,en}.gz.
Numbers of devices take turns, each in a process of its own (XLA is told how many there are before it starts), and of
each the best of some runs counts, after one that compiles. All must give the same bytes, or it ends with an error.
Host devices share the cores, and one of them may use several: what several GPUs are worth this does not tell. On a
machine that does other things, too, CPU-seconds tell more than seconds.
"""

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

from measure import measured, print_figures
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("JAXSMT_DATA", REPOSITORY.parent / "shared" / "data"))
FLAG = "--xla_force_host_platform_device_count"
WORKS = ("decode", "align")
Found = dict[str, Any]


def main() -> None:
    options = parse_options()
    if options.measure:
        print(json.dumps({work: repeated(work, options) for work in WORKS}))
        return
    with tempfile.TemporaryDirectory() as scratch:
        options.model = train(Path(scratch), options)
        numbers = [1, options.devices]
        rounds = [{number: in_a_process(number, options) for number in numbers} for _ in range(options.rounds)]
    best = {(number, work): best_of([row[number][work] for row in rounds]) for number in numbers for work in WORKS}
    show(best, numbers)
    figures: Found = {"pairs": options.pairs, "lines": options.lines, "devices": options.devices}
    for work in WORKS:
        one, several = (best[number, work] for number in numbers)
        figures[f"{work}_speed_up"] = round(one["seconds"] / several["seconds"], 3)
        figures[f"{work}_cpu_ratio"] = round(several["cpu_seconds"] / one["cpu_seconds"], 3)
        figures[f"{work}_compiled"], figures[f"{work}_compiled_on_one"] = several["programs"], one["programs"]
    figures["same_bytes"] = all(len({row[n][work]["digest"] for row in rounds for n in numbers}) == 1 for work in WORKS)
    figures["load"] = round(os.getloadavg()[1], 2)
    if not figures["same_bytes"]:
        raise SystemExit("error: the number of devices changes bytes")
    print_figures(figures)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--lines", type=int, default=256)
    parser.add_argument("--devices", type=int, default=2, help="beside one")
    parser.add_argument("--extract", choices=("phrase", "hiero"), default="phrase")
    parser.add_argument("--rounds", type=int, default=2, help="processes for each number of devices")
    parser.add_argument("--times", type=int, default=2, help="measured runs in each process")
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def train(scratch: Path, options: argparse.Namespace) -> Path:
    """A model of the pairs, to decode with."""
    corpus = [f"+corpus.components.law.{key}={value}" for key, value in law("train").items()]
    command = [sys.executable, REPOSITORY / "train.py", "corpus=files", *corpus]
    command += [f"+corpus.components.law.first={options.pairs}", "corpus.source_language=fr"]
    command += ["corpus.target_language=en", f"extract={options.extract}", "mixture=concatenation", "lm=trigram"]
    command += ["align=ibm1", "translate=[]", "report=false", f"work_dir={scratch}", f"output_dir={scratch}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return scratch / "model"


def law(split: str) -> dict[str, Path]:
    """The files of both sides."""
    return {side: DATA / "fr-en" / "law" / f"{split}.{language}.gz" for side, language in SIDES.items()}


SIDES = {"source": "fr", "target": "en"}


def in_a_process(number: int, options: argparse.Namespace) -> dict[str, Found]:
    """What a process with so many devices measures."""
    command = [sys.executable, __file__, "--measure", "--model", options.model, "--times", str(options.times)]
    command += ["--pairs", str(options.pairs), "--lines", str(options.lines)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}={number}"
    environment = {**os.environ, "XLA_FLAGS": flags.strip()}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def repeated(work: str, options: argparse.Namespace) -> Found:
    """The best of some runs after one that compiles; programs: compiled, or read from the cache, by the first."""
    import jax

    from jaxsmt.common.device import setup_device

    setup_device()
    events: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: events.append(event))
    run = {"decode": decoding, "align": aligning}[work](options)
    digests = {run()}
    programs = sum(event.endswith("backend_compile_duration") for event in events)
    runs = []
    for _ in range(options.times):
        with measured() as taken:
            digests.add(run())
        runs.append({"seconds": taken.seconds, "cpu_seconds": taken.cpu_seconds, "programs": programs})
    return best_of(runs) | {"digest": " ".join(sorted(digests))}


def best_of(runs: list[Found]) -> Found:
    return {**min(runs, key=lambda run: run["seconds"]), "cpu_seconds": min(run["cpu_seconds"] for run in runs)}


def decoding(options: argparse.Namespace) -> Any:
    """A function that translates the lines and returns the digest of translations and scores."""
    from jaxsmt import load_model

    model = load_model(options.model)
    with gzip.open(law("test")["source"], "rt", encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in islice(stream, options.lines)]

    def run() -> str:
        found = [(line.text, line.score) for line in model.translate(lines)]
        return hashlib.sha256(repr(found).encode()).hexdigest()

    return run


def aligning(options: argparse.Namespace) -> Any:
    """A function that aligns the pairs and returns the digest of links and lexicon."""
    import numpy as np

    from jaxsmt.align.training import train_and_align
    from jaxsmt.text.encoding import TextConfig
    from jaxsmt.text.preparing import prepare_bitext
    from jaxsmt.text.reading import BitextSource, read_bitext

    files = {side: str(path) for side, path in law("train").items()}
    source = BitextSource(**files, source_language="fr", target_language="en", first=options.pairs)
    text = prepare_bitext(read_bitext(source), TextConfig(case="true"), tuple(SIDES.values()))

    def run() -> str:
        aligner, links = train_and_align(text.bitext, len(text.source.vocabulary), len(text.target.vocabulary))
        found = [links.values, links.offsets, *map(np.asarray, aligner.lexicon)]
        return hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest()

    return run


def show(best: dict[tuple[int, str], Found], numbers: list[int]) -> None:
    table = Table(title="Seconds (CPU-seconds; programs compiled)", title_justify="left")
    for name in ("devices", "decoding", "aligning"):
        table.add_column(name, justify="right")
    for number in numbers:
        rows = (best[number, work] for work in WORKS)
        cells = (f"{row['seconds']:.2f} ({row['cpu_seconds']:.2f}; {row['programs']})" for row in rows)
        table.add_row(str(number), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
