"""Hierarchical rules of a batch as rows to be counted (Chiang 2007, section 3.2).

Every consistent box is an initial phrase pair; a rule is a box in which up to two smaller boxes are replaced by
gaps. Gaps are X1, X2 in source order; they may not touch on the source side, and at least one linked word stays.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import numbered_runs
from jaxsmt.extract.alignments import WordLinks, mask_ranks
from jaxsmt.extract.boxes import Boxes, find_boxes, link_grid
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.extract.ngrams import NgramIndex
from jaxsmt.extract.phrases import Rows
from jaxsmt.text.buckets import Batch

FIRST_GAP, SECOND_GAP = 1, 2  # codes of X1 and X2 in the keys of sides, 0 is no gap; they sort as their ids do
Gap = tuple[np.ndarray, np.ndarray, np.ndarray | int]  # offset in the side, length, code: [R] each
MAX_SHARERS = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Derivations:
    """R rules of one number of gaps G: the initial phrase pair and the gaps, as indexes into the batch's boxes.

    outer: [R] int64.
    gaps: G arrays [R] int64, in source order.
    """

    outer: np.ndarray
    gaps: tuple[np.ndarray, ...]


def rule_rows(batch: Batch, corpus: AlignedCorpus, config: ExtractConfig) -> Rows:
    """The rules of a batch, every occurrence a row.

    Columns: source_key, source_rest, target_key, target_rest (sides, see `side_keys`), alignment (packed links
    of the words that stay), detail (how many rules share the count of the initial phrase pair).
    """
    (links,), (word_links,) = corpus.alignments, corpus.word_links
    boxes = find_boxes(batch, corpus.bitext, link_grid(batch, links), config.max_span)
    row = batch.rows[boxes.sentence]
    source = corpus.bitext.source.offsets[row] + boxes.source_start  # places in the whole text
    target = corpus.bitext.target.offsets[row] + boxes.target_start
    text_boxes = Boxes(row, source, boxes.source_length, target, boxes.target_length)

    table = _BoxTable(boxes, batch.width_source, config.max_span)
    found = [_without_gap(boxes, config)]
    if config.max_nonterminals >= 1:
        found.append(_with_one_gap(boxes, text_boxes, table, word_links, config))
    if config.max_nonterminals >= 2:
        found.append(_with_two_gaps(boxes, text_boxes, table, word_links, config))
    num_sharers = sum(np.bincount(derivations.outer, minlength=len(boxes)) for derivations in found)
    sharers = np.minimum(num_sharers, MAX_SHARERS) if config.fractional else np.ones(len(boxes), np.int64)
    parts = [_rows_of(derivations, text_boxes, corpus, word_links, sharers, config) for derivations in found]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# ---- finding the gaps ------------------------------------------------------------------------------


class _BoxTable:
    """The boxes of a batch by source span: those of (sentence, start, length) stand side by side."""

    def __init__(self, boxes: Boxes, width_source: int, max_span: int):
        self.base = (boxes.sentence * width_source + boxes.source_start) * max_span  # [K]: the cell of length 1
        cell = self.base + boxes.source_length - 1
        num_cells = (int(boxes.sentence[-1]) + 1) * width_source * max_span if len(boxes) else 0
        self.counts = np.bincount(cell, minlength=num_cells + width_source * max_span)
        self.starts = np.cumsum(self.counts) - self.counts


@lru_cache(maxsize=64)
def one_gap_patterns(length: int, min_gap: int, max_symbols: int) -> np.ndarray:
    """[Q, 2] (offset, length) of the gaps that a source span of `length` words can have."""
    patterns = [
        (offset, size)
        for size in range(min_gap, length)
        if length - size + 1 <= max_symbols
        for offset in range(length - size + 1)
    ]
    return np.array(patterns, np.int64).reshape(-1, 2)


@lru_cache(maxsize=64)
def two_gap_patterns(length: int, min_gap: int, max_symbols: int) -> np.ndarray:
    """[Q, 4] (offset, length, offset, length) of the pairs of gaps, at least one word between them."""
    patterns = [
        (offset, size, second, other)
        for offset in range(length)
        for size in range(min_gap, length)
        for second in range(offset + size + 1, length)
        for other in range(min_gap, length - second + 1)
        if length - size - other + 2 <= max_symbols
    ]
    return np.array(patterns, np.int64).reshape(-1, 4)


def _without_gap(boxes: Boxes, config: ExtractConfig) -> Derivations:
    return Derivations(np.flatnonzero(boxes.source_length <= config.max_source_symbols), ())


def _with_one_gap(
    boxes: Boxes, text_boxes: Boxes, table: _BoxTable, word_links: WordLinks, config: ExtractConfig
) -> Derivations:
    outers, gaps = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for length in range(2, config.max_span + 1):
        patterns = one_gap_patterns(length, config.min_gap, config.max_source_symbols)
        of_length = np.flatnonzero(boxes.source_length == length)
        cells = table.base[of_length][:, None] + (patterns[:, 0] * config.max_span + patterns[:, 1] - 1)[None]
        counts = table.counts[cells]
        which, pattern = np.nonzero(counts)
        repeat, turn = numbered_runs(counts[which, pattern])
        outer = of_length[which][repeat]
        gap = table.starts[cells[which, pattern]][repeat] + turn
        keep = _is_inside(outer, gap, text_boxes) & (_linked_left(outer, (gap,), text_boxes, word_links) > 0)
        outers.append(outer[keep])
        gaps.append(gap[keep])
    return Derivations(np.concatenate(outers), (np.concatenate(gaps),))


def _with_two_gaps(
    boxes: Boxes, text_boxes: Boxes, table: _BoxTable, word_links: WordLinks, config: ExtractConfig
) -> Derivations:
    nothing = np.zeros(0, np.int64)
    outers, firsts, seconds = [nothing], [nothing], [nothing]
    for length in range(2 * config.min_gap + 1, config.max_span + 1):
        patterns = two_gap_patterns(length, config.min_gap, config.max_source_symbols)
        of_length = np.flatnonzero(boxes.source_length == length)
        base = table.base[of_length][:, None]
        first_cells = base + (patterns[:, 0] * config.max_span + patterns[:, 1] - 1)[None]
        second_cells = base + (patterns[:, 2] * config.max_span + patterns[:, 3] - 1)[None]
        first_counts, second_counts = table.counts[first_cells], table.counts[second_cells]
        at = np.nonzero((first_counts > 0) & (second_counts > 0))
        num_second = second_counts[at]
        repeat, turn = numbered_runs(first_counts[at] * num_second)
        outer = of_length[at[0]][repeat]
        first = table.starts[first_cells[at]][repeat] + turn // num_second[repeat]
        second = table.starts[second_cells[at]][repeat] + turn % num_second[repeat]
        keep = _is_inside(outer, first, text_boxes) & _is_inside(outer, second, text_boxes)
        keep &= _is_apart(first, second, text_boxes)
        keep &= _linked_left(outer, (first, second), text_boxes, word_links) > 0
        outers.append(outer[keep])
        firsts.append(first[keep])
        seconds.append(second[keep])
    return Derivations(np.concatenate(outers), (np.concatenate(firsts), np.concatenate(seconds)))


def _is_inside(outer: np.ndarray, gap: np.ndarray, boxes: Boxes) -> np.ndarray:
    """Whether the gap's target span lies in the outer one (the source span does by its pattern)."""
    gap_end = boxes.target_start[gap] + boxes.target_length[gap]
    outer_end = boxes.target_start[outer] + boxes.target_length[outer]
    return (boxes.target_start[gap] >= boxes.target_start[outer]) & (gap_end <= outer_end)


