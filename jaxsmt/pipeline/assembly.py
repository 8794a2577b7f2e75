"""From components, language models and development sets to a model that mixes and weighs them."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.clusters.clustering import ClusterConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import concatenate
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.lm.automaton import load_automaton, to_device
from jaxsmt.lm.mixture import fit_mixture
from jaxsmt.model.model import CLUSTERS, Labels, Mixing, Model, load_model, write_model
from jaxsmt.model.rule_model import fitting_weights, normalised_rule
from jaxsmt.pipeline.config.mixing import FILL_UP, LOG_LINEAR, TARGET_CLUSTERS, MixingConfig
from jaxsmt.pipeline.config.schemas import WeightsConfig
from jaxsmt.pipeline.report import show_mixture
from jaxsmt.pipeline.stages.clustering import cluster_stage, load_clustering, tokens_of
from jaxsmt.pipeline.stages.ensembles import tuned_ensemble
from jaxsmt.pipeline.stages.lms import AUTOMATON, VOCABULARY, LmMixture, target_in
from jaxsmt.pipeline.stages.mixing import DevelopmentSet, LabelledText, mixing_stage
from jaxsmt.pipeline.stages.target_clusters import load_target_clusters, target_cluster_stage
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.stages.tuning import ListsConfig, tuning_stage, tuning_text
from jaxsmt.pipeline.store import Artefact, Store
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.vocabulary import load_vocabulary


@dataclass(frozen=True)
class Parts:
    """What stays the same in a model however its components are mixed; the folder it goes to; lines to translate."""

    sides: tuple[TextSide, TextSide]
    components: Mapping[str, Artefact]
    lms: LmMixture
    search: SearchConfig
    folder: Path
    lines: Sequence[str]

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of all that translations depend on, but for settings."""
        found = {f"component {name}": part.fingerprint for name, part in self.components.items()}
        return {**found, "lm": self.lms.artefact.fingerprint}

    def write(self, weights: WeightsConfig, mixing: Mixing, more: Mapping[str, Path]) -> Model:
        """Writes the model folder and opens it; more: see `write_model`."""
        write_model(self.folder, self.sides, self.components, self.lms, self.search, weights, mixing, more)
        return load_model(self.folder).for_lines(self.lines)

    def labelling(self, model: Model) -> dict[str, Path]:
        """The folder of the model's clusters, if it has them, as `write` wants it."""
        return {CLUSTERS: self.folder / CLUSTERS} if model.clustering is not None else {}


def mixed_model(
    store: Store, parts: Parts, texts: Sequence[ComponentText], development: Sequence[DevelopmentSet],
    extract: ExtractConfig, config: MixingConfig, weights: WeightsConfig,
) -> Model:  # fmt: skip
    """The model with component weights for every label, before its log-linear weights are tuned."""
    config = _feasible(config, development)
    labels, clusters = _labels(store, texts, development, config)
    found = Labels()
    if config.weighting == "fitted" and config.operation != LOG_LINEAR:
        aligned = [
            LabelledText(part.text, part.links, own)
            for part, own in zip(development, labels, strict=True)
            if part.links is not None
        ]
        fit = mixing_stage(store, parts.components, aligned, extract, config)
        show_mixture(fit)
        found = dataclasses.replace(found, mixtures=_shaped(fit["weights"], config))
    if clusters is not None:
        found = dataclasses.replace(found, lm_mixtures=fit_label_lms(parts.lms, development, labels))
    own_weights = (normalised_rule(weights),) * len(parts.components) if config.is_ensemble else ()
    weights = fitting_weights(weights, config, len(parts.components))
    more = {} if clusters is None else {CLUSTERS: clusters.folder}
    return parts.write(weights, Mixing(config, own_weights, found), more)


