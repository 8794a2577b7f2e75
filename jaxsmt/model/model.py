"""The model folder: all that decode.py needs, and nothing that lies elsewhere.

model.json                   format version, names of the components, log-linear weights, weights of labels
components/<name>/           one folder a component
lm/                          the union of the language models, and their weights
clusters/                    how sentences without a label get one, if the model has clusters
adaptation/                  what the model was adapted by, if it was: see jaxsmt.model.adaptations
source.* target.*            text settings and truecaser of either language
manifest.json                size and sha256 of every file
"""

import dataclasses
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_folder, write_text
from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.model.adaptations import Adaptation, Recognition, load_adaptation
from jaxsmt.pipeline.config.mixing import MixingConfig, fixed_weights
from jaxsmt.pipeline.config.schemas import WeightsConfig, room_config
from jaxsmt.pipeline.stages.clustering import Clustering, load_clustering
from jaxsmt.pipeline.stages.components import FOLDER
from jaxsmt.pipeline.stages.lms import AUTOMATON, EQUAL, JOINT, VOCABULARY, WEIGHTS, LmMixture
from jaxsmt.pipeline.stages.target_clusters import TargetClusters, is_target_clusters, load_target_clusters
from jaxsmt.pipeline.store import MANIFEST, Artefact, write_manifest
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.text.encoding import TextSide, load_side
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary, merge_vocabularies
from jaxsmt.tm.component import Component, load_component
from jaxsmt.tm.restrict import restricted_components, without_unused_word_pairs
from jaxsmt.tm.union import UnionView, build_union
from jaxsmt.tm.weights import FEATURE_NAMES, check_weights

FORMAT_VERSION = 2
_RULES: dict[tuple[str, frozenset | None], "Rules"] = {}  # by component key and sentences
CLUSTERS, ADAPTATION = "clusters", "adaptation"


@dataclass(frozen=True)
class Profile:
    """How one kind of text is translated.

    mixture: component weights λ, [4, D]; [D] where models are mixed as wholes.
    lm_mixture: [D] weights of the language models, sum 1.
    weights: log-linear weights.
    label: the kind of text, where it has a name.
    """

    mixture: np.ndarray
    lm_mixture: np.ndarray
    weights: WeightsConfig
    label: str | None = None


@dataclass(frozen=True)
class Labels:
    """What a model knows of kinds of text, by label.

    mixtures: component weights, as in `Profile`.
    lm_mixtures: weights of the language models.
    weights: log-linear weights of labels that were tuned on their own.
    """

    mixtures: dict[str, list] = field(default_factory=dict)
    lm_mixtures: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, WeightsConfig] = field(default_factory=dict)


@dataclass(frozen=True)
class Mixing:
    """How a model mixes its components.

    config: operation and options; component_weights: [D, 4] rule weights of each component's own model (ensembles).
    labels: what was found for kinds of text.
    """

    config: MixingConfig = field(default_factory=MixingConfig)
    component_weights: tuple[tuple[float, ...], ...] = ()
    labels: Labels = field(default_factory=Labels)


@dataclass(frozen=True)
class Rules:
    """Components, and the union of them."""

    components: list[Component]
    union: UnionView