def _is_apart(first: np.ndarray, second: np.ndarray, boxes: Boxes) -> np.ndarray:
    """Whether two gaps have no target word in common."""
    first_end = boxes.target_start[first] + boxes.target_length[first]
    second_end = boxes.target_start[second] + boxes.target_length[second]
    return (first_end <= boxes.target_start[second]) | (second_end <= boxes.target_start[first])


def _linked_left(
    outer: np.ndarray, gaps: tuple[np.ndarray, ...], boxes: Boxes, word_links: WordLinks
) -> np.ndarray:
    """How many linked target words stay outside the gaps."""
    num_linked = word_links.num_linked[boxes.target_start + boxes.target_length]
    num_linked = num_linked - word_links.num_linked[boxes.target_start]  # [K], of each box
    left = num_linked[outer]
    for gap in gaps:
        left = left - num_linked[gap]
    return left


# ---- rows ------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One side of R rules: start and length [R] of the outer span in the text, and its gaps from left to right."""

    start: np.ndarray
    length: np.ndarray
    gaps: list[Gap]


def _side(start: np.ndarray, length: np.ndarray, derivations: Derivations) -> Side:
    """start, length: [K] of all boxes on this side; gaps in the order of the source."""
    outer = derivations.outer
    gaps: list[Gap] = [
        (start[gap] - start[outer], length[gap], code) for code, gap in enumerate(derivations.gaps, FIRST_GAP)
    ]
    return Side(start[outer], length[outer], gaps)


