"""Progress bars with counts and time left, and the logger that shares the terminal with them."""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Item = TypeVar("Item")
log = logging.getLogger("jaxsmt")
console = Console(stderr=True)  # results go to stdout, everything about the run to stderr


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yields the items under a progress bar; silent where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items, total=total, description=description)
