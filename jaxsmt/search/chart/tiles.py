"""How much work is one step of the chart search, by kind of device. Results do not depend on it."""

from typing import NamedTuple

from jaxsmt.common.device import device_kind
from jaxsmt.common.sizes import power_of_two

GROUP_CLASSES = (8, 32, 128, 512)  # cells with few groups are not padded to the largest number
FEW_GROUPS = GROUP_CLASSES[1]


class ChartTiles(NamedTuple):
    """Of the chart search.

    cells: at most so many cells of one level are a step.
    lanes: candidates that are fetched, sorted by length and joined together.
    block: lanes that the language model scores at a time; it divides `lanes`.
    groups: the branches of GROUP_CLASSES up to here are compiled; FEW_GROUPS leaves out the larger ones.
    batches: so many times the usual number of sentences are a batch.
    wide: more work in fewer launches (`wide`): all candidates of a step are joined at once, so that `lanes` is the most
      that a step may have, and `block` the fewest that the language model scores at a time.
    """

    cells: int
    lanes: int
    block: int
    groups: int = GROUP_CLASSES[-1]
    batches: int = 1
    wide: bool = False

    def most_cells(self, room: int) -> int:
        """Cells that may be a step if each has room for so many candidates."""
        return max(1, min(self.cells, self.lanes // room)) if self.wide else self.cells

    def within(self, num_lanes: int) -> "ChartTiles":
        """The same for steps that never have more lanes."""
        lanes = min(self.lanes, power_of_two(num_lanes))
        return self._replace(lanes=lanes, block=min(self.block, lanes))


# A processor is fastest on what stays in its cache; a graphics card on whole levels of a batch, in few launches.
CHART_TILES = {
    "cpu": ChartTiles(64, 2048, 512),
    "gpu": ChartTiles(2048, 1 << 18, 1 << 8, batches=4, wide=True),
}
CHART_TILES["tpu"] = CHART_TILES["gpu"]


def chart_tiles(kind: str | None = None) -> ChartTiles:
    """Of a kind of device (cpu, gpu, tpu), or of the one at hand."""
    return CHART_TILES.get(kind or device_kind(), CHART_TILES["gpu"])