def _rows_of(
    derivations: Derivations, boxes: Boxes, corpus: AlignedCorpus, word_links: WordLinks, sharers: np.ndarray,
    config: ExtractConfig,
) -> Rows:  # fmt: skip
    source = _side(boxes.source_start, boxes.source_length, derivations)
    target = _side(boxes.target_start, boxes.target_length, derivations)
    if len(target.gaps) == 2:
        target = target._replace(gaps=_in_order(*target.gaps))
    source_key, source_rest = side_keys(corpus.source_ngrams, source)
    target_key, target_rest = side_keys(corpus.target_ngrams, target)
    return {
        "source_key": source_key,
        "source_rest": source_rest,
        "target_key": target_key,
        "target_rest": target_rest,
        "alignment": rule_alignments(source, target, word_links, config),
        "detail": sharers[derivations.outer].astype(np.uint16),
    }


def _in_order(first: Gap, second: Gap) -> list[Gap]:
    """The two gaps by their place on the target side."""
    swapped = first[0] > second[0]
    return [
        (np.where(swapped, b[0], a[0]), np.where(swapped, b[1], a[1]), np.where(swapped, b[2], a[2]))
        for a, b in ((first, second), (second, first))
    ]


def side_keys(ngrams: NgramIndex, side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Sides as two integers [R] int64, [R] int32 that compare, together, as the sides' symbols do.

    A side is n-gram, gap, n-gram, gap, n-gram, where gaps may be missing and n-grams empty. The first integer
    holds the first n-gram, the code of the first gap and the second n-gram, the other one the rest.
    """
    start, length, gaps = side
    bits = ngrams.num_bits
    ends = [offset for offset, _, _ in gaps] + [length]
    begins = [np.zeros_like(length)] + [offset + size for offset, size, _ in gaps]
    pieces = [ngrams.lookup(start + begin, end - begin) for begin, end in zip(begins, ends, strict=True)]
    codes = [code for _, _, code in gaps]
    key = pieces[0] << (bits + 2)
    rest = np.zeros(len(start), np.int32)
    if len(gaps) >= 1:
        key |= np.asarray(codes[0], np.int64) << bits | pieces[1]
    if len(gaps) == 2:
        rest = (np.asarray(codes[1], np.int64) << bits | pieces[2]).astype(np.int32)
    return key, rest


def rule_alignments(source: Side, target: Side, word_links: WordLinks, config: ExtractConfig) -> np.ndarray:
    """[R] uint64: the packed links of the words that stay, between places in the rule; a gap is one place."""
    rank_of, _ = mask_ranks(config.source_width)
    key = np.zeros(len(source.start), np.uint64)
    for word in range(config.target_width):
        stays, symbol = target.length > word, np.full(len(key), word)
        for offset, size, _ in target.gaps:
            stays &= (word < offset) | (word >= offset + size)
            symbol -= np.where(word >= offset + size, size - 1, 0)
        here = np.flatnonzero(stays)
        place = target.start[here] + word
        mask = word_links.mask[place].astype(np.int64)
        mask <<= np.maximum(word_links.first[place] - source.start[here], 0)
        for offset, size, _ in reversed(source.gaps):  # close the gaps from the right, so that offsets stay true
            low, after = offset[here], offset[here] + size[here]
            mask = mask & ((1 << low) - 1) | mask >> after << (low + 1)
        shift = (config.target_width - 1 - symbol[here]) * config.source_width
        key[here] |= rank_of[mask] << shift.astype(np.uint64)
    return key
