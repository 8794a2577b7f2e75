"""Tasks on the workers of a Dask cluster: started when the first task comes, and gone when nobody needs it."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from jaxsmt import __version__
from jaxsmt.common.cluster.config import ADDRESS, SLURM, WorkersConfig
from jaxsmt.common.cluster.local_workers import local_workers
from jaxsmt.common.cluster.slurm_workers import slurm_cluster
from jaxsmt.common.cluster.tasks import task_folder
from jaxsmt.common.cluster.worker import WorkerSettings, run_task
from jaxsmt.common.device import device_settings
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import TEMPORARY_PREFIX, marked_name, remove, unfinished_folder
from jaxsmt.common.progress import log, track

AHEAD = 8  # tasks a worker that are handed out before the first of them is waited for
DEATHS = 10  # of workers under one and the same task, before it is given up
SECONDS_TO_ANSWER = 20
SETTINGS = {"distributed.scheduler.allowed-failures": DEATHS}


class TasksOnDask:
    """Runs tasks on workers; folder: where they exchange files, which all of them see."""

    def __init__(self, config: WorkersConfig, folder: Path):
        self.config, self.folder = config, folder.absolute()
        self._started = ExitStack()
        self._client: Any = None
        cluster_library(config.kind)  # says at once if there is none

    @property
    def num_workers(self) -> int:
        if self.config.kind != ADDRESS:
            return self.config.workers
        return max(len(self._connected().nthreads()), 1)

    def run(
        self, function: Callable[..., Any], arguments: Iterable[tuple], label: str, total: int | None = None
    ) -> Iterator[Any]:
        """In the order of the arguments; a few tasks a worker are under way. What a task raises is raised here."""
        client, most = self._connected(), AHEAD * self.num_workers
        task = partial(run_task, WorkerSettings(__version__, device_settings(), str(self.folder)), function)
        return track(_in_order(client, task, arguments, most), label, total)

    def scratch(self, name: str) -> AbstractContextManager[Path]:
        return task_folder(self.folder, name)

    def release(self) -> None:
        """Ends workers of our own, and the connection; further tasks start it all again."""
        self._client = None
        self._started.close()
        for left in self.folder.glob(marked_name(TEMPORARY_PREFIX, "*")):  # by tasks that outlived what went wrong
            remove(left)
        with suppress(OSError):  # there may be other things in it
            self.folder.rmdir()

    def _connected(self) -> Any:
        if self._client is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._client = _connect(self.config, self.folder, self._started)
        return self._client


def cluster_library(kind: str) -> Any:
    """Dask, which only clusters need; with batch jobs, the package that submits them."""
    try:
        import distributed

        if kind == SLURM:
            import dask_jobqueue  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"cluster.kind is '{kind}', which needs the package {error.name}, and it is not installed: "
            "pip install 'jaxsmt[cluster]'"
        ) from None
    return distributed


def _connect(config: WorkersConfig, folder: Path, started: ExitStack) -> Any:
    """A client of the cluster; what is to be closed at the end goes to `started`."""
    import dask

    library = cluster_library(config.kind)
    started.enter_context(dask.config.set(SETTINGS))
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said in sentences of ours
    if config.kind == ADDRESS:
        return started.enter_context(_client_of(library, str(config.address)))
    own = started.enter_context(unfinished_folder(folder / "workers"))
    if config.kind == SLURM:
        made = started.enter_context(slurm_cluster(config, own))
        log.info("%d batch jobs are submitted; work begins with the first that runs", config.workers)
        return started.enter_context(library.Client(made))
    made = started.enter_context(_scheduler())
    check = started.enter_context(local_workers(config, made.scheduler_address, own))
    client = started.enter_context(library.Client(made))
    _wait_for_first(client, check)
    return client


def _wait_for_first(client: Any, check: Callable[[], None]) -> None:
    """Waits for a worker; `check` raises where none will come."""
    while True:
        check()
        try:
            client.wait_for_workers(1, timeout=1)
        except TimeoutError:
            continue
        return


def _client_of(library: Any, address: str) -> Any:
    try:
        return library.Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"no Dask scheduler answers at '{address}' ({reason}): check cluster.address, or start one, dask scheduler"
        ) from None


def _scheduler() -> Any:
    """One in this process, for workers that come by themselves."""
    from distributed import LocalCluster

    free = "127.0.0.1:0"  # of its pages: any port, since several clusters may share a machine
    return LocalCluster(n_workers=0, processes=True, dashboard_address=free, silence_logs=logging.CRITICAL)


def _in_order(client: Any, task: Callable[..., Any], arguments: Iterable[tuple], most: int) -> Iterator[Any]:
    """Results in the order of the arguments, at most so many tasks under way."""
    waiting: deque[Any] = deque()
    try:
        for each in arguments:
            waiting.append(client.submit(task, each, pure=False))
            if len(waiting) >= most:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        if waiting:
            client.cancel(list(waiting))


def _result(future: Any) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise UserError(
            f"{error.allowed_failures + 1} workers died under the same task: give them more memory "
            "(cluster.memory_gb), or have fewer of them on a machine (cluster.workers)"
        ) from None
    except ModuleNotFoundError as error:
        raise UserError(f"a worker lacks the package {error.name}: install the same on all machines") from None
