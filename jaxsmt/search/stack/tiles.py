"""How much work is one step of the stack search, by kind of device. Results do not depend on it."""

from typing import NamedTuple

from jaxsmt.common.device import device_kind


class StackTiles(NamedTuple):
    """sentences: sizes of batches that are compiled for; block: lanes that a language model scores at a time."""

    sentences: tuple[int, ...]
    block: int


# A processor is fastest on what stays in its cache; a graphics card on whole stacks of a batch, in few launches. Blocks
# are not larger there since the lanes of the last one that hold no word are computed too.
STACK_TILES = {"cpu": StackTiles((1, 8, 32), 1 << 10), "gpu": StackTiles((1, 16, 256, 1024), 1 << 15)}
STACK_TILES["tpu"] = STACK_TILES["gpu"]


def stack_tiles(kind: str | None = None) -> StackTiles:
    """Of a kind of device (cpu, gpu, tpu), or of the one at hand."""
    return STACK_TILES.get(kind or device_kind(), STACK_TILES["gpu"])
