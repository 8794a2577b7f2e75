"""The workers that do the tasks of stages, as a configuration names them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.common.cluster.config import NONE, WorkersConfig
from jaxsmt.common.cluster.dask_tasks import TasksOnDask
from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.pipeline.config.rooms import room_config

TASKS = "tasks"


@contextmanager
def opened_tasks(node: DictConfig, folder: Path) -> Iterator[TaskRunner | None]:
    """Who runs tasks in the block, None for this process; workers start with the first task and end with the block.

    node: the group `cluster` of a configuration; folder: where files of tasks are if it names no other.
    """
    config = room_config(WorkersConfig, node)
    if config.kind == NONE:
        yield None
        return
    tasks = TasksOnDask(config, Path(config.folder) if config.folder is not None else folder / TASKS)
    try:
        yield tasks
    finally:
        tasks.release()
