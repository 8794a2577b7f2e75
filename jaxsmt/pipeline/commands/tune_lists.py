"""`jaxsmt tune-lists`: weights tuned on n-best lists of any system."""

from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from jaxsmt.common.progress import console
from jaxsmt.common.settings import check_numbers
from jaxsmt.lm.rescoring import open_rescorer
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.checking.outputs import check_outputs
from jaxsmt.pipeline.config.tuners import tuner_config
from jaxsmt.pipeline.standard import STANDARD, write_lines
from jaxsmt.tune.commands import ListTuning, tune_nbest_lists


def tune_lists(config: DictConfig) -> float:
    """Tunes, shows and writes the weights; returns the BLEU they reach on the lists."""
    tuner = tuner_config(config.tune)
    check_numbers(dict(config.start), "start")
    check_readable({key: config[key] for key in ("nbest", "references")})
    check_outputs({"output": config.output})
    rescorer = open_rescorer(list(config.rescore.kenlm))
    result = tune_nbest_lists(list(config.nbest), list(config.references), dict(config.start), tuner, scorer=rescorer)
    show_tuning(result, console if config.output == STANDARD else Console())
    if config.output is not None:
        write_lines(config.output, (f"{name} {value:.9g}" for name, value in result.weights.items()))
    return result.after


def show_tuning(result: ListTuning, screen: Console) -> None:
    """BLEU before and after, the ceiling, and the weights."""
    table = Table(title="Weights", title_justify="left")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    for name, value in result.weights.items():
        table.add_row(name, f"{value:.6f}")
    screen.print(table)
    screen.print(f"BLEU on the lists: {result.before:.4f} → {result.after:.4f}, oracle {result.oracle:.4f}")
