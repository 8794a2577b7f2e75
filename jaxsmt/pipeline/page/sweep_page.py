"""The page of a --multirun: settings beside each other, set by set, with their jobs, curves and translations."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxsmt.common.files import write_text
from jaxsmt.common.wording import counted
from jaxsmt.evaluate.compare import METRICS, SystemScore, stars
from jaxsmt.pipeline.page.making import tuning_picture
from jaxsmt.pipeline.page.markup import Html, document, hidden, joined, section, tag
from jaxsmt.pipeline.page.pictures import Spread, spreads
from jaxsmt.pipeline.page.records import Sample, TuningCurve
from jaxsmt.pipeline.page.results import P_VALUES, samples_section, with_stars
from jaxsmt.pipeline.page.run_page import CURVES, REPORT
from jaxsmt.pipeline.page.style import STYLE
from jaxsmt.pipeline.page.tables import table


@dataclass(frozen=True)
class SweepJob:
    """folder: its name below the sweep's; system: the setting that it is a run of; told: all that it was told."""

    folder: str
    system: str
    told: Sequence[str]
    scores: Sequence[Mapping[str, Any]]
    curves: Sequence[TuningCurve] = ()
    has_report: bool = False


@dataclass(frozen=True)
class SweepRecord:
    """results: by text, system and metric; samples: by text; test: of significance."""

    name: str
    languages: tuple[str, str]
    jobs: Sequence[SweepJob]
    results: Mapping[str, Mapping[str, Mapping[str, SystemScore]]]
    samples: Mapping[str, Sequence[Sample]]
    test: str = ""


def sweep_page(record: SweepRecord) -> str:
    """The whole page as HTML; the same for the same record."""
    sections = {
        ("results", "Results"): results_section(record),
        ("samples", "Samples"): samples_section(record.samples, record.languages),
        ("tuning", "Tuning"): curves_section(record.jobs),
        ("jobs", "Jobs"): jobs_section(record.jobs),
    }
    shown = {link: part for link, part in sections.items() if part is not None}
    systems = list(_by_system(record.jobs))
    told = f"{counted(len(record.jobs), 'job')}, {counted(len(systems), 'setting')}: {', '.join(systems)}."
    summary = tag("p", told, class_="soft")
    return document(f"Sweep “{record.name}”", STYLE, shown, summary, *shown.values())


def write_sweep_page(folder: Path, record: SweepRecord) -> Path:
    """Writes the page into the folder of the sweep; returns where it is."""
    path = folder / REPORT
    write_text(path, sweep_page(record))
    return path


def read_job(folder: Path, system: str, told: Sequence[str]) -> SweepJob:
    """What a job left."""
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    path = folder / CURVES
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    curves = [TuningCurve(**curve) for curve in found]
    return SweepJob(folder.name, system, told, scores, curves, (folder / REPORT).is_file())


def results_section(record: SweepRecord) -> Html:
    """A table and a picture for each text."""
    parts: list[Html] = []
    for title, systems in record.results.items():
        metrics = list(next(iter(systems.values()), {}))
        made = _score_table(title, systems, metrics)
        parts += [tag("h3", title), tag("div", made, _picture(title, systems, metrics), class_="beside")]
    note = tag("p", f"{P_VALUES} ({record.test}).", class_="soft") if record.test else None
    return section("results", "Results", *(parts or [tag("p", "No job has translated anything.")]), note)


def _score_table(title: str, systems: Mapping[str, Mapping[str, SystemScore]], metrics: Sequence[str]) -> Html:
    runs = {name: max((score.num_replicas for score in scores.values()), default=1) for name, scores in systems.items()}
    has_several = max(runs.values(), default=1) > 1
    rows = [
        [name, *([str(runs[name])] if has_several else []), *(_score(scores[metric]) for metric in metrics)]
        for name, scores in systems.items()
    ]
    heads = [*(["runs"] if has_several else []), *(with_stars(METRICS[metric].name, "") for metric in metrics)]
    return table(f"{title}: means over runs, ± deviation" if has_several else title, ["setting"], heads, rows)


def _picture(title: str, systems: Mapping[str, Mapping[str, SystemScore]], metrics: Sequence[str]) -> Html | None:
    """Means and deviations of the first metric."""
    if not metrics:
        return None
    first = METRICS[metrics[0]].name
    points = [Spread(name, own[metrics[0]].mean, own[metrics[0]].deviation) for name, own in systems.items()]
    return spreads(points, f"{first} of {title}", first)


def _score(score: SystemScore) -> Html:
    spread = f" ± {score.deviation:.2f}" if score.num_replicas > 1 else ""
    shown, said = "", None
    if score.versus is not None:
        shown, said = stars(score.versus.p_value), hidden(f" (p = {score.versus.p_value:.4f})")
    return joined([with_stars(f"{score.mean:.2f}{spread}", shown), said])


def curves_section(jobs: Sequence[SweepJob]) -> Html | None:
    """What is tuned on all development text, setting by setting, in one picture; others are in the jobs' own pages."""
    tuned = {name: [job.curves[0] for job in own if job.curves] for name, own in _by_system(jobs).items()}
    curves = [joined_curve(name, runs) for name, runs in tuned.items() if runs]
    if not curves:
        return None
    has_several = max(map(len, tuned.values())) > 1
    note = "Of several runs the mean, as far as all of them went; the band is one deviation to both sides."
    return section("tuning", "Tuning", tag("p", note, class_="soft") if has_several else None, tuning_picture(curves))


def joined_curve(name: str, runs: Sequence[TuningCurve]) -> TuningCurve:
    """The curve of the only run; or the mean of several, as far as all of them went, with their deviation around it."""
    if len(runs) == 1:
        return TuningCurve(name, runs[0].iterations, runs[0].chosen, runs[0].has_converged)
    rows = []
    for together in zip(*(run.iterations for run in runs), strict=False):
        scores = [row["bleu"] for row in together]
        mean, deviation = statistics.fmean(scores), statistics.stdev(scores)
        rows.append({"bleu": mean, "interval": [mean - deviation, mean + deviation]})
    return TuningCurve(f"{name}, {len(runs)} runs", rows, None, all(run.has_converged for run in runs))


def jobs_section(jobs: Sequence[SweepJob]) -> Html:
    """Setting by setting what each job was told, its mean BLEU over the sets in the last way of each, its own page."""
    parts = list(dict.fromkeys(row["part"] for job in jobs for row in job.scores))
    rows = []
    for job in (job for own in _by_system(jobs).values() for job in own):
        link = tag("a", f"report of job {job.folder}", href=f"{job.folder}/{REPORT}") if job.has_report else "none"
        means = (_mean_bleu(job, part) for part in parts)
        rows.append([job.system, job.folder, *means, joined(job.told, " "), link])
    heads = [f"mean BLEU, {part}" for part in parts]
    return section("jobs", "Jobs", table("All jobs", ["setting", "job"], heads, rows, ["told", "page"]))


def _by_system(jobs: Iterable[SweepJob]) -> dict[str, list[SweepJob]]:
    """Jobs that differ only in their seeds together, in the order of the first of each."""
    found: dict[str, list[SweepJob]] = {}
    for job in jobs:
        found.setdefault(job.system, []).append(job)
    return found


def _mean_bleu(job: SweepJob, part: str) -> str:
    last = {row["domain"]: row["bleu"] for row in job.scores if row["part"] == part}
    return f"{sum(last.values()) / len(last):.2f}" if last else ""
