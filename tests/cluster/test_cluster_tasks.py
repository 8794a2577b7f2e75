"""Tasks over shards: the same results in this process and on workers, of which any may die."""

import builtins
import os
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from jaxsmt import __version__
from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.cluster.dask_tasks import TasksOnDask, _result
from jaxsmt.common.cluster.tasks import TasksHere, shard_bounds
from jaxsmt.common.cluster.worker import WorkerSettings, run_task
from jaxsmt.common.device import device_settings
from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.arguments import readable
from jaxsmt.pipeline.config.keys import schema_of_command
from jaxsmt.pipeline.config.rooms import room_config
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config

KINDS = sorted(path.stem for path in (REPOSITORY / "conf" / "cluster").iterdir())
SCHEDULER = "tcp://127.0.0.1:9"


def test_shards_are_runs_of_about_equal_size():
    rng = np.random.default_rng(0)
    for num_shards in (1, 2, 3, 7, 40):
        sizes = rng.integers(0, 20, 30).tolist()
        bounds = shard_bounds(sizes, num_shards)
        assert [place for first, last in bounds for place in range(first, last)] == list(range(30))
        assert len(bounds) <= num_shards
        assert all(first < last for first, last in bounds)
        assert max(sum(sizes[first:last]) for first, last in bounds) <= sum(sizes) / num_shards + 20
    assert shard_bounds([], 3) == []
    assert shard_bounds([0, 0, 0], 2) == [(0, 1), (1, 3)]


@pytest.mark.parametrize("command", ["train", "align", "extract", "lm"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_choice_composes(command, kind):
    told = [f"cluster={kind}"] + (["cluster.address=tcp://host:8786"] if kind == "address" else [])
    config = room_config(WorkersConfig, compose_config(command, told).cluster)
    assert config.kind == kind
    assert (config.memory_gb, config.workers) == ((8, 8) if kind == "slurm" else (None, 2))
    assert compose_config(command, []).cluster.kind == "none"


def test_a_scheduler_is_named_by_its_address():
    compose_config("train", [])
    found = readable(["corpus=demo", "cluster=tcp://host:8786"], schema_of_command("train"))
    assert found == ["corpus=demo", "cluster=address", "cluster.address='tcp://host:8786'"]
    assert compose_config("train", found).cluster.address == "tcp://host:8786"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "moon"}, "cluster.kind is 'moon': choose one of none, local, slurm, address"),
        ({"kind": "local", "workers": 0}, "cluster.workers is 0: give a number from 1 to 10000"),
        ({"kind": "local", "memory_gb": 0.0}, "cluster.memory_gb is 0.0: give a number above 0"),
        ({"kind": "slurm"}, "cluster.memory_gb is null: give the memory of a batch job, such as 8"),
        ({"kind": "slurm", "memory_gb": 1.0, "time": "long"}, "cluster.time is 'long': write it as Slurm does"),
        ({"kind": "address"}, "cluster.address is 'None': give that of a Dask scheduler, such as tcp://host:8786"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        WorkersConfig(**settings)


@pytest.mark.parametrize(("kind", "package"), [("local", "distributed"), ("slurm", "dask_jobqueue")])
def test_a_package_that_is_missing_is_named(kind, package, tmp_path, monkeypatch):
    found = builtins.__import__

    def without(name, *args, **kwargs):
        if name == package:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        if name == "distributed":
            return None
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    sentence = f"cluster.kind is '{kind}', which needs the package {package}, and it is not installed"
    with pytest.raises(UserError, match=f"{sentence}: pip install 'jaxsmt\\[cluster\\]'"):
        TasksOnDask(WorkersConfig(kind, memory_gb=1.0), tmp_path)


def square(number: int) -> int:
    return number * number




def refuses(number: int) -> int:
    if number == 5:
        raise UserError(f"'file' line {number} is wrong: mend it")
    return number


def threads_of_a_worker(number: int) -> str | None:
    return os.environ.get("PJRT_NPROC")


def test_results_come_in_order_wherever_tasks_run(workers, tmp_path):
    expected = [number * number for number in range(50)]
    for tasks in (TasksHere(tmp_path), workers):
        assert list(tasks.run(square, ((number,) for number in range(50)), "squares")) == expected
        with tasks.scratch("files") as folder, tasks.scratch("files") as other:
            assert folder.is_dir()
            assert other != folder
        assert not folder.exists()
    assert set(workers.run(threads_of_a_worker, [(1,)], "threads")) == {"8"}


def test_a_worker_that_dies_loses_nothing(deadly):
    found = list(deadly.run(square, [(number,) for number in range(12)], "squares"))
    assert deadly.deaths == ["squares"]
    assert found == [number * number for number in range(12)]


def test_what_a_task_says_is_said_here(workers):
    results = workers.run(refuses, [(number,) for number in range(10)], "refusals")
    with pytest.raises(UserError, match=r"^'file' line 5 is wrong: mend it$"):
        list(results)
    assert list(workers.run(square, [(2,)], "on")) == [4]


def test_workers_that_do_not_start_are_one_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="no package distributed (extra cluster)")
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no library >&2\nexit 3\n")
    program.chmod(0o755)
    tasks = TasksOnDask(WorkersConfig("local"), tmp_path / "tasks")
    monkeypatch.setattr("sys.executable", str(program))
    with pytest.raises(UserError, match=r"workers do not start \(no library\): look at cluster"):
        tasks.run(square, [(1,)], "nobody")
    tasks.release()
    assert not tasks.folder.exists()


