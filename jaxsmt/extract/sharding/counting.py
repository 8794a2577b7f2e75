"""Counting by tasks: shards of batches write sorted rows, then every range of source sides is counted by one task.

A range has all rows of its source sides, so its counts are final, and end to end the ranges are the counts of the whole
corpus. Neither how batches nor how source sides are cut changes a bit of them (see `jaxsmt.extract.counting`).
"""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import open_arrays
from jaxsmt.common.cluster.tasks import SHARDS_PER_WORKER, TaskRunner, shard_bounds
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.extract.counting import Pairs
from jaxsmt.extract.sharding.corpus_files import save_corpus
from jaxsmt.extract.sharding.tasks import SortedPart, count_range, extract_shard, save_list
from jaxsmt.extract.spill import RANGE_SLACK, Workspace, range_bounds
from jaxsmt.text.buckets import Batch

PHRASE_WORDS, RULE_WORDS = 500_000, 100_000  # source words of a shard, at most: a minute's work
MIN_RANGE_ROWS = 1 << 16  # smaller ranges are not worth a task


def count_by_tasks(
    tasks: TaskRunner, corpus: AlignedCorpus, batches: Sequence[Batch], config: ExtractConfig, space: Workspace
) -> tuple[Pairs, Workspace]:
    """Grouped pairs as `group_rows` makes them of all rows, and where there is room to go on with them."""
    with tasks.scratch("extraction") as folder:
        save_corpus(folder, corpus, batches)
        parts = _sorted_parts(tasks, folder, corpus, batches, config, space.max_rows)
        save_list(folder, parts)
        num_rows = sum(part.num_rows for part in parts)
        space = space if num_rows > space.max_rows else Workspace(space.max_rows, None)
        spool = space.spool("pairs")
        edges = [None, *_bounds(parts, num_rows, tasks.num_workers, space.max_rows), None]
        numbered = enumerate(itertools.pairwise(edges))
        ranges = [(folder, bounds, config, folder / f"pairs-{number}") for number, bounds in numbered]
        for path in tasks.run(count_range, ranges, "counting", len(ranges)):
            found = open_arrays(path)
            spool.append(found if space.folder else {name: np.array(column) for name, column in found.items()})
            path.unlink()
        return spool.finish(), space


def _sorted_parts(
    tasks: TaskRunner, folder: Path, corpus: AlignedCorpus, batches: Sequence[Batch], config: ExtractConfig,
    max_rows: int,
) -> list[SortedPart]:  # fmt: skip
    words = [int(corpus.bitext.source.lengths[batch.real_rows].sum()) for batch in batches]
    most = RULE_WORDS if config.is_hiero else PHRASE_WORDS
    num_shards = max(SHARDS_PER_WORKER * tasks.num_workers, math.ceil(sum(words) / most))
    shards = [(folder, *bounds, config, max_rows) for bounds in shard_bounds(words, num_shards)]
    found = tasks.run(extract_shard, shards, "extracting", len(shards))
    return [part for parts in found for part in parts]


def _bounds(parts: Sequence[SortedPart], num_rows: int, num_workers: int, max_rows: int) -> list[int]:
    """The first source key of every range but the first: no range too large, and enough of them for all workers."""
    needed = math.ceil(RANGE_SLACK * num_rows / max_rows)
    wanted = min(SHARDS_PER_WORKER * num_workers, num_rows // MIN_RANGE_ROWS)
    keys = np.concatenate([part.sample for part in parts])
    return range_bounds(keys, max(needed, wanted)).tolist()
