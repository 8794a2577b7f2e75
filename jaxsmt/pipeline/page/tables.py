"""Tables of a page: captions, heads with a scope, and regions of their own that scroll where they are too wide."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jaxsmt.pipeline.page.markup import Html, tag

NAME, NUMBER, TEXT = "name", "number", "text"


@dataclass(frozen=True)
class Cell:
    """A cell with a colour behind it: share, 0 to 1; or a name that several rows have."""

    text: Any
    share: float | None = None
    num_rows: int = 1


def table(
    caption: str, names: Sequence[str], numbers: Sequence[Any], rows: Sequence[Sequence[Any]],
    texts: Sequence[str] = (), numbers_last: bool = False,
) -> Html:  # fmt: skip
    """A table whose rows begin with names, then have numbers, then texts, or the other way round.

    A row is as long as all heads together. Rows one after the other that have the same first of several names share it.
    """
    further = [(NUMBER, head) for head in numbers]
    of_text = [(TEXT, head) for head in texts]
    columns = [*((NAME, head) for head in names), *(of_text + further if numbers_last else further + of_text)]
    kinds = [kind for kind, _ in columns]
    heads = [tag("th", head, scope="col", class_=NUMBER if kind == NUMBER else None) for kind, head in columns]
    body = [
        tag("tr", *(_cell(value, kind) for kind, value in zip(kinds, row, strict=True)))
        for row in (rows if len(names) < 2 else _sharing(rows))
    ]
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return tag("div", made, class_="scroll", tabindex="0", role="group", aria_label=caption)


def heat_table(
    caption: str, names: Sequence[str], columns: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[float]]],
    more: Sequence[str] = (), more_rows: Sequence[Sequence[str]] = (),
) -> Html:  # fmt: skip
    """Shares 0 to 1 as numbers on a colour; rows: names and shares; more: further columns of numbers."""
    further = more_rows or [()] * len(rows)
    made = [
        [*own, *(Cell(f"{share:.3f}", share) for share in shares), *extra]
        for (own, shares), extra in zip(rows, further, strict=True)
    ]
    return table(caption, names, [*columns, *more], made)


def _sharing(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows whose first name stands once for all that have it, one after the other."""
    made: list[list[Any]] = []
    for name, group in groupby(rows, key=lambda row: row[0]):
        own = [list(row) for row in group]
        made.append([Cell(name, num_rows=len(own)), *own[0][1:]])
        made += [[None, *row[1:]] for row in own[1:]]
    return made


def _cell(value: Any, kind: str) -> Html | None:
    if value is None:
        return None
    cell = value if isinstance(value, Cell) else Cell(value)
    if kind == NAME:
        return tag("th", cell.text, scope="row", rowspan=cell.num_rows if cell.num_rows > 1 else None)
    if cell.share is not None:
        return tag("td", cell.text, class_="heat", style=f"--share:{min(max(cell.share, 0.0), 1.0):.4g}")
    return tag("td", cell.text, class_=NUMBER if kind == NUMBER else None)
