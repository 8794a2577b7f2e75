"""How often the loops of a kernel run, and how many of the lanes that ask a language model hold a question.

The kernel is run once on this machine with the arguments that were recorded, its loops told to count themselves. A loop
is known by the line of the source that starts it, which XLA also notes.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from jaxsmt.lm import column_scoring, scoring
from jaxsmt.text.vocabulary import PAD

from .compiling import Loop
from .recording import Kernel


@dataclass
class LoopCounts:
    """Iterations by file and line, all runs of a loop together; lanes of look-ups in language models."""

    iterations: Counter[tuple[str, int]] = field(default_factory=Counter)
    lanes_asked: int = 0
    lanes_used: int = 0

    def of(self, loop: Loop) -> int | None:
        """Iterations of a loop of the compiled program; None if it was not seen."""
        lines = range(loop.first_line, loop.last_line + 1)
        found = [self.iterations[loop.file, line] for line in lines if (loop.file, line) in self.iterations]
        return max(found) if found else None

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
    while_loop, fori_loop = jax.lax.while_loop, jax.lax.fori_loop

    def counted_while(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
        return while_loop(cond_fun, _counted(body_fun, _caller(counts), counts), init_val)

    def counted_fori(lower: Any, upper: Any, body_fun: Callable, init_val: Any, **options: Any) -> Any:
        return fori_loop(lower, upper, _counted(body_fun, _caller(counts), counts), init_val, **options)

    jax.clear_caches()  # else a kernel that was traced before does not count
    try:
        jax.lax.while_loop, jax.lax.fori_loop = counted_while, counted_fori
        with _counted_look_ups(counts):
            yield
    finally:
        jax.lax.while_loop, jax.lax.fori_loop = while_loop, fori_loop
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
