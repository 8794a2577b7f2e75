"""The findings as tables that fit a terminal of any width, whatever the number of components."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jaxsmt.pipeline.checking.findings import ALL
from jaxsmt.pipeline.terminal.columns import TextTable, fitted, output_width
from jaxsmt.text.checking.suspicious import KINDS

MOST_RUNS = 12  # that are named on the terminal
_SHORT = {"no match": "unlike"}  # heads of columns


def show_findings(found: Mapping[str, Any]) -> None:
    """Prints everything, table after table."""
    print(findings_text(found, output_width()), end="")


def findings_text(found: Mapping[str, Any], width: int | None) -> str:
    """The same in lines of at most `width` characters; None: any."""
    tables = [_sizes(found["texts"]), _overlap(found["overlap"])]
    if found["shared"]["components"]:
        tables += [_unknown(found["unknown"]), _shared(found["shared"])]
    parts = [table.text(width) for table in (*tables, _suspicions(found["suspicious"])) if table.rows]
    parts += [_lines(_runs(found["suspicious"]), width), _estimate(found["estimate"]).text(width)]
    remarks = (f"{kind}: {text}" for kind in ("note", "problem") for text in found[f"{kind}s"])
    return "\n".join(part for part in (*parts, _lines(remarks, width)) if part)


def _lines(texts: Iterable[str], width: int | None) -> str:
    return "".join(f"{fitted(text, width)}\n" for text in texts)


def _sizes(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    table = TextTable("Texts", ["text"], ["pairs", "dropped", "source", "target", "per line"])
    for row in rows:
        lengths = f"{row['source_mean_length']:.1f}/{row['target_mean_length']:.1f}"
        dropped = f"{sum(row['dropped'].values()):,}" if row["dropped"] else ""
        words = (f"{row[f'{side}_tokens']:,}" for side in ("source", "target"))
        table.add_row(_name(row["text"]), f"{row['pairs']:,}", dropped, *words, lengths)
    return table


def _overlap(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    heads = ["lines", "source", "pair", "folded", "near", "target"]
    table = TextTable("Lines of sets that training text has", ["set"], heads)
    for row in rows:
        if row["component"] == ALL:
            numbers = (row[key] for key in ("lines", "exact", "pair", "folded", "near", "target"))
            table.add_row(_name(row["set"]), *(f"{number:,}" for number in numbers))
    return table


def _name(key: str) -> str:
    """'law' for the component, 'dev law' for a set."""
    return key.removeprefix("components.").replace(".", " ", 1)


def _unknown(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    own = [row for row in rows if row["side"] == "source"]
    heads = list(own[0]["unknown"]) if own else []
    table = TextTable("Unknown source words of sets, %: to a component, and to all of them together", ["set"], heads)
    for row in own:
        table.add_row(_name(row["set"]), *(f"{100 * share:.0f}" for share in row["unknown"].values()))
    return table


def _shared(shared: Mapping[str, Any]) -> TextTable:
    names = shared["components"]
    table = TextTable("Source words of a component that another one has, %", ["component"], names)
    for name, row in zip(names, shared["source"], strict=True):
        table.add_row(name, *(f"{100 * share:.0f}" for share in row))
    return table


def _suspicions(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    table = TextTable("Suspicious pairs", ["text"], ["pairs", *(_SHORT.get(kind, kind) for kind in KINDS), "runs"])
    for row in rows:
        counts = (f"{row['counts'][kind]:,}" for kind in KINDS)
        table.add_row(_name(row["text"]), f"{row['pairs']:,}", *counts, str(len(row["runs"])))
    return table


def _runs(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The first of the runs of pairs that do not match."""
    runs = [(row["text"], run) for row in rows for run in row["runs"]]
    for text, run in runs[:MOST_RUNS]:
        yield f"{text}, lines {run['first']}–{run['last']}: {_partners(run['shift'])}"
    if len(runs) > MOST_RUNS:
        yield f"… and {len(runs) - MOST_RUNS} more runs"


def _partners(shift: int | None) -> str:
    if shift is None:
        return "no translations of each other"
    lines = "line" if abs(shift) == 1 else "lines"
    return f"the translations are {abs(shift)} {lines} further {'down' if shift > 0 else 'up'}"


def _estimate(estimate: Mapping[str, Any]) -> TextTable:
    table = TextTable("Expected of the training (an estimate)", ["stage"], ["CPU-minutes", "memory, GB"])
    for row in estimate["stages"]:
        table.add_row(row["stage"], f"{row['cpu_seconds'] / 60:.1f}", f"{row['gigabytes']:.1f}")
    table.add_row("all", f"{estimate['cpu_seconds'] / 60:.1f}", f"{estimate['gigabytes']:.1f}")
    return table
