"""The findings as tables that fit a terminal of 80 columns, whatever the number of components."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxsmt.pipeline.checking.findings import ALL
from jaxsmt.text.checking.suspicious import KINDS

MOST_RUNS = 12  # that are named on the terminal
_SHORT = {"language": "lang.", "no match": "unlike"}  # heads of columns


def show_findings(found: Mapping[str, Any], console: Console | None = None) -> None:
    """Everything, table after table."""
    console = console or Console()
    _show_sizes(console, found["texts"])
    _show_overlap(console, found["overlap"])
    names = found["shared"]["components"]
    if names:
        _show_unknown(console, found["unknown"], names)
        _show_shared(console, found["shared"])
    _show_suspicions(console, found["suspicious"])
    _show_estimate(console, found["estimate"])
    for note in found["notes"]:
        console.print(f"note: {note}", markup=False)
    for problem in found["problems"]:
        console.print(f"problem: {problem}", markup=False)


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def _show_sizes(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = _table("Texts", ["text"], ["pairs", "dropped", "source", "target", "per line"])
    for row in rows:
        lengths = f"{row['source_mean_length']:.1f}/{row['target_mean_length']:.1f}"
        dropped = f"{sum(row['dropped'].values()):,}" if row["dropped"] else ""
        words = (f"{row[f'{side}_tokens']:,}" for side in ("source", "target"))
        table.add_row(_name(row["text"]), f"{row['pairs']:,}", dropped, *words, lengths)
    console.print(table)


def _show_overlap(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = _table(
        "Lines of sets that training text has", ["set"], ["lines", "source", "pair", "folded", "near", "target"]
    )
    for row in rows:
        if row["component"] == ALL:
            numbers = (row[key] for key in ("lines", "exact", "pair", "folded", "near", "target"))
            table.add_row(_name(row["set"]), *(f"{number:,}" for number in numbers))
    if table.row_count:
        console.print(table)


def _name(key: str) -> str:
    """'law' for the component, 'dev law' for a set."""
    return escape(key.removeprefix("components.").replace(".", " ", 1))


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number} {name}" for number, name in enumerate(names, 1)]


def _show_unknown(console: Console, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    numbers = [str(number) for number in range(1, len(names) + 1)]
    table = _table("Unknown source words, % (by component, together)", ["set"], [*numbers, ALL])
    for row in rows:
        if row["side"] == "source":
            table.add_row(_name(row["set"]), *(f"{100 * share:.0f}" for share in row["unknown"].values()))
    if table.row_count:
        console.print(table)


def _show_shared(console: Console, shared: Mapping[str, Any]) -> None:
    names = shared["components"]
    numbers = [str(number) for number in range(1, len(names) + 1)]
    table = _table("Source words of a component that another one has, %", ["component"], numbers)
    for name, row in zip(_numbered(names), shared["source"], strict=True):
        table.add_row(escape(name), *(f"{100 * share:.0f}" for share in row))
    console.print(table)


def _show_suspicions(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = _table("Suspicious pairs", ["text"], ["pairs", *(_SHORT.get(kind, kind) for kind in KINDS), "runs"])
    for row in rows:
        counts = (f"{row['counts'][kind]:,}" for kind in KINDS)
        table.add_row(_name(row["text"]), f"{row['pairs']:,}", *counts, str(len(row["runs"])))
    console.print(table)
    runs = [(row["text"], run) for row in rows for run in row["runs"]]
    for text, run in runs[:MOST_RUNS]:
        console.print(f"{text}, lines {run['first']}–{run['last']}: {_partners(run['shift'])}", markup=False)
    if len(runs) > MOST_RUNS:
        console.print(f"… and {len(runs) - MOST_RUNS} more runs", markup=False)


def _partners(shift: int | None) -> str:
    if shift is None:
        return "no translations of each other"
    lines = "line" if abs(shift) == 1 else "lines"
    return f"the translations are {abs(shift)} {lines} further {'down' if shift > 0 else 'up'}"


def _show_estimate(console: Console, estimate: Mapping[str, Any]) -> None:
    table = _table("Expected of the training (an estimate)", ["stage"], ["CPU-minutes", "memory, GB"])
    for row in estimate["stages"]:
        table.add_row(row["stage"], f"{row['cpu_seconds'] / 60:.1f}", f"{row['gigabytes']:.1f}")
    table.add_row("all", f"{estimate['cpu_seconds'] / 60:.1f}", f"{estimate['gigabytes']:.1f}")
    console.print(table)
