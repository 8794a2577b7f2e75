"""What a kernel would cost on a GPU, and what must not be in it."""

import re
from dataclasses import dataclass, replace

from .compiling import NO_LAUNCHES, Compiled, Thunk
from .loops import LoopCounts

FEW = 4  # a loop of so many iterations is a way to write the same code once
FLAGS = {
    "f64": "double precision",
    "callback": "asks Python",
    "transfer": "copies to or from the host inside a loop",
    "tf32": "matrix products in TF32, with 10 bits of mantissa",
    "cas": "adds floats by compare-and-swap",
    "atomic": "adds floats atomically: the order of threads decides the bytes",
    "sort": "sorts whole arrays inside an inner loop",
    "host loop": "the host decides after each iteration whether a loop goes on",
}
_HOST_COPY = re.compile(r"k\w*(HostToDevice|DeviceToHost)\w*|kInfeed|kOutfeed|kHostSend|kHostRecv")
_FLOAT_ADD = re.compile(r"\b(?:atom|red)\.[\w.]*add[\w.]*\.(?:noftz\.)?(?:f16|f32|f64|bf16)")


@dataclass
class Certificate:
    """Of one kernel on one device.

    launches: kernels and copies that the device runs for one call; submissions: what the host hands over for that,
      which is less where launches are recorded as one command buffer.
    a_step: launches in one iteration of the loop that takes most of them, inner loops included; all, without a loop.
    steps: iterations of that loop. is_exact: all loops that decide the numbers were counted.
    """

    launches: int
    submissions: int
    a_step: float
    steps: int
    is_exact: bool
    flags: list[str]


@dataclass
class _Visit:
    """How often a part of the program runs: times, the depth of loops around it, whether within a command buffer."""

    times: float
    depth: int = 0
    is_recorded: bool = False


class _Counter:
    def __init__(self, compiled: Compiled, counts: LoopCounts | None):
        self.compiled, self.counts = compiled, counts
        self.launches = self.submissions = 0.0
        self.is_exact = True
        self.flags: set[str] = set()
        self.by_loop: list[tuple[float, float]] = []  # launches and iterations of the outermost loops

    def visit(self, thunks: list[Thunk], at: _Visit) -> None:
        for thunk in thunks:
            self._flag(thunk, at)
            if thunk.kind == "kWhile":
                self._loop(thunk, at)
            elif thunk.kind == "kConditional":
                self._branch(thunk, at)
            elif thunk.parts:
                if thunk.kind == "kCommandBuffer":
                    self.submissions += 0 if at.is_recorded else at.times
                inner = at.is_recorded or thunk.kind == "kCommandBuffer"
                self.visit(thunk.parts["body"], _Visit(at.times, at.depth, inner))
            elif thunk.kind not in NO_LAUNCHES:
                self.launches += at.times
                self.submissions += 0 if at.is_recorded else at.times

    def _loop(self, thunk: Thunk, at: _Visit) -> None:
        loop, before = self.compiled.loops[thunk.number], self.launches
        if loop.num_iterations is not None:
            total = at.times * loop.num_iterations
        else:
            total = self._counted(thunk)
            if not at.is_recorded:
                self.flags.add("host loop")
        is_loop = total > FEW * at.times
        inside = _Visit(total, at.depth + is_loop, at.is_recorded)
        if loop.num_iterations is None:  # else XLA counts on the host, and never asks
            self.visit(thunk.parts.get("condition", []), _Visit(total + at.times, at.depth, at.is_recorded))
        self.visit(thunk.parts["body"], inside)
        if at.depth == 0:
            self.by_loop.append((self.launches - before, total))

    def _counted(self, thunk: Thunk) -> float:
        """Iterations of a loop whose length only the device knows, shared evenly by its copies in the program."""
        loop = self.compiled.loops[thunk.number]
        total = None if self.counts is None else self.counts.of(loop)
        if total is None:
            self.is_exact = False
            return 1.0
        copies = sum(
            other.num_iterations is None and (other.file, other.first_line) == (loop.file, loop.first_line)
            for other in self.compiled.loops.values()
        )
        return total / copies

    def _branch(self, thunk: Thunk, at: _Visit) -> None:
        """As often as each branch was taken; of branches that were not seen the longest one counts."""
        place = self.compiled.branches.get(thunk.number)
        shares = None if place is None or self.counts is None else self.counts.shares(place, len(thunk.parts))
        if shares is not None:
            for share, part in zip(shares, thunk.parts.values(), strict=True):
                self.visit(part, replace(at, times=at.times * share))
            return
        branches = []
        for part in thunk.parts.values():
            before = self.launches, self.submissions
            self.visit(part, at)
            branches.append((self.launches - before[0], self.submissions - before[1]))
            self.launches, self.submissions = before
        longest = max(branches, default=(0.0, 0.0))
        self.launches, self.submissions = self.launches + longest[0], self.submissions + longest[1]

    def _flag(self, thunk: Thunk, at: _Visit) -> None:
        if at.depth and _HOST_COPY.match(thunk.kind):
            self.flags.add("transfer")
        if at.depth > 1 and (thunk.kind == "kCubSort" or re.match(r"(wrapped_)?sort", thunk.text)):
            self.flags.add("sort")


def certify(compiled: Compiled, counts: LoopCounts | None) -> Certificate:
    """Counts launches, and looks for what must not be there; counts: of loops whose length only the device knows."""
    counter = _Counter(compiled, counts)
    counter.visit(compiled.thunks, _Visit(1.0))
    flags = counter.flags | text_flags(compiled.program, compiled.assembly)
    launches, steps = max(counter.by_loop, default=(counter.launches, 1.0))
    return Certificate(
        round(counter.launches), round(counter.submissions), launches / max(steps, 1), round(steps), counter.is_exact,
        [name for name in FLAGS if name in flags],
    )  # fmt: skip


def text_flags(program: str, assembly: str) -> set[str]:
    """What the program (HLO) and the assembly (PTX) show by a word."""
    found = {
        "f64": bool(re.search(r"\bf64\[", program)),
        "callback": "callback" in " ".join(re.findall(r'custom_call_target="([^"]*)"', program)),
        "tf32": bool(re.search(r"mma[\w.]*\.tf32", assembly)),
        "cas": bool(re.search(r"\batom\.[\w.]*cas", assembly)),
        "atomic": bool(_FLOAT_ADD.search(assembly)),
    }
    return {name for name, is_there in found.items() if is_there}
