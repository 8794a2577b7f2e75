"""Consensus in training: the scale of scores is found on lists of the development sets."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jaxsmt.adapt.consensus.config import ConsensusConfig, ConsensusTraining
from jaxsmt.adapt.consensus.tuning import tune_gamma
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log, track
from jaxsmt.model.folder import ADAPTATION
from jaxsmt.model.model import Model
from jaxsmt.model.translation import make_translator
from jaxsmt.pipeline.assembly import Draft
from jaxsmt.pipeline.stages.texts import bitext_inputs
from jaxsmt.pipeline.stages.tuning import TuningText, model_settings, tuning_text
from jaxsmt.pipeline.store import Counts, Store
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows

SCALE, TABLE = "scale.json", "table.txt"


def check_consensus(config: ConsensusTraining | None, dev: Mapping[str, BitextSource]) -> None:
    """Raises UserError, before any work is done, where nothing can be tuned on."""
    if config is not None and config.gamma is None and not dev:
        raise UserError(
            "consensus=mbr needs a development set: name one, +corpus.dev.NAME.source=… and .target=…, or give "
            "consensus.gamma"
        )


def with_consensus(store: Store, draft: Draft, dev: Mapping[str, BitextSource], config: ConsensusTraining) -> Draft:
    """The model with a consensus, whose γ is given or found."""
    gamma = config.gamma if config.gamma is not None else consensus_stage(store, draft, dev, config)
    return dataclasses.replace(draft, model=dataclasses.replace(draft.model, consensus=config.chosen(gamma)))


def consensus_stage(store: Store, draft: Draft, dev: Mapping[str, BitextSource], config: ConsensusTraining) -> float:
    """The best γ on the development sets, as the model translates them otherwise."""
    model = draft.model
    rescoring = None if model.rescoring is None else dataclasses.asdict(model.rescoring)
    settings = {**model_settings(model), "rescoring": rescoring, "consensus": dataclasses.asdict(config)}
    adaptation = {} if draft.adaptation is None else {ADAPTATION: draft.adaptation.fingerprint}

    def build(folder: Path) -> Counts:
        text = tuning_text(model, dev)
        lists = consensus_lists(model, text, config.chosen(0.0))
        info = tune_gamma(lists, text.references, config)
        write_text(folder / SCALE, json.dumps(info.gamma) + "\n")
        write_text(folder / TABLE, info.table())
        return {"sentences": len(text), "hypotheses": len(lists.texts)}

    inputs = {**draft.labelled_fingerprints, **adaptation, **bitext_inputs(dev)}
    artefact = store.run("consensus", settings, inputs, build)
    log.info(
        "BLEU of the development sets by consensus.gamma:\n%s", (artefact.folder / TABLE).read_text(encoding="utf-8")
    )
    return json.loads((artefact.folder / SCALE).read_text(encoding="utf-8"))


def consensus_lists(model: Model, text: TuningText, config: ConsensusConfig) -> NBestLists:
    """What a consensus chooses from for development sentences, the best translations first, without features."""
    translator = make_translator(dataclasses.replace(model, consensus=None)).with_consensus(config)
    texts: list[str] = []
    scores, sentences = [np.zeros(0)], [np.zeros(0, np.int64)]
    step = translator.lines_at_once
    rows = [row for row, profile in enumerate(text.profiles) if translator.is_for(profile.label)]
    starts = range(0, len(rows), step)
    for start in track(starts, "development lists", len(starts)):
        some = rows[start : start + step]
        found = translator.lists(text.source, some, [text.profiles[row] for row in some])
        texts += found.texts
        scores.append(found.scores)
        sentences.append(np.repeat(np.array(some), np.diff(found.offsets)))
    flat = np.concatenate(sentences)
    return nbest_from_rows(texts, np.zeros((len(texts), 0)), flat, len(text), (), np.concatenate(scores))
