"""Runs commands of jaxsmt in processes that may be made to die, quickly: one process imports everything and forks.

`Forker` starts `python -m tests.faults.forked`, which has imported all that the commands need and has not used a device
yet. Every job is a child of it that runs one command, and can be told to be killed at its k-th rename, to see another
host's name, or to find its disk full.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
SENTENCE = "error: "
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Job:
    """One command.

    die_at: the rename, from 1, at which the process is killed; 0 for none. after: whether the rename still happens.
    host: the name that the process sees as its host's; None for the true one.
    largest_file: bytes that a file may have before writing to it fails, as on a full disk; None for no limit.
    cores: numbers of those that it may use; None for all.
    stop_at: an event that Python tells of (sys.addaudithook) and a part of its first argument, 'open weights.json',
      at which Ctrl-C is pressed; '' for never.
    temporary: the folder for temporary files; None for the system's.
    is_read: whether somebody reads what it writes to standard output.
    """

    arguments: list[str]
    die_at: int = 0
    after: bool = False
    host: str | None = None
    largest_file: int | None = None
    cores: list[int] | None = None
    stop_at: str = ""
    temporary: str | None = None
    is_read: bool = True


@dataclass(frozen=True)
class Ended:
    """How a job ended: its exit code (negative: the signal that killed it), its renames, and what it said on stderr."""

    code: int
    renames: int
    errors: str

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def is_sentence(self) -> bool:
        """Whether it ended with exit code 1 and one sentence."""
        lines = self.errors.splitlines()
        return self.code == 1 and len([line for line in lines if line.startswith(SENTENCE)]) == 1 and self.is_calm

    @property
    def is_calm(self) -> bool:
        return TRACEBACK not in self.errors


class Forker:
    """The process that forks; a context manager, with a folder for what its children say."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.faults.forked", str(scratch)]
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Forker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def run(self, *jobs: Job) -> list[Ended]:
        """Runs jobs side by side, and waits for all of them."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([asdict(job) for job in jobs]) + "\n")
        self.process.stdin.flush()
        return [Ended(**ended) for ended in json.loads(self.process.stdout.readline())]


def _serve(scratch: Path) -> None:
    _import_everything()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        children = [_start(Job(**job), scratch / str(place)) for place, job in enumerate(json.loads(line))]
        ended = [_end(process, scratch / str(place)) for place, process in enumerate(children)]
        answers.write(json.dumps(ended) + "\n")
        answers.flush()


def _import_everything() -> None:
    from jaxsmt.common.devices.threads import fix_threads

    fix_threads()
    import jaxsmt.pipeline.commands.decode
    import jaxsmt.pipeline.commands.train
    import jaxsmt.pipeline.config.keys
    import jaxsmt.pipeline.config.launch  # noqa: F401


def _start(job: Job, said: Path) -> int:
    process = os.fork()
    if process:
        return process
    try:
        _become(job, said)
        from jaxsmt.pipeline.main import main

        main(job.arguments)
        sys.stdout.flush()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    sys.stderr.flush()
    os._exit(code)


def _end(process: int, said: Path) -> dict[str, Any]:
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    renames = said.with_suffix(".renames")
    return {
        "code": status,
        "renames": renames.stat().st_size if renames.exists() else 0,
        "errors": said.with_suffix(".err").read_text(encoding="utf-8", errors="replace"),
    }


def _become(job: Job, said: Path) -> None:
    """Makes this process that of a job."""
    for number, suffix in ((1, ".out"), (2, ".err")):
        stream = os.open(said.with_suffix(suffix), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(stream, number)
    if not job.is_read:
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(reading)
    renames = os.open(said.with_suffix(".renames"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    _hook_renames(renames, job.die_at, job.after)
    tempfile.tempdir = job.temporary
    if job.stop_at:
        press_control_c(*job.stop_at.split(" ", 1))
    if job.host is not None:
        name = job.host
        socket.gethostname = lambda: name
    if job.cores is not None:
        os.sched_setaffinity(0, job.cores)
    if job.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.largest_file, job.largest_file))


def press_control_c(event: str, part: str) -> None:
    """At the first such event."""
    is_due = True

    def look(found: str, arguments: tuple[Any, ...]) -> None:
        nonlocal is_due
        if is_due and found == event and part in str(arguments[0]):
            is_due = False
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
    sys.addaudithook(look)


def _hook_renames(counter: int, die_at: int, after: bool) -> None:
    """Counts renames, also exchanges of two names, in a file of as many bytes; kills the process at one of them."""
    from jaxsmt.common import files

    number = 0

    def hooked(rename: Callable[..., Any]) -> Callable[..., Any]:
        def renamed(*paths: Any, **options: Any) -> Any:
            nonlocal number
            if _is_cache(paths):
                return rename(*paths, **options)
            number += 1
            os.write(counter, b".")
            if number == die_at and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = rename(*paths, **options)
            if number == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return renamed

    os.rename, os.replace = hooked(os.rename), hooked(os.replace)
    files._exchange = hooked(files._exchange)


def _is_cache(paths: Sequence[Any]) -> bool:
    """Whether a rename is that of a file of the user's cache, of which kernels may be written at any time."""
    from jaxsmt.common.files import cache_folder

    return str(cache_folder()) in str(paths[0])


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
