"""Which of the counted pairs are kept, so that tables stay small; marginals stay those of all that was counted."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from jaxsmt.common.ragged import ranks_in_runs
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.spill import Workspace

Columns = dict[str, np.ndarray]
Pairs = Columns


def keep_frequent(
    pairs: Pairs, sources: Columns, targets: Columns, bits: int, config: ExtractConfig, space: Workspace
) -> tuple[Pairs, Columns, Columns]:
    """Leaves out rules with gaps that, or whose source sides, were seen too few times, and sides without pairs.

    Args:
      pairs: of `group_rows`, with columns source_index and target_index into the sides.
      sources, targets: columns of sides.
      bits: of the numbers of n-grams in the source keys; the code of the first gap stands above them.
    """
    if not config.leaves_out:
        return pairs, sources, targets
    has_gap = (np.asarray(sources["key"]) >> bits & 3) > 0
    is_kept = np.empty(len(pairs["joint"]), bool)
    for block in space.blocks(len(is_kept), pairs["seen"], pairs["places"], pairs["source_index"]):
        is_seen = pairs["seen"][block] >= config.min_count
        is_seen &= pairs["places"][block] >= config.min_source_count
        is_kept[block] = is_seen | ~has_gap[pairs["source_index"][block]]
    pairs = _take_pairs(pairs, is_kept, space, "frequent")
    pairs["source_index"], sources = _renumber(pairs["source_index"], sources, space, "source")
    pairs["target_index"], targets = _renumber(pairs["target_index"], targets, space, "target")
    return pairs, sources, targets


def keep_best(pairs: Pairs, unit: int, pairs_per_source: int | None, space: Workspace) -> Pairs:
    """The most frequent pairs of each source side; all sides stay."""
    if pairs_per_source is None:
        return pairs
    is_kept = np.empty(len(pairs["joint"]), bool)
    for block in _whole_sources(pairs["source_index"], space):
        counts = (pairs["joint"][block] / unit).astype(np.float32)
        is_kept[block] = is_frequent(pairs["source_index"][block], counts, pairs_per_source)
    return _take_pairs(pairs, is_kept, space, "best")


def is_frequent(source_index: np.ndarray, joint_counts: np.ndarray, pairs_per_source: int) -> np.ndarray:
    """[P] bool: the pairs with the largest counts of each source side; of equal ones those that come first.

    source_index [P] ascends.
    """
    order = np.lexsort((-joint_counts, source_index))  # stable
    is_kept = np.empty(len(order), bool)
    is_kept[order] = ranks_in_runs(source_index[order]) < pairs_per_source
    return is_kept


def keep_pairs(rules: RuleCounts, pairs: np.ndarray) -> RuleCounts:
    """The given pairs (ascending indices, or a mask over all) with all sides and marginals unchanged."""
    orientations = rules.orientation_counts
    return replace(
        rules,
        source_index=rules.source_index[pairs],
        target_index=rules.target_index[pairs],
        joint_counts=rules.joint_counts[pairs],
        links_by_target=rules.links_by_target[pairs],
        links_by_source=rules.links_by_source[pairs],
        orientation_counts=None if orientations is None else orientations[pairs],
    )


def _whole_sources(source_index: np.ndarray, space: Workspace) -> Iterator[slice]:
    """Slices that cover the pairs and cut no source side in two."""
    start = 0
    while start < len(source_index):
        last = source_index[min(start + space.block_rows, len(source_index)) - 1]
        end = int(np.searchsorted(source_index, last, side="right"))
        yield slice(start, end)
        start = end


def _take_pairs(pairs: Pairs, is_kept: np.ndarray, space: Workspace, name: str) -> Pairs:
    spool = space.spool(name)
    for block in space.blocks(len(is_kept), *pairs.values()):
        spool.append({column: values[block][is_kept[block]] for column, values in pairs.items()})
    return spool.finish()


def _renumber(index: np.ndarray, sides: Columns, space: Workspace, name: str) -> tuple[np.ndarray, Columns]:
    """The index into the sides that it still names, and these."""
    is_used = np.zeros(len(sides["key"]), bool)
    for block in space.blocks(len(index), index):
        is_used[index[block]] = True
    place = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    spool = space.spool(f"kept-{name}")
    for block in space.blocks(len(index), index):
        spool.append({"index": place[index[block]]})
    return spool.finish()["index"], {column: values[is_used] for column, values in sides.items()}
