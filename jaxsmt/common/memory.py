"""How the C library hands memory out, and how much of it this process has."""

import os
import threading
from pathlib import Path

import numpy as np

_LARGE = 30 << 20  # bytes; just below the largest size up to which glibc learns
_PAGES = Path("/proc/self/statm")
_SECONDS = 0.05  # between two looks


def keep_freed_memory() -> None:
    """Lets loops over arrays of a few megabytes reuse their memory.

    By default glibc gives such arrays back to the system when they are freed, and every new one is then faulted in page
    by page, which can cost more than the work on it. Having seen a larger array come and go (never touched, so it costs
    nothing) it keeps them. Elsewhere this does nothing.
    """
    np.empty(_LARGE, np.uint8)


def resident_bytes() -> int | None:
    """What the process has in memory now; None where the system does not say."""
    try:
        return int(_PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


class PeakMemory:
    """Watches, in a `with` block, how much the process has in memory; peak: the most that was seen, None if nothing.

    The system's own peak is that of the whole life of the process, and setting it back would spoil what others measure.
    """

    def __init__(self) -> None:
        self.peak: int | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()

    def _look(self) -> None:
        found = resident_bytes()
        if found is not None:
            self.peak = max(self.peak or 0, found)

    def _watch(self) -> None:
        while self.peak is not None and not self._is_over.wait(_SECONDS):
            self._look()
