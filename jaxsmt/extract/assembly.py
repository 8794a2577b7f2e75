"""From grouped pairs to `RuleCounts`: sides interned, marginals summed, links unpacked, block by block."""

import itertools
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import release_pages, take_rows
from jaxsmt.extract.alignments import turn_alignments, unpack_alignments
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.extract.counting import Pairs, sort_columns, unit_of
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.hiero.rules import FIRST_GAP, SECOND_GAP
from jaxsmt.extract.keeping import is_frequent, keep_best, keep_frequent, keep_pairs
from jaxsmt.extract.ngrams import NgramIndex
from jaxsmt.extract.spill import Workspace, range_bounds
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD

Columns = dict[str, np.ndarray]


def assemble(
    pairs: Pairs, corpus: AlignedCorpus, config: ExtractConfig, space: Workspace, pairs_per_source: int | None = None
) -> RuleCounts:
    """Sorted distinct pairs as `RuleCounts`; in a folder, the arrays are mapped files already removed from it."""
    unit = unit_of(config)
    source_index, sources = _index_sources(pairs, space)
    if config.is_hiero:
        target_index, targets = _rank_targets(pairs, space)
        targets["total"] = _add_swapped(targets, corpus.target_ngrams.num_bits, space)
    else:
        target_index, targets = _index_targets(pairs, corpus.target_ngrams.num_ngrams, space)
    pairs = pairs | {"source_index": source_index, "target_index": target_index}
    pairs, sources, targets = keep_frequent(pairs, sources, targets, corpus.source_ngrams.num_bits, config, space)
    has_reserved = any(np.any(index.words < NUM_RESERVED) for index in (corpus.source_ngrams, corpus.target_ngrams))
    is_sorted = not (config.is_hiero and has_reserved)
    if is_sorted:
        pairs = keep_best(pairs, unit, pairs_per_source, space)
    counts = RuleCounts(
        source_sides=_sides(sources, corpus.source_ngrams, config.source_width, config.is_hiero, space, "source"),
        target_sides=_sides(targets, corpus.target_ngrams, config.target_width, config.is_hiero, space, "target"),
        source_index=pairs["source_index"],
        target_index=pairs["target_index"],
        source_counts=_as_counts(sources["total"], unit, space, "source"),
        target_counts=_as_counts(targets["total"], unit, space, "target"),
        joint_counts=_as_counts(pairs["joint"], unit, space, "joint"),
        **_links(pairs, config, space),
        orientation_counts=_as_counts(pairs["orientations"], 1, space, "orient") if "orientations" in pairs else None,
    )
    return counts if is_sorted else _sort_by_ids(counts, pairs_per_source)


def _side_columns(columns: Columns, side: str) -> Columns:
    """The one or two key columns of a side under the names `key` and `rest`."""
    return {name: columns[f"{side}_{name}"] for name in ("key", "rest") if f"{side}_{name}" in columns}


# ---- interning -------------------------------------------------------------------------------------


def _index_sources(pairs: Pairs, space: Workspace) -> tuple[np.ndarray, Columns]:
    """The index [P] of each pair's source side; the sides' keys and total counts [Ps]."""
    sides = _side_columns(pairs, "source")
    num_pairs, num_sides = len(pairs["joint"]), 0
    index_spool, side_spool = space.spool("source-index"), space.spool("source-side")
    for block in space.blocks(num_pairs, *sides.values()):
        is_new = np.zeros(block.stop - block.start, bool)
        for column in sides.values():
            is_new[1:] |= column[block][1:] != column[block][:-1]
            if block.start and len(is_new):
                is_new[0] |= column[block.start] != column[block.start - 1]
        is_new[:1] |= block.start == 0
        index_spool.append({"index": (num_sides - 1 + np.cumsum(is_new)).astype(np.int32)})
        side_spool.append({name: column[block][is_new] for name, column in sides.items()})
        num_sides += int(is_new.sum())
    index, found = index_spool.finish()["index"], side_spool.finish()
    return index, found | {"total": _totals(index, pairs["joint"], num_sides, space)}


def _index_targets(pairs: Pairs, num_ngrams: int, space: Workspace) -> tuple[np.ndarray, Columns]:
    """Likewise for target phrases, whose keys are numbers of n-grams: no sorting is needed."""
    keys = pairs["target_key"]
    is_used = np.zeros(num_ngrams + 1, bool)
    for block in space.blocks(len(keys), keys):
        is_used[keys[block]] = True
    place = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    spool = space.spool("target-index")
    for block in space.blocks(len(keys), keys):
        spool.append({"index": place[keys[block]]})
    index, used = spool.finish()["index"], np.flatnonzero(is_used)
    return index, {"key": used, "total": _totals(index, pairs["joint"], len(used), space)}


