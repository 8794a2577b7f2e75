"""A Slurm of this machine alone: authentication, controller and node daemon, in a folder of their own.

As a script, `python tests/slurm_machine.py sbatch --version`, it runs a command with such a Slurm around it.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
NODE, SECONDS_TO_COME = "here", 30
SETTINGS = """
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
GresTypes=gpu
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=4000 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    """Those of Slurm and munge that are not installed (Debian: slurm-wlm, munge), or cannot be run by this user."""
    found = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return found if os.getuid() == 0 else [*found, "a user who may start daemons"]


@contextmanager
def slurm_machine(folder: Path) -> Iterator[dict[str, str]]:
    """Starts the daemons, gives the environment that makes commands find them, and ends them."""
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}
    _write_settings(folder)
    with ExitStack() as stack:
        for name, command in _daemons(folder).items():
            log = stack.enter_context(open(folder / f"{name}.log", "wb"))
            daemon = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            stack.callback(_end, daemon)
        _wait(folder, environment)
        yield environment


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _write_settings(folder: Path) -> None:
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o600)
    ports = _free_ports()
    values = {
        "host": socket.gethostname().partition(".")[0], "folder": folder, "node": NODE, "user": "root",
        "controller_port": ports[0], "node_port": ports[1], "processors": os.cpu_count(),
    }  # fmt: skip
    (folder / "slurm.conf").write_text(SETTINGS.format(**values))
    (folder / "gres.conf").write_text(f"NodeName={NODE} Name=gpu File=/dev/null\n")


def _free_ports() -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for own in sockets:
            own.bind(("127.0.0.1", 0))
        return [own.getsockname()[1] for own in sockets]


def _daemons(folder: Path) -> dict[str, list[str]]:
    """All in the foreground, so that they are ours to end."""
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "seed-file": "munge.seed"}
    munged = ["munged", "--foreground", "--force", f"--log-file={folder}/munge.log"]
    munged += [f"--{option}={folder}/{name}" for option, name in files.items()]
    return {
        "munged": munged,
        "slurmctld": ["slurmctld", "-D", "-f", f"{folder}/slurm.conf"],
        "slurmd": ["slurmd", "-D", "-N", NODE, "-f", f"{folder}/slurm.conf"],
    }


def _wait(folder: Path, environment: dict[str, str]) -> None:
    """Until the node may get jobs."""
    said = ""
    for _ in range(SECONDS_TO_COME * 2):
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        said = done.stdout.strip() or done.stderr.strip()
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in folder.glob("*.log"))
    raise RuntimeError(f"Slurm did not come up ({said})\n{logs}")


def _end(daemon: "subprocess.Popen[bytes]") -> None:
    daemon.terminate()
    try:
        daemon.wait(20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, slurm_machine(Path(place)) as told:
        sys.exit(subprocess.run(sys.argv[1:], env=told, check=False).returncode)
