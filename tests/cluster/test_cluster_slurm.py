"""Workers as batch jobs of Slurm."""

import math
import os

import pytest

from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.cluster.dask_tasks import TasksOnDask
from jaxsmt.common.errors import UserError
from tests.slurm_machine import missing_programs, slurm_machine


def test_batch_jobs_do_tasks(tmp_path, monkeypatch):
    """A controller and a node of this machine; one worker a job, with the queue, time and memory asked for."""
    library = pytest.importorskip("dask_jobqueue", reason="no package dask-jobqueue (extra cluster)")
    if missing := missing_programs():
        pytest.skip(f"no Slurm on this machine (lacks {', '.join(missing)})")
    scripts = []
    make = library.SLURMCluster.scale

    def note(cluster, *args, **kwargs):
        scripts.append(cluster.job_script())
        return make(cluster, *args, **kwargs)

    monkeypatch.setattr(library.SLURMCluster, "scale", note)
    (tmp_path / "slurm").mkdir()
    with slurm_machine(tmp_path / "slurm") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        settings = {"partition": "all", "time": "00:10:00", "directives": ("--comment=tasks",)}
        tasks = TasksOnDask(WorkersConfig("slurm", workers=2, memory_gb=1.0, **settings), tmp_path / "tasks")
        try:
            found = list(tasks.run(math.factorial, [(number,) for number in range(8)], "factorials"))
            jobs = list(tasks.run(os.getenv, [("SLURM_JOB_ID",)], "jobs"))
        finally:
            tasks.release()
        nowhere = TasksOnDask(WorkersConfig("slurm", memory_gb=1.0, partition="nowhere"), tmp_path / "tasks")
        with pytest.raises(UserError, match=r"Slurm takes no such job \(.*partition.*\): check cluster.partition"):
            nowhere.run(math.factorial, [(1,)], "nowhere")
        nowhere.release()
    assert found == [math.factorial(number) for number in range(8)]
    assert jobs[0] is not None
    for line in ("-p all", "-t 00:10:00", "--mem=954M", "--comment=tasks"):
        assert f"#SBATCH {line}\n" in scripts[0]
    assert "export PJRT_NPROC=" in scripts[0]
    assert not (tmp_path / "tasks").exists()
