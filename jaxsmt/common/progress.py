"""Progress bars with counts and time left, and the logger that shares the terminal with them."""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

Item = TypeVar("Item")
log = logging.getLogger("jaxsmt")
console = Console(stderr=True)  # results go to stdout, everything about the run to stderr


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yields the items under a progress bar; silent where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    columns = TextColumn("{task.description}"), BarColumn(), Counted(), Times()
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items, total=total, description=description)


class Counted(ProgressColumn):
    """How many are done, of how many if that is known."""

    def render(self, task: Task) -> Text:
        done = f"{int(task.completed):,}"
        return Text(done if task.total is None else f"{done} of {int(task.total):,}", style="progress.download")


class Times(ProgressColumn):
    """What it took so far, and what is left if that can be told."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = None if task.total is None or task.finished else task.time_remaining
        told = "" if left is None else f", {_clock(left)} left"
        return Text(f"{_clock(task.elapsed or 0)}{told}", style="progress.elapsed")


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
