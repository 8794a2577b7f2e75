"""The links of rules as integers, by taking gaps out of those of whole boxes.

See `jaxsmt.extract.alignments` for the integers: one digit for each target symbol, the first highest. Words in gaps
are digits that are cut out, and a gap is a digit 0, so a few operations on bits make the links of a rule.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jaxsmt.extract.alignments import WordLinks, mask_ranks, symbol_shift
from jaxsmt.extract.boxes import Boxes
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.hiero.spans import SourceSides, SourceSpans, gap_patterns


@dataclass(frozen=True)
class SpanMasks:
    """What the target words of C source spans are linked to, from the first linked one on.

    first_word: [C] int64, the place of this word in the target text.
    masks: [Lt, C] int64, of this word and those that follow, bit k = source word k of the span; 0 after the end.
    """

    first_word: np.ndarray
    masks: np.ndarray


def span_masks(spans: SourceSpans, boxes: Boxes, word_links: WordLinks, width: int) -> SpanMasks:
    """The masks of `width` target words of each span; boxes are given by their places in the text."""
    last = spans.first_box + spans.num_boxes - 1  # it has no unaligned word before the first linked one
    first_word, length = boxes.target_start[last], boxes.target_length[last]
    masks = np.zeros((width, len(spans)), np.int64)
    for word in range(width):
        here = np.flatnonzero(length > word)
        place = first_word[here] + word
        shift = np.maximum(word_links.first[place] - spans.start[here], 0)
        masks[word, here] = word_links.mask[place].astype(np.int64) << shift
    return SpanMasks(first_word, masks)


@lru_cache(maxsize=8)
def closed_ranks(num_gaps: int, max_span: int, min_gap: int, max_symbols: int) -> np.ndarray:
    """[Q, 2^longest span] uint16: the digit of a mask over the words of a span when the gaps of a pattern are closed.

    Bits in gaps are lost: target words that stay have none.
    """
    width = min(max_symbols, max_span)
    rank_of, _ = mask_ranks(width)
    patterns = gap_patterns(num_gaps, max_span, min_gap, max_symbols)
    masks = np.tile(np.arange(1 << max_span), (len(patterns), 1))
    for gap in range(num_gaps, 0, -1):  # from the right, so that offsets stay true
        offset, size = patterns[:, 2 * gap - 1, None], patterns[:, 2 * gap, None]
        masks = masks & ((1 << offset) - 1) | masks >> (offset + size) << (offset + 1)
    return rank_of[masks & ((1 << width) - 1)].astype(np.uint16)


def side_links(sides: SourceSides, spans: SpanMasks, config: ExtractConfig) -> np.ndarray:
    """[O] uint64: the links of source sides, gaps closed, with all target words from the first linked one on."""
    ranks = closed_ranks(len(sides.gaps), config.max_span, config.min_gap, config.max_source_symbols).reshape(-1)
    row = sides.pattern << config.max_span
    links = np.zeros(len(row), np.uint64)
    for word in range(config.target_width):
        digit = ranks[row + spans.masks[word][sides.outer]].astype(np.uint64)
        links |= digit << symbol_shift(word, config.target_width, config.source_width)
    return links


def move_links(links: np.ndarray, distance: np.ndarray, config: ExtractConfig) -> np.ndarray:
    """[R] uint64: the links with so many unaligned words [R] before them."""
    return links >> (distance * config.source_width).astype(np.uint64)


def close_gap(links: np.ndarray, offset: np.ndarray, end: np.ndarray, config: ExtractConfig) -> np.ndarray:
    """[R] uint64: the links with one symbol that has none in place of the target words from offset to end [R]."""
    width, bits = config.target_width, config.source_width
    lows = np.array([(1 << (width - place) * bits) - 1 for place in range(width + 1)], np.uint64)
    shifts = np.array([max(size - 1, 0) * bits for size in range(width + 1)], np.uint64)
    return links & ~lows[offset] | (links & lows[end]) << shifts[end - offset]
