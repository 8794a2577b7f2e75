"""The two kinds of tasks: rows of some batches as sorted parts, and all rows of a range of source sides counted."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.files import write_text
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counting import group_rows
from jaxsmt.extract.hiero.rules import rule_rows
from jaxsmt.extract.phrases import Rows, phrase_rows
from jaxsmt.extract.sharding.corpus_files import open_corpus
from jaxsmt.extract.spill import SIDE_COLUMNS, join_rows, sides_in_order

KEY, SIZE, LIST = "source_key", "num_rows", "parts.json"
SAMPLE_STEP = 256  # every so many rows tell where source sides are


class SortedPart(NamedTuple):
    """A file of rows sorted by source side."""

    path: Path
    num_rows: int
    sample: np.ndarray  # [num_rows / SAMPLE_STEP] int64 of the keys


def extract_shard(folder: Path, first: int, last: int, config: ExtractConfig, max_rows: int) -> list[SortedPart]:
    """Writes the rows of batches first … last - 1 to files of about `max_rows` rows or fewer."""
    corpus, batches = open_corpus(folder)
    rows_of = rule_rows if config.is_hiero else phrase_rows
    held: list[Rows] = []
    parts: list[SortedPart] = []
    for number in range(first, last):
        held.append(rows_of(batches[number], corpus, config))
        if sum(len(rows["detail"]) for rows in held) >= max_rows or number == last - 1:
            parts.append(_save_sorted(folder / f"rows-{first}-{len(parts)}", held))
            held = []
    return parts


def _save_sorted(path: Path, pieces: list[Rows]) -> SortedPart:
    rows = join_rows(pieces)
    rows = sides_in_order(rows, np.argsort(rows[KEY], kind="stable"))
    save_arrays(path, rows)
    ends = np.cumsum(rows[SIZE], dtype=np.int64)
    num_rows = len(rows["detail"])
    sampled = np.searchsorted(ends, np.arange(0, num_rows, SAMPLE_STEP), side="right")
    return SortedPart(path, num_rows, rows[KEY][sampled])


def save_list(folder: Path, parts: list[SortedPart]) -> None:
    """Writes which files have rows, for `count_range`: too many names to tell each task."""
    write_text(folder / LIST, json.dumps([part.path.name for part in parts]))


def count_range(folder: Path, bounds: tuple[int | None, int | None], config: ExtractConfig, output: Path) -> Path:
    """Counts the rows of all parts whose source key is in bounds (from, below); None: no bound."""
    low, high = bounds
    pieces = []
    for name in json.loads((folder / LIST).read_text(encoding="utf-8")):
        rows = open_arrays(folder / name)
        start = 0 if low is None else int(np.searchsorted(rows[KEY], low))
        end = len(rows[KEY]) if high is None else int(np.searchsorted(rows[KEY], high))
        ends = np.concatenate([[0], np.cumsum(rows[SIZE], dtype=np.int64)])
        sides, of_rows = slice(start, end), slice(ends[start], ends[end])
        pieces.append({key: column[sides if key in SIDE_COLUMNS else of_rows] for key, column in rows.items()})
    joined = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
    save_arrays(output, group_rows(joined, config))
    return output
