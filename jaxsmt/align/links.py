"""Alignments as arrays, and Pharaoh files (`0-0 1-2 …`, one sentence pair a line) in and out.

The alignment of a corpus is a `Ragged` with values [T, 2] int32, columns (source position, target
position), in every row sorted by source, then target position, without repetitions.
"""

import gzip
import itertools
import lzma
import re
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text.streams import read_lines

MAX_POSITION = 999_999  # far beyond any sentence; keeps packed keys within 64 bits
_LINE = re.compile(r"[ \t]*(?:[0-9]{1,6}-[0-9]{1,6}(?:[ \t]+|$))*")
_LINK = re.compile(r"[0-9]{1,6}-[0-9]{1,6}")


def make_links(row: np.ndarray, source: np.ndarray, target: np.ndarray, num_rows: int) -> Ragged:
    """Packs links [T] given in any order, with or without repetitions, to an alignment of R rows."""
    width = MAX_POSITION + 1
    key = (np.asarray(row, np.int64) * width + source) * width + target
    if np.any(key[1:] <= key[:-1]):
        key = sorted_distinct(key)
    pair = key % (width * width)
    values = np.stack([pair // width, pair % width], axis=1).astype(np.int32)
    return Ragged(values, offsets_of(np.bincount(key // (width * width), minlength=num_rows)))


def check_links(links: Ragged, source_lengths: np.ndarray, target_lengths: np.ndarray, name: str) -> None:
    """Raises UserError where the rows do not fit the sentences; `name` is the file to speak of."""
    if len(links) != len(source_lengths):
        raise UserError(
            f"alignment '{name}' has {len(links)} lines for {len(source_lengths)} sentence pairs: "
            "give one line a pair, an empty line where nothing is aligned"
        )
    row = links.row_index
    limit = np.stack([np.asarray(source_lengths)[row], np.asarray(target_lengths)[row]], axis=1)
    bad = np.flatnonzero(np.any(links.values >= limit, axis=1))
    if len(bad):
        (i, j), (num_source, num_target) = links.values[bad[0]], limit[bad[0]]
        raise UserError(
            f"alignment '{name}', line {row[bad[0]] + 1}: link {i}-{j} lies outside a pair of {num_source} source "
            f"and {num_target} target words: align exactly this text, positions count from 0, source first"
        )


def read_links(
    path: str | Path, source_lengths: np.ndarray | None = None, target_lengths: np.ndarray | None = None
) -> Ragged:
    """Reads a Pharaoh file, plain, .gz or .xz; with lengths [R] given, checks rows and positions."""
    lines = list(read_lines(path, may_be_empty=True))
    for number, line in enumerate(lines, 1):
        if not _LINE.fullmatch(line):
            wrong = next(item for item in line.split() if not _LINK.fullmatch(item))
            raise UserError(
                f"alignment '{path}', line {number}: '{wrong[:40]}' is not a link: write links as "
                "source-target positions that count from 0, such as '0-0 1-2'"
            )
    counts = np.array([line.count("-") for line in lines], np.int64)
    numbers = np.array(" ".join(lines).replace("-", " ").split(), np.int32).reshape(-1, 2)
    links = make_links(np.repeat(np.arange(len(lines)), counts), numbers[:, 0], numbers[:, 1], len(lines))
    if source_lengths is not None and target_lengths is not None:
        check_links(links, source_lengths, target_lengths, str(path))
    return links


def write_links(path: str | Path, links: Ragged) -> None:
    """Writes a Pharaoh file, atomically; .gz and .xz names are compressed, the same bytes every time."""
    path = Path(path)
    items = [f"{i}-{j}" for i, j in links.values.tolist()]
    bounds = links.offsets.tolist()
    text = "".join(" ".join(items[a:b]) + "\n" for a, b in itertools.pairwise(bounds))
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    with atomic_file(path) as temporary:
        temporary.write_bytes(data)
