"""Tunes weights on n-best lists of any system.

python -m jaxsmt.pipeline.commands.tune_lists nbest=[a.nbest] references=[dev.en]
"""

import dataclasses
from typing import Any

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from jaxsmt.pipeline.config.launch import launch, run_job
from jaxsmt.pipeline.config.rooms import named_room
from jaxsmt.pipeline.config.schemas import ListTuningSchema, register_schemas
from jaxsmt.tune.commands import ListTuning, tune_nbest_lists
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig, TrustRegionConfig

TUNERS = {"mert": MertConfig, "mira": MiraConfig, "pro": ProConfig, "trust_region": TrustRegionConfig}

register_schemas()


def tune_lists(config: DictConfig) -> float:
    """Tunes, shows and writes the weights; returns the BLEU they reach on the lists."""
    result = tune_nbest_lists(
        list(config.nbest), list(config.references), dict(config.start), tuner_config(config.tune), config.output
    )
    show_tuning(result)
    return result.after


def tuner_config(node: Any) -> Any:
    """The tuner's dataclass from a node of conf/tune, which names it and has its keys."""
    return named_room("tune", node, TUNERS)


def tuner_keys() -> list[str]:
    """All keys that a node of conf/tune may have, dotted."""
    return [f"tune.{column.name}" for room in TUNERS.values() for column in dataclasses.fields(room)]


def show_tuning(result: ListTuning) -> None:
    """BLEU before and after, the ceiling, and the weights."""
    table = Table(title="Weights", title_justify="left")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    for name, value in result.weights.items():
        table.add_row(name, f"{value:.6f}")
    Console().print(table)
    Console().print(f"BLEU on the lists: {result.before:.4f} → {result.after:.4f}, oracle {result.oracle:.4f}")


@hydra.main(version_base="1.3", config_path="../../../conf", config_name="tune_lists")
def main(config: DictConfig) -> float:
    return run_job(tune_lists, config)


if __name__ == "__main__":
    launch(main, ListTuningSchema, tuner_keys())
