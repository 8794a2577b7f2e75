"""`jaxsmt experiment`: the comparison of a paper, with its own figures and whether the directions are the same."""

import json
import shlex
from collections.abc import Iterable
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.common.settings import from_values
from jaxsmt.evaluate.compare import CompareConfig
from jaxsmt.pipeline.commands.train import Sources, corpus_sources
from jaxsmt.pipeline.config.rooms import check_known, plain, room_config
from jaxsmt.pipeline.experiments.adaptation import AdaptationConfig, adaptation_tables
from jaxsmt.pipeline.experiments.config import Experiment, on_demo, read_experiment
from jaxsmt.pipeline.experiments.page import page, printed
from jaxsmt.pipeline.experiments.systems import (
    Trainings,
    as_overrides,
    member_table,
    run_systems,
    scored_texts,
    system_tables,
)
from jaxsmt.pipeline.experiments.tables import ResultTable, as_json, as_tsv, outcomes


def experiment(config: DictConfig) -> float:
    """Runs all systems, prints and writes tables and the page; returns the share of directions that are the same."""
    check_told(HydraConfig.get().overrides.task if HydraConfig.initialized() else ())
    chosen = read_experiment(config.experiment)
    corpus = experiment_corpus(config, chosen)
    if corpus.demo:
        chosen = on_demo(chosen)
    work_dir, output_dir = Path(config.work_dir), Path(config.output_dir)
    told = (*chosen.train, *as_overrides(plain(config.train)))
    trainings = Trainings(corpus, told, work_dir, output_dir, tuple(config.seeds))
    sources = corpus_sources(OmegaConf.create({"corpus": corpus}), work_dir)
    tables, details = _system_results(chosen, trainings, sources, room_config(CompareConfig, config.evaluate))
    if chosen.adaptation:
        tables += _adaptation_results(chosen, trainings, sources)
    tables = [table.with_figures(chosen.figures) for table in tables]
    found = outcomes(chosen.claims, tables)
    text = printed(chosen, tables, found)
    print(text, end="")
    write_text(output_dir / "tables.txt", text + (f"\n{details}" if details else ""))
    write_text(output_dir / "tables.tsv", as_tsv(tables))
    write_text(output_dir / "tables.json", json.dumps(as_json(tables, found), indent=1, ensure_ascii=False) + "\n")
    write_text(config.page, page(chosen, str(corpus.name), _command(config), tables, found))
    log.info("page: %s", config.page)
    return sum(outcome.is_same for outcome in found) / len(found) if found else 0.0


def check_told(overrides: Iterable[str]) -> None:
    """Refuses a choice and a key of it both below `train`, where the later one would take the other's place unsaid."""
    keys = [override.split("=", 1)[0].lstrip("+~") for override in overrides]
    for key in keys:
        for other in keys:
            if key.startswith("train.") and other.startswith(f"{key}."):
                raise UserError(
                    f"{key} and {other} are both given, and one would take the other's place: put them into the train "
                    "of an experiment of your own, conf/experiment/mine.yaml, as a list"
                )


def experiment_corpus(config: DictConfig, chosen: Experiment) -> DictConfig:
    """The texts: those of the configuration, and of the demo what the experiment takes unless the user says so."""
    corpus = DictConfig(plain(config.corpus))
    if corpus.demo:
        for part, names in chosen.demo.corpus.items():
            corpus[part] = corpus[part] or names
    return corpus


def _system_results(
    chosen: Experiment, trainings: Trainings, sources: Sources, config: CompareConfig
) -> tuple[list[ResultTable], str]:
    """Tables of systems and of the members of bags, and the comparison with all metrics."""
    if not chosen.systems:
        return [], ""
    texts = scored_texts(trainings.corpus, list(sources["test"]))
    runs = run_systems(chosen, trainings)
    tables, details = system_tables(runs, texts, config)
    if chosen.members:
        by_told = {own: runs[place][0] for place, own in chosen.systems.items()}
        bags = {name: by_told.get(own) or trainings.run(name, own)[0] for name, own in chosen.members.items()}
        tables.insert(0, member_table(bags, " + ".join(sources["test"])))
    return tables, details


def _adaptation_results(chosen: Experiment, trainings: Trainings, sources: Sources) -> list[ResultTable]:
    """Tables of one model that is adapted to other text."""
    check_known("experiment.adaptation", chosen.adaptation, {"adaptation": AdaptationConfig})
    settings = from_values(AdaptationConfig, chosen.adaptation)
    (folder, *_) = trainings.run("unadapted", ())
    return adaptation_tables(folder / "model", sources, settings)


def _command(config: DictConfig) -> str:
    """What leads to this run again: the choices that were made, without folders."""
    parts = [f"experiment={config.experiment.name}", f"corpus={config.corpus.name}"]
    parts += [f"seeds=[{','.join(map(str, config.seeds))}]"] if list(config.seeds) != [1] else []
    parts += [f"train.{override}" for override in as_overrides(plain(config.train))]
    return "jaxsmt experiment " + " ".join(shlex.quote(part) if " " in part else part for part in parts)
