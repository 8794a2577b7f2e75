"""What an adaptation leaves in a model folder, `adaptation/`, and how it comes back.

adaptation.json          format version, method and its settings
votes-<n>.safetensors    bpa: weight vectors that vote, for label n
members.safetensors      bagging: weights of all members
recogniser.*             recognise: the classifier
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.bpa.files import load_votes, save_votes
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.adapt.recognise.recogniser import Recogniser, load_recogniser
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.pipeline.config.schemas import WeightsConfig, room_config

FORMAT_VERSION = 1
SETTINGS, MEMBERS = "adaptation.json", "members.safetensors"


@dataclass(frozen=True)
class Voting:
    """Bayesian predictive adaptation: lists of `nbest` translations are reranked by the votes of the text's label.

    votes: by label.
    feature_names: F names of the features that votes weight.
    """

    votes: dict[str, Votes]
    feature_names: tuple[str, ...]
    nbest: int

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that it is for."""
        return tuple(self.votes)

    def save(self, folder: Path) -> None:
        """Writes the files of the method into a folder, which may be there."""
        for number, votes in enumerate(self.votes.values()):
            save_votes(folder / f"votes-{number}.safetensors", votes, self.feature_names)
        _write_settings(folder, "bpa", {"labels": list(self.votes), "nbest": self.nbest})


@dataclass(frozen=True)
class Bag:
    """Bagging: every member decodes with its own weights, then all vote; for any kind of text.

    weights: [M, F] float64, Σ|θ| = 1 in each row.
    sizes: numbers of (first) members whose combination is reported.
    """

    weights: np.ndarray
    feature_names: tuple[str, ...]
    nbest: int
    sizes: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that it has weights for: none in particular."""
        return ()

    def save(self, folder: Path) -> None:
        """Writes the files of the method into a folder, which may be there."""
        save_arrays(folder / MEMBERS, {"weights": self.weights})
        names = list(self.feature_names)
        _write_settings(folder, "bagging", {"feature_names": names, "nbest": self.nbest, "sizes": list(self.sizes)})


@dataclass(frozen=True)
class Recognition:
    """A recogniser that finds the class of a sentence, and what each class is translated with.

    class_of: the class of each name that the recogniser knows.
    weights, mixtures, lm_mixtures: by class, as in `jaxsmt.model.model.Labels`.
    """

    recogniser: Recogniser
    class_of: dict[str, str]
    weights: dict[str, WeightsConfig]
    mixtures: dict[str, list]
    lm_mixtures: dict[str, list[float]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return tuple(dict.fromkeys(self.class_of.values()))

    def labels_of(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """The class of every tokenised sentence."""
        return [self.class_of[name] for name in self.recogniser.classify(sentences).per_sentence]

    def save(self, folder: Path) -> None:
        """Writes the files of the method into a folder, which may be there."""
        self.recogniser.save(folder)
        tables: dict[str, Any] = {
            "class_of": self.class_of,
            "weights": {label: dataclasses.asdict(weights) for label, weights in self.weights.items()},
            "mixtures": self.mixtures,
            "lm_mixtures": self.lm_mixtures,
        }
        _write_settings(folder, "recognise", tables)


Adaptation = Voting | Bag | Recognition


def load_adaptation(folder: Path) -> Adaptation:
    """What one of the methods above saved."""
    path = folder / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        if settings["format"] != FORMAT_VERSION:
            raise ValueError
        return _LOADERS[settings["method"]](folder, settings)
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is missing, damaged or of another version: train the model again") from None


def _load_voting(folder: Path, settings: Mapping[str, Any]) -> Voting:
    found = [load_votes(folder / f"votes-{number}.safetensors") for number in range(len(settings["labels"]))]
    votes = {label: part for label, (part, _) in zip(settings["labels"], found, strict=True)}
    return Voting(votes, found[0][1] if found else (), settings["nbest"])


def _load_bag(folder: Path, settings: Mapping[str, Any]) -> Bag:
    weights, names = np.array(open_arrays(folder / MEMBERS)["weights"]), tuple(settings["feature_names"])
    if weights.ndim != 2 or weights.shape[1] != len(names):
        raise ValueError
    return Bag(weights, names, settings["nbest"], tuple(settings["sizes"]))


def _load_recognition(folder: Path, settings: Mapping[str, Any]) -> Recognition:
    weights = {label: room_config(WeightsConfig, part) for label, part in settings["weights"].items()}
    return Recognition(
        load_recogniser(folder), settings["class_of"], weights, settings["mixtures"], settings["lm_mixtures"]
    )


_LOADERS: dict[str, Callable[[Path, Mapping[str, Any]], Adaptation]] = {
    "bpa": _load_voting,
    "bagging": _load_bag,
    "recognise": _load_recognition,
}


def _write_settings(folder: Path, method: str, settings: Mapping[str, Any]) -> None:
    text = json.dumps({"format": FORMAT_VERSION, "method": method, **settings}, indent=1, ensure_ascii=False)
    write_text(folder / SETTINGS, text + "\n")