@dataclass(frozen=True)
class Model:
    """A trained model, opened; big arrays are memory-mapped until they are used.

    sentences: the tokenised sentences that it is to translate, all others are refused; None: any.
    component_key: stands for all bytes of the components.
    """

    components: list[Component]
    source: TextSide
    target: TextSide
    automaton: Automaton
    lm_vocabulary: Vocabulary
    lm_names: tuple[str, ...]
    lm_weights: dict[str, list[float]]
    mixing: Mixing
    search: SearchConfig
    weights: WeightsConfig
    clustering: Clustering | TargetClusters | None = None
    adaptation: Adaptation | None = None
    component_key: str = ""
    sentences: frozenset[tuple[str, ...]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(component.name for component in self.components)

    @cached_property
    def rules(self) -> Rules:
        """What translates; another model of the same components and sentences in this process shares it."""
        key = (self.component_key, self.sentences)
        if not self.component_key:
            return self._make_rules()
        if key not in _RULES:
            _RULES.clear()  # they are large: one is kept
            _RULES[key] = self._make_rules()
        return _RULES[key]

    def _make_rules(self) -> Rules:
        if self.sentences is None:
            return Rules(self.components, build_union(self.components))
        usable = restricted_components(self.components, sorted(self.sentences))
        return Rules(usable, without_unused_word_pairs(build_union(usable)))

    def for_lines(self, lines: Iterable[str]) -> "Model":
        """The model for a text that is known: rules that its lines cannot use stay on the disk."""
        sentences = frozenset(tuple(self.source.preprocess(line)) for line in lines)
        return dataclasses.replace(self, sentences=sentences)

    @property
    def labels(self) -> tuple[str, ...]:
        """All kinds of text that the model has weights for: components, development sets, clusters, classes."""
        adapted = self.adaptation.labels if self.adaptation is not None else ()
        found = self.mixing.labels
        fitted = (name for name in self.lm_weights if name not in (EQUAL, JOINT))
        clusters = self.clustering.names if self.clustering is not None else ()
        return tuple(dict.fromkeys((*self.names, *found.mixtures, *found.lm_mixtures, *fitted, *clusters, *adapted)))

    @cached_property
    def known(self) -> Labels:
        """What was found for kinds of text; where a recogniser has classes, theirs comes first."""
        found, own = self.mixing.labels, self.adaptation
        if not isinstance(own, Recognition):
            return found
        return Labels(
            {**found.mixtures, **own.mixtures},
            {**found.lm_mixtures, **own.lm_mixtures},
            {**found.weights, **own.weights},
        )

    @property
    def labeller(self) -> Clustering | TargetClusters | Recognition | None:
        """What finds the label of a sentence by itself."""
        return self.adaptation if isinstance(self.adaptation, Recognition) else self.clustering

    @property
    def unadapted(self) -> "Model":
        """The model as it was before its adaptation."""
        return dataclasses.replace(self, adaptation=None)

    def profile(
        self, label: str | None = None, mixture: Sequence[float] | None = None,
        lm_mixture: Sequence[float] | None = None,
    ) -> Profile:  # fmt: skip
        """How text with a label is translated; without one, as the concatenation of all corpora."""
        weights = self.known.weights.get(label or "", self.weights)
        return Profile(self.mixture(label, mixture), self.lm_mixture(label, lm_mixture), weights, label)

    def mixture(self, label: str | None = None, given: Sequence[float] | None = None) -> np.ndarray:
        """Component weights λ as in `Profile`: given ones, those of the label, or equal ones.

        Counts with equal weights are those of the concatenated corpora (Sennrich et al. 2013, section 3.1).
        """
        if label is not None and label not in self.labels:
            raise UserError(f"domain '{label}' is not in the model: choose one of {', '.join(self.labels)}")
        config = self.mixing.config
        if given is not None:
            vector = check_weights(given, self.names)
        elif label in self.known.mixtures:
            return np.array(self.known.mixtures[label])
        else:
            vector = fixed_weights(config, label, self.names)
        return vector if config.weights_are_shared else np.repeat(vector[None], len(FEATURE_NAMES), axis=0)

    def lm_mixture(self, label: str | None = None, given: Sequence[float] | None = None) -> np.ndarray:
        """Weights of the language models [D], sum 1: given ones, those fitted to the label's text, or the common ones.

        The common ones: the model of all text alone where there is one, or equal weights.
        """
        if given is None:
            common = self.lm_weights.get(JOINT, self.lm_weights[EQUAL])
            if label is None or self.mixing.config.lm_weighting == "equal":
                return np.array(common)
            if self.mixing.config.lm_weighting == "own" and label in self.lm_names:
                return np.array([float(name == label) for name in self.lm_names])
            return np.array({**self.lm_weights, **self.known.lm_mixtures}.get(label, common))
        checked = check_weights(given, self.lm_names)
        return checked / checked.sum()

    def labels_of(self, lines: Sequence[str], name: str | None) -> list[str | None]:
        """The label of every line: its cluster or class where the model finds them, or else the given one if known."""
        if self.labeller is not None:
            return list(self.labeller.labels_of([self.source.preprocess(line) for line in lines]))
        return [name if name in self.labels else None] * len(lines)


def write_model(
    folder: Path, sides: tuple[TextSide, TextSide], components: Mapping[str, Artefact], lms: LmMixture,
    search: SearchConfig, weights: WeightsConfig, mixing: Mixing | None = None,
    more: Mapping[str, Path] | None = None,
) -> None:  # fmt: skip
    """Assembles a model folder from artefacts.

    sides: source and target language; their vocabularies are not stored, being those of the components.
    more: folders that join it, by name (CLUSTERS, ADAPTATION).
    """
    settings = {
        "format_version": FORMAT_VERSION,
        "components": list(components),
        "search": dataclasses.asdict(search),
        "weights": dataclasses.asdict(weights),
        "mixing": dataclasses.asdict(mixing or Mixing()),
    }
    with atomic_folder(folder) as temporary:
        for name, artefact in components.items():
            shutil.copytree(artefact.folder / FOLDER, temporary / "components" / name, copy_function=_link_or_copy)
        shutil.copytree(lms.artefact.folder, temporary / "lm", copy_function=_link_or_copy)
        for name, part in (more or {}).items():
            shutil.copytree(part, temporary / name, copy_function=_link_or_copy)
        for side, name in zip(sides, ("source", "target"), strict=True):
            dataclasses.replace(side, vocabulary=Vocabulary(())).save(temporary, name)
        write_text(temporary / "model.json", json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
        write_manifest(temporary, {"format": FORMAT_VERSION, "stage": "model"})


def load_model(folder: str | Path) -> Model:
    """Opens a model folder."""
    folder = Path(folder)
    settings = _read_settings(folder / "model.json")
    components = [load_component(folder / "components" / name) for name in settings["components"]]
    sources, _ = merge_vocabularies([component.source_vocabulary for component in components])
    targets, _ = merge_vocabularies([component.target_vocabulary for component in components])
    mixture = json.loads((folder / "lm" / WEIGHTS).read_text(encoding="utf-8"))
    return Model(
        components,
        dataclasses.replace(load_side(folder, "source"), vocabulary=sources),
        dataclasses.replace(load_side(folder, "target"), vocabulary=targets),
        to_device(load_automaton(folder / "lm" / AUTOMATON)),
        load_vocabulary(folder / "lm" / VOCABULARY),
        tuple(mixture["names"].values()),
        mixture["weights"],
        _mixing(settings["mixing"]),
        room_config(SearchConfig, settings["search"]),
        room_config(WeightsConfig, settings["weights"]),
        _load_clusters(folder / CLUSTERS),
        load_adaptation(folder / ADAPTATION) if (folder / ADAPTATION).is_dir() else None,
        _component_key(folder),
    )


def _load_clusters(folder: Path) -> Clustering | TargetClusters | None:
    if not folder.is_dir():
        return None
    return load_target_clusters(folder) if is_target_clusters(folder) else load_clustering(folder)


def _component_key(folder: Path) -> str:
    if not (folder / MANIFEST).is_file():
        return ""
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    return json.dumps([(name, file["sha256"]) for name, file in files.items() if name.startswith("components/")])


def _mixing(settings: dict[str, Any]) -> Mixing:
    labels = settings["labels"]
    weights = {label: room_config(WeightsConfig, part) for label, part in labels["weights"].items()}
    return Mixing(
        room_config(MixingConfig, settings["config"]),
        tuple(tuple(row) for row in settings["component_weights"]),
        Labels(labels["mixtures"], labels["lm_mixtures"], weights),
    )


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        version = settings["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"'{path.parent}' is not a model folder: give one that train.py wrote (model_dir=…)") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is damaged: train the model again") from None
    if version != FORMAT_VERSION:
        raise UserError(f"'{path.parent}' has format version {version}, not {FORMAT_VERSION}: train the model again")
    return settings


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)  # artefacts never change, so both names can share the bytes
    except OSError:
        shutil.copy2(source, target)
