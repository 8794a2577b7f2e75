"""What a worker does before and around a task; runs in its process."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jaxsmt import __version__
from jaxsmt.common.device import DeviceConfig, setup_device
from jaxsmt.common.errors import UserError


@dataclass(frozen=True)
class WorkerSettings:
    """What all tasks of a run share: version and device of the process that wants them, and the shared folder."""

    version: str
    device: DeviceConfig
    folder: str


def run_task(settings: WorkerSettings, function: Callable[..., Any], arguments: tuple) -> Any:
    """One task, in a process that was made like the one that asked for it."""
    _make_ready(settings)
    if not Path(settings.folder).is_dir():
        raise UserError(
            f"the worker on '{socket.gethostname()}' does not see the folder '{settings.folder}': "
            "set cluster.folder to one that all machines share"
        )
    return function(*arguments)


@lru_cache(maxsize=1)
def _make_ready(settings: WorkerSettings) -> None:
    if settings.version != __version__:
        raise UserError(
            f"the worker on '{socket.gethostname()}' has version {__version__} of jaxsmt, and {settings.version} asks: "
            "install the same on all machines"
        )
    setup_device(settings.device)
