"""A part of a text that several jobs translate: its lines, with the labels that they have in the whole text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.source_text import (
    LETTERS_PER_BLOCK,
    LINES_PER_BLOCK,
    SourceText,
    joined_texts,
    line_blocks,
    source_text,
)
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.streams import read_lines


@dataclass(frozen=True)
class PartLabels:
    """A labeller of lines whose labels were found when all lines around them were looked at; first: their place."""

    labels: Sequence[str | None]
    first: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for label in self.labels if label is not None))

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """Those at the places of the sentences, counted in the whole text."""
        place = start - self.first
        return list(self.labels[place : place + len(sentences)])


@dataclass(frozen=True)
class TextPart:
    """Lines of one shard; first: the place of the first of them in the whole text."""

    text: SourceText
    labeller: PartLabels
    first: int


def num_filled(num_lines: int, num_shards: int) -> int:
    """How many of the shards have lines, at least one: each has whole blocks."""
    return max(min(num_shards, math.ceil(num_lines / LINES_PER_BLOCK)), 1)


def shard_bounds(num_lines: int, num_shards: int, shard: int) -> tuple[int, int]:
    """The first line of a shard (from 1) and the one behind its last; shards that are too many have none.

    Shards are whole blocks, so that lines are in the same batches as without: last digits of scores depend on them.
    """
    num_blocks, filled = math.ceil(num_lines / LINES_PER_BLOCK), num_filled(num_lines, num_shards)
    places = (min(place, filled) for place in (shard - 1, shard))
    first, last = (min(num_blocks * place // filled * LINES_PER_BLOCK, num_lines) for place in places)
    return first, last


def own_part(config: DictConfig, side: TextSide, labeller: Labeller, most: tuple[int, int]) -> TextPart:
    """The part of the input that is config.shard of config.shards.

    A labeller looks at the lines of a block together, so it is shown whole blocks, as without shards.
    most: lines and letters of a text that is held in memory; a longer one is read in blocks that are shorter where
    lines are very long.
    """
    num_lines, num_letters = _size(config.input)
    first, last = shard_bounds(num_lines, config.shards, config.shard)
    if last - first > most[0]:
        raise UserError(
            f"shards is {config.shards}, which leaves {last - first:,} lines to each, and at most {most[0]:,} are held "
            f"in memory: give shards={math.ceil(num_lines / most[0]) + 1} or more"
        )
    if config.labels is not None:
        labeller.labels_of([[]] * num_lines)
        labeller.labels_of([], num_lines)  # are there more?
    is_known = num_lines <= most[0] and num_letters <= most[1]
    texts, labels, start = [], [], 0
    for lines in line_blocks(read_lines(config.input, may_be_empty=True), None if is_known else LETTERS_PER_BLOCK):
        rows = range(max(first - start, 0), min(last - start, len(lines)))
        if rows:
            block = source_text(side, lines)
            found = labeller.labels_of(block.tokens, start)
            texts.append(block.take(rows))
            labels += [found[row] for row in rows]
        start += len(lines)
    return TextPart(joined_texts(texts), PartLabels(labels, first), first)


def _size(path: str) -> tuple[int, int]:
    """How many lines and letters a file has."""
    num_lines = num_letters = 0
    for line in read_lines(path, may_be_empty=True):
        num_lines += 1
        num_letters += len(line)
    return num_lines, num_letters
