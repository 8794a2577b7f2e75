"""Independent pieces of work on all devices of a machine: each on one of them in turn, as many under way as there are.

A piece is the same program on the same numbers wherever it runs, and results come in the order of the pieces, so the
number of devices changes no result.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import jax

Value = TypeVar("Value")
Piece = TypeVar("Piece")
Result = TypeVar("Result")


def num_devices() -> int:
    """Of this process, of the kind that programs run on."""
    return jax.local_device_count()


def placed(value: Value, number: int) -> Value:
    """Arrays on the device of piece `number`, where they bring its other arrays; as they are if there is but one."""
    devices = jax.local_devices()
    return value if len(devices) == 1 else jax.device_put(value, devices[number % len(devices)])


class Replicas(Generic[Value]):
    """Arrays that pieces of work share, copied to each device when the first piece comes there."""

    def __init__(self, value: Value) -> None:
        self._value, self._copies = value, dict[int, Value]()

    def on(self, number: int) -> Value:
        """Those on the device of piece `number`; they bring the piece's own arrays there."""
        if num_devices() == 1:
            return self._value
        place = number % num_devices()
        if place not in self._copies:
            self._copies[place] = placed(self._value, place)
        return self._copies[place]


def spread(work_fn: Callable[[int, Piece], Iterable[Result]], pieces: Iterable[Piece]) -> Iterator[Result]:
    """What work_fn makes of each piece and its number, in order; it returns before the device is done."""
    waiting: deque[Any] = deque()
    for number, piece in enumerate(pieces):
        waiting.append(list(work_fn(number, piece)))
        if len(waiting) >= num_devices():
            yield from waiting.popleft()
    for results in waiting:
        yield from results
