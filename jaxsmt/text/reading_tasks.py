"""Sentence pairs to tokens, in one go or by tasks over shards: cleaned, tokenised, numbered as distinct tokens.

Shards are joined in their order, so that distinct tokens get the numbers that one reader would have given them.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.files import write_text
from jaxsmt.text.cleaning import DUPLICATE, Counts, PairFilter, refuse_broken_pair
from jaxsmt.text.encoding import TextConfig, cutter
from jaxsmt.text.normalise import make_normaliser
from jaxsmt.text.typography import TypographyCounter

PAIRS_PER_SHARD = 20_000  # some seconds' work
Pairs = Iterable[tuple[str, str]]


class ReadingRules(NamedTuple):
    """How pairs are read; files: what errors call the text."""

    config: TextConfig
    languages: tuple[str, str]
    files: tuple[str, ...]
    learns_typography: bool


class TypeTable(dict[str, int]):
    """Numbers distinct tokens in the order they are first looked up."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number


@dataclass
class TokenTable:
    """The tokens of one side as numbers of distinct tokens, rows end to end."""

    types: TypeTable = field(default_factory=TypeTable)
    values: array = field(default_factory=lambda: array("i"))
    lengths: array = field(default_factory=lambda: array("q"))

    def add(self, tokens: list[str]) -> None:
        """One more row."""
        self.values.extend(map(self.types.__getitem__, tokens))
        self.lengths.append(len(tokens))

    def append(self, forms: Sequence[str], values: np.ndarray, lengths: np.ndarray) -> None:
        """More rows, as numbers of the distinct tokens `forms`."""
        ids = np.array([self.types[form] for form in forms], np.int32)
        self.values.frombytes((ids[values] if len(ids) else values.astype(np.int32)).tobytes())
        self.lengths.frombytes(lengths.astype(np.int64).tobytes())


@dataclass
class TokenText:
    """What is read of a bitext.

    rows: the places of the pairs kept; counts: of pairs read and dropped; marks: uses of typographic marks.
    seen: where duplicates are removed, a key for each pair kept.
    """

    sides: tuple[TokenTable, TokenTable] = field(default_factory=lambda: (TokenTable(), TokenTable()))
    rows: array = field(default_factory=lambda: array("q"))
    counts: Counts = field(default_factory=Counts)
    marks: Counter = field(default_factory=Counter)
    seen: dict[bytes, None] = field(default_factory=dict)


class ShardText(NamedTuple):
    """A shard as a task returns it: arrays in a file, the rest, which is small, beside it."""

    path: Path
    forms: tuple[list[str], list[str]]
    counts: dict[str, int]
    marks: Counter
    seen: list[bytes]


def read_tokens(pairs: Pairs, how: ReadingRules, start: int = 0) -> TokenText:
    """Reads pairs, of which the first is at the place `start` of the whole text."""
    config, text = how.config, TokenText()
    cutters = cutter(how.languages[0], config), cutter(how.languages[1], config)
    keep = PairFilter(config, text.counts)
    marks = TypographyCounter(make_normaliser(config.normalise)) if how.learns_typography else None
    for row, pair in enumerate(pairs, start):
        refuse_broken_pair(pair, how.files, row + 1, config.control_characters == "refuse")
        tokens = keep.tokens_of(pair, cutters)
        if tokens is not None:
            text.rows.append(row)
            text.sides[0].add(tokens[0])
            text.sides[1].add(tokens[1])
            if marks is not None:
                marks.add(pair[1], pair[0])
    text.seen = keep.seen
    text.marks = marks.counts if marks is not None else text.marks
    return text


# ---- by tasks --------------------------------------------------------------------------------------


def read_by_tasks(tasks: TaskRunner, pairs: Pairs, how: ReadingRules, label: str) -> TokenText:
    """What `read_tokens` reads, with shards read by tasks and joined in their order."""
    text = TokenText()
    with tasks.scratch("text") as folder:
        doubles = []
        for shard in tasks.run(read_shard, _written_shards(folder, pairs, how), label):
            places = _joined(text, shard)
            if how.learns_typography and len(places):
                doubles.append((shard.path, places, how))
        for marks in tasks.run(count_marks, doubles, f"{label}, duplicates", len(doubles)):
            text.marks.subtract(marks)
        text.marks = +text.marks  # without those that are zero now
    return text


def _written_shards(folder: Path, pairs: Pairs, how: ReadingRules) -> Iterator[tuple[Path, int, ReadingRules]]:
    """Files with shards of the pairs, and the place of their first pair, as they are wanted."""
    rest, start = iter(pairs), 0
    while some := list(islice(rest, PAIRS_PER_SHARD)):
        path = folder / f"shard-{start}"
        write_text(_lines_file(path), json.dumps(some))
        yield path, start, how
        start += len(some)


def _lines_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def read_shard(path: Path, start: int, how: ReadingRules) -> ShardText:
    """Reads one shard."""
    text = read_tokens(json.loads(_lines_file(path).read_text(encoding="utf-8")), how, start)
    arrays: dict[str, Any] = {"rows": np.array(text.rows, np.int64)}
    for name, side in zip(("source", "target"), text.sides, strict=True):
        arrays[f"{name}.values"] = np.array(side.values, np.int32)
        arrays[f"{name}.lengths"] = np.array(side.lengths, np.int64)
    save_arrays(path, arrays)
    return ShardText(
        path, (list(text.sides[0].types), list(text.sides[1].types)), text.counts.table, text.marks, list(text.seen)
    )


def count_marks(path: Path, places: list[int], how: ReadingRules) -> Counter:
    """Uses of marks in some pairs of a shard; places: among those that the shard kept."""
    pairs = json.loads(_lines_file(path).read_text(encoding="utf-8"))
    start = int(path.name.rpartition("-")[2])
    marks = TypographyCounter(make_normaliser(how.config.normalise))
    for row in open_arrays(path)["rows"][places] - start:
        marks.add(pairs[row][1], pairs[row][0])
    return marks.counts


def _joined(text: TokenText, shard: ShardText) -> list[int]:
    """Adds a shard to the text but for pairs that earlier shards have; returns the places of these in the shard."""
    arrays = open_arrays(shard.path)
    doubles = [place for place, key in enumerate(shard.seen) if key in text.seen]
    text.seen |= dict.fromkeys(shard.seen)
    is_kept = np.ones(len(arrays["rows"]), bool)
    is_kept[doubles] = False
    for name, side, forms in zip(("source", "target"), text.sides, shard.forms, strict=True):
        lengths = arrays[f"{name}.lengths"]
        side.append(forms, arrays[f"{name}.values"][np.repeat(is_kept, lengths)], lengths[is_kept])
    text.rows.frombytes(arrays["rows"][is_kept].tobytes())
    for what, number in shard.counts.items():
        text.counts.add(what, number)
    text.counts.add(DUPLICATE, len(doubles))
    text.marks.update(shard.marks)
    return doubles
