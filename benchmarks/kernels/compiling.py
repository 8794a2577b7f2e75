"""Compiles kernels for a GPU that is described instead of there, and reads what became of them.

XLA writes down what it makes: the program after its optimisations, the PTX, and the list of launches ("thunks") by
loop and branch. Nothing is run. Needs the extra `aot`; JAX_PLATFORMS must be cpu, or the plug-in looks for a driver.
"""

import contextlib
import importlib.util
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from .recording import Kernel

DEVICES = Path(__file__).resolve().parent / "devices"
NO_LAUNCHES = {"kWaitForStreams", "kPartitionId", "kReplicaId", "kSequential"}  # all others do something on the device
_THUNK = re.compile(r"^( *)(\d+): (k\w+)\s*\[[^\]]*\]\s*(.*)$")
_PART = re.compile(r"^( *)(condition|body|\w*branch\w*):$")


def can_compile() -> bool:
    """Whether the plug-in for CUDA is there."""
    return any(importlib.util.find_spec(f"jax_cuda{number}_plugin") for number in (12, 13))


@dataclass
class Thunk:
    """One entry of the list of launches, and for loops and branches the entries inside by part."""

    number: int
    kind: str
    text: str
    parts: dict[str, list["Thunk"]] = field(default_factory=dict)


@dataclass
class Loop:
    """A loop of the program: its iterations if XLA knows them, and the lines of the source that it comes from."""

    num_iterations: int | None
    file: str
    first_line: int
    last_line: int


@dataclass
class Compiled:
    """What XLA made of a kernel for a device."""

    seconds: float
    memory_mb: tuple[float, float, float]  # arguments, outputs, temporary
    thunks: list[Thunk]
    loops: dict[int, Loop]  # by number of the thunk
    program: str  # HLO
    assembly: str  # PTX
    branches: dict[int, Loop] = field(default_factory=dict)  # by number of the thunk: where choices come from


def topology(device: str) -> Any:
    """The described device, of those in `devices/`."""
    from jax.experimental import topologies

    text = (DEVICES / f"{device}.txtpb").read_text(encoding="utf-8")
    return topologies.get_topology_desc(platform="cuda", target_config=text, topology="1x1x1")


def compile_for(kernel: Kernel, device: str, flags: dict[str, Any] | None = None) -> Compiled:
    """Compiles a kernel with the arguments that were recorded; flags: further options of XLA."""
    sharding = SingleDeviceSharding(topology(device).devices[0])
    with tempfile.TemporaryDirectory() as folder, _without_cache():
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True, **(flags or {})}
        start = time.perf_counter()
        lowered = kernel.trace(sharding).lower(lowering_platforms=("cuda",))
        memory = lowered.compile(compiler_options=options).memory_analysis()
        seconds = time.perf_counter() - start
        return _read(Path(folder), seconds, memory)


@contextlib.contextmanager
def _without_cache() -> Any:
    """What comes from the compilation cache writes nothing down."""
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)


def _read(folder: Path, seconds: float, memory: Any) -> Compiled:
    sizes = (memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes)
    program = _text(folder, "*gpu_after_optimizations.txt")
    sequence = _text(folder, "*thunk_sequence_after_thunk_passes.txt") or _text(folder, "*thunk_sequence.txt")
    names = _thunk_names(_text(folder, "*thunk_metadata.txt"))
    loops_by_name, branches_by_name = _places(program, " while("), _places(program, " conditional(")
    thunks = parse_thunks(sequence)
    loops = {thunk.number: loops_by_name[names[thunk.number]] for thunk in walk(thunks) if thunk.kind == "kWhile"}
    choices = [thunk.number for thunk in walk(thunks) if thunk.kind == "kConditional"]
    branches = {number: branches_by_name[names[number]] for number in choices if names.get(number) in branches_by_name}
    assembly = "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob("*.ptx")))
    return Compiled(seconds, tuple(size / 1e6 for size in sizes), thunks, loops, program, assembly, branches)


def _text(folder: Path, pattern: str) -> str:
    return "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob(pattern)))


def parse_thunks(text: str) -> list[Thunk]:
    """The list of launches as a tree; indentation says what is inside of what."""
    top = Thunk(0, "kSequence", "", {"body": []})
    stack: list[tuple[int, Thunk, str]] = [(-1, top, "body")]  # indentation, entry, its part that is being read
    for line in text.splitlines():
        if part := _PART.match(line):
            # a condition stands at the margin, right behind its loop; other parts two columns inside of theirs
            while part[2] != "condition" and stack[-1][0] > len(part[1]) - 2:
                stack.pop()
            stack[-1] = (*stack[-1][:2], part[2])
            stack[-1][1].parts[part[2]] = []
        elif found := _THUNK.match(line):
            while stack[-1][0] >= len(found[1]):
                stack.pop()
            thunk = Thunk(int(found[2]), found[3], found[4].strip())
            stack[-1][1].parts.setdefault(stack[-1][2], []).append(thunk)
            stack.append((len(found[1]), thunk, "body"))
    return top.parts["body"]


def walk(thunks: list[Thunk]) -> Any:
    """All entries, those inside of others too."""
    for thunk in thunks:
        yield thunk
        for part in thunk.parts.values():
            yield from walk(part)


def _thunk_names(text: str) -> dict[int, str]:
    """Instructions of the program by the number of their entry in the list of launches."""
    found = re.findall(r'profile_annotation: "([^"]*)"\s*thunk_id: (\d+)', text)
    return {int(number): name for name, number in found}


def _places(program: str, operation: str) -> dict[str, Loop]:
    """Loops, or branches, by name."""
    files = dict(re.findall(r'^(\d+) "(.*)"$', program.partition("FunctionNames")[0], re.MULTILINE))
    places = {
        number: (files[file], int(first), int(last))
        for number, file, first, last in re.findall(
            r"^(\d+) \{file_name_id=(\d+) .*?\bline=(\d+) end_line=(\d+)", program, re.MULTILINE
        )
    }
    frames = dict(re.findall(r"^(\d+) \{file_location_id=(\d+)", program, re.MULTILINE))
    found = {}
    for line in program.splitlines():
        if operation not in line or " = " not in line:
            continue
        name = re.search(r"%?([\w.-]+) = ", line)
        trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
        frame = re.search(r"stack_frame_id=(\d+)", line)
        place = places.get(frames.get(frame[1], ""), ("", 0, 0)) if frame else ("", 0, 0)
        assert name
        found[name[1]] = Loop(int(trips[1]) if trips else None, *place)
    return found
