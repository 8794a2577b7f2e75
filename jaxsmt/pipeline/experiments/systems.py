"""Systems of an experiment: trainings with overrides of their own; what they share is built once, in the store."""

import contextlib
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose
from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.evaluate.compare import CompareConfig, SystemScore, stars
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.experiments.config import Experiment, Place
from jaxsmt.pipeline.experiments.tables import MeasuredCell, ResultTable
from jaxsmt.pipeline.sweep import compare_jobs
from jaxsmt.pipeline.terminal.comparison import comparison
from jaxsmt.tune.loop import WatchFn

PRINTED = "printed.txt"
TEST = "test"


@dataclass(frozen=True)
class Trainings:
    """How trainings of an experiment are made.

    corpus: the node of the texts; told: what every training is told; work_dir: where artefacts are kept;
    output_dir: where every system has a folder; seeds: of the tuner, one run each.
    """

    corpus: DictConfig
    told: tuple[str, ...]
    work_dir: Path
    output_dir: Path
    seeds: tuple[int, ...]

    def run(self, name: str, own: Sequence[str]) -> list[Path]:
        """Trains and evaluates one system with every seed; returns the folders of its runs."""
        return [self._run_once(name, own, seed) for seed in self.seeds]

    def _run_once(self, name: str, own: Sequence[str], seed: int) -> Path:
        folder = self.output_dir / "systems" / f"{_as_file(name)}-{seed}"
        folders = [f"work_dir={self.work_dir}", f"output_dir={folder}"]
        begin = time.monotonic()
        log.info("system '%s', seed %d", name, seed)
        trained(self.corpus, [f"tune.seed={seed}", *self.told, *own, *folders])
        log.info("system '%s': %.0f s", name, time.monotonic() - begin)
        return folder


def trained(corpus: DictConfig, overrides: Sequence[str], watch_fn: WatchFn | None = None) -> float:
    """A training as `jaxsmt train` with these overrides, on texts that are known; what it prints goes to a file.

    Of overrides of one key the last one counts. watch_fn: as in `train`. Returns the mean development BLEU.
    """
    config = compose("train", last_words(overrides))
    OmegaConf.set_struct(config, False)
    config.merge_with({"corpus": corpus})
    OmegaConf.resolve(config)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        score = train(config, watch_fn)
    write_text(Path(config.output_dir) / PRINTED, printed.getvalue())
    return score


def last_words(overrides: Sequence[str]) -> list[str]:
    """Of overrides of one key the last, which Hydra would refuse to choose."""
    return list({override.partition("=")[0]: override for override in overrides}.values())


def as_overrides(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Nested values as a command line would give them: {'a': {'b': [1, None]}} is a.b=[1,null]."""
    found: list[str] = []
    for key, value in values.items():
        inner = isinstance(value, Mapping)
        found += as_overrides(value, f"{prefix}{key}.") if inner else [f"{prefix}{key}={as_value(value)}"]
    return found


def as_value(value: Any) -> str:
    """One value as a command line would give it."""
    if isinstance(value, list):
        return f"[{','.join(map(as_value, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _as_file(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)


def run_systems(experiment: Experiment, trainings: Trainings) -> dict[Place, list[Path]]:
    """The runs of every place; places that are told the same share theirs."""
    done: dict[tuple[str, ...], list[Path]] = {}
    for (row, column), own in experiment.systems.items():
        if own not in done:
            done[own] = trainings.run(f"{row} {column}", own)
    return {place: done[own] for place, own in experiment.systems.items()}


def scored_texts(corpus: DictConfig, names: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """What is scored, by title: the groups of the corpus, or else all test sets together."""
    if not names:
        raise UserError("an experiment compares translations of test sets, and the corpus has none: name one")
    groups = {str(group): [name for name in own if name in names] for group, own in corpus.groups.items()}
    groups = {group: own for group, own in groups.items() if own} or {" + ".join(names): list(names)}
    return {title: [(TEST, name) for name in own] for title, own in groups.items()}


def system_tables(
    runs: Mapping[Place, Sequence[Path]], texts: Mapping[str, Sequence[tuple[str, str]]], config: CompareConfig
) -> tuple[list[ResultTable], str]:
    """BLEU and TER of all systems on every text in the layout of the paper; and the comparison with all metrics."""
    systems, names = _named(runs)
    tables, details = [], []
    for text, sets in texts.items():
        found = compare_jobs(sets, systems, config)
        details.append(comparison(text, found).text())
        for metric, lower in (("bleu", False), ("ter", True)):
            cells = {place: _cell(found[name][metric]) for place, name in names.items() if metric in found[name]}
            if cells:
                tables.append(ResultTable(metric, f"{metric.upper()}, {text}", text, cells, lower))
    return tables, "\n".join(details)


def _named(runs: Mapping[Place, Sequence[Path]]) -> tuple[dict[str, Sequence[Path]], dict[Place, str]]:
    """Systems by name, each once, and the name of the system of every place."""
    columns = {column for _, column in runs}
    by_runs: dict[tuple[Path, ...], str] = {}
    for (row, column), own in runs.items():
        by_runs.setdefault(tuple(own), row if len(columns) == 1 else f"{row}, {column}")
    return {name: own for own, name in by_runs.items()}, {place: by_runs[tuple(own)] for place, own in runs.items()}


def _cell(score: SystemScore) -> MeasuredCell:
    mark = stars(score.versus.p_value) if score.versus else ""
    return MeasuredCell(score.mean, score.deviation if score.num_replicas > 1 else 0.0, mark)


def member_table(folders: Mapping[str, Path], text: str) -> ResultTable:
    """Votes of the first members of bags and the best that their lists have, BLEU of tokens.

    folders: of bags by name; a row is called <name>-<members>.
    """
    cells: dict[Place, MeasuredCell] = {}
    for name, folder in folders.items():
        lines = (folder / "translations" / f"{TEST}.members.txt").read_text(encoding="utf-8").splitlines()
        for line in lines[1:]:
            size, best, oracle, _ = line.split()
            cells[f"{name}-{size}", "1-best"] = MeasuredCell(float(best))
            cells[f"{name}-{size}", "oracle"] = MeasuredCell(float(oracle))
    return ResultTable(
        "members", f"BLEU of tokens: the vote of members, and the best of their lists, {text}", text, cells
    )
