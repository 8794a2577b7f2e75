"""Tables with tabs: an empty cell is filled in, and the row gets one more cell that says who did it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.streams import decode, read_whole

MARK = "machine translation"


@dataclass(frozen=True)
class TsvDocument:
    """rows: cells of each line; ends: what ends it; columns: of source and target, from 0."""

    rows: list[list[str]]
    ends: list[str]
    columns: tuple[int, int]
    languages: tuple[str, str] = ("", "")

    @cached_property
    def _empty(self) -> list[int]:
        source, target = self.columns
        return [
            place
            for place, cells in enumerate(self.rows)
            if len(cells) > source and cells[source].strip() and not "".join(cells[target : target + 1]).strip()
        ]

    @cached_property
    def segments(self) -> list[Segment]:
        return [Segment(self.rows[place][self.columns[0]], place + 1) for place in self._empty]

    @property
    def num_translated(self) -> int:
        return sum(1 for cells in self.rows if cells[0] or len(cells) > 1) - len(self._empty)

    @cached_property
    def finished(self) -> list[FinishedText]:
        """Of rows with both cells that nobody marked as a machine's."""
        source, target = self.columns
        return [
            FinishedText(Segment(cells[source], number), cells[target])
            for number, cells in enumerate(self.rows, 1)
            if len(cells) > max(source, target) and cells[source].strip() and cells[target].strip()
            if MARK not in cells[target + 1 :]
        ]

    def filled(self, translations: Sequence[str | None]) -> bytes:
        rows = [list(cells) for cells in self.rows]
        for place, text in zip(self._empty, translations, strict=True):
            if text is not None:
                cells = rows[place]
                cells += [""] * (self.columns[1] + 1 - len(cells))
                cells[self.columns[1]] = " ".join(text.split("\t"))
                cells.append(MARK)
        lines = ("\t".join(cells) + end for cells, end in zip(rows, self.ends, strict=True))
        return "".join(lines).encode("utf-8")


def open_tsv(path: str | Path, source_column: int, target_column: int) -> TsvDocument:
    """A table; columns count from 1."""
    if min(source_column, target_column) < 1 or source_column == target_column:
        raise UserError(f"source_column is {source_column} and target_column {target_column}: give two, from 1 on")
    raw = read_whole(path).split(b"\n")
    rows, ends = [], []
    for number, line in enumerate(raw, 1):
        body = line.removesuffix(b"\r")
        rows.append(decode(body, path, number).split("\t"))
        ends.append(("\r" if body != line else "") + ("\n" if number < len(raw) else ""))
    return TsvDocument(rows, ends, (source_column - 1, target_column - 1))
