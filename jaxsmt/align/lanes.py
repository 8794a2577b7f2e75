"""One E-step over a text in lanes: batches whose counts are added one after the other, lanes side by side.

The sum of a lane is rounded batch by batch, and lanes are added in their order: who works on them, on how many devices,
and which ends first, makes no difference.
"""

import math
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import jax
import numpy as np

from jaxsmt.align.cells import Cells, WordPairs
from jaxsmt.align.em import BatchSums, FoundLinks, PaddedPairs, Parameters, PassKind, add_sums, e_step
from jaxsmt.align.lexicon import LexiconCounts, add_counts, zero_counts
from jaxsmt.common.devices.spreading import Replicas, num_devices, placed
from jaxsmt.common.lanes import in_lanes
from jaxsmt.common.progress import track
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

THREADS = 2  # lanes at a time on the processor, and so many of a small text
LANES_ELSEWHERE = 8  # as many as machines have GPUs; a single one takes them one after the other
CELLS_PER_LANE = 1 << 31  # at most; of smaller texts every thread has one lane

Found = list[tuple[Batch, FoundLinks]]


class LaneText(NamedTuple):
    """A text that EM passes over: its cells are numbered by its word pairs."""

    bitext: Bitext
    cells: Cells
    pairs: WordPairs


class PassResult(NamedTuple):
    """What an E-step over a whole text gives; found: empty where nobody wants the links."""

    counts: LexiconCounts
    sums: BatchSums
    found: Found


def lanes_of(cells: Cells) -> list[list[int]]:
    """Batch numbers of the lanes, each about the same number of cells: by the text and the kind of device alone.

    Two for the threads of a processor, more for GPUs, of which each is busy with one lane. Every second lane goes the
    other way, so that two that begin together compile different shapes. Very large texts have more lanes, for more
    workers.
    """
    sizes = [math.prod(batch.shape) for batch in cells.batches]
    least = THREADS if jax.default_backend() == "cpu" else LANES_ELSEWHERE
    return shared_lanes(sizes, max(least, math.ceil(sum(sizes) / CELLS_PER_LANE)))


def shared_lanes(sizes: list[int], number: int) -> list[list[int]]:
    """Places of the sizes, shared among so many lanes."""
    lanes: list[list[int]] = [[] for _ in range(number)]
    load = [0] * number
    for batch, size in enumerate(sizes):
        lane = load.index(min(load))
        lanes[lane].append(batch)
        load[lane] += size
    return [lane[:: -1 if place % 2 else 1] for place, lane in enumerate(lanes)]


def lanes_at_once() -> int:
    """In this process: one on every device, and two where a processor is the only one."""
    return max(num_devices(), THREADS if jax.default_backend() == "cpu" else 1)


def pass_here(text: LaneText, parameters: Parameters, kind: PassKind, keeps_links: bool) -> PassResult:
    """One E-step in this process, lanes on its devices in turn; their counts are added on the first device."""
    lanes, at_once, lexica = lanes_of(text.cells), lanes_at_once(), Replicas(parameters.lexicon)
    total: list[LexiconCounts] = []

    def run() -> Iterator[tuple[int, tuple[BatchSums, FoundLinks]]]:
        for start in range(0, len(lanes), at_once):
            some = lanes[start : start + at_once]
            counts = [placed(zero_counts(text.pairs), place) for place in range(len(some))]
            own = [parameters._replace(lexicon=lexica.on(place)) for place in range(len(some))]
            steps = [counted_lane(text, lane, counts, place, own[place], kind) for place, lane in enumerate(some)]
            yield from in_lanes(steps)
            total[:] = [reduce(add_counts, [*total, *(placed(part, 0) for part in counts)])]

    done = dict(track(run(), kind.model, len(text.cells.batches)))
    sums = add_sums([done[number][0] for number in range(len(done))])
    found = [(batch, done[number][1]) for number, batch in enumerate(text.cells.batches)] if keeps_links else []
    return PassResult(total[0], sums, found)


def counted_lane(
    text: LaneText, lane: list[int], counts: list[LexiconCounts], place: int, parameters: Parameters, kind: PassKind
) -> Iterator[tuple[int, tuple[BatchSums, FoundLinks]]]:
    """Adds expected counts of some batches to `counts[place]`; yields the rest of what each of them gives.

    Every lane has a place of its own, so the lanes' counts are added up in one order, whichever finishes first.
    """
    for number in lane:
        batch = padded_pairs(text.bitext, text.cells, number)
        counts[place], part, found = e_step(counts[place], batch, parameters, kind)
        jax.block_until_ready(part)  # a lane runs ahead of its device by nothing: the progress bar is true
        yield number, (part, found)


def padded_pairs(bitext: Bitext, cells: Cells, number: int) -> PaddedPairs:
    """A batch of the text as the models take it."""
    batch, index = cells[number]
    source = batch.padded(bitext.source, batch.width_source)
    target = batch.padded(bitext.target, batch.width_target)
    lengths = (batch.take(side.lengths.astype(np.int32)) for side in (bitext.source, bitext.target))
    return PaddedPairs(index, source, target, *lengths)
