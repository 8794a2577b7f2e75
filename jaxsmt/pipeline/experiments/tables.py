"""Tables of results beside a paper's own figures, as text, TSV, JSON and Markdown."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxsmt.pipeline.experiments.config import Claim, Figures, Place


@dataclass(frozen=True)
class MeasuredCell:
    """A figure, its deviation (or whatever the title says), and stars where it differs from the baseline."""

    value: float
    spread: float = 0.0
    stars: str = ""

    def __str__(self) -> str:
        spread = f" ± {self.spread:.2f}" if round(self.spread, 2) else ""
        return f"{self.value:.2f}{spread}{self.stars}"


@dataclass(frozen=True)
class ResultTable:
    """Rows are systems.

    key: what claims and figures call it; text: of which text; lower_is_better: of the metric.
    paper: the figures that the paper has for its places; source: from which of its tables.
    """

    key: str
    title: str
    text: str
    cells: dict[Place, MeasuredCell]
    lower_is_better: bool = False
    paper: dict[Place, float] = field(default_factory=dict)
    source: str = ""

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for row, _ in [*self.cells]))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, column in [*self.cells]))

    def with_figures(self, figures: Iterable[Figures]) -> "ResultTable":
        """The table with what the paper has for it; figures for this text alone come before those for any."""
        fitting = [part for part in figures if part.table == self.key and part.text in (None, self.text)]
        fitting.sort(key=lambda part: part.text is None)
        if not fitting:
            return self
        return dataclasses.replace(self, paper=dict(fitting[0].values), source=fitting[0].source)

    def lines(self) -> list[list[str]]:
        """Cells as text: a head, then one line a row; a column that the paper has is followed by the paper's."""
        of_paper = [column for column in self.columns if any((row, column) in self.paper for row in self.rows)]
        head = ["system"]
        for column in self.columns:
            head += [column, f"{column}, paper"] if column in of_paper else [column]
        found = [head]
        for row in self.rows:
            line = [row]
            for column in self.columns:
                cell, figure = self.cells.get((row, column)), self.paper.get((row, column))
                line.append("" if cell is None else str(cell))
                if column in of_paper:
                    line.append(_as_printed(figure))
            found.append(line)
        return found


def _as_printed(figure: float | None) -> str:
    """A paper's figure with the one or two digits that it has there."""
    if figure is None:
        return ""
    return f"{figure:.1f}" if round(figure, 1) == figure else f"{figure:.2f}"


@dataclass(frozen=True)
class Outcome:
    """What became of a claim on a text: differences in the paper's direction, of ours and of the paper's figures."""

    claim: Claim
    text: str
    ours: float
    paper: float | None

    @property
    def is_same(self) -> bool:
        """The rule: what is better in the paper is not worse here, to the two digits that are shown."""
        return round(self.ours, 2) >= 0


def outcomes(claims: Iterable[Claim], tables: Sequence[ResultTable]) -> list[Outcome]:
    """Every claim on every table that has both of its places."""
    found = []
    for claim in claims:
        for table in tables:
            if table.key != claim.table or claim.better not in table.cells or claim.than not in table.cells:
                continue
            sign = -1.0 if table.lower_is_better else 1.0
            ours = sign * (table.cells[claim.better].value - table.cells[claim.than].value)
            paper = claim.difference
            if paper is None and claim.better in table.paper and claim.than in table.paper:
                paper = sign * (table.paper[claim.better] - table.paper[claim.than])
            found.append(Outcome(claim, table.text, ours, paper))
    return found


def as_text(lines: Sequence[Sequence[str]]) -> str:
    """Aligned columns, the first to the left, all others to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    rows = []
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        rows.append("  ".join(cells).rstrip())
    return "\n".join(rows) + "\n"


def as_markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table with numbers to the right."""
    head, *rest = [[cell.replace("|", "\\|").replace("*", "\\*") for cell in line] for line in lines]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule, *rest])


def outcome_lines(found: Sequence[Outcome]) -> list[list[str]]:
    """Claims with both differences and the verdict."""
    lines = [["the paper finds", "text", "difference", "paper's", "direction"]]
    for outcome in found:
        paper = "" if outcome.paper is None else f"{outcome.paper:+.2f}"
        verdict = "same" if outcome.is_same else "not the same"
        lines.append([outcome.claim.says, outcome.text, f"{outcome.ours:+.2f}", paper, verdict])
    return lines


def as_tsv(tables: Sequence[ResultTable]) -> str:
    """One figure a line."""
    lines = ["table\ttext\tsystem\tcolumn\tvalue\tspread\tstars\tpaper"]
    for table in tables:
        for (row, column), cell in table.cells.items():
            paper = table.paper.get((row, column))
            figures = f"{cell.value:.4f}\t{cell.spread:.4f}\t{cell.stars}\t{_as_printed(paper)}"
            lines.append(f"{table.key}\t{table.text}\t{row}\t{column}\t{figures}")
    return "\n".join(lines) + "\n"


def as_json(tables: Sequence[ResultTable], found: Sequence[Outcome]) -> dict[str, Any]:
    """All figures and verdicts as plain values."""
    return {
        "tables": [
            {
                "table": table.key, "title": table.title, "text": table.text, "paper": table.source,
                "cells": [
                    {
                        "system": row, "column": column, "value": round(cell.value, 4),
                        "spread": round(cell.spread, 4), "stars": cell.stars, "paper": table.paper.get((row, column)),
                    }
                    for (row, column), cell in table.cells.items()
                ],
            }
            for table in tables
        ],
        "directions": [
            {
                "says": outcome.claim.says, "text": outcome.text, "difference": round(outcome.ours, 4),
                "paper": None if outcome.paper is None else round(outcome.paper, 4), "same": outcome.is_same,
            }
            for outcome in found
        ],
    }  # fmt: skip
