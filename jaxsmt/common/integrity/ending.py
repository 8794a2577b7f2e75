"""How a process ends: with a sentence and a code, whatever stops it, and without a traceback."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

FAILED, UNFORESEEN, STOPPED, NO_READER = 1, 70, 130, 141  # exit codes; the last two as shells have them
SOON = 0.05  # seconds


def exit_with(sentence: str, code: int = FAILED) -> NoReturn:
    """Ends the process with one sentence on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(code)


@contextmanager
def ended_quietly(is_whole_process: bool = False) -> Iterator[None]:
    """Ctrl-C becomes a sentence; and who no longer reads what is written, as `head` does, is not told anything.

    is_whole_process: nothing of ours comes after the block, so that Ctrl-C then ends the process on the spot.
    """
    _fill_closed_descriptors()
    try:
        with _interrupts_are_not_lost():
            yield
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        exit_with("stopped", STOPPED)
    except BrokenPipeError:
        exit_without_reader()
    finally:
        if is_whole_process and not _is_ignored(signal.SIGINT):
            signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _interrupts_are_not_lost() -> Iterator[None]:
    """Ctrl-C in the midst of collecting garbage is printed by Python, with a traceback, and forgotten."""
    before = sys.unraisablehook

    def raise_again(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            import threading

            threading.Timer(SOON, signal.raise_signal, (signal.SIGINT,)).start()  # here it would be lost again
        else:
            before(unraisable)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def exit_without_reader() -> NoReturn:
    """Ends the process; Python then writes what is left of standard output, which must not fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(NO_READER) from None


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """While the block runs, Ctrl-C ends the process on the spot: libraries that are being loaded take it ill."""

    def stop(*_: Any) -> None:
        os.write(2, b"error: stopped\n")
        os._exit(STOPPED)

    if _is_ignored(signal.SIGINT):  # as shells have it for what runs in the background
        yield
        return
    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not in the main thread, where signals go
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def _fill_closed_descriptors() -> None:
    """A file that is opened must not get the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
