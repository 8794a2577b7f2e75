"""What jaxsmt's kernels become on an A100 and an H100, compiled ahead of time on a machine without a GPU.

    python benchmarks/device.py
    python benchmarks/device.py --model runs/in_out/model --input test.fr --sentences 512

Trains and translates the demo in several ways, or translates lines with a given model, records every kernel's largest
call with the batches that a GPU is given, compiles it for both devices and prints what it takes. Nothing is run on a
GPU: memory, launches and flags are read from what XLA made, and iterations of loops are counted on this machine. The
last line is one JSON object. Needs the extra `aot`.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"  # else the plug-in for CUDA looks for a driver

from kernels.certificate import FLAGS, Certificate, certify
from kernels.compiling import Compiled, can_compile, compile_for
from kernels.loops import LoopCounts, count_loops
from kernels.recording import Kernel
from kernels.scenes import SCENES, Recording

from jaxsmt.common.device import LOOP_FLAGS, add_flags, device_name, setup_device, sizes_for
from jaxsmt.common.progress import track
from jaxsmt.text.streams import read_lines

DEVICES = ("a100", "h100")
CHART, STACK = "search.chart.kernel.fill_chart", "search.stack.kernel.fill_stacks"
HEADER = (
    f"{'kernel':<46} {'calls':>6} {'A100 s':>7} {'H100 s':>7} {'MB in':>8} {'out':>8} {'temp':>8} "
    f"{'launches':>9} {'submits':>8} {'steps':>6} {'a step':>7} {'sentence':>9}  flags"
)


@dataclass
class Row:
    """A kernel on both devices; counts: None where all loops have a known length."""

    kernel: Kernel
    compiled: dict[str, Compiled]
    counts: LoopCounts | None
    certificate: Certificate
    error: str = ""

    @property
    def launches_per_sentence(self) -> float | None:
        """None if the kernel does not decode, or some loop was not counted."""
        if not self.kernel.num_sentences or not self.certificate.is_exact:
            return None
        return self.certificate.launches / self.kernel.num_sentences

    @property
    def lanes_used(self) -> float | None:
        """Of the lanes that ask a language model."""
        if self.counts is None or not self.counts.lanes_asked:
            return None
        return self.counts.lanes_used / self.counts.lanes_asked

    @property
    def look_ups_per_sentence(self) -> float | None:
        """Words that a language model is asked for, lanes that hold none included."""
        if self.counts is None or not self.kernel.num_sentences:
            return None
        return self.counts.lanes_asked / self.kernel.num_sentences

    @property
    def memory_gb(self) -> float:
        """Arguments, outputs and what is needed on the way."""
        return max(sum(compiled.memory_mb) for compiled in self.compiled.values()) / 1e3


def examine(kernel: Kernel) -> Row:
    """Compiles a kernel for all devices, and counts its loops where that is needed."""
    compiled, error = {}, ""
    for device in DEVICES:
        try:
            compiled[device] = compile_for(kernel, device)
        except Exception as problem:  # whatever XLA says, the table shows it
            error = f"{device}: {str(problem).splitlines()[0][:80]}"
    if not compiled:
        return Row(kernel, {}, None, Certificate(0, 0, 0, 0, False, []), error)
    is_open = any(loop.num_iterations is None for made in compiled.values() for loop in made.loops.values())
    counts = count_loops(kernel) if is_open else None
    certificates = [certify(made, counts) for made in compiled.values()]
    flags = [name for name in FLAGS if any(name in certificate.flags for certificate in certificates)]
    first = certificates[0]
    first.flags = flags
    return Row(kernel, compiled, counts, first, error)


def line_of(row: Row) -> str:
    """One line of the table."""
    seconds = [f"{row.compiled[device].seconds:7.1f}" if device in row.compiled else "      –" for device in DEVICES]
    memory = next(iter(row.compiled.values())).memory_mb if row.compiled else (0.0, 0.0, 0.0)
    own, about = row.certificate, "" if row.certificate.is_exact else "≥"
    each = "–" if row.launches_per_sentence is None else f"{row.launches_per_sentence:.1f}"
    return (
        f"{row.kernel.title:<46} {row.kernel.num_calls:6d} {' '.join(seconds)} "
        f"{' '.join(f'{size:8.2f}' for size in memory)} {about + str(own.launches):>9} {own.submissions:8d} "
        f"{own.steps:6d} {own.a_step:7.1f} {each:>9}  {', '.join(own.flags) or row.error}"
    )


def figures_of(rows: list[Row]) -> dict[str, Any]:
    """The figures of the last line; null where nothing was measured."""
    found = {(row.kernel.name, row.kernel.scene): row for row in rows}
    e_steps = [row for row in rows if row.kernel.name == "align.em._e_step" and row.kernel.choice == "hmm"]

    def of(name: str, scene: str, figure: str) -> float | None:
        row = found.get((name, scene))
        value = None if row is None else getattr(row, figure)
        return None if value is None else round(value, 3)

    return {
        "kernels": len(rows),
        **{f"compiled_{device}": sum(device in row.compiled for row in rows) for device in DEVICES},
        "flags": sum(len(row.certificate.flags) for row in rows),
        "launches_per_sentence_phrase": of(CHART, "phrases", "launches_per_sentence"),
        "launches_per_sentence_hiero": of(CHART, "hiero", "launches_per_sentence"),
        "launches_per_sentence_stack": of(STACK, "stack", "launches_per_sentence"),
        "lanes_used_phrase": of(CHART, "phrases", "lanes_used"),
        "lanes_used_hiero": of(CHART, "hiero", "lanes_used"),
        "lanes_used_stack": of(STACK, "stack", "lanes_used"),
        "look_ups_per_sentence_phrase": of(CHART, "phrases", "look_ups_per_sentence"),
        "look_ups_per_sentence_hiero": of(CHART, "hiero", "look_ups_per_sentence"),
        "look_ups_per_sentence_stack": of(STACK, "stack", "look_ups_per_sentence"),
        "hmm_launches_per_batch": max((row.certificate.launches for row in e_steps), default=None),
        "peak_device_gb": round(max((row.memory_gb for row in rows if row.compiled), default=0.0), 3),
        "sentences": {row.kernel.title: row.kernel.num_sentences for row in rows if row.kernel.num_sentences},
        "device": device_name(),
    }


def record(arguments: argparse.Namespace) -> list[Kernel]:
    """The kernels of the demo, or of a given model."""
    recording = Recording(arguments.kind)
    if arguments.model:
        lines = list(read_lines(arguments.input))[: arguments.sentences]
        recording.translate(arguments.scene, arguments.model, lines)
    else:
        with tempfile.TemporaryDirectory() as folder:
            for scene in track(arguments.scenes or SCENES, "recording"):
                recording.train(scene, SCENES[scene], Path(folder))
    return [kernel for kernel in recording.kernels() if any(name in kernel.title for name in arguments.only)]


def show(rows: Iterable[Row]) -> list[Row]:
    """Prints the table, a row as soon as it is there."""
    print(HEADER)
    shown = []
    for row in rows:
        print(line_of(row), flush=True)
        shown.append(row)
    named = sorted({flag for row in shown for flag in row.certificate.flags}, key=list(FLAGS).index)
    print(*(f"{name}: {FLAGS[name]}" for name in named), sep="\n")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model folder, instead of the demo")
    parser.add_argument("--input", type=Path, help="the text that it translates, a sentence a line")
    parser.add_argument("--sentences", type=int, default=512, help="how many lines of it")
    parser.add_argument("--scene", default="stack", help="phrases, hiero or stack: what the model is")
    parser.add_argument("--scenes", nargs="*", choices=list(SCENES), help="only these runs of the demo")
    parser.add_argument("--only", nargs="*", default=[""], help="only kernels with one of these in their name")
    parser.add_argument("--kind", default="gpu", help="cpu: with the batches that a processor is given")
    arguments = parser.parse_args()
    if not can_compile():
        raise SystemExit("error: the plug-in for CUDA is not installed: run pip install -e '.[aot]'")
    setup_device()
    add_flags(*LOOP_FLAGS)  # as with device.command_buffers=true
    kernels = record(arguments)
    with sizes_for(arguments.kind):
        rows = show(examine(kernel) for kernel in track(kernels, "compiling"))
    print(json.dumps(figures_of(rows)))


if __name__ == "__main__":
    main()
