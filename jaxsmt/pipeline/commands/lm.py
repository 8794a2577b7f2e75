"""`jaxsmt lm`: text to an ARPA file, and the perplexity of a text under a language model."""

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import scratch_folder
from jaxsmt.lm.arpa import write_arpa
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.checking.outputs import check_outputs
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.texts import text_config
from jaxsmt.pipeline.jobs.cluster import opened_tasks
from jaxsmt.pipeline.scored_lms import ScoredLm, opened_lm, perplexity_table, scored
from jaxsmt.pipeline.standard import STANDARD, input_lines, output_path
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.preparing import prepare_lines
from jaxsmt.text.vocabulary import Vocabulary


def lm(config: DictConfig) -> None:
    """Estimates a model of `input`, or opens `model`; prints the perplexity of the text `perplexity` under it."""
    if config.model is not None and config.perplexity is None:
        raise UserError("there is nothing to do with the model: name a text, perplexity=… ('-' is standard input)")
    if config.model is None and config.perplexity is not None and config.output == STANDARD:
        raise UserError("the model and the perplexity both go to standard output: name a file for the model, output=…")
    if config.model is None and config.input == config.perplexity == STANDARD:
        raise UserError("input and perplexity are both standard input: name a file for one of them")
    text = text_config(config.text)
    check_outputs({"output": config.output if config.model is None else None}, {"input": config.input})
    check_readable({key: config[key] for key in ("perplexity",)})
    if config.model is None:
        model = _estimated(config, text)
    else:
        model = opened_lm(config.model, TextSide(config.language, text, Vocabulary(())))
    if config.perplexity is not None:
        print(perplexity_table(model, input_lines(config.perplexity)), end="")


def _estimated(config: DictConfig, text: TextConfig) -> ScoredLm:
    settings = room_config(LmConfig, config.estimation)
    sentences, side = prepare_lines(input_lines(config.input), text, config.language)
    with scratch_folder("lm") as scratch, opened_tasks(config.cluster, scratch) as tasks:
        found = estimate_lm(sentences, side.vocabulary, settings, tasks)
    if config.output is not None:
        with scratch_folder("lm") as scratch, output_path(config.output, scratch) as path:
            write_arpa(found, path)
    return scored({"estimated": found}, side)
