"""Wall time, processor time and peak memory of a piece of work; and the last line of a benchmark."""

import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Measurement:
    """What a block took; filled in when the block ends."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_gb: float = 0.0  # of the process while the block ran, all that it held before included


@contextmanager
def measured() -> Iterator[Measurement]:
    """Measures the block: `with measured() as m: …; m.seconds`."""
    measurement = Measurement()
    _reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    yield measurement
    measurement.seconds, measurement.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    measurement.peak_gb = _peak_gb()


def _reset_peak() -> None:
    # Linux: 5 resets the peak of the resident size; elsewhere the peak is that of the whole process
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_gb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def print_figures(figures: dict[str, Any], digits: int | None = None) -> None:
    """A benchmark's last line: one JSON object, with the device that it ran on; numbers rounded to so many digits."""
    from jaxsmt.common.device import device_name  # only now: some benchmarks start before JAX is told how

    if digits is not None:
        figures = {name: round(value, digits) for name, value in figures.items()}
    print(json.dumps({**figures, "device": device_name()}))
