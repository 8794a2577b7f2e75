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
    phrase_block: the block where rules have no gaps, which leave fewer words to score; None: the same.
    wide: candidates are chosen with more work in fewer steps.
    """

    cells: int
    lanes: int
    block: int
    groups: int = GROUP_CLASSES[-1]
    batches: int = 1
    phrase_block: int | None = None
    wide: bool = False

    def for_rules(self, have_gaps: bool) -> "ChartTiles":
        """The same for rules with gaps, or for phrases."""
        return self if have_gaps or self.phrase_block is None else self._replace(block=self.phrase_block)

    def within(self, num_lanes: int) -> "ChartTiles":
        """The same for steps that never have more lanes."""
        lanes = min(self.lanes, power_of_two(num_lanes))
        return self._replace(lanes=lanes, block=min(self.block, lanes))


# A processor is fastest on what stays in its cache; a graphics card on whole levels of a batch, in few launches.
CHART_TILES = {
    "cpu": ChartTiles(64, 2048, 512),
    "gpu": ChartTiles(2048, 1 << 17, 1 << 15, batches=4, phrase_block=1 << 12, wide=True),
}
CHART_TILES["tpu"] = CHART_TILES["gpu"]


def chart_tiles(kind: str | None = None) -> ChartTiles:
    """Of a kind of device (cpu, gpu, tpu), or of the one at hand."""
    return CHART_TILES.get(kind or device_kind(), CHART_TILES["gpu"])
