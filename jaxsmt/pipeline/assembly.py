"""From components, language models and development sets to a model that mixes and weighs them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.clusters.clustering import ClusterConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import concatenate
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.lm.mixture import fit_mixture
from jaxsmt.model.folder import ADAPTATION, CLUSTERS, LABELS, OPERATIONS, ModelFiles, with_words_of, write_model
from jaxsmt.model.labelling.labellers import load_clusters
from jaxsmt.model.labelling.nearest_labels import load_nearest_labels
from jaxsmt.model.labelling.source_clusters import load as load_source_clusters
from jaxsmt.model.labelling.target_clusters import load as load_target_clusters
from jaxsmt.model.language_models import LanguageModels, lm_folder, start_weights
from jaxsmt.model.mixing import FILL_UP, LOG_LINEAR, TARGET_CLUSTERS, MixingConfig, Rules
from jaxsmt.model.model import LabelSettings, Mixing, Model
from jaxsmt.model.source_text import source_text
from jaxsmt.model.tuned_weights import fitting_weights, normalised_rule
from jaxsmt.pipeline.report import show_mixture
from jaxsmt.pipeline.stages.components import FOLDER
from jaxsmt.pipeline.stages.ensembles import tuned_ensemble
from jaxsmt.pipeline.stages.lms import LmFeature, LmMixture, static_stage, target_in
from jaxsmt.pipeline.stages.mixing import DevelopmentSet, LabelledText, mixing_stage
from jaxsmt.pipeline.stages.source_clusters import cluster_stage, label_stage, tokens_of
from jaxsmt.pipeline.stages.target_clusters import target_cluster_stage
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.stages.tuning import TuningTask, tuning_stage, tuning_text
from jaxsmt.pipeline.store import Artefact, Store
from jaxsmt.pipeline.trained_mixtures import TRAINED, trained_model
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import TextSide
from jaxsmt.tm.component import Component, load_component
from jaxsmt.tm.gathering.components import RuleTables
from jaxsmt.tm.provenance import Provenance


@dataclass(frozen=True)
class Draft:
    """A model in the making: what it is so far, opened, and the artefacts that its folder will be made of.

    mixture: what the first of the language models `lms` was made from.
    """

    model: Model
    components: Mapping[str, Artefact]
    mixture: LmMixture
    lms: tuple[LmFeature, ...]
    clusters: Artefact | None = None
    adaptation: Artefact | None = None
    operations: Artefact | None = None
    finder: Artefact | None = None

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of all that translations depend on, but for settings and labels."""
        found = {f"component {name}": part.fingerprint for name, part in self.components.items()}
        operations = {} if self.operations is None else {OPERATIONS: self.operations.fingerprint}
        return {**found, **{lm_folder(part.name): part.artefact.fingerprint for part in self.lms}, **operations}

    @property
    def labelled_fingerprints(self) -> dict[str, str]:
        """The same, and of what finds labels."""
        labelling = {} if self.clusters is None else {CLUSTERS: self.clusters.fingerprint}
        return {**self.fingerprints, **labelling}

    def for_lines(self, lines: Iterable[str]) -> "Draft":
        """The draft with what lines need; lines: all that it will translate before it is written."""
        return dataclasses.replace(self, model=self.model.for_text(source_text(self.model.source, lines)))

    def write(self, folder: Path) -> None:
        """Writes the model folder."""
        more = {CLUSTERS: self.clusters, LABELS: self.finder, ADAPTATION: self.adaptation, OPERATIONS: self.operations}
        files = ModelFiles(
            {name: part.folder / FOLDER for name, part in self.components.items()},
            {part.name: part.artefact.folder for part in self.lms},
            {name: part.folder for name, part in more.items() if part is not None},
        )
        write_model(folder, self.model, files)


