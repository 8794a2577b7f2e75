"""A trained model, opened: what it is made of, and how each kind of text is translated by it."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.model.labelling.labellers import Labeller, SameLabel
from jaxsmt.model.language_models import EQUAL, LanguageModels
from jaxsmt.model.mixing import MixingConfig, Rules, fixed_weights
from jaxsmt.model.source_text import SourceText
from jaxsmt.search.chart.rows import LOG_LINEAR
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.stack.operations.appending import NAME as OSM_FEATURE
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import TextSide
from jaxsmt.tm.weights import FEATURE_NAMES, check_weights

if TYPE_CHECKING:  # what few models have is imported when it is opened
    from jaxsmt.adapt.consensus.config import ConsensusConfig
    from jaxsmt.model.adaptation import Adaptation
    from jaxsmt.model.rescoring import Rescoring
    from jaxsmt.osm.models import OperationModels
    from jaxsmt.tm.provenance import Provenance


@dataclass(frozen=True)
class Profile:
    """How one kind of text is translated.

    mixture: component weights λ, [4, D], or [5, D] with those of orientations; [D] where models are mixed as wholes.
    lm_mixtures: for each language model [D] weights of its models, sum 1.
    weights: log-linear weights.
    label: the kind of text, where it has a name.
    """

    mixture: np.ndarray
    lm_mixtures: tuple[np.ndarray, ...]
    weights: SearchWeights
    label: str | None = None


@dataclass(frozen=True)
class LabelSettings:
    """What is known of kinds of text, by label.

    mixtures: component weights, as in `Profile`.
    lm_mixtures: for each language model the weights of its models.
    weights: log-linear weights of labels that were tuned on their own.
    """

    mixtures: dict[str, list] = field(default_factory=dict)
    lm_mixtures: dict[str, list[list[float]]] = field(default_factory=dict)
    weights: dict[str, SearchWeights] = field(default_factory=dict)

    def updated(self, other: "LabelSettings") -> "LabelSettings":
        """All that either knows; where both know something, what the other says."""
        return LabelSettings(
            {**self.mixtures, **other.mixtures},
            {**self.lm_mixtures, **other.lm_mixtures},
            {**self.weights, **other.weights},
        )


@dataclass(frozen=True)
class Mixing:
    """How a model mixes its components.

    config: operation and options; component_weights: [D, 4] rule weights of each component's own model (ensembles).
    labels: what was found for kinds of text.
    """

    config: MixingConfig = field(default_factory=MixingConfig)
    component_weights: tuple[tuple[float, ...], ...] = ()
    labels: LabelSettings = field(default_factory=LabelSettings)


@dataclass(frozen=True)
class Model:
    """A trained model, opened; big arrays are memory-mapped until they are used.

    source, target: its languages, with the words of all components.
    lms: its language models, each one feature or several; at least one.
    weights: log-linear weights of text that has none of its own.
    clusters: finds labels for sentences that nobody labelled, if the model has clusters.
    finder: finds the development set that is nearest to text whose kind nobody names, if the model has several.
    rescoring: what rescores its translations, if it was tuned with some of that.
    operations: operation sequence models for it, or for the search.
    osm_in_search: whether they are in the search, where their weight is the last of those of language models.
    provenance: features of where rules were seen, if it has some.
    consensus: how translations are chosen from its lists; None: by their scores.
    more_labels: names of kinds of text that it has nothing for yet.
    """

    rules: Rules
    source: TextSide
    target: TextSide
    lms: tuple[LanguageModels, ...]
    search: SearchConfig
    weights: SearchWeights
    mixing: Mixing = field(default_factory=Mixing)
    clusters: Labeller | None = None
    adaptation: "Adaptation | None" = None
    rescoring: "Rescoring | None" = None
    operations: "OperationModels | None" = None
    osm_in_search: bool = False
    provenance: "Provenance | None" = None
    consensus: "ConsensusConfig | None" = None
    more_labels: tuple[str, ...] = ()
    finder: Labeller | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components."""
        return tuple(component.name for component in self.rules.components)

    def for_text(self, text: SourceText) -> "Model":
        """The model for a text that is known: rules that its lines cannot use stay on the disk."""
        return dataclasses.replace(self, rules=self.rules.for_sentences(text.tokens))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All kinds of text that the model has weights for: components, development sets, clusters, classes."""
        found = self.mixing.labels
        clusters = self.clusters.names if self.clusters is not None else ()
        adapted = self.adaptation.labels if self.adaptation is not None else ()
        fitted = (*found.mixtures, *found.lm_mixtures, *(label for part in self.lms for label in part.labels))
        return tuple(dict.fromkeys((*self.names, *fitted, *clusters, *adapted, *self.more_labels)))

    @cached_property
    def known(self) -> LabelSettings:
        """What was found for kinds of text; where an adaptation found more, that comes first."""
        found = self.mixing.labels
        return found if self.adaptation is None else found.updated(self.adaptation.settings)

    @property
    def unadapted(self) -> "Model":
        """The model as it was before its adaptation; a consensus was tuned with it, so it goes too."""
        if self.adaptation is None:
            return self
        return dataclasses.replace(self, adaptation=None, consensus=None)

    def labeller(self, name: str | None = None) -> Labeller:
        """What labels lines: the model's own classes or clusters, or else the given name where the model knows it.

        name: None where nobody gives one, so that the model finds it.
        """
        own = self.adaptation.labeller if self.adaptation is not None else None
        named = SameLabel(name if name in self.labels else None)
        return own or self.clusters or (self.finder if name is None and self.finder is not None else named)

    def profile(
        self, label: str | None = None, mixture: Sequence[float] | None = None,
        lm_mixture: Sequence[float] | None = None,
    ) -> Profile:  # fmt: skip
        """How text with a label is translated; without one, as the concatenation of all corpora."""
        weights = self.known.weights.get(label or "", self.weights)
        return Profile(self.mixture(label, mixture), self.lm_mixtures(label, lm_mixture), weights, label)

    def profiles(self, labels: Sequence[str | None]) -> list[Profile]:
        """One for each line of a text; lines with the same label share it."""
        made = {label: self.profile(label) for label in dict.fromkeys(labels)}
        return [made[label] for label in labels]

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
        return vector if config.weights_are_shared else np.repeat(vector[None], self._num_rows, axis=0)

    @cached_property
    def _num_rows(self) -> int:
        """Of component weights λ: four features, and a fifth row where orientations were fitted too."""
        return max([len(FEATURE_NAMES), *map(len, self.known.mixtures.values())])

    @property
    def lm_names(self) -> tuple[str, ...]:
        """Of the features of all language models, then of operations if the search has them."""
        operations = () if self.search_operations is None else (OSM_FEATURE,)
        return *(name for part in self.lms for name in part.feature_names), *operations

    @property
    def search_operations(self) -> "OperationModels | None":
        """The operation models of the search."""
        return self.operations if self.osm_in_search else None

    def lm_mixtures(self, label: str | None = None, given: Sequence[float] | None = None) -> tuple[np.ndarray, ...]:
        """For each language model, and for operations in the search, the weights [D], sum 1; given: of the first."""
        further = (self.lm_mixture(label, number=number) for number in range(1, len(self.lms)))
        models = self.search_operations
        return self.lm_mixture(label, given), *further, *(() if models is None else (self._osm_mixture(models, label),))

    def _osm_mixture(self, models: "OperationModels", label: str | None) -> np.ndarray:
        weighting, equal = self.mixing.config.lm_weighting, models.weights[EQUAL]
        if label is None or weighting == "equal":
            return np.array(equal)
        if weighting == "own" and label in models.names:
            return np.array([float(name == label) for name in models.names])
        found = self.known.lm_mixtures.get(label, [])[len(self.lms) :]  # what an adaptation found has it too
        return np.array(found[0] if found else models.weights.get(label, equal))

    def lm_mixture(self, label: str | None = None, given: Sequence[float] | None = None, number: int = 0) -> np.ndarray:
        """Weights [D], sum 1, of one language model: given ones, those fitted to the label's text, or common ones."""
        lms = self.lms[number]
        if given is not None:
            if lms.combination == LOG_LINEAR:
                raise UserError("lm_mixture is for models that are mixed, and these are log-linear: give weights.lm")
            checked = check_weights(given, lms.names)
            return checked / checked.sum()
        weighting, common = self.mixing.config.lm_weighting, lms.common_weights
        if label is None or weighting == "equal":
            return np.array(common)
        if weighting == "own" and label in lms.names:
            return np.array([float(name == label) for name in lms.names])
        found = {name: parts[number] for name, parts in self.known.lm_mixtures.items()}
        return np.array({**lms.weights, **found}.get(label, common))
