"""The stages of operation sequence models: one of each component's linked text, and their union with weights."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged, concatenate, ragged_from_rows
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.mixture import MixtureConfig, fit_mixture
from jaxsmt.lm.model import save_lm
from jaxsmt.osm.models import EQUAL, TARGET_WORDS, VOCABULARY, WEIGHTS, OperationModels, load_operation_models
from jaxsmt.osm.operations import operations_of
from jaxsmt.osm.table import number_operations
from jaxsmt.pipeline.assembly import Draft
from jaxsmt.pipeline.config.choices import Choices
from jaxsmt.pipeline.config.schemas import LanguageModelConfig
from jaxsmt.pipeline.stages.links import TextLinks
from jaxsmt.pipeline.stages.lms import TABLES, load_component_lm, save_union
from jaxsmt.pipeline.stages.mixing import DevelopmentSet, LabelledText
from jaxsmt.pipeline.stages.source_clusters import tokens_of
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, build_vocabulary, load_vocabulary

OPERATIONS = "operations.safetensors"


def with_operation_models(
    store: Store, draft: Draft, texts: Mapping[str, tuple[ComponentText, TextLinks]],
    development: Sequence[DevelopmentSet], chosen: Choices, start: float = 0.0,
) -> Draft:  # fmt: skip
    """The model with operation models of its components' texts; nothing is done where none are asked for.

    chosen: in `lm` how they are estimated, but for their order, and how weights are fitted, the order in `rescore`;
    start: their weight in the search.
    """
    config, lm = chosen.rescore, chosen.lm
    if not config.osm and not lm.osm:
        return draft
    model, key = draft.model, "lm.osm" if lm.osm else "rescore.osm"
    if not texts:
        raise UserError(f"{key} needs linked text, and no component is made of text: leave it out")
    if lm.osm:
        check_operations(lm, model.search.kind)
    labelled = [
        LabelledText(part.text, part.links, _labels(model.labeller(part.name).labels_of(tokens_of(part.text))))
        for part in development
        if part.links is not None
    ]
    estimation = dataclasses.replace(lm.estimation, order=config.osm_order, prune=(), rest_costs=False)
    artefact = operation_stages(store, texts, labelled, estimation, lm.mixture)
    model = dataclasses.replace(model, operations=load_operation_models(artefact.folder), osm_in_search=lm.osm)
    if lm.osm:
        all_weights = (*np.atleast_1d(model.weights.lm).tolist(), start)
        model = dataclasses.replace(model, weights=dataclasses.replace(model.weights, lm=all_weights))
    return dataclasses.replace(draft, model=model, operations=artefact)


def check_operations(lm: LanguageModelConfig, kind: str) -> None:
    """Raises UserError where the kind of search has no operation models and some are asked for."""
    if lm.osm and kind == "chart":
        raise UserError("lm.osm is for the stack search, and this is a chart: set rescore.osm=true instead")


def weights_without_operations(
    weights: SearchWeights, lm: LanguageModelConfig, num_lms: int
) -> tuple[SearchWeights, float]:
    """The weights without that of operations, and that: the last one given, or an equal share of one number."""
    if not lm.osm:
        return weights, 0.0
    if np.ndim(weights.lm):
        return dataclasses.replace(weights, lm=tuple(weights.lm[:-1])), float(weights.lm[-1])
    share = weights.lm / (num_lms + 1)
    return dataclasses.replace(weights, lm=weights.lm - share), share


def operation_stages(
    store: Store, texts: Mapping[str, tuple[ComponentText, TextLinks]], development: Sequence[LabelledText],
    estimation: LmConfig, mixture: MixtureConfig,
) -> Artefact:  # fmt: skip
    """The folder of the operation models of all components: see `jaxsmt.osm.models`."""
    sequences = {name: _sequence_stage(store, *part) for name, part in texts.items()}
    words = {word for part in sequences.values() for word in load_vocabulary(part.folder / VOCABULARY).words}
    # models that are mixed share one number of operations, or those that know few would give unknown ones too much
    estimation = dataclasses.replace(estimation, pad_vocabulary=len(words) + 2)  # with <unk> and </s>
    models = {name: _model_stage(store, name, part, estimation) for name, part in sequences.items()}

    def build(folder: Path) -> Counts:
        save_union(folder, [load_component_lm(part) for part in models.values()])
        _target_words([text for text, _ in texts.values()]).save(folder / TARGET_WORDS)
        _write_weights(folder, list(models), {EQUAL: [1 / len(models)] * len(models)}, {})
        if development:
            _write_weights(folder, list(models), *_fit(load_operation_models(folder), development, mixture))
        return {"models": len(models), "operations": len(words)}

    settings = {
        "mixture": dataclasses.asdict(mixture),
        "labels": {part.text.name: list(part.labels) for part in development},
    }
    inputs = {f"osm {name}": part.fingerprint for name, part in models.items()}
    inputs |= {f"text {name}": text.artefact.fingerprint for name, (text, _) in texts.items()}
    for part in development:
        inputs |= {f"{part.text.name} text": part.text.artefact.fingerprint}
        inputs |= {f"{part.text.name} links": part.links.artefact.fingerprint}
    return store.run("osm", settings, inputs, build)


def _labels(found: Sequence[str | None]) -> list[str]:
    """Sentences of no particular kind have equal weights."""
    return [label or EQUAL for label in found]


def _sequence_stage(store: Store, text: ComponentText, aligned: TextLinks) -> Artefact:
    """The operations of a text, as ids of a vocabulary of their own."""

    def build(folder: Path) -> Counts:
        sides = text.source.vocabulary, text.target.vocabulary
        frequency = np.bincount(text.bitext.target.values, minlength=len(sides[1]))
        ids, table = number_operations(operations_of(text.bitext, aligned.links, -frequency), *sides)
        save_arrays(folder / OPERATIONS, {"values": ids.values, "offsets": ids.offsets})
        table.spelled.save(folder / VOCABULARY)
        return {"operations": len(ids.values), "distinct": len(table.spelled.words)}

    inputs = {"text": text.artefact.fingerprint, "links": aligned.artefact.fingerprint}
    return store.run(f"operations-{text.name}", {}, inputs, build)


def _model_stage(store: Store, name: str, sequences: Artefact, config: LmConfig) -> Artefact:
    def build(folder: Path) -> Counts:
        arrays, words = open_arrays(sequences.folder / OPERATIONS), load_vocabulary(sequences.folder / VOCABULARY)
        lm = estimate_lm(Ragged(arrays["values"], arrays["offsets"]), words, config)
        save_lm(lm, folder / TABLES)
        words.save(folder / VOCABULARY)
        return {"ngrams": sum(len(level) for level in lm.levels), "order": lm.order}

    settings = dataclasses.asdict(config)
    del settings["memory_budget_gb"]  # changes the way, not the result
    return store.run(f"osm-{name}", settings, {"operations": sequences.fingerprint}, build)


def _target_words(texts: Sequence[ComponentText]) -> Vocabulary:
    """All target words, the most frequent of all texts first."""
    counts: Counter[str] = Counter()
    for text in texts:
        words = text.target.vocabulary
        found = np.bincount(text.bitext.target.values, minlength=len(words))[NUM_RESERVED:]
        counts.update(dict(zip(words.words, found.tolist(), strict=True)))
    return build_vocabulary(counts)


def _fit(
    models: OperationModels, development: Sequence[LabelledText], config: MixtureConfig
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Weights of every label by EM, and bits per operation of all development text before each iteration."""
    parts, labels = [ragged_from_rows([])], [label for part in development for label in part.labels]
    for part in development:
        bitext, table = part.text.bitext, models.table
        source = _in_ids(bitext.source, part.text.source.vocabulary, table.source)
        target = _in_ids(bitext.target, part.text.target.vocabulary, table.target)
        parts.append(table.ids_of(models.operations(Bitext(source, target), part.links.links)))
    names = list(dict.fromkeys(labels))
    fit = fit_mixture(models.automaton, concatenate(parts), config, np.array([names.index(label) for label in labels]))
    weights = {name: [round(float(x), 6) for x in row] for name, row in zip(names, fit.weights, strict=True)}
    bits = {"equal weights": float(fit.entropies[0]), "fitted": float(fit.entropies[-1])}
    return {**weights, EQUAL: models.weights[EQUAL]}, {name: round(value, 4) for name, value in bits.items()}


def _in_ids(side: Ragged, own: Vocabulary, words: Vocabulary) -> Ragged:
    return Ragged(own.ids_in(words)[side.values], side.offsets)


def _write_weights(folder: Path, names: list[str], weights: Mapping[str, list[float]], bits: Mapping[str, Any]) -> None:
    found = {"names": names, "weights": weights, "bits": bits}
    write_text(folder / WEIGHTS, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
