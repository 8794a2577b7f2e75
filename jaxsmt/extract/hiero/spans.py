"""Source sides of rules where they stand in the text: source spans with boxes, in which others are gaps."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jaxsmt.extract.alignments import WordLinks
from jaxsmt.extract.boxes import Boxes
from jaxsmt.extract.config import ExtractConfig


@dataclass(frozen=True)
class SourceSpans:
    """C source spans that have boxes, in the order of the boxes.

    first_box, num_boxes: [C] int64; the boxes of a span stand side by side, the ones that begin last at the end.
    start, end: [C] int64, places in the source text.
    num_linked: [C] int64, the linked target words of each of its boxes.
    cell: [C] int64, the span's place in `span_at`: (sentence · N + start in the sentence) · longest span + length - 1.
    span_at: [number of cells] int32, the span of each cell; C where there is none.
    """

    first_box: np.ndarray
    num_boxes: np.ndarray
    start: np.ndarray
    end: np.ndarray
    num_linked: np.ndarray
    cell: np.ndarray
    span_at: np.ndarray

    def __len__(self) -> int:
        return len(self.first_box)


@dataclass(frozen=True)
class SourceSides:
    """O source sides in the text, all of one number of gaps.

    outer: [O] int64, the source span of each.
    gaps: the spans of its gaps, from left to right, [O] int64 each.
    pattern: [O] int64, its row in `gap_patterns` of that number of gaps.
    """

    outer: np.ndarray
    gaps: tuple[np.ndarray, ...]
    pattern: np.ndarray


def source_spans(
    boxes: Boxes, text_boxes: Boxes, word_links: WordLinks, width_source: int, max_span: int
) -> SourceSpans:
    """The source spans of boxes, given by their places in the sentence and in the text."""
    first, sizes = boxes.source_spans()
    cell = (boxes.sentence[first] * width_source + boxes.source_start[first]) * max_span
    cell += boxes.source_length[first] - 1
    num_cells = (int(boxes.sentence[-1]) + 2) * width_source * max_span if len(boxes) else 0
    span_at = np.full(num_cells, len(first), np.int32)
    span_at[cell] = np.arange(len(first))
    start, target = text_boxes.source_start[first], text_boxes.target_start[first]
    num_linked = word_links.num_linked[target + boxes.target_length[first]] - word_links.num_linked[target]
    return SourceSpans(first, sizes, start, start + boxes.source_length[first], num_linked, cell, span_at)


@lru_cache(maxsize=16)
def gap_patterns(num_gaps: int, max_span: int, min_gap: int, max_symbols: int) -> np.ndarray:
    """[Q, 1 + 2 G] (words of the span, offset and length of each gap from left to right) of what a side can be.

    There is at least one word between two gaps, and at least one that is in none.
    """
    patterns: list[tuple[int, ...]] = [(length,) for length in range(1, max_span + 1)]
    for _ in range(num_gaps):
        patterns = [
            (*pattern, offset, size)
            for pattern in patterns
            for offset in range(sum(pattern[-2:]) + 1 if len(pattern) > 1 else 0, pattern[0])
            for size in range(min_gap, pattern[0] - offset + 1)
        ]
    num_symbols = [pattern[0] - sum(pattern[2::2]) + num_gaps for pattern in patterns]
    kept = [pattern for pattern, size in zip(patterns, num_symbols, strict=True) if num_gaps < size <= max_symbols]
    return np.array(kept, np.int64).reshape(-1, 1 + 2 * num_gaps)


def find_sides(spans: SourceSpans, num_gaps: int, config: ExtractConfig) -> SourceSides:
    """Every way to leave `num_gaps` smaller spans out of a span, linked words remaining."""
    patterns = gap_patterns(num_gaps, config.max_span, config.min_gap, config.max_source_symbols)
    found: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] for _ in range(2 + num_gaps)]
    length = spans.end - spans.start
    for size in np.unique(patterns[:, 0]):
        outer = np.flatnonzero(length == size)
        here = np.flatnonzero(patterns[:, 0] == size)
        base = spans.cell[outer] - (size - 1)
        is_there, gaps = np.ones((len(here), len(outer)), bool), []  # [Q, n]
        for column in range(1, 2 * num_gaps, 2):
            step = patterns[here, column] * config.max_span + patterns[here, column + 1] - 1
            gaps.append(spans.span_at[base + step[:, None]])
            is_there &= gaps[-1] < len(spans)
        row, which = at = np.nonzero(is_there)
        for parts, part in zip(found, [outer[which], here[row], *(gap[at] for gap in gaps)], strict=True):
            parts.append(part.astype(np.int64))
    outer, pattern, *between = (np.concatenate(parts) for parts in found)
    linked = spans.num_linked[outer] - sum(spans.num_linked[gap] for gap in between)
    keep = linked > 0
    return SourceSides(outer[keep], tuple(gap[keep] for gap in between), pattern[keep])
