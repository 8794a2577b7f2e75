"""How a process ends: with a sentence and a code, whatever stops it, and without a traceback."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

FAILED, UNFORESEEN, STOPPED, NO_READER = 1, 70, 130, 141  # exit codes; the last two as shells have them


def exit_with(sentence: str, code: int = FAILED) -> NoReturn:
    """Ends the process with one sentence on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(code)


@contextmanager
def ended_quietly() -> Iterator[None]:
    """Ctrl-C becomes a sentence; and who no longer reads what is written, as `head` does, is not told anything."""
    _fill_closed_descriptors()
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        exit_with("stopped", STOPPED)
    except BrokenPipeError:
        discard_output()
        raise SystemExit(NO_READER) from None


def discard_output() -> None:
    """Python writes what is left of standard output when it ends, which must not fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """While the block runs, Ctrl-C ends the process on the spot: libraries that are being loaded take it ill."""

    def stop(*_: Any) -> None:
        os.write(2, b"error: stopped\n")
        os._exit(STOPPED)

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not in the main thread, where signals go
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _fill_closed_descriptors() -> None:
    """A file that is opened must not get the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
