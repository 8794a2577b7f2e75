"""What a sweep found: a table in the terminal, the same as a file, a picture of what mattered, and a page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxsmt.common.files import write_text
from jaxsmt.pipeline.jobs.mattering import explained_shares
from jaxsmt.pipeline.jobs.space import Dimension
from jaxsmt.pipeline.jobs.study import DONE, TriedSettings
from jaxsmt.pipeline.page.markup import Html, document, section, tag
from jaxsmt.pipeline.page.pictures import bars, cloud
from jaxsmt.pipeline.page.run_page import REPORT
from jaxsmt.pipeline.page.style import STYLE
from jaxsmt.pipeline.page.tables import table
from jaxsmt.pipeline.terminal.columns import TextTable

TRIALS, FIGURES, PICTURE = "trials.tsv", "sweep.json", "what-mattered.svg"
MOST_SHOWN = 20  # trials in the terminal; all are in the file
MATTERED = "How much of the scores' variance each key explains by itself"


def ranked(tried: Sequence[TriedSettings]) -> list[TriedSettings]:
    """Those that are done, best first; then pruned ones and failed ones."""
    return sorted(tried, key=lambda own: (own.state != DONE, own.score is None, -(own.score or 0.0), own.number))


def best_of(tried: Sequence[TriedSettings]) -> TriedSettings | None:
    """The first of the best trials; None if none is done."""
    return next((own for own in ranked(tried) if own.state == DONE), None)


def trials_table(space: Sequence[Dimension], tried: Sequence[TriedSettings]) -> TextTable:
    """The best trials."""
    made = TextTable("Trials, best first", ["trial", *(own.key for own in space), "state"], ["BLEU"])
    for trial in ranked(tried)[:MOST_SHOWN]:
        made.add_row(*_cells(space, trial))
    return made


def write_results(folder: Path, name: str, space: Sequence[Dimension], tried: Sequence[TriedSettings]) -> Path:
    """Writes table, figures, picture and page; the same bytes for the same trials. Returns where the page is."""
    shares = explained_shares(space, tried)
    heads = ["trial", *(own.key for own in space), "state", "BLEU"]
    lines = ["\t".join(cells) for cells in (heads, *(_cells(space, own) for own in ranked(tried)))]
    write_text(folder / TRIALS, "".join(line + "\n" for line in lines))
    write_text(folder / FIGURES, json.dumps(_figures(tried, shares), indent=1, ensure_ascii=False) + "\n")
    if shares:
        write_text(folder / PICTURE, bars(list(shares.items()), MATTERED, is_file=True) + "\n")
    write_text(folder / REPORT, _page(name, space, tried, shares))
    return folder / REPORT


def _cells(space: Sequence[Dimension], trial: TriedSettings) -> list[str]:
    score = "" if trial.score is None else f"{trial.score:.2f}"
    return [str(trial.number), *(_shown(trial.values[own.key]) for own in space), trial.state, score]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _figures(tried: Sequence[TriedSettings], shares: Mapping[str, float]) -> dict[str, Any]:
    best = best_of(tried)
    trials = [{**vars(own), "score": None if own.score is None else round(own.score, 4)} for own in tried]
    return {"best": None if best is None else best.number, "explained": dict(shares), "trials": trials}


def _page(name: str, space: Sequence[Dimension], tried: Sequence[TriedSettings], shares: Mapping[str, float]) -> str:
    sections = {("trials", "Trials"): _trials_section(space, tried)}
    if shares:
        note = "Adjusted R² of BLEU on each key alone, over trials that are done: a mean for each choice, a parabola "
        note += "for numbers. Trials are no random sample, since later ones look where earlier ones were good."
        parts = [bars(list(shares.items()), MATTERED), tag("p", note, class_="soft")]
        by_key = {own.key: own for own in space}
        parts += [_cloud(by_key[key], tried) for key in shares]
        sections = {("mattered", "What mattered"): section("mattered", "What mattered", *parts), **sections}
    best = best_of(tried)
    said = f"{len(tried)} trials; "
    said += "none is done." if best is None else f"the best is {best.number}, {best.score:.2f} BLEU."
    return document(f"Sweep “{name}”", STYLE, sections, tag("p", said, class_="soft"), *sections.values())


def _trials_section(space: Sequence[Dimension], tried: Sequence[TriedSettings]) -> Html:
    rows = []
    for own in ranked(tried):
        number, *values, state, score = _cells(space, own)
        rows.append([number, score, *values, f"{state}: {own.why}" if own.why else state])
    made = table("All trials, best first", ["trial"], ["BLEU"], rows, [*(own.key for own in space), "state"])
    return section("trials", "Trials", made)


def _cloud(own: Dimension, tried: Sequence[TriedSettings]) -> Html:
    """BLEU over the values of one key, the best trial with a ring."""
    done, best = [trial for trial in tried if trial.state == DONE], best_of(tried)
    points = [(own.position(trial.values[own.key]), trial.score or 0.0) for trial in done]
    title = f"BLEU by {own.key}"
    return cloud(points, own.labels(), [trial is best for trial in done], title, own.key, "BLEU")
