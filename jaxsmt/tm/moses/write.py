"""Tables as Moses writes them: bytewise sorted lines, numbers with six digits."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from jaxsmt.common.files import atomic_file
from jaxsmt.common.grouping import row_order
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, Vocabulary
from jaxsmt.tm.moses.parse import ESCAPES, MAX_SYMBOLS
from jaxsmt.tm.scored import PLAIN_LABEL, ScoredTable

_RESERVED = ("", "<unk>", "<s>", "</s>", "[X][X]", "[X][X]")
_SEPARATOR = "|||"
_LINES_PER_CHUNK = 1 << 13
_LINK_TEXTS = [f"{code // MAX_SYMBOLS}-{code % MAX_SYMBOLS}" for code in range(MAX_SYMBOLS * MAX_SYMBOLS)]


def write_table(path: Path, table: ScoredTable, with_alignment: bool = True) -> None:
    """Writes the lines of a table; reordering tables are without alignment."""
    source_tokens, target_tokens = _tokens(table.source_vocabulary), _tokens(table.target_vocabulary)
    order = _line_order(table, source_tokens, target_tokens)
    with open_output(path) as stream:
        for start in range(0, len(order), _LINES_PER_CHUNK):
            pairs = order[start : start + _LINES_PER_CHUNK]
            columns = [
                _side_texts(table, "source", pairs, source_tokens),
                _side_texts(table, "target", pairs, target_tokens),
                _number_texts(table.scores[pairs]),
            ]
            if with_alignment:
                columns.append(_alignment_texts(table, pairs))
            end = "\n"
            if table.counts is not None:
                columns.append(_number_texts(table.counts[pairs]))
                end = " ||| |||\n"
            lines = map(" ||| ".join, zip(*columns, strict=True))
            stream.write("".join(line + end for line in lines).encode())


@contextmanager
def open_output(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all; gzip (without time stamp) where the name ends in .gz."""
    with atomic_file(path) as temporary, open(temporary, "wb") as stream:
        if path.suffix != ".gz":
            yield stream
            return
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def escaped(word: str) -> str:
    """The word without the characters that Moses reserves."""
    for character, code in ESCAPES.items():
        word = word.replace(character, code)
    return word


def _tokens(vocabulary: Vocabulary) -> list[str]:
    return [*_RESERVED, *map(escaped, vocabulary.words)]


def _line_order(table: ScoredTable, source_tokens: list[str], target_tokens: list[str]) -> np.ndarray:
    """[P]: pairs in the order of `LC_ALL=C sort`; lines that differ in their gaps alone by the place of X1."""
    source_rank = _text_ranks(table.source_sides, source_tokens, table.kind)[table.source_index]
    target_rank = _text_ranks(table.target_sides, target_tokens, table.kind)[table.target_index]
    first_gap = (table.target_sides == NONTERMINALS[0]).argmax(1)[table.target_index]
    return np.lexsort((first_gap, target_rank, source_rank))


def _text_ranks(sides: np.ndarray, tokens: list[str], kind: str) -> np.ndarray:
    """[R]: the rank of each side's text as followed by its left-hand side and the separator; equal texts share it.

    A space sorts before all other characters of tokens, so comparing token by token compares the bytes.
    """
    ends = ["[X]", _SEPARATOR] if kind == "hiero" else [_SEPARATOR]
    distinct = {text: place for place, text in enumerate(sorted({*tokens, *ends}))}  # code points sort like UTF-8 bytes
    rank = np.array([distinct[token] for token in tokens], np.int32)
    rows = np.zeros((len(sides), sides.shape[1] + len(ends)), np.int32)
    rows[:, : sides.shape[1]] = rank[sides]
    lengths = (sides != PAD).sum(1)
    for place, end in enumerate(ends):
        rows[np.arange(len(sides)), lengths + place] = distinct[end]
    order = row_order(rows)
    is_new = np.ones(len(sides), bool)
    is_new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(1)
    ranks = np.empty(len(sides), np.int64)
    ranks[order] = np.cumsum(is_new)
    return ranks


def _side_texts(table: ScoredTable, side: str, pairs: np.ndarray, tokens: list[str]) -> list[str]:
    sides, index = getattr(table, f"{side}_sides"), getattr(table, f"{side}_index")[pairs]
    needed, place = np.unique(index, return_inverse=True)
    if table.labels != (PLAIN_LABEL,):
        rows = sides[index].tolist()
        return [_labelled_text(table, pair, row, tokens, side) for pair, row in zip(pairs, rows, strict=True)]
    end = "" if table.kind == "phrase" else f" [{PLAIN_LABEL}]"
    texts = [" ".join([tokens[i] for i in row if i]) + end for row in sides[needed].tolist()]
    return [texts[i] for i in place.tolist()]


def _labelled_text(table: ScoredTable, pair: int, row: list[int], tokens: list[str], side: str) -> str:
    labels = [table.labels[label] for label in table.gap_labels[pair]]
    gaps = {symbol: f"[X][{label}]" for symbol, label in zip(NONTERMINALS, labels, strict=True)}
    left = table.labels[table.left_labels[pair]] if side == "target" else "X"
    return " ".join([gaps.get(i) or tokens[i] for i in row if i]) + f" [{left}]"


def _number_texts(values: np.ndarray) -> list[str]:
    """%g with six digits, as C++ streams print."""
    pattern = " ".join(["%g"] * values.shape[1])
    return [pattern % tuple(row) for row in values.tolist()]


def _alignment_texts(table: ScoredTable, pairs: np.ndarray) -> list[str]:
    """'i-j' of words and of gaps; as in Moses by target word in phrase tables, by source symbol in rule tables."""
    links = table.links_by_target[pairs].astype(np.int64)
    source, target = table.source_sides[table.source_index[pairs]], table.target_sides[table.target_index[pairs]]
    for symbol in NONTERMINALS:
        line, j = np.nonzero(target == symbol)
        i = (source == symbol).argmax(1)[line]
        links[line, j] |= 1 << i
    bits = (links[:, :, None] >> np.arange(source.shape[1])[None, None]) & 1  # [R, Lt, Ls]
    if table.kind == "phrase":
        line, j, i = np.nonzero(bits)
    else:
        line, i, j = np.nonzero(bits.transpose(0, 2, 1))
    texts = [_LINK_TEXTS[code] for code in (i * MAX_SYMBOLS + j).tolist()]
    ends = np.cumsum(np.bincount(line, minlength=len(pairs))).tolist()
    return [" ".join(texts[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