def _totals(index: np.ndarray, joint: np.ndarray, num_sides: int, space: Workspace) -> np.ndarray:
    """[num_sides] int64: the sums of the joint counts."""
    totals = np.zeros(num_sides, np.int64)
    for block in space.blocks(len(joint), joint, index):
        np.add.at(totals, index[block], joint[block])
    return totals


def _rank_targets(pairs: Pairs, space: Workspace) -> tuple[np.ndarray, Columns]:
    """Likewise for target sides with gaps, by sorting one range of keys at a time."""
    sides = _side_columns(pairs, "target")
    num_pairs, num_sides = len(pairs["joint"]), 0
    bounds = range_bounds(sides["key"], -(-num_pairs // space.max_rows))
    edges = [-1, *bounds.tolist(), np.iinfo(np.int64).max]
    index = _new_index(num_pairs, space.folder)
    spool = space.spool("target-side")
    for low, high in itertools.pairwise(edges):
        blocks = space.blocks(num_pairs, sides["key"])
        rows = np.concatenate([_rows_between(sides["key"], block, low, high) for block in blocks])
        taken = {name: take_rows(column, rows) for name, column in sides.items()}
        order, is_new = sort_columns(list(taken.values()))
        starts = np.flatnonzero(is_new)
        index[rows[order]] = (num_sides - 1 + np.cumsum(is_new)).astype(np.int32)
        release_pages(index)
        joint = take_rows(pairs["joint"], rows)[order]
        total = np.add.reduceat(joint, starts) if len(starts) else np.zeros(0, np.int64)
        spool.append({name: column[order[starts]] for name, column in taken.items()} | {"total": total})
        num_sides += len(starts)
    return index, spool.finish()


def _rows_between(keys: np.ndarray, block: slice, low: int, high: int) -> np.ndarray:
    here = np.asarray(keys[block])
    return np.flatnonzero((here >= low) & (here < high)) + block.start


def _new_index(num_rows: int, folder: Path | None) -> np.ndarray:
    """[num_rows] int32 to be filled, in memory or in a file that is mapped and removed."""
    if folder is None or not num_rows:
        return np.empty(num_rows, np.int32)
    path = folder / "target-index"
    array = np.memmap(path, np.int32, "w+", shape=(num_rows,))
    path.unlink()
    return array


def _add_swapped(targets: Columns, bits: int, space: Workspace) -> np.ndarray:
    """[Pt] int64: totals in which X1 … X2 and X2 … X1 between the same words are one event.

    The marginal of a target side counts its words and gaps as they stand; which gap is which is part of the pair.
    """
    key, rest, totals = targets["key"], targets["rest"], np.array(targets["total"])
    low = (1 << bits) - 1
    parts = [np.zeros(0, np.int64)]
    for block in space.blocks(len(key), key):
        parts.append(np.flatnonzero((key[block] >> bits & 3) == SECOND_GAP) + block.start)
    swapped = np.concatenate(parts)
    wanted_key = key[swapped] ^ ((FIRST_GAP ^ SECOND_GAP) << bits)
    wanted_rest = rest[swapped].astype(np.int64) & low | SECOND_GAP << bits
    place = _find(key, rest, wanted_key, wanted_rest)
    for column in (key, rest):
        release_pages(column)
    found = np.flatnonzero(place >= 0)
    straight = place[found]
    totals[straight] += np.asarray(targets["total"])[swapped[found]]
    totals[swapped[found]] = totals[straight]
    return totals


def _find(key: np.ndarray, rest: np.ndarray, wanted_key: np.ndarray, wanted_rest: np.ndarray) -> np.ndarray:
    """The places of (key, rest) pairs in columns sorted by both, -1 where there is none: bisection for all at once."""
    low, high = np.zeros(len(wanted_key), np.int64), np.full(len(wanted_key), len(key))
    while np.any(low < high):
        middle = np.minimum((low + high) // 2, len(key) - 1)
        is_less = (key[middle] < wanted_key) | ((key[middle] == wanted_key) & (rest[middle] < wanted_rest))
        is_open = low < high
        low = np.where(is_open & is_less, middle + 1, low)
        high = np.where(is_open & ~is_less, middle, high)
    place = np.minimum(low, max(len(key) - 1, 0))
    return np.where((key[place] == wanted_key) & (rest[place] == wanted_rest), place, -1) if len(place) else place


# ---- what the arrays hold --------------------------------------------------------------------------


def _sides(
    sides: Columns, ngrams: NgramIndex, width: int, has_gaps: bool, space: Workspace, name: str
) -> np.ndarray:
    """[number of sides, width] int32: the symbols of sides with the given keys."""
    spool = space.spool(f"{name}-symbols")
    for block in space.blocks(len(sides["key"]), *sides.values()):
        key = np.asarray(sides["key"][block], np.int64)
        pieces = _pieces(key, np.asarray(sides["rest"][block], np.int64), ngrams.num_bits) if has_gaps else [key]
        spool.append({"symbols": _write_symbols(pieces, ngrams, width)})
    return spool.finish()["symbols"]


def _pieces(key: np.ndarray, rest: np.ndarray, bits: int) -> list[np.ndarray]:
    """N-gram, gap, n-gram, gap, n-gram as `side_keys` packed them; a gap is its code."""
    low = (1 << bits) - 1
    return [key >> (bits + 2), key >> bits & 3, key & low, rest >> bits, rest & low]


def _write_symbols(pieces: list[np.ndarray], ngrams: NgramIndex, width: int) -> np.ndarray:
    symbols = np.full((len(pieces[0]), width), PAD, np.int32)
    filled = np.zeros(len(symbols), np.int64)
    for number, piece in enumerate(pieces):
        if number % 2:
            here = np.flatnonzero(piece)
            symbols[here, filled[here]] = np.array(NONTERMINALS, np.int32)[piece[here] - 1]
            filled[here] += 1
        else:
            here = np.flatnonzero(piece)
            position, length = ngrams.words_of(piece[here])
            place = filled[here] + here * width
            filled[here] += length
            while len(place):  # a word each, of those that have one more
                symbols.reshape(-1)[place] = ngrams.words[position]
                more = np.flatnonzero(length > 1)
                place, position, length = place[more] + 1, position[more] + 1, length[more] - 1
    return symbols


def _as_counts(values: np.ndarray, unit: int, space: Workspace, name: str) -> np.ndarray:
    """float32 counts of sums in units."""
    spool = space.spool(f"{name}-counts")
    for block in space.blocks(len(values), values):
        spool.append({"counts": (values[block] / unit).astype(np.float32)})
    return spool.finish()["counts"]


def _links(pairs: Pairs, config: ExtractConfig, space: Workspace) -> Columns:
    """The chosen alignments as bit masks, [P, Lt] and [P, Ls] uint16."""
    spool, widths = space.spool("links"), (config.target_width, config.source_width)
    for block in space.blocks(len(pairs["joint"]), pairs["by_target"], pairs["by_source"]):
        spool.append(
            {
                "links_by_target": unpack_alignments(pairs["by_target"][block], *widths),
                "links_by_source": turn_alignments(pairs["by_source"][block], *widths),
            }
        )
    return spool.finish()


def _sort_by_ids(counts: RuleCounts, pairs_per_source: int | None) -> RuleCounts:
    """Sorts anew by ids: texts with reserved ids (unknown words) have words that come before the gaps.

    The most frequent pairs can be chosen only then, as the order decides between equal ones.
    """
    source_order = np.lexsort(counts.source_sides.T[::-1])
    target_order = np.lexsort(counts.target_sides.T[::-1])
    source_index = np.argsort(source_order).astype(np.int32)[counts.source_index]
    target_index = np.argsort(target_order).astype(np.int32)[counts.target_index]
    order = np.lexsort((target_index, source_index))
    counts = RuleCounts(
        source_sides=counts.source_sides[source_order],
        target_sides=counts.target_sides[target_order],
        source_index=source_index[order],
        target_index=target_index[order],
        joint_counts=counts.joint_counts[order],
        source_counts=counts.source_counts[source_order],
        target_counts=counts.target_counts[target_order],
        links_by_target=counts.links_by_target[order],
        links_by_source=counts.links_by_source[order],
        orientation_counts=None,
    )
    if pairs_per_source is None:
        return counts
    return keep_pairs(counts, is_frequent(counts.source_index, counts.joint_counts, pairs_per_source))
