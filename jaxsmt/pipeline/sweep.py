"""The comparison table of a --multirun: every setting beside the first one, over the runs of its seeds."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.evaluate.compare import CompareConfig, SystemScore, compare_systems
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.evaluation import output_file, reference_file, source_file
from jaxsmt.pipeline.page.records import Sample
from jaxsmt.pipeline.page.samples import chosen_lines
from jaxsmt.pipeline.page.sweep_page import SweepRecord, read_job, write_sweep_page
from jaxsmt.pipeline.terminal.comparison import comparison
from jaxsmt.pipeline.terminal.ending import shown_path
from jaxsmt.text.streams import read_lines

TABLE, FIGURES = "comparison.txt", "comparison.json"
_SEED = "seed"  # settings that differ only in keys that end so are runs of one system

Results = dict[str, dict[str, SystemScore]]
Set = tuple[str, str]  # part of the corpus and name, such as test and law


class ComparisonCallback(Callback):
    """Hydra calls it when all jobs of a sweep have ended."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        groups = {str(name): list(sets) for name, sets in config.corpus.groups.items()}
        settings = room_config(CompareConfig, config.evaluate)
        compared = compare_sweep(folder, settings, groups)
        report = sweep_report(folder, settings, groups, compared)
        if report:
            print(report, end="")
        if config.report and sweep_jobs(folder):
            path = write_sweep_page(folder, sweep_record(folder, config.corpus, compared, settings))
            log.info("report: %s", shown_path(path))


def sweep_jobs(folder: Path) -> list[Path]:
    """Folders of jobs that came to their end, in order: those that are numbers by their value, then others by name."""
    found = [path.parent for path in folder.glob("*/scores.json")]
    numbered = {path: int(path.name) for path in found if path.name.isdecimal()}  # hydra.sweep.subdir may name others
    return sorted(found, key=lambda path: (path not in numbered, numbered.get(path, 0), path.name))


def compare_sweep(
    folder: Path, config: CompareConfig | None = None, groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Results]:
    """The settings of a sweep on every text, by its title; groups: sets that are scored as one as well, by name."""
    jobs = sweep_jobs(folder)
    systems = _group(jobs)
    return {title: compare_jobs(sets, systems, config) for title, sets in _texts(_sets(jobs), groups or {}).items()}