def test_a_worker_that_is_not_like_us_says_so(tmp_path):
    ours = WorkerSettings(__version__, device_settings(), str(tmp_path))
    assert run_task(ours, square, (3,)) == 9
    with pytest.raises(UserError, match=r"has version .* of jaxsmt, and 0.0.1 asks: install the same on all machines"):
        run_task(replace(ours, version="0.0.1"), square, (3,))
    with pytest.raises(UserError, match=r"does not see the folder '.*gone': set cluster.folder to one that all"):
        run_task(replace(ours, folder=str(tmp_path / "gone")), square, (3,))


@dataclass
class LostFuture:
    error: Exception

    def result(self):
        raise self.error


def test_what_is_said_of_tasks_that_nobody_can_do():
    library = pytest.importorskip("distributed", reason="no package distributed (extra cluster)")
    lost = library.KilledWorker("task", None, 10)
    with pytest.raises(UserError, match=r"^11 workers died under the same task: give them more memory"):
        _result(LostFuture(lost))
    with pytest.raises(UserError, match=r"^a worker lacks the package jaxsmt: install the same on all machines$"):
        _result(LostFuture(ModuleNotFoundError("No module named 'jaxsmt'", name="jaxsmt")))


def test_no_scheduler_is_one_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="no package distributed (extra cluster)")
    monkeypatch.setattr("jaxsmt.common.cluster.dask_tasks.SECONDS_TO_ANSWER", 0.2)
    tasks = TasksOnDask(WorkersConfig("address", address=SCHEDULER), tmp_path / "tasks")
    with pytest.raises(UserError, match=f"no Dask scheduler answers at '{SCHEDULER}' .*: check cluster.address"):
        tasks.run(square, [(1,)], "nobody")
    tasks.release()


def test_an_address_is_as_good_as_workers_of_our_own(workers, tmp_path):
    list(workers.run(square, [(1,)], "start"))
    workers._client.wait_for_workers(3)
    other = TasksOnDask(WorkersConfig("address", address=workers._client.scheduler.address), tmp_path / "tasks")
    try:
        assert other.num_workers == 3
        assert list(other.run(square, [(3,), (4,)], "others")) == [9, 16]
    finally:
        other.release()


def test_files_of_tasks_that_outlived_an_error_go_with_the_workers(tmp_path):
    pytest.importorskip("distributed", reason="no package distributed (extra cluster)")
    tasks = TasksOnDask(WorkersConfig("local"), tmp_path / "tasks")
    with tasks.scratch("text") as folder:
        pass
    (folder / "late").mkdir(parents=True)
    tasks.release()
    assert not tasks.folder.exists()
