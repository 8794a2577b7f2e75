"""Workers as batch jobs of Slurm, one a job."""

import subprocess
from pathlib import Path
from typing import Any

from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.cluster.local_workers import worker_environment
from jaxsmt.common.errors import UserError


def slurm_cluster(config: WorkersConfig, folder: Path) -> Any:
    """Submits the jobs; more where some end. folder: for the files of workers, and what they print."""
    from dask_jobqueue import SLURMCluster

    made = SLURMCluster(
        queue=config.partition, cores=1, processes=1, memory=f"{config.memory_gb} GB", walltime=config.time,
        job_extra_directives=list(config.directives), local_directory=str(folder), log_directory=str(folder / "jobs"),
        job_script_prologue=[f"export {name}={value}" for name, value in worker_environment().items()],
        scheduler_options={"dashboard_address": "127.0.0.1:0"},
    )  # fmt: skip
    try:
        _check(made.job_script(), folder / "job.sh")
    except BaseException:
        made.close()
        raise
    made.scale(jobs=config.workers)
    return made


def _check(script: str, path: Path) -> None:
    """Raises UserError where Slurm would not take a job, for which a cluster would wait forever."""
    path.write_text(script, encoding="utf-8")
    try:
        asked = subprocess.run(["sbatch", "--test-only", path], capture_output=True, text=True, check=False)
    except OSError:
        raise UserError("cluster.kind is 'slurm', and there is no sbatch: start where jobs are submitted") from None
    if asked.returncode:
        reason = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(
            f"Slurm takes no such job ({reason}): check cluster.partition, time, memory_gb and directives"
        )
