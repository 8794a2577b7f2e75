"""The comparison table of a --multirun: every setting beside the first one, over the runs of its seeds."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.files import write_text
from jaxsmt.evaluate.compare import CompareConfig, SystemScore, compare_systems, comparison_table
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.evaluation import output_file, reference_file
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
        report = sweep_report(folder, room_config(CompareConfig, config.evaluate), groups)
        if report:
            print(report, end="")


def sweep_report(
    folder: Path, config: CompareConfig | None = None, groups: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Compares the jobs of a sweep set by set; the table and its figures are also written to the folder.

    groups: sets that are scored as one as well, by name.
    """
    jobs = sorted((path.parent for path in folder.glob("*/scores.json")), key=lambda path: int(path.name))
    systems = _group(jobs)
    if len(systems) < 2:
        return ""
    tables, figures = [], {}
    for title, sets in _texts(_sets(jobs), groups or {}).items():
        results = compare_jobs(sets, systems, config)
        tables.append(f"{title}\n{comparison_table(results)}")
        figures[title] = _as_json(results)
    text = "\n".join(tables)
    write_text(folder / TABLE, text)
    write_text(folder / FIGURES, json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return text


def _group(jobs: Sequence[Path]) -> dict[str, list[Path]]:
    """Jobs by what they were told, seeds left out."""
    told = {job: [str(part) for part in OmegaConf.load(job / "config" / "overrides.yaml")] for job in jobs}
    common = set.intersection(*(set(parts) for parts in told.values())) if told else set()
    systems: dict[str, list[Path]] = {}
    for job, parts in told.items():
        own = [part for part in parts if part not in common and not part.partition("=")[0].endswith(_SEED)]
        systems.setdefault(" ".join(own) or "default", []).append(job)
    fewest = min((len(runs) for runs in systems.values()), default=0)
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
