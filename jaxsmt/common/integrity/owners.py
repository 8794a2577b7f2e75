"""Who is working on something unfinished: marks in file names, and whether the process behind a mark is gone.

A mark is host.boot.process.start, short enough for a file name: the host's name as a hash, what tells one boot of it
from the next, the process number, and a random part that tells apart processes that get the same number.
"""

import hashlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 900.0  # without a heartbeat, work counts as abandoned
BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Owner:
    """A process of some host."""

    host: str
    boot: str
    process: int
    start: str

    def mark(self) -> str:
        return f"{self.host}.{self.boot}.{self.process}.{self.start}"


def this_owner() -> Owner:
    """This process; one that is forked off is another."""
    return _owner(os.getpid())


def read_mark(mark: str) -> Owner | None:
    """The owner of a mark; None if it is none."""
    parts = mark.split(".")
    if len(parts) != 4 or not parts[2].isdigit():
        return None
    return Owner(parts[0], parts[1], int(parts[2]), parts[3])


def is_dead(owner: Owner | None, seconds_silent: float) -> bool:
    """Whether nobody works on it any more: the process is provably gone, or was silent for long.

    Only a process of this host and boot can be looked for; of others nothing is known but their heartbeat.
    """
    if seconds_silent > STALE_SECONDS:
        return True
    here = this_owner()
    if owner is None or (owner.host, owner.boot) != (here.host, here.boot):
        return False
    if owner.process == here.process:
        return owner.start != here.start  # an earlier process that had our number
    return not _is_running(owner.process)


def seconds_silent(path: Path) -> float:
    """Since the last heartbeat, by this host's clock; 0 for what has gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


@contextmanager
def heartbeat(*paths: Path) -> Iterator[None]:
    """Touches the paths every few seconds while the block runs."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            for path in paths:
                try:
                    os.utime(path)
                except OSError:  # renamed or removed meanwhile: nobody needs to know that we live
                    continue

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@cache
def _owner(process: int) -> Owner:
    host = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    boot = BOOT.read_text()[:8] if BOOT.is_file() else "0"
    return Owner(host, boot, process, secrets.token_hex(4))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