def first_draft(
    sides: tuple[TextSide, TextSide], components: Mapping[str, Artefact], mixture: LmMixture,
    lms: Sequence[LmFeature], search: SearchConfig, weights: SearchWeights,
) -> Draft:  # fmt: skip
    """A model that mixes nothing yet."""
    loaded = [load_component(part.folder / FOLDER) for part in components.values()]
    tables = RuleTables(loaded)
    source, target = with_words_of(tables, sides)
    search = search.for_phrases(all(component.kind == "phrase" for component in loaded))
    weights = weights.only(_own_features(search, loaded))  # there is nothing else to weigh or to tune
    opened = tuple(part.opened() for part in lms)
    weights = dataclasses.replace(weights, lm=start_weights(weights.lm, opened))
    model = Model(Rules(tables), source, target, opened, search, weights)
    return Draft(model, components, mixture, tuple(lms))


def _own_features(search: SearchConfig, components: Sequence[Component]) -> tuple[str, ...]:
    """Those of the search, without orientations where no component has counted any."""
    has_orientations = any(component.rules.orientation_counts is not None for component in components)
    return tuple(name for name in search.own_features if name != "reordering" or has_orientations)


def check_provenance(provenance: Provenance | None, config: MixingConfig, tuner: Any) -> None:
    """Raises UserError, before any work is done, where features of where rules were seen cannot be had."""
    if provenance is None:
        return
    if tuner is None:
        raise UserError("tm.provenance has weights to tune: choose a tuner too, for instance tune=mira")
    if config.is_ensemble:
        raise UserError(
            f"tm.provenance and ensembles ({config.operation}) do not go together: choose another mixture=… or "
            "tm.provenance=none"
        )


def with_provenance(draft: Draft, provenance: Provenance | None) -> Draft:
    """The model with features of where rules were seen, before `mixed_model` gives them weights; None: without."""
    return dataclasses.replace(draft, model=dataclasses.replace(draft.model, provenance=provenance))


def mixed_model(
    store: Store, draft: Draft, texts: Sequence[ComponentText], development: Sequence[DevelopmentSet],
    extract: ExtractConfig, config: MixingConfig,
) -> Draft:  # fmt: skip
    """The model with component weights for every label, before its log-linear weights are tuned."""
    config = _feasible(config, development)
    labels, clusters = _labels(store, texts, development, config)
    found = LabelSettings()
    if config.weighting in ("fitted", TRAINED) and config.operation != LOG_LINEAR:
        aligned = [
            LabelledText(part.text, part.links, own)
            for part, own in zip(development, labels, strict=True)
            if part.links is not None
        ]
        fit = mixing_stage(store, draft.components, aligned, extract, config)
        show_mixture(fit)
        found = dataclasses.replace(found, mixtures=_shaped(fit["weights"], config))
    if clusters is not None:
        found = dataclasses.replace(found, lm_mixtures=fit_label_lms(draft.model.lms, development, labels))
    finder = _finder(store, texts, development, config)
    num, weights = len(draft.components), draft.model.weights
    own_weights = (normalised_rule(weights),) * num if config.is_ensemble else ()
    model = dataclasses.replace(
        draft.model,
        weights=fitting_weights(weights, config, num, draft.model.provenance),
        mixing=Mixing(config, own_weights, found),
        clusters=None if clusters is None else load_clusters(clusters.folder),
        finder=None if finder is None else load_nearest_labels(finder.folder),
    )
    return dataclasses.replace(draft, model=model, clusters=clusters, finder=finder)


def _finder(
    store: Store, texts: Sequence[ComponentText], development: Sequence[DevelopmentSet], config: MixingConfig
) -> Artefact | None:
    """What finds the development set that a text is nearest to, where there is a choice."""
    sets = {part.name: part.text for part in development if len(part.text.bitext)}
    is_useful = config.labels == "sets" and len(sets) > 1 and len(texts) > 1
    return label_stage(store, texts, sets) if config.find_labels and is_useful else None


