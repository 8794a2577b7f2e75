"""Several iterators at once, a thread each: array programs leave the interpreter free while they run."""

import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
_AHEAD = 4  # items that a lane may have finished before they are taken


def in_lanes(lanes: Sequence[Iterable[Item]]) -> Iterator[Item]:
    """Yields the items of all lanes as they are ready; within a lane they keep their order.

    What an iterator raises is raised here, after the other lanes have been told to stop. One lane needs no thread.
    """
    if len(lanes) == 1:
        yield from lanes[0]
        return
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(_AHEAD * max(len(lanes), 1))
    stop = threading.Event()
    threads = [threading.Thread(target=_run, args=(lane, ready, stop), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            kind, value = ready.get()
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                running -= 1
    finally:
        stop.set()
        for thread in threads:
            while thread.is_alive():
                _drain(ready)
                thread.join(0.05)


def _run(lane: Iterable[Any], ready: queue.Queue, stop: threading.Event) -> None:
    try:
        for item in lane:
            if stop.is_set():
                return
            ready.put(("item", item))
    except BaseException as error:
        ready.put(("error", error))
    else:
        ready.put(("end", None))


def _drain(ready: queue.Queue) -> None:
    while True:
        try:
            ready.get_nowait()
        except queue.Empty:
            return
