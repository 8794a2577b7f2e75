"""How long a model takes to open, beside one of a tenth of its rules; and what fetching rules for each text costs.

    python benchmarks/opening.py --phrase runs/phrase/model --hiero runs/hiero/model --lines dev.fr [--domain NAME]

Either model may be left out. The lines are text that the models have not seen. For each model:
    first translation   from the start of a process to its first line, the best of three after one that compiles;
                        resident: the most memory of that process, mapped files included
    opening             the folder opened and the rules of one line fetched, in a process that has imported everything;
                        a tenth: the same for a copy of the model with every tenth source side
    a line              CPU-seconds of lines translated one by one, and in blocks, beside blocks whose rules were
                        fetched beforehand
The last line is one JSON object.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from measure import print_figures

from jaxsmt import load_model
from jaxsmt.common.files import write_manifest
from jaxsmt.model.folder import COMPONENTS, FORMAT_VERSION
from jaxsmt.model.library import LoadedModel
from jaxsmt.model.source_text import source_text
from jaxsmt.text.streams import read_lines
from jaxsmt.tm.component import load_component, save_component
from jaxsmt.tm.restrict import keep_pairs

REPOSITORY = Path(__file__).resolve().parent.parent
TIMES, PART = 3, 10
OPENING = """
import sys, time
from jaxsmt import load_model
import jaxsmt.model.translation, jaxsmt.search.stack.decoder, jaxsmt.search.chart.decoder
from jaxsmt.model.source_text import source_text
began = time.perf_counter()
model = load_model(sys.argv[1])
model.translator.for_text(source_text(model.model.source, [sys.argv[2]]))
print(time.perf_counter() - began)
"""


@dataclass(frozen=True)
class Figures:
    """Of one model; seconds."""

    num_pairs: int
    first: float
    resident_gb: float
    opening: float
    opening_part: float
    one_by_one: float
    block: float
    fetched_before: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phrase", type=Path, help="model folder with phrases")
    parser.add_argument("--hiero", type=Path, help="model folder with rules")
    parser.add_argument("--lines", type=Path, required=True, help="source text")
    parser.add_argument("--domain", default="none", help="weights to translate with")
    parser.add_argument("--most", type=int, default=200, help="lines to translate")
    options = parser.parse_args()
    lines = [line for line in read_lines(options.lines) if line.strip()][: options.most]
    found = {
        kind: measure(getattr(options, kind), lines, options.domain)
        for kind in ("phrase", "hiero")
        if getattr(options, kind) is not None
    }
    print(f"{'':8}{'rules':>12}{'first line':>12}{'resident':>10}{'opening':>9}{'a tenth':>9}"
          f"{'typed':>9}{'in blocks':>10}{'fetched':>9}")  # fmt: skip
    for kind, part in found.items():
        at_start = f"{part.first:10.2f} s{part.resident_gb:7.2f} GB{part.opening:7.2f} s{part.opening_part:7.2f} s"
        a_line = f"{part.one_by_one:7.3f} s{part.block:8.3f} s{part.fetched_before:7.3f} s"
        print(f"{kind:8}{part.num_pairs:12,}{at_start}{a_line}")
    print_figures(json_figures(found))


def json_figures(found: dict[str, Figures]) -> dict[str, float]:
    """What the last line has."""
    figures = {f"first_translation_{kind}": round(part.first, 2) for kind, part in found.items()}
    figures |= {f"pairs_{kind}": part.num_pairs for kind, part in found.items()}
    figures["resident_gb"] = round(max(part.resident_gb for part in found.values()), 3)
    figures["open_ratio"] = round(max(part.opening / part.opening_part for part in found.values()), 2)
    figures["fetch_ratio"] = round(max(part.block / part.fetched_before for part in found.values()), 3)
    figures["typed_seconds"] = round(max(part.one_by_one for part in found.values()), 4)
    return figures


def measure(folder: Path, lines: Sequence[str], domain: str) -> Figures:
    """All figures of a model folder."""
    first_line(folder, lines[0], domain)  # compiles, and looks at every file once
    starts = [first_line(folder, lines[0], domain) for _ in range(TIMES)]
    with tempfile.TemporaryDirectory() as scratch:
        part = smaller_model(folder, Path(scratch) / "model")
        openings = [min(opening(path, lines[0]) for _ in range(TIMES)) for path in (folder, part)]
    model = load_model(folder)
    num_pairs = sum(map(len, model.model.rules.components))
    seconds, resident = min(start for start, _ in starts), max(memory for _, memory in starts)
    return Figures(num_pairs, seconds, resident, *openings, *seconds_a_line(model, lines, domain))


def first_line(folder: Path, line: str, domain: str) -> tuple[float, float]:
    """Seconds from the start of a process to its first translation, and the most memory it had, in GB."""
    command = [sys.executable, str(REPOSITORY / "decode.py"), f"model_dir={folder}", f"domain={domain}", "stream=true"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "quiet=true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer, seconds = process.stdout.readline(), time.perf_counter() - began
    assert answer.strip(), "no translation came"
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return seconds, usage.ru_maxrss * 1024 / 1e9


def opening(folder: Path, line: str) -> float:
    """Seconds to open a model and to fetch the rules of a line."""
    command = [sys.executable, "-c", OPENING, str(folder), line]
    return float(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout)


def smaller_model(folder: Path, copy: Path) -> Path:
    """A copy with every tenth source side and all of its pairs."""
    shutil.copytree(folder, copy)
    for path in sorted((copy / COMPONENTS).iterdir()):
        component = load_component(path)
        kept = keep_pairs(component.rules, np.flatnonzero(component.rules.source_index % PART == 0))
        sources, targets = np.unique(kept.source_index), np.unique(kept.target_index)
        rules = replace(
            kept,
            source_sides=kept.source_sides[sources],
            target_sides=kept.target_sides[targets],
            source_counts=kept.source_counts[sources],
            target_counts=kept.target_counts[targets],
            source_index=np.searchsorted(sources, kept.source_index).astype(np.int32),
            target_index=np.searchsorted(targets, kept.target_index).astype(np.int32),
        )
        save_component(replace(component, rules=rules), copy / "new")
        shutil.rmtree(path)
        (copy / "new").rename(path)
    (copy / "manifest.json").unlink()
    write_manifest(copy, {"format": FORMAT_VERSION, "stage": "model"})
    return copy


def seconds_a_line(model: LoadedModel, lines: Sequence[str], domain: str) -> tuple[float, float, float]:
    """CPU-seconds of a line: one by one; in blocks; in blocks whose rules were fetched beforehand; all compiled."""
    label = None if domain == "none" else domain
    text = source_text(model.model.source, lines)
    before, profiles = model.translator.for_text(text), model.model.profiles([label] * len(lines))
    few = lines[:50]

    def typed() -> None:
        for line in few:
            model.translate([line], domain=domain)

    ways = (typed, len(few)), (lambda: model.translate(lines, domain=domain), len(lines)), (
        lambda: before.translate(text, profiles), len(lines))  # fmt: skip
    found = []
    for way, num in ways:
        way()
        began = time.process_time()
        way()
        found.append((time.process_time() - began) / num)
    return found[0], found[1], found[2]


if __name__ == "__main__":
    main()
