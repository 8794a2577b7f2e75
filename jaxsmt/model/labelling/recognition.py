"""Weights by recognised class in a model: a classifier labels sentences, and each class has weights of its own."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from jaxsmt.adapt.recognise.recogniser import Recogniser, load_recogniser
from jaxsmt.common.settings import from_values
from jaxsmt.model.adaptation import write_settings
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import LabelSettings
from jaxsmt.model.reranking.bagging import Bag
from jaxsmt.model.translation import PlainTranslator
from jaxsmt.search.weights import SearchWeights


@dataclass(frozen=True)
class Recognition:
    """An adaptation and a labeller: it finds the class of a sentence, and knows what each class is translated with.

    class_of: the class of each name that the recogniser knows.
    settings: of the classes.
    """

    recogniser: Recogniser
    class_of: dict[str, str]
    settings: LabelSettings = field(default_factory=LabelSettings)
    fixes_weights: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return tuple(dict.fromkeys(self.class_of.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The classes, as a labeller calls them."""
        return self.labels

    @property
    def labeller(self) -> Labeller | None:
        """Itself."""
        return self

    @property
    def bag(self) -> Bag | None:
        """One system decodes."""
        return None

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The class of every tokenised sentence."""
        return [self.class_of[name] for name in self.recogniser.classify(sentences).per_sentence]

    def is_for(self, label: str | None) -> bool:
        """All text is of some class."""
        return True

    def translator(self, plain: PlainTranslator) -> PlainTranslator:
        """Profiles make the difference, so that nothing else has to."""
        return plain

    def save(self, folder: Path) -> None:
        """Writes its files into a folder, which may be there."""
        self.recogniser.save(folder)
        own = self.settings
        tables: dict[str, Any] = {
            "class_of": self.class_of,
            "weights": {label: dataclasses.asdict(weights) for label, weights in own.weights.items()},
            "mixtures": own.mixtures,
            "lm_mixtures": own.lm_mixtures,
        }
        write_settings(folder, "recognise", tables)


def load(folder: Path, settings: Mapping[str, Any]) -> Recognition:
    """What `Recognition.save` wrote."""
    weights = {label: from_values(SearchWeights, part) for label, part in settings["weights"].items()}
    known = LabelSettings(settings["mixtures"], settings["lm_mixtures"], weights)
    return Recognition(load_recogniser(folder), settings["class_of"], known)
