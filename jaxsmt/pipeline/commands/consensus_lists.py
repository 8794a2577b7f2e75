"""`jaxsmt consensus-lists`: translations chosen from n-best lists of any systems by minimum Bayes risk."""

from collections.abc import Sequence

import numpy as np
from omegaconf import DictConfig

from jaxsmt.adapt.consensus.config import ConsensusTraining
from jaxsmt.adapt.consensus.risk import choose, posteriors
from jaxsmt.adapt.consensus.systems import joined_systems
from jaxsmt.adapt.consensus.tuning import tune_gamma
from jaxsmt.adapt.voting import chosen_texts
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.evaluate.references import read_references
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.checking.outputs import check_outputs
from jaxsmt.pipeline.commands.adapt_lists import read_weights
from jaxsmt.pipeline.config.consensus import consensus_config
from jaxsmt.pipeline.standard import write_lines
from jaxsmt.tune.nbest import NBestLists, named_weights, read_nbest
from jaxsmt.tune.rescoring import ranked_anew

SystemLists = tuple[NBestLists, np.ndarray]  # of several systems, and the system of each translation


def consensus_lists(config: DictConfig) -> float | None:
    """Finds the scale, chooses and writes; returns the BLEU of the development lists where there are some."""
    settings = consensus_config(config.consensus)
    if settings is None:
        raise UserError("consensus=none chooses nothing: leave it out")
    check_readable({key: config[key] for key in ("nbest", "dev_nbest", "dev_references", "weights_file")})
    check_outputs({"output": config.output if config.nbest else None})
    if not config.nbest and not config.dev_nbest:
        raise UserError("there is nothing to choose from: name n-best lists, nbest=[…]")
    gamma, bleu = _scale(config, settings)
    if config.nbest:
        lists, systems = _read(config, config.nbest, settings)
        probabilities = posteriors(lists.scores, lists.offsets, [gamma], systems)
        texts = chosen_texts(lists, choose(lists.texts, lists.offsets, probabilities, settings.utility)[0])
        if config.output is not None:
            write_lines(config.output, texts)
    return bleu


def _scale(config: DictConfig, settings: ConsensusTraining) -> tuple[float, float | None]:
    """γ, and what it makes of the development lists, if there are some."""
    if not config.dev_nbest or not config.dev_references:
        if settings.gamma is None:
            raise UserError(
                "the scale of scores is found on lists of known sentences: name dev_nbest=[…] and dev_references=[…], "
                "or give it, consensus.gamma=…"
            )
        return settings.gamma, None
    if config.nbest and len(config.nbest) != len(config.dev_nbest):
        raise UserError(
            f"nbest has {len(config.nbest)} files and dev_nbest {len(config.dev_nbest)}: give one a system in both"
        )
    references = read_references(list(config.dev_references))
    lists, systems = _read(config, config.dev_nbest, settings, len(references))
    info = tune_gamma(lists, references, settings, systems)
    log.info("BLEU of the development lists by consensus.gamma:\n%s", info.table())
    return info.gamma, max(info.bleu)


def _read(
    config: DictConfig, paths: Sequence[str], settings: ConsensusTraining, num_sentences: int | None = None
) -> SystemLists:
    parts = [read_nbest(path, num_sentences) for path in paths]
    num = max(len(part) for part in parts)  # the last sentences of some list may be missing
    parts = [part if len(part) == num else read_nbest(path, num) for part, path in zip(parts, paths, strict=True)]
    if config.weights_file is not None:
        weights = read_weights(config.weights_file)
        parts = [ranked_anew(part, part.features @ named_weights(part, weights)) for part in parts]
    return joined_systems(parts, settings.nbest)
