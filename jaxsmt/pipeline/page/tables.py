"""Tables of a page: captions, heads with a scope, and regions of their own that scroll where they are too wide."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxsmt.pipeline.page.markup import Html, tag


@dataclass(frozen=True)
class Cell:
    """A cell with a colour behind it: share, 0 to 1; or with a class."""

    text: Any
    share: float | None = None
    class_: str | None = None


def table(
    caption: str, names: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[Any]], texts: Sequence[str] = ()
) -> Html:
    """A table whose rows begin with names, then have numbers, then texts; a row is as long as all heads together."""
    num_names, num_numbers = len(names), len(names) + len(numbers)
    heads = [
        tag("th", head, scope="col", class_="number" if num_names <= place < num_numbers else None)
        for place, head in enumerate((*names, *numbers, *texts))
    ]
    body = [
        tag("tr", *(_cell(value, place, num_names, num_numbers) for place, value in enumerate(row))) for row in rows
    ]
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


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


def _cell(value: Any, place: int, num_names: int, num_numbers: int) -> Html:
    if place < num_names:
        return tag("th", value, scope="row")
    is_number = place < num_numbers
    cell = value if isinstance(value, Cell) else Cell(value)
    if cell.share is not None:
        return tag("td", cell.text, class_="heat", style=f"--share:{min(max(cell.share, 0.0), 1.0):.4g}")
    return tag("td", cell.text, class_=" ".join(filter(None, ["number" if is_number else "", cell.class_])) or None)
