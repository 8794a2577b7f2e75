"""Workers as processes of this machine: programs of their own, which know nothing of the process that wants them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.devices.threads import THREADS
from jaxsmt.common.errors import UserError

SECONDS_ALONE = 60  # that workers wait for a scheduler, or outlive it where it was killed
SECONDS_TO_END = 10


def worker_environment() -> dict[str, str]:
    """Variables of workers: threads decide how sums are rounded, so they are those of this process."""
    return {name: os.environ.get(name, number) for name, number in THREADS.items()}


@contextmanager
def local_workers(config: WorkersConfig, scheduler: str, folder: Path) -> Iterator[Callable[[], None]]:
    """Runs workers of a scheduler during the block; one that dies is started anew. folder: for their own files.

    Gives a function that raises UserError if there are none any more, and none to come.
    """
    memory = 0 if config.memory_gb is None else int(config.memory_gb * 1e9)
    options = {
        "nworkers": config.workers, "nthreads": 1, "memory-limit": memory, "death-timeout": SECONDS_ALONE,
        "local-directory": folder,
    }  # fmt: skip
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-dashboard"]
    command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
    environment = {**os.environ, **worker_environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    path = folder / "workers.log"

    def check() -> None:
        if process.poll() is not None:
            last = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise UserError(f"workers do not start ({last[0] if last else 'no reason given'}): look at cluster.*")

    with open(path, "wb") as said:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            yield check
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # workers that it did not take along
