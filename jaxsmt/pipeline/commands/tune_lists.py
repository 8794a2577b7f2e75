"""`jaxsmt tune-lists`: weights tuned on n-best lists of any system."""

import sys

from omegaconf import DictConfig

from jaxsmt.common.settings import check_numbers
from jaxsmt.lm.rescoring import open_rescorer
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.checking.outputs import check_outputs
from jaxsmt.pipeline.config.tuners import tuner_config
from jaxsmt.pipeline.standard import STANDARD, write_lines
from jaxsmt.pipeline.terminal.columns import TextTable, fitted, output_width
from jaxsmt.tune.commands import ListTuning, tune_nbest_lists


def tune_lists(config: DictConfig) -> float:
    """Tunes, shows and writes the weights; returns the BLEU they reach on the lists."""
    tuner = tuner_config(config.tune)
    check_numbers(dict(config.start), "start")
    check_readable({key: config[key] for key in ("nbest", "references")})
    check_outputs({"output": config.output})
    rescorer = open_rescorer(list(config.rescore.kenlm))
    result = tune_nbest_lists(list(config.nbest), list(config.references), dict(config.start), tuner, scorer=rescorer)
    print(tuning_text(result, output_width()), file=sys.stderr if config.output == STANDARD else sys.stdout)
    if config.output is not None:
        write_lines(config.output, (f"{name} {value:.9g}" for name, value in result.weights.items()))
    return result.after


def tuning_text(result: ListTuning, width: int | None) -> str:
    """The weights, then BLEU before and after, and the ceiling."""
    table = TextTable("Weights", ["feature"], ["weight"])
    for name, value in result.weights.items():
        table.add_row(name, f"{value:.6f}")
    reached = f"BLEU on the lists: {result.before:.4f} → {result.after:.4f}, oracle {result.oracle:.4f}"
    return f"{table.text(width)}\n{fitted(reached, width)}"
