"""Hierarchical rules of a batch as rows to be counted (Chiang 2007, section 3.2).

Every consistent box is an initial phrase pair; a rule is a box in which up to two smaller boxes are replaced by
gaps. Gaps are X1, X2 in source order; they may not touch on the source side, and at least one linked word stays.
Source sides are found first, in spans of the source text; the boxes of these spans give the target sides of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import ranges
from jaxsmt.extract.boxes import Boxes, find_boxes, link_grid
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.extract.hiero.packed_links import SpanMasks, close_gap, move_links, side_links, span_masks
from jaxsmt.extract.hiero.spans import SourceSides, SourceSpans, find_sides, source_spans
from jaxsmt.extract.ngrams import NgramIndex
from jaxsmt.extract.phrases import Rows
from jaxsmt.text.buckets import Batch

FIRST_GAP, SECOND_GAP = 1, 2  # codes of X1 and X2 in the keys of sides, 0 is no gap; they sort as their ids do
MAX_SHARERS = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Derivations:
    """R rules of one number of gaps G: the source side, and as boxes of the batch the initial phrase pair and gaps.

    sides: the source sides; rules of one stand together.
    side: [R] int64, the source side of each rule.
    outer: [R] int64.
    gaps: G arrays [R] int64, in source order.
    """

    sides: SourceSides
    side: np.ndarray
    outer: np.ndarray
    gaps: tuple[np.ndarray, ...]


def rule_rows(batch: Batch, corpus: AlignedCorpus, config: ExtractConfig) -> Rows:
    """The rules of a batch, every occurrence a row.

    Columns: source_key, source_rest [O] (sides, see `side_keys`), num_rows [O]; target_key, target_rest [R], likewise,
    alignment (packed links of the words that stay), detail (how many rules share the count of the initial phrase pair).
    """
    (links,), (word_links,) = corpus.alignments, corpus.word_links
    boxes = find_boxes(batch, corpus.bitext, link_grid(batch, links), config.max_span)
    row = batch.rows[boxes.sentence]
    source = corpus.bitext.source.offsets[row] + boxes.source_start  # places in the whole text
    target = corpus.bitext.target.offsets[row] + boxes.target_start
    text_boxes = Boxes(row, source, boxes.source_length, target, boxes.target_length)

    spans = source_spans(boxes, text_boxes, word_links, batch.width_source, config.max_span)
    found = [
        _derive(find_sides(spans, num_gaps, config), spans, text_boxes)
        for num_gaps in range(config.max_nonterminals + 1)
    ]
    num_sharers = sum(np.bincount(derivations.outer, minlength=len(boxes)) for derivations in found)
    sharers = np.minimum(num_sharers, MAX_SHARERS) if config.fractional else np.ones(len(boxes), np.int64)
    masks = span_masks(spans, text_boxes, word_links, config.target_width)
    parts = [
        _source_columns(derivations, spans, corpus.source_ngrams)
        | _target_columns(derivations, text_boxes, corpus.target_ngrams, masks, config)
        | {"detail": sharers.astype(np.uint16)[derivations.outer]}
        for derivations in found
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# ---- finding the gaps ------------------------------------------------------------------------------


def _derive(sides: SourceSides, spans: SourceSpans, boxes: Boxes) -> Derivations:
    """The boxes that a rule of each source side can have: gaps inside the outer one, and apart."""
    start, end = boxes.target_start, boxes.target_start + boxes.target_length
    outer, side = ranges(spans.first_box[sides.outer], spans.num_boxes[sides.outer])
    gaps: list[np.ndarray] = []
    for gap_span in sides.gaps:
        span = gap_span[side]
        gap, row = ranges(spans.first_box[span], spans.num_boxes[span])
        gap_start, gap_end = start[gap], end[gap]
        keep = (gap_start >= start[outer][row]) & (gap_end <= end[outer][row])
        for other in gaps:
            keep &= (gap_end <= start[other][row]) | (end[other][row] <= gap_start)
        row, gap = row[keep], gap[keep]
        side, outer = side[row], outer[row]
        gaps = [*(other[row] for other in gaps), gap]
    return Derivations(sides, side, outer, tuple(gaps))


# ---- rows ------------------------------------------------------------------------------------------


def _source_columns(derivations: Derivations, spans: SourceSpans, ngrams: NgramIndex) -> Rows:
    sides = derivations.sides
    num_rows = np.bincount(derivations.side, minlength=len(sides.outer))
    used = np.flatnonzero(num_rows)
    outer, gaps = sides.outer[used], [gap[used] for gap in sides.gaps]
    cuts = [spans.start[outer], *(place[gap] for gap in gaps for place in (spans.start, spans.end)), spans.end[outer]]
    key, rest = side_keys(ngrams, cuts, [FIRST_GAP, SECOND_GAP][: len(gaps)])
    return {"source_key": key, "source_rest": rest, "num_rows": num_rows[used].astype(np.int32)}


def _target_columns(
    derivations: Derivations, boxes: Boxes, ngrams: NgramIndex, masks: SpanMasks, config: ExtractConfig
) -> Rows:
    """Keys and links."""
    start, end = boxes.target_start, boxes.target_start + boxes.target_length
    outer_start, outer_end = start[derivations.outer], end[derivations.outer]
    begins, ends = [start[gap] for gap in derivations.gaps], [end[gap] for gap in derivations.gaps]
    codes: list[np.ndarray | int] = [FIRST_GAP] * len(begins)
    if len(begins) == 2:  # from left to right; they are apart
        is_swapped = begins[0] > begins[1]
        begins, ends = ([np.minimum(*places), np.maximum(*places)] for places in (begins, ends))
        codes = [FIRST_GAP + is_swapped, SECOND_GAP - is_swapped]
    links = side_links(derivations.sides, masks, config)[derivations.side]
    links = move_links(links, masks.first_word[derivations.sides.outer][derivations.side] - outer_start, config)
    for begin, stop in zip(begins[::-1], ends[::-1], strict=True):  # from the right, so that offsets stay true
        links = close_gap(links, begin - outer_start, stop - outer_start, config)
    cuts = [outer_start, *(place for gap in zip(begins, ends, strict=True) for place in gap), outer_end]
    key, rest = side_keys(ngrams, cuts, codes)
    return {"target_key": key, "target_rest": rest, "alignment": links}


def side_keys(
    ngrams: NgramIndex, cuts: list[np.ndarray], codes: Sequence[np.ndarray | int]
) -> tuple[np.ndarray, np.ndarray]:
    """Sides as two integers [R] int64, [R] int32 that compare, together, as the sides' symbols do.

    A side is n-gram, gap, n-gram, gap, n-gram, where gaps may be missing and n-grams empty. The first integer
    holds the first n-gram, the code of the first gap and the second n-gram, the other one the rest.

    Args:
      cuts: places in the text, [R] each, where the n-grams start and end, from left to right.
      codes: of the gaps between them, one or [R] each.
    """
    bits = ngrams.num_bits
    pieces = [ngrams.lookup(begin, end - begin) for begin, end in zip(cuts[::2], cuts[1::2], strict=True)]
    key = pieces[0] << (bits + 2)
    rest = np.zeros(len(key), np.int32)
    if len(codes) >= 1:
        key |= np.asarray(codes[0], np.int64) << bits | pieces[1]
    if len(codes) == 2:
        rest = (np.asarray(codes[1], np.int64) << bits | pieces[2]).astype(np.int32)
    return key, rest
