"""Tables as text, for a terminal of any width: no word is ever cut.

Where a table is too wide, the words of its heads go below each other; where that is not enough, its columns are shown
in several blocks, each beginning with the names of the rows.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

_GAP = "  "


def output_width() -> int | None:
    """Columns of standard output: what COLUMNS says, or what the terminal has; None for a file or a pipe, any width."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return max(shutil.get_terminal_size().columns, 1)
    return None


def fitted(text: str, width: int | None) -> str:
    """A sentence in lines of at most `width` characters, as far as its words let it; None: any."""
    if width is None:
        return text
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


@dataclass
class TextTable:
    """A table in the making: a title, '' for none, columns of names, which begin every row, and columns of numbers."""

    title: str
    names: Sequence[str]
    numbers: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """One cell for each column."""
        assert len(cells) == len(self.names) + len(self.numbers), cells
        self.rows.append(cells)

    def text(self, width: int | None = None) -> str:
        """The table in lines of at most `width` characters, as far as single words and numbers let it; None: any."""
        heads = [*self.names, *self.numbers]
        columns = [_Column(head, [row[place] for row in self.rows]) for place, head in enumerate(heads)]
        for column in columns[len(self.names) :]:
            column.is_number = True
        if width is not None and _total(columns) > width:
            for column in columns:
                column.narrow()
        blocks = _blocks(columns[: len(self.names)], columns[len(self.names) :], width)
        shown = "\n\n".join(_lines(block) for block in blocks)
        return (f"{fitted(self.title, width)}\n{shown}" if self.title else shown) + "\n"

    def show(self) -> None:
        """Prints it, and an empty line."""
        print(self.text(output_width()))

    def __str__(self) -> str:
        return self.text(output_width())


class _Column:
    def __init__(self, head: str, cells: Sequence[str]):
        self.head, self.cells, self.is_number = [head], list(cells), False

    def narrow(self) -> None:
        """The words of the head below each other, as long as they need more room than the cells."""
        least = max(map(len, [*self.cells, *self.head[0].split()]), default=0)
        lines: list[str] = []
        for word in self.head[0].split():
            fits = lines and len(lines[-1]) + 1 + len(word) <= least
            lines = [*lines[:-1], f"{lines[-1]} {word}"] if fits else [*lines, word]
        self.head = lines or [""]

    @property
    def width(self) -> int:
        return max(map(len, [*self.head, *self.cells]))

    def line(self, text: str) -> str:
        return text.rjust(self.width) if self.is_number else text.ljust(self.width)


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _blocks(names: list[_Column], numbers: list[_Column], width: int | None) -> list[list[_Column]]:
    """As many columns of numbers beside the names as have room, at least one."""
    blocks: list[list[_Column]] = [list(names)]
    for column in numbers:
        has_room = width is None or _total([*blocks[-1], column]) <= width
        if has_room or len(blocks[-1]) == len(names):
            blocks[-1].append(column)
        else:
            blocks.append([*names, column])
    return blocks


def _lines(columns: Sequence[_Column]) -> str:
    height = max((len(column.head) for column in columns), default=0)
    heads = [[""] * (height - len(column.head)) + column.head for column in columns]
    rows = [*zip(*heads, strict=True), *zip(*(column.cells for column in columns), strict=True)]
    return "\n".join(
        _GAP.join(column.line(cell) for column, cell in zip(columns, row, strict=True)).rstrip() for row in rows
    )