def _labels(
    store: Store, texts: Sequence[ComponentText], development: Sequence[DevelopmentSet], config: MixingConfig
) -> tuple[list[Sequence[str]], Artefact | None]:
    """The labels of all development sentences, set by set, and the clusters that they come from."""
    if config.labels == "clusters":
        settings = ClusterConfig(
            num_clusters=config.num_clusters, seed=config.cluster_seed, centring=config.cluster_centring
        )
        clusters = cluster_stage(store, texts, [part.text for part in development], settings)
        found = load_clustering(clusters.folder).clusters.labels.per_sentence
        return _split(found, [len(part.text.bitext) for part in development]), clusters
    if config.labels == TARGET_CLUSTERS:
        clusters = target_cluster_stage(store, texts, config.num_clusters, config.cluster_seed)
        of_target = load_target_clusters(clusters.folder)
        return [of_target.labels_of(tokens_of(part.text)) for part in development], clusters
    return [[part.name] * len(part.text.bitext) for part in development], None


def tuned_model(
    store: Store, parts: Parts, model: Model, dev: Mapping[str, BitextSource], tuner: Any, lists: ListsConfig
) -> Model:
    """The model with log-linear weights tuned on the development sets: for all text, or for each label."""
    inputs = parts.fingerprints
    if model.mixing.config.is_ensemble:
        model = tuned_ensemble(store, model, inputs, dev, tuner, lists)
    weights = tuning_stage(store, model, inputs, dev, tuner, lists)
    labels = model.mixing.labels
    if model.mixing.config.tune_each:
        occurring = sorted({label for label in tuning_text(model, dev).labels if label is not None})
        own = {label: tuning_stage(store, model, inputs, dev, tuner, lists, label) for label in occurring}
        labels = dataclasses.replace(labels, weights=own)
    mixing = dataclasses.replace(model.mixing, labels=labels)
    return parts.write(weights, mixing, parts.labelling(model))


def fit_label_lms(
    lms: LmMixture, development: Sequence[DevelopmentSet], labels: Sequence[Sequence[str]]
) -> dict[str, list[float]]:
    """Weights of the language models for every label, by EM on the target side of its sentences."""
    vocabulary = load_vocabulary(lms.artefact.folder / VOCABULARY)
    automaton = to_device(load_automaton(lms.artefact.folder / AUTOMATON))
    sides = [target_in(vocabulary, part.text) for part in development]
    flat = [label for part in labels for label in part]
    names = list(dict.fromkeys(flat))
    fit = fit_mixture(automaton, concatenate(sides), groups=np.array([names.index(label) for label in flat]))
    return {name: [round(float(x), 6) for x in row] for name, row in zip(names, fit.weights, strict=True)}


def _feasible(config: MixingConfig, development: Sequence[DevelopmentSet]) -> MixingConfig:
    """The configuration, or what comes nearest to it where nothing can be fitted."""
    if config.labels != "sets" and not development:
        raise UserError(f"mixture.labels={config.labels} needs a development set made of text: name one (corpus.dev)")
    can_fit = any(part.links is not None for part in development)
    if config.weighting != "fitted" or can_fit:
        return config
    log.warning("no aligned development set to fit component weights to: they are equal, the own one is raised")
    return dataclasses.replace(config, weighting="raised")


def _shaped(weights: Mapping[str, list], config: MixingConfig) -> dict[str, list]:
    """λ [4, D] of each label, or their mean [D] where models are mixed as wholes."""
    if not config.weights_are_shared:
        return dict(weights)
    means = {label: np.mean(rows, axis=0) for label, rows in weights.items()}
    if config.operation == FILL_UP:  # the order counts, not the size
        return {label: mean.tolist() for label, mean in means.items()}
    return {label: (mean / mean.sum()).tolist() for label, mean in means.items()}


def _split(flat: Sequence[str], sizes: Sequence[int]) -> list[Sequence[str]]:
    ends = np.cumsum(sizes).tolist()
    return [flat[end - size : end] for end, size in zip(ends, sizes, strict=True)]