def _labels(
    store: Store, texts: Sequence[ComponentText], development: Sequence[DevelopmentSet], config: MixingConfig
) -> tuple[list[Sequence[str]], Artefact | None]:
    """The labels of all development sentences, set by set, and the clusters that they come from."""
    if config.labels == "clusters":
        settings = ClusterConfig(
            num_clusters=config.num_clusters, seed=config.cluster_seed, centring=config.cluster_centring
        )
        clusters = cluster_stage(store, texts, [part.text for part in development], settings)
        found = load_source_clusters(clusters.folder).clusters.labels.per_sentence
        return _split(found, [len(part.text.bitext) for part in development]), clusters
    if config.labels == TARGET_CLUSTERS:
        clusters = target_cluster_stage(store, texts, config.num_clusters, config.cluster_seed)
        of_target = load_target_clusters(clusters.folder)
        return [[str(label) for label in of_target.labels_of(tokens_of(part.text))] for part in development], clusters
    return [[part.name] * len(part.text.bitext) for part in development], None


def with_static_lms(store: Store, draft: Draft) -> Draft:
    """The same with one interpolated language model for each development set and label, and one for all other text."""
    found = draft.model.mixing.labels
    firsts = {label: parts[0] for label, parts in found.lm_mixtures.items()}
    mixture = static_stage(store, draft.mixture, {**draft.mixture.weights, **firsts})
    first = dataclasses.replace(draft.lms[0], artefact=mixture.artefact)
    chosen = {label: [mixture.weights[label], *parts[1:]] for label, parts in found.lm_mixtures.items()}
    mixing = dataclasses.replace(draft.model.mixing, labels=dataclasses.replace(found, lm_mixtures=chosen))
    model = dataclasses.replace(draft.model, lms=(first.opened(), *draft.model.lms[1:]), mixing=mixing)
    return dataclasses.replace(draft, model=model, mixture=mixture, lms=(first, *draft.lms[1:]))


def tuned_model(store: Store, draft: Draft, task: TuningTask) -> Draft:
    """The model with log-linear weights tuned on the development sets: for all text, or for each label."""
    model, inputs = draft.model, draft.fingerprints
    if model.mixing.config.is_ensemble:
        model = tuned_ensemble(store, model, inputs, task)
    if model.mixing.config.weighting == TRAINED:
        return dataclasses.replace(draft, model=trained_model(store, model, inputs, task))
    tuned = tuning_stage(store, model, inputs, task)
    labels = dataclasses.replace(model.mixing.labels, weights=dict(tuned.by_label))
    if model.mixing.config.tune_each:
        occurring = sorted({label for label in tuning_text(model, task.dev).labels if label is not None})
        own = {label: tuning_stage(store, model, inputs, task, label).weights for label in occurring}
        labels = dataclasses.replace(labels, weights=own)
    mixing = dataclasses.replace(model.mixing, labels=labels)
    model = dataclasses.replace(model, weights=tuned.weights, mixing=mixing, rescoring=tuned.rescoring)
    return dataclasses.replace(draft, model=model)


def fit_label_lms(
    lms: Sequence[LanguageModels], development: Sequence[DevelopmentSet], labels: Sequence[Sequence[str]]
) -> dict[str, list[list[float]]]:
    """Weights of each language model's models for every label, by EM on the target side of its sentences."""
    flat = [label for part in labels for label in part]
    names = list(dict.fromkeys(flat))
    groups = np.array([names.index(label) for label in flat])
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for own in lms:
        sides = concatenate([target_in(own, part.text) for part in development])
        weights = fit_mixture(own.automaton, sides, groups=groups).weights
        for name, row in zip(names, weights, strict=True):
            found[name].append([round(float(x), 6) for x in row])
    return found


def _feasible(config: MixingConfig, development: Sequence[DevelopmentSet]) -> MixingConfig:
    """The configuration, or what comes nearest to it where nothing can be fitted."""
    if config.labels != "sets" and not development:
        raise UserError(f"mixture.labels={config.labels} needs a development set made of text: name one (corpus.dev)")
    can_fit = any(part.links is not None for part in development)
    if config.weighting not in ("fitted", TRAINED) or can_fit:
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
