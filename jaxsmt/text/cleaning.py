"""Sentence pairs that training is better off without, and how many there were of each kind."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.text.normalise import CONTROL_CHARACTERS

_CONTROL = {ord(character): " " for character in CONTROL_CHARACTERS}
READ, KEPT, CONTROL = "read", "kept", "control characters replaced"
EMPTY, TOO_LONG, RATIO, DUPLICATE = "empty", "too long", "length ratio", "duplicate"


@dataclass(frozen=True)
class CleaningConfig:
    """Which pairs are dropped.

    max_length: words on either side at most; None for no limit.
    max_ratio: the longer side has at most this many times the words of the shorter one; None for no limit.
    remove_duplicates: of equal pairs only the first is kept.
    """

    max_length: int | None = 100
    max_ratio: float | None = 9.0
    remove_duplicates: bool = False

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < 1:
            raise UserError(f"max_length is {self.max_length}: give a number of words of at least 1, or null")
        if self.max_ratio is not None and self.max_ratio < 1:
            raise UserError(f"max_ratio is {self.max_ratio}: give a ratio of at least 1, or null")


@dataclass
class Counts:
    """How many pairs were read, dropped for each reason, and kept; in the order of the checks."""

    table: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((READ, CONTROL, EMPTY, TOO_LONG, RATIO, DUPLICATE, KEPT), 0)
    )

    def add(self, what: str, number: int = 1) -> None:
        self.table[what] = self.table.get(what, 0) + number

    def report(self, name: str) -> None:
        """One line to the log."""
        log.info("%s: %s", name, ", ".join(f"{what} {number:,}" for what, number in self.table.items() if number))


@dataclass(frozen=True)
class CleanPairs:
    """The pairs that were kept, the place each had in the input [R] int64 (from 0), and the counts."""

    pairs: list[tuple[str, str]]
    rows: np.ndarray
    counts: Counts


def clean_pairs(pairs: Iterable[tuple[str, str]], config: CleaningConfig | None = None) -> CleanPairs:
    """Drops pairs by `config`; words are what white space separates, so tokenise first for exact lengths."""
    config = config or CleaningConfig()
    counts, seen = Counts(), set[tuple[str, str]]()
    kept, rows = [], []
    for row, (source, target) in enumerate(pairs):
        counts.add(READ)
        if has_control_characters((source, target)):
            source, target = source.translate(_CONTROL), target.translate(_CONTROL)
            counts.add(CONTROL)
        reason = reason_by_length(len(source.split()), len(target.split()), config)
        if reason is None and config.remove_duplicates:
            reason = DUPLICATE if (source, target) in seen else None
            seen.add((source, target))
        if reason is not None:
            counts.add(reason)
            continue
        kept.append((source, target))
        rows.append(row)
    counts.add(KEPT, len(kept))
    return CleanPairs(kept, np.array(rows, np.int64), counts)


def has_control_characters(pair: tuple[str, str]) -> bool:
    """Whether either side has a control character other than a tab."""
    return any(not side.isprintable() and side.translate(_CONTROL) != side for side in pair)


def reason_by_length(num_source: int, num_target: int, config: CleaningConfig) -> str | None:
    """Why a pair with these numbers of words is dropped; None if it is kept."""
    short, long = sorted((num_source, num_target))
    if short == 0:
        return EMPTY
    if config.max_length is not None and long > config.max_length:
        return TOO_LONG
    if config.max_ratio is not None and long > config.max_ratio * short:
        return RATIO
    return None