def sweep_report(
    folder: Path, config: CompareConfig | None = None, groups: Mapping[str, Sequence[str]] | None = None,
    compared: Mapping[str, Results] | None = None,
) -> str:  # fmt: skip
    """Compares the jobs of a sweep set by set, in tables for the terminal at hand; files have them and their figures.

    compared: what `compare_sweep` found, where that is known already.
    """
    if len(sweep_jobs(folder)) < 2:
        return ""
    found = compare_sweep(folder, config, groups) if compared is None else compared
    tables = [comparison(title, results) for title, results in found.items()]
    figures = {title: _as_json(results) for title, results in found.items()}
    write_text(folder / TABLE, "\n".join(table.text() for table in tables))
    write_text(folder / FIGURES, json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return "\n".join(map(str, tables))


def sweep_record(
    folder: Path, corpus: DictConfig, compared: Mapping[str, Results], config: CompareConfig
) -> SweepRecord:
    """What the page of a sweep says."""
    jobs, systems = sweep_jobs(folder), _group(sweep_jobs(folder))
    names = {job: name for name, runs in _group(jobs, is_even=False).items() for job in runs}
    sets = _sets(jobs)
    shown = [own for own in sets if own[0] == "test"] or sets
    return SweepRecord(
        name=corpus.name,
        languages=(corpus.source_language, corpus.target_language),
        jobs=[read_job(job, names[job], _told(job)) for job in jobs],
        results=compared,
        samples={" ".join(own): _samples(systems, *own) for own in shown},
        test=f"{config.test}, {config.trials:,} trials, seed {config.seed}" if len(systems) > 1 else "",
    )


def _samples(systems: Mapping[str, Sequence[Path]], part: str, name: str) -> list[Sample]:
    """Lines in the translation of each system's first run."""
    runs = {system: own[0] for system, own in systems.items()}
    files = [file_fn(next(iter(runs.values())), part, name) for file_fn in (source_file, reference_file)]
    sources, references = (list(read_lines(str(file), may_be_empty=True)) for file in files)
    outputs = {system: _output(run, part, name) for system, run in runs.items()}
    listed = list(outputs.values())
    rows = chosen_lines(listed[0], listed[-1], references)
    return [
        Sample(row + 1, sources[row], references[row], {system: own[row] for system, own in outputs.items()}, why)
        for row, why in rows.items()
    ]


def _told(job: Path) -> list[str]:
    """A job's own words on the command line."""
    return [str(part) for part in OmegaConf.load(job / "config" / "overrides.yaml")]


def _group(jobs: Sequence[Path], is_even: bool = True) -> dict[str, list[Path]]:
    """Jobs by what they were told, seeds left out; is_even: equally many of each, as a comparison needs them."""
    told = {job: _told(job) for job in jobs}
    common = set.intersection(*(set(parts) for parts in told.values())) if told else set()
    systems: dict[str, list[Path]] = {}
    for job, parts in told.items():
        own = [part for part in parts if part not in common and not part.partition("=")[0].endswith(_SEED)]
        systems.setdefault(" ".join(own) or "default", []).append(job)
    fewest = min((len(runs) for runs in systems.values()), default=0) if is_even else None
    return {name: runs[:fewest] for name, runs in systems.items()}


def _sets(jobs: Sequence[Path]) -> list[Set]:
    found: dict[Set, None] = {}
    for job in jobs:
        rows = json.loads((job / "scores.json").read_text(encoding="utf-8"))["scores"]
        found |= {(row["part"], row["domain"]): None for row in rows}
    return list(found)


def _texts(sets: Sequence[Set], groups: Mapping[str, Sequence[str]]) -> dict[str, list[Set]]:
    """What is scored, by title: every set, and every group of which a part has sets."""
    texts = {f"{part} {name}": [(part, name)] for part, name in sets}
    for part in dict.fromkeys(part for part, _ in sets):
        for group, names in groups.items():
            found = [(part, name) for name in names if (part, name) in sets]
            texts |= {f"{part} {group}, all of {', '.join(name for _, name in found)}": found} if found else {}
    return texts


def compare_jobs(sets: Sequence[Set], systems: Mapping[str, Sequence[Path]], config: CompareConfig | None) -> Results:
    """Scores of systems, each with the output folders of its runs, on some sets taken as one text."""
    first = next(iter(systems.values()))[0]
    files = [reference_file(first, part, name) for part, name in sets]
    references = [[line] for file in files for line in read_lines(str(file), may_be_empty=True)]
    outputs = {
        system: [[line for part, name in sets for line in _output(run, part, name)] for run in runs]
        for system, runs in systems.items()
    }
    return compare_systems(outputs, references, config)


def _output(run: Path, part: str, name: str) -> list[str]:
    """The translation in the last of the ways the run has: adapted, with the label's weights, or unweighted."""
    rows = json.loads((run / "scores.json").read_text(encoding="utf-8"))["scores"]
    weights = [row["weights"] for row in rows if (row["part"], row["domain"]) == (part, name)][-1]
    return list(read_lines(str(output_file(run, part, name, weights)), may_be_empty=True))


def _as_json(results: Results) -> dict[str, Any]:
    return {
        system: {
            metric: {
                "mean": round(score.mean, 4),
                "deviation": round(score.deviation, 4),
                "runs": score.num_replicas,
                "p": None if score.versus is None else round(score.versus.p_value, 5),
            }
            for metric, score in scores.items()
        }
        for system, scores in results.items()
    }
