"""Which workers do the tasks of stages."""

import re
from dataclasses import dataclass, field

from jaxsmt.common.settings import SettingError, check_choices, check_positive, check_ranges

NONE, LOCAL, SLURM, ADDRESS = "none", "local", "slurm", "address"
KINDS = (NONE, LOCAL, SLURM, ADDRESS)
SCHEDULER = re.compile(r"(tcp|tls|ucx|ws|wss)://\S+")  # addresses that Dask understands
_TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}")  # minutes, or as Slurm writes more of them


@dataclass(frozen=True)
class WorkersConfig:
    """Where tasks run.

    kind: 'none': in this process, as if there were no tasks; 'local': processes of this machine; 'slurm': batch jobs;
      'address': the workers of a Dask scheduler that runs already.
    workers: how many processes or jobs; those at an address are as many as they are.
    memory_gb: of a worker; one that takes more is ended and begins anew. None: no limit ('local' alone).
    folder: where tasks exchange files, the same for all machines; None: below the folder that training works in.
    address: of the scheduler, such as tcp://host:8786.
    partition, time, directives: of batch jobs: the queue, the longest time of one, and more that sbatch is told.
    """

    kind: str = NONE
    workers: int = 2
    memory_gb: float | None = None
    folder: str | None = None
    address: str | None = None
    partition: str | None = None
    time: str = "04:00:00"
    directives: tuple[str, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        check_choices(self, "cluster", {"kind": KINDS})
        check_ranges(self, "cluster", {"workers": (1, 10_000)})
        check_positive(self, "cluster", ["memory_gb"])
        if self.kind == SLURM and self.memory_gb is None:
            raise SettingError("cluster", "memory_gb", "is null: give the memory of a batch job, such as 8")
        if self.kind == ADDRESS and not SCHEDULER.fullmatch(self.address or ""):
            raise SettingError(
                "cluster", "address", f"is '{self.address}': give that of a Dask scheduler, such as tcp://host:8786"
            )
        if not _TIME.fullmatch(self.time):
            raise SettingError("cluster", "time", f"is '{self.time}': write it as Slurm does, such as 04:00:00")
