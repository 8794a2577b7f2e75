"""Lines of Moses' phrase, rule and reordering tables as arrays, a chunk of lines at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text.streams import open_binary, raw_lines
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, Vocabulary

MAX_SYMBOLS = 16  # links are bit masks of 16 bits
CHUNK_BYTES = 1 << 21
ESCAPES = {"|": "&#124;", "[": "&#91;", "]": "&#93;"}


class BadLines(Exception):
    """Says what is wrong with the lines; the reader finds out which line it is."""


class TokenIds(dict):
    """Token → id: words from NUM_RESERVED on in order of appearance, bracketed labels below 0."""

    def __init__(self, hierarchical: bool, unescape: bool):
        super().__init__()
        self.words: list[str] = []
        self.brackets: list[str] = []
        self._word_ids: dict[str, int] = {}
        self._hierarchical, self._unescape = hierarchical, unescape

    def __missing__(self, token: str) -> int:
        if not token:
            raise BadLines("has an empty token: separate tokens by one space")
        if self._hierarchical and token[0] == "[" and token[-1] == "]":
            self.brackets.append(token)
            number = -len(self.brackets)
        else:
            number = self._word_id(token)
        self[token] = number
        return number

    def _word_id(self, token: str) -> int:
        if self._unescape:
            for character, code in ESCAPES.items():
                token = token.replace(code, character)
        number = self._word_ids.setdefault(token, NUM_RESERVED + len(self.words))
        if number == NUM_RESERVED + len(self.words):
            self.words.append(token)
        return number

    def vocabulary(self) -> Vocabulary:
        return Vocabulary(tuple(self.words))


class LinkCodes(dict):
    """'i-j' → 16 i + j; there are few different ones."""

    def __missing__(self, text: str) -> int:
        source, _, target = text.partition("-")
        if not (source.isascii() and source.isdigit() and target.isascii() and target.isdigit()):
            raise BadLines(f"has the alignment point '{text}': write source-target, counted from 0")
        if int(source) >= MAX_SYMBOLS or int(target) >= MAX_SYMBOLS:
            raise BadLines(f"has the alignment point '{text}': at most {MAX_SYMBOLS} symbols a side can be read")
        self[text] = code = MAX_SYMBOLS * int(source) + int(target)
        return code


@dataclass(frozen=True)
class Interners:
    """What stays the same from chunk to chunk."""

    source: TokenIds
    target: TokenIds
    links: LinkCodes
    hierarchical: bool
    num_scores: int


@dataclass(frozen=True)
class Chunk:
    """R parsed lines."""

    source: np.ndarray  # [R, L] int32, gaps numbered
    target: np.ndarray  # [R, L'] int32
    scores: np.ndarray  # [R, F] float32
    links: np.ndarray  # [R, L'] uint16, terminals only
    counts: np.ndarray | None  # [R, 3] float32
    left_labels: np.ndarray  # [R] int16: ids of the brackets of the target side's left-hand side; 0 for phrases
    gap_labels: np.ndarray  # [R, 2] int16: ids of the brackets of X1, X2; 0 where there is none


def line_chunks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields (number of the first line, lines) of a plain or packed file."""
    if not path.is_file():
        raise UserError(f"table '{path}' does not exist: check the path")
    number, lines, size = 1, [], 0
    with open_binary(path) as stream:
        for line in raw_lines(stream, f"'{path}'"):
            lines.append(line)
            size += len(line)
            if size >= CHUNK_BYTES:
                yield number, _decoded(path, number, lines)
                number, lines, size = number + len(lines), [], 0
        if lines:
            yield number, _decoded(path, number, lines)


def _decoded(path: Path, number: int, lines: list[bytes]) -> list[str]:
    try:
        return [line.decode() for line in lines]
    except UnicodeDecodeError:
        for place, line in enumerate(lines):
            if line.decode(errors="replace").encode() != line:
                raise UserError(f"'{path}' line {number + place} is not UTF-8: convert the file") from None
        raise


def parse_lines(lines: list[str], interners: Interners) -> Chunk:
    """Parses lines of one table."""
    fields = [line.split("|||") for line in lines]
    num_fields = {len(row) for row in fields}
    if min(num_fields) < 3:
        raise BadLines("has fewer than three fields: write 'source ||| target ||| scores ||| alignment ||| counts'")
    source, target = _sides(fields, 0, interners.source), _sides(fields, 1, interners.target)
    scores = _numbers(fields, 2, interners.num_scores)
    if not interners.hierarchical:
        source_ids, target_ids = _padded(source), _padded(target)
        left, gap_labels = np.zeros(len(lines), np.int16), np.zeros((len(lines), 2), np.int16)
        links = _links(fields, interners.links, source_ids, target_ids)
    else:
        source, _ = _without_left_side(source, interners.source)
        target, left = _without_left_side(target, interners.target)
        source_ids, target_ids = _padded(source), _padded(target)
        links = _links(fields, interners.links, source_ids, target_ids)
        gap_labels = _number_gaps(source_ids, target_ids, links)
    return Chunk(source_ids, target_ids, scores, _masks(links, target_ids), _counts(fields), left, gap_labels)


