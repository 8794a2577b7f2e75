"""Workers for all tests of this folder, and tasks whose workers die under them."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.cluster.dask_tasks import TasksOnDask


def dying_once(marker: Path, function: Callable[..., Any], arguments: tuple) -> Any:
    """Does a task; the first time its worker dies before anybody has heard of the result."""
    result = function(*arguments)
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return result


@dataclass
class DeadlyTasks:
    """Workers of which one dies under the second task of every kind; deaths: how often that happened."""

    workers: TasksOnDask
    folder: Path
    deaths: list[str] = field(default_factory=list)

    @property
    def num_workers(self) -> int:
        return self.workers.num_workers

    def run(
        self, function: Callable[..., Any], arguments: Iterable[tuple], label: str, total: int | None = None
    ) -> Iterator[Any]:
        marker, never = self.folder / f"died-{len(self.deaths)}", self.folder / "never"
        never.touch()
        told = ((marker if number == 1 else never, function, each) for number, each in enumerate(arguments))
        yield from self.workers.run(dying_once, told, label, total)
        if marker.exists():
            self.deaths.append(label)

    def scratch(self, name: str) -> Any:
        return self.workers.scratch(name)

    def release(self) -> None:
        pass


@pytest.fixture(scope="module")
def workers(tmp_path_factory) -> Iterator[TasksOnDask]:
    """Three processes, which all tests of a file share."""
    pytest.importorskip("distributed", reason="no package distributed (extra cluster)")
    tasks = TasksOnDask(WorkersConfig("local", workers=3), tmp_path_factory.mktemp("cluster") / "tasks")
    yield tasks
    tasks.release()
    assert not tasks.folder.exists()


@pytest.fixture
def deadly(workers, tmp_path) -> DeadlyTasks:
    return DeadlyTasks(workers, tmp_path)
