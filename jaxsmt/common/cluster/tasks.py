"""What stages ask for: one function on many arguments, results in order, wherever they are computed.

A task is a function of a module with plain arguments: numbers, names, small arrays, paths of files that
all can see.
It gives the same result whoever runs it and however often, so that one that is lost is simply run again.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from jaxsmt.common.files import unfinished_folder
from jaxsmt.common.progress import track

SHARDS_PER_WORKER = 4  # so that none waits long for the last ones, and little is done again where one dies


class TaskRunner(Protocol):
    """Who runs tasks."""

    @property
    def num_workers(self) -> int:
        """How many tasks run at the same time."""

    def run(
        self, function: Callable[..., Any], arguments: Iterable[tuple], label: str, total: int | None = None
    ) -> Iterator[Any]:
        """Yields function(*each) for each of the arguments, in their order; label: of the progress bar."""

    def scratch(self, name: str) -> AbstractContextManager[Path]:
        """A folder that all tasks see, for the time of the block."""

    def release(self) -> None:
        """No tasks are to come for a while."""


@dataclass(frozen=True)
class TasksHere:
    """Runs tasks in this process, one after the other; folder: where they exchange files."""

    folder: Path
    num_workers: int = 1  # as many shards are made as if there were so many

    def run(
        self, function: Callable[..., Any], arguments: Iterable[tuple], label: str, total: int | None = None
    ) -> Iterator[Any]:
        for each in track(arguments, label, total):
            yield function(*each)

    def scratch(self, name: str) -> AbstractContextManager[Path]:
        return task_folder(self.folder, name)

    def release(self) -> None:
        pass


def task_folder(parent: Path, name: str) -> AbstractContextManager[Path]:
    """A folder for files of tasks. No two have the same name: workers remember what they have opened."""
    return unfinished_folder(parent / f"{name}-{secrets.token_hex(8)}")


def shard_bounds(sizes: Iterable[int], num_shards: int) -> list[tuple[int, int]]:
    """Cuts things of the given sizes into at most so many runs (first, behind the last) of about equal size.

    No run is empty but where there is nothing at all: then there is none.
    """
    ends, total = [], 0
    for size in sizes:
        total += max(size, 0)
        ends.append(total)
    bounds: list[tuple[int, int]] = []
    start = 0
    for place, end in enumerate(ends, 1):
        is_full = len(bounds) < num_shards - 1 and end * num_shards >= total * (len(bounds) + 1)
        if is_full or place == len(ends):
            bounds.append((start, place))
            start = place
    return bounds
