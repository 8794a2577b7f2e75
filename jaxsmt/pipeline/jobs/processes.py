"""Processes of this machine that do jobs of a command, some at a time."""

import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from jaxsmt.common.progress import log, track

WORKER = "jaxsmt.pipeline.jobs.worker"
ERROR = "error: "  # how `exit_with` begins a sentence


@dataclass
class _Running:
    """Processes that run; is_over: no more are to be started."""

    command: str
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)
    num_done: int = 0
    is_over: bool = False

    def run(self, told: Mapping[str, Any]) -> str | None:
        """One process from start to end; returns why it failed, or None."""
        if self.is_over:
            return None
        command = [sys.executable, "-m", WORKER, self.command]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, encoding="utf-8", errors="replace", **pipes)  # type: ignore[call-overload]
        self.processes.append(process)
        _, said = process.communicate(json.dumps(told))
        if process.returncode == 0:
            self.num_done += 1
            return None
        if not self.num_done:
            self.is_over = True  # it may well be the same for all
        return _reason(process.returncode, said)

    def end(self) -> None:
        """Stops all."""
        self.is_over = True
        for process in self.processes:
            if process.poll() is None:
                process.terminate()


def run_processes(command: str, jobs: Mapping[int, Mapping[str, Any]], at_a_time: int) -> dict[int, str]:
    """Runs jobs of a command, each with a whole configuration; returns those that failed, with the reason of each.

    When jobs fail before any has succeeded no more are started; otherwise all others are.
    """
    running, failed = _Running(command), {}
    with ThreadPoolExecutor(at_a_time) as threads:
        futures: dict[Future[str | None], int] = {threads.submit(running.run, told): job for job, told in jobs.items()}
        try:
            for future in track(as_completed(futures), f"{command}, jobs", len(futures)):
                if (why := future.result()) is not None:
                    failed[futures[future]] = why
                    log.warning("job %d failed: %s", futures[future], why)
        except BaseException:
            running.end()
            raise
    return dict(sorted(failed.items()))


def _reason(code: int, said: str) -> str:
    """The sentence that a process ended with, or what is known otherwise."""
    found = [line.removeprefix(ERROR) for line in said.splitlines() if line.startswith(ERROR)]
    if found:
        return found[-1]
    last = said.strip().splitlines()[-1:]
    ended = f"it was ended by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{ended}, {last[0]}" if last else ended
