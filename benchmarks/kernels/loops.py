"""How often loops of a kernel run and branches are taken, and how many lanes that ask a language model hold a question.

The kernel is run once on this machine with the arguments that were recorded, its loops and branches told to count
themselves. They are known by the line of the source that starts them, which XLA also notes.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.lm import scoring
from jaxsmt.search.chart import column_scoring
from jaxsmt.text.vocabulary import PAD

from .compiling import Loop
from .recording import Kernel


@dataclass
class LoopCounts:
    """Iterations by file and line, all runs of a loop together; branches taken; lanes of look-ups in models."""

    iterations: Counter[tuple[str, int]] = field(default_factory=Counter)
    taken: Counter[tuple[str, int, int]] = field(default_factory=Counter)  # by file, line and number of the branch
    lanes_asked: int = 0
    lanes_used: int = 0

    def of(self, loop: Loop) -> int | None:
        """Iterations of a loop of the compiled program; None if it was not seen."""
        lines = range(loop.first_line, loop.last_line + 1)
        found = [self.iterations[loop.file, line] for line in lines if (loop.file, line) in self.iterations]
        return max(found) if found else None

    def shares(self, place: Loop, num: int) -> list[float] | None:
        """How often each of `num` branches is taken; None if that was not seen."""
        lines = range(place.first_line, place.last_line + 1)
        found = [sum(self.taken[place.file, line, branch] for line in lines) for branch in range(num)]
        return [count / sum(found) for count in found] if sum(found) else None

    def _take(self, place: tuple[str, int], branch: int) -> None:
        self.taken[*place, branch] += 1

    def _step(self, place: tuple[str, int]) -> None:
        self.iterations[place] += 1

    def _asked(self, size: int, used: Any) -> None:
        self.lanes_asked += size
        self.lanes_used += int(used)


def count_loops(kernel: Kernel) -> LoopCounts:
    """Runs a kernel once and counts."""
    counts = LoopCounts()
    with _counting(counts):
        traced = getattr(kernel.function, "jitted", kernel.function)  # not as an earlier process traced it
        jax.block_until_ready(traced(*kernel.arguments, **kernel.keywords))
        jax.effects_barrier()
    return counts


@contextmanager
def _counting(counts: LoopCounts) -> Iterator[None]:
    while_loop, fori_loop, switch = jax.lax.while_loop, jax.lax.fori_loop, jax.lax.switch

    def counted_while(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
        return while_loop(cond_fun, _counted(body_fun, _caller(counts), counts), init_val)

    def counted_fori(lower: Any, upper: Any, body_fun: Callable, init_val: Any, **options: Any) -> Any:
        return fori_loop(lower, upper, _counted(body_fun, _caller(counts), counts), init_val, **options)

    def counted_switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
        place = _caller(counts)
        return switch(index, [_noted(branch, place, at, counts) for at, branch in enumerate(branches)], *operands)

    jax.clear_caches()  # else a kernel that was traced before does not count
    try:
        jax.lax.while_loop, jax.lax.fori_loop, jax.lax.switch = counted_while, counted_fori, counted_switch
        with _counted_look_ups(counts):
            yield
    finally:
        jax.lax.while_loop, jax.lax.fori_loop, jax.lax.switch = while_loop, fori_loop, switch
        jax.clear_caches()


def _caller(counts: LoopCounts) -> tuple[str, int]:
    """The line that starts a loop; it counts as seen even if it never runs."""
    frame = sys._getframe(2)
    place = frame.f_code.co_filename, frame.f_lineno
    counts.iterations[place] += 0
    return place


def _counted(body: Callable, place: tuple[str, int], counts: LoopCounts) -> Callable:
    def run(*carry: Any) -> Any:
        jax.debug.callback(lambda: counts._step(place))
        return body(*carry)

    return run


def _noted(branch: Callable, place: tuple[str, int], number: int, counts: LoopCounts) -> Callable:
    def run(*operands: Any) -> Any:
        jax.debug.callback(lambda: counts._take(place, number))
        return branch(*operands)

    return run


@contextmanager
def _counted_look_ups(counts: LoopCounts) -> Iterator[None]:
    """Lanes without a question ask for PAD."""

    def counted(look_up: Callable) -> Callable:
        def ask(automaton: Any, state: Any, word: Any) -> Any:
            size = int(jnp.size(word))
            jax.debug.callback(lambda used: counts._asked(size, used), (word != PAD).sum())
            return look_up(automaton, state, word)

        return ask

    replaced = {id(look_up): counted(look_up) for look_up in (scoring.look_up, column_scoring.look_up_columns)}
    places = [
        (module, name, value)
        for key, module in list(sys.modules.items())
        if key.startswith("jaxsmt.")
        for name, value in list(vars(module).items())
        if id(value) in replaced
    ]
    for module, name, value in places:
        setattr(module, name, replaced[id(value)])
    try:
        yield
    finally:
        for module, name, value in places:
            setattr(module, name, value)