def _sides(fields: list[list[str]], column: int, ids: TokenIds) -> Ragged:
    rows = [row[column].strip(" ").split(" ") for row in fields]
    offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
    values = np.fromiter(map(ids.__getitem__, chain.from_iterable(rows)), np.int32, int(offsets[-1]))
    return Ragged(values, offsets)


def _numbers(fields: list[list[str]], column: int, width: int) -> np.ndarray:
    rows = [row[column].split() for row in fields]
    for row in rows:
        if len(row) != width:
            raise BadLines(f"has {len(row)} scores and the first line has {width}: write the same number in all lines")
    try:
        numbers = np.fromiter(map(float, chain.from_iterable(rows)), np.float64, len(rows) * width)
    except ValueError as error:
        raise BadLines(f"has a score that is no number ({error}): mend the line") from None
    if not np.all((numbers >= 0) & np.isfinite(numbers)):
        raise BadLines("has a score that is negative or not finite: tables hold probabilities, not logarithms")
    return numbers.reshape(len(rows), width).astype(np.float32)


def _padded(side: Ragged) -> np.ndarray:
    longest = int(side.lengths.max(initial=0))
    if longest > MAX_SYMBOLS:
        raise BadLines(f"has a side of {longest} symbols: at most {MAX_SYMBOLS} can be read")
    return side.padded(np.arange(len(side)), longest)


def _without_left_side(side: Ragged, ids: TokenIds) -> tuple[Ragged, np.ndarray]:
    """Takes the left-hand side, the last symbol, off each row; returns the rows and its bracket ids [R]."""
    is_single = np.array([False] + ["][" not in text for text in ids.brackets])[np.maximum(-side.values, 0)]
    last = side.offsets[1:] - 1
    rest = np.ones(len(side.values), bool)
    rest[last] = False
    if not is_single[last].all() or np.any(side.lengths < 2):
        raise BadLines("has a side that does not end in a left-hand side such as [X] after its symbols: mend the line")
    if is_single[rest].any():
        raise BadLines("has a left-hand side such as [X] amid its symbols: nonterminals are written [X][X]")
    return Ragged(side.values[rest], offsets_of(side.lengths - 1)), side.values[last].astype(np.int16)


def _links(fields: list[list[str]], codes: LinkCodes, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[T, 3] int64 (line, source symbol, target symbol); none where there is no alignment field."""
    rows = [row[3].split() if len(row) > 3 else [] for row in fields]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    code = np.fromiter(map(codes.__getitem__, chain.from_iterable(rows)), np.int64, int(lengths.sum()))
    line = np.repeat(np.arange(len(rows)), lengths)
    links = np.stack([line, *np.divmod(code, MAX_SYMBOLS)], 1)
    inside = (links[:, 1] < (source != 0).sum(1)[line]) & (links[:, 2] < (target != 0).sum(1)[line])
    if not inside.all():
        raise BadLines("has an alignment point outside its sides: count symbols from 0")
    return links


def _number_gaps(source: np.ndarray, target: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Puts X1, X2 for the gaps of both sides, in place; returns the target brackets of X1 and X2 [R, 2]."""
    source_gap, target_gap = source < 0, target < 0
    numbers = np.cumsum(source_gap, 1)
    if numbers.max(initial=0) > len(NONTERMINALS):
        raise BadLines(f"has more than {len(NONTERMINALS)} nonterminals: they cannot be read")
    source[source_gap] = np.array(NONTERMINALS, np.int32)[numbers[source_gap] - 1]
    of_gaps = links[source_gap[links[:, 0], links[:, 1]] | target_gap[links[:, 0], links[:, 2]]]
    line, i, j = of_gaps.T
    gap_labels = np.zeros((len(source), 2), np.int16)
    gap_labels[line, np.maximum(numbers[line, i] - 1, 0)] = target[line, j]
    target[line, j] = np.where(source_gap[line, i] & target_gap[line, j], source[line, i], -1)
    one_to_one = len(of_gaps) == source_gap.sum() == target_gap.sum() == np.count_nonzero(gap_labels)
    if not one_to_one or np.any(target < 0):
        raise BadLines("has nonterminals that its alignment does not pair one to one: mend the alignment field")
    return gap_labels


def _masks(links: np.ndarray, target: np.ndarray) -> np.ndarray:
    line, i, j = links.T
    masks = np.zeros(target.shape, np.uint16)
    is_word = ~np.isin(target[line, j], NONTERMINALS)
    np.bitwise_or.at(masks, (line[is_word], j[is_word]), (1 << i[is_word]).astype(np.uint16))
    return masks


def _counts(fields: list[list[str]]) -> np.ndarray | None:
    """[R, 3] or None where not every line has three counts."""
    rows = [row[4].split() if len(row) > 4 else [] for row in fields]
    if any(len(row) != 3 for row in rows):
        return None
    try:
        numbers = np.fromiter(map(float, chain.from_iterable(rows)), np.float64, 3 * len(rows))
    except ValueError as error:
        raise BadLines(f"has a count that is no number ({error}): mend the line") from None
    if not np.all((numbers >= 0) & np.isfinite(numbers)):
        raise BadLines("has a count that is negative or not finite: mend the line")
    return numbers.reshape(-1, 3).astype(np.float32)
