"""The adaptation stages: Bayesian predictive adaptation, bagging, and weights by recognised class."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log, track
from jaxsmt.model.adaptation import load_adaptation
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.model import Model
from jaxsmt.model.reranking.voting import Voting
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of
from jaxsmt.pipeline.assembly import Draft
from jaxsmt.pipeline.config.adapters import (
    AdapterConfig,
    BaggingStageConfig,
    BpaStageConfig,
    Circumstances,
    RecogniseStageConfig,
)
from jaxsmt.pipeline.stages.bagging import bagging_stage
from jaxsmt.pipeline.stages.recognition import recognition_stage
from jaxsmt.pipeline.stages.tuning import TuningTask, TuningText, as_nbest_lists, model_settings, tuning_text
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.lists import TuningLists, padded_lists
from jaxsmt.tune.scoring import score_lists

Sets = Mapping[str, BitextSource]
LISTS = "lists.safetensors"


def adapted_model(store: Store, draft: Draft, sets: Sets, config: AdapterConfig, task: TuningTask) -> Draft:
    """The model with an adaptation; see `check_adaptation` for what goes together.

    sets: texts to adapt to, by name (bpa); without one the development sets are.
    """
    model, inputs = draft.model, draft.labelled_fingerprints
    match config:
        case BpaStageConfig():
            made = bpa_stage(store, model, inputs, sets or task.dev, config)
        case BaggingStageConfig():
            made = bagging_stage(store, model, inputs, task.dev, config)
        case RecogniseStageConfig():
            made = recognition_stage(store, model, inputs, config, task)
    model = dataclasses.replace(model, adaptation=load_adaptation(made.folder))
    return dataclasses.replace(draft, model=model, adaptation=made)


def check_adaptation(config: AdapterConfig | None, mixture: MixingConfig, dev: Sets, sets: Sets, tuner: Any) -> None:
    """Raises UserError, before any work is done, for an adaptation that cannot be made."""
    if config is not None:
        config.check(Circumstances(len(dev), len(sets), mixture.labels, tuner is not None))


def bpa_stage(store: Store, model: Model, inputs: Mapping[str, str], sets: Sets, config: BpaStageConfig) -> Artefact:
    """Votes for every label of the adaptation sets: their names, or where the model finds labels itself, those."""
    known = dataclasses.replace(model, more_labels=tuple(sets))
    text = tuning_text(known, sets)
    if not len(text):
        raise UserError(f"no sentence of {', '.join(sets)} can be adapted to: all are empty or too long, give others")
    translator_fn = cache(lambda: plain_translator(known))
    labels = [label for label in dict.fromkeys(text.labels) if label is not None]
    lists = {label: lists_stage(store, known, inputs, text.take(label), config, translator_fn) for label in labels}
    weights = {label: vector_of(known.profile(label).weights) for label in labels}

    def build(folder: Path) -> Counts:
        votes: dict[str | None, Votes] = {}
        counts = {}
        for label in track(labels, "adapting", len(labels)):
            votes[label], info = adapt(load_lists(lists[label]), weights[label], config)
            log.info("adapted to '%s': %.0f effective samples", label, info.effective_size)
            if advice := info.advice():
                log.warning("adaptation to '%s': %s", label, advice)
            counts[f"effective samples of {label}"] = round(float(info.effective_size), 2)
        Voting(votes, feature_names(model.weights, model.lm_names), config.nbest).save(folder)
        return counts

    settings = {"bpa": dataclasses.asdict(config), "weights": {name: part.tolist() for name, part in weights.items()}}
    return store.run("bpa", settings, {label: part.fingerprint for label, part in lists.items()}, build)


def lists_stage(
    store: Store, model: Model, inputs: Mapping[str, str], text: TuningText, config: BpaStageConfig,
    translator_fn: Callable[[], PlainTranslator],
) -> Artefact:  # fmt: skip
    """Scored n-best lists of sentences with one label; all settings of a sweep find them again."""

    def build(folder: Path) -> Counts:
        translator = translator_fn()
        arrays = nbest_arrays(translator.decoder, translator.request(text.source, text.profiles), config.nbest)
        found = as_nbest_lists(translator, arrays, text.source.tokens)
        lists = score_lists(found, text.references, with_ter=config.oracle == "ter")
        save_lists(folder, lists)
        return {"sentences": len(lists), "hypotheses": int(lists.sizes.sum())}

    settings = {
        **model_settings(model),
        "label": text.labels[0],
        "nbest": config.nbest,
        "with_ter": config.oracle == "ter",
    }
    content = json.dumps([list(text.source.lines), text.references], ensure_ascii=False)
    inputs = {**inputs, "text": hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()}
    return store.run("adaptation-lists", settings, inputs, build)


def save_lists(folder: Path, lists: TuningLists) -> None:
    """Writes scored lists without their padding."""
    columns = {"features": lists.features, "bleu": lists.bleu, "ter": lists.ter}
    packed = {name: rows[lists.is_real] for name, rows in columns.items() if rows is not None}
    names = np.frombuffer("\n".join(lists.feature_names).encode(), np.uint8)
    save_arrays(folder / LISTS, {**packed, "sizes": lists.sizes.astype(np.int64), "feature_names": names})


def load_lists(artefact: Artefact) -> TuningLists:
    """What `save_lists` wrote."""
    arrays = open_arrays(artefact.folder / LISTS)
    names = tuple(arrays["feature_names"].tobytes().decode().split("\n"))
    offsets = np.concatenate([[0], np.cumsum(arrays["sizes"])])
    bleu, ter = (None if arrays.get(name) is None else np.array(arrays[name]) for name in ("bleu", "ter"))
    return padded_lists(np.array(arrays["features"]), offsets, bleu, ter, names)
