"""The language models of a trained model, each a folder with an automaton of D models and weights that mix them.

automaton.safetensors   the union of D models
vocabulary.txt          its words
weights.json            names of the models, and weights by kind of text
classes.tsv             a word, a tab and its class a line, where the automaton's words are classes
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.lm.classes.table import WordClasses, load_classes
from jaxsmt.search.chart.rows import BOTH, LINEAR, LOG_LINEAR, num_lm_features
from jaxsmt.search.decoder import LmFeatures
from jaxsmt.search.plan.targets import lm_feature_names
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, load_vocabulary

AUTOMATON, VOCABULARY, WEIGHTS, CLASSES = "automaton.safetensors", "vocabulary.txt", "weights.json", "classes.tsv"
EQUAL, JOINT = "equal", "joint"
FIRST = "lm"  # the name of the first language model, and of its folder


@dataclass(frozen=True)
class LanguageModels:
    """D language models that share an automaton, mixed while decoding.

    automaton: their union, on the device; vocabulary: what its word ids mean.
    names: of the models.
    weights: [D] by development set, EQUAL, and JOINT where one of them is a model of all text.
    name: of the feature that they are; combination: LINEAR, or LOG_LINEAR or BOTH where each is one (`SearchLm`).
    classes: the class of each word, where the automaton's words are classes; a word without one is unknown.
    """

    automaton: Automaton
    vocabulary: Vocabulary
    names: tuple[str, ...]
    weights: dict[str, list[float]]
    name: str = FIRST
    combination: str = LINEAR
    classes: WordClasses | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that weights were fitted to."""
        return tuple(name for name in self.weights if name not in (EQUAL, JOINT))

    @property
    def common_weights(self) -> list[float]:
        """[D] for text of no particular kind: the model of all text alone where there is one, or equal weights."""
        return self.weights.get(JOINT, self.weights[EQUAL])

    @property
    def is_mixed(self) -> bool:
        """Whether weights of the models matter."""
        return len(self.names) > 1 and self.combination != LOG_LINEAR

    @property
    def feature_names(self) -> tuple[str, ...]:
        """[F]"""
        return lm_feature_names(self.name, self.combination, self.names)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The automaton's ids of words."""
        return self.vocabulary.encode(tokens) if self.classes is None else self.classes.encode(tokens, self.vocabulary)

    def ids_of(self, vocabulary: Vocabulary) -> np.ndarray:
        """[V] int32: the automaton's ids of the words of a vocabulary."""
        return np.array([*range(NUM_RESERVED), *self.encode(vocabulary.words)], np.int32)

    def features(self, vocabulary: Vocabulary) -> LmFeatures:
        """What a search with target words of a vocabulary is told."""
        return LmFeatures(self.automaton, self.ids_of(vocabulary), self.combination, self.name, self.names)


def load_language_models(folder: Path, name: str = FIRST, combination: str = LINEAR) -> LanguageModels:
    """Opens the folder of a language model."""
    mixture = json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))
    return LanguageModels(
        to_device(load_automaton(folder / AUTOMATON)),
        load_vocabulary(folder / VOCABULARY),
        tuple(mixture["names"].values()),
        mixture["weights"],
        name,
        combination,
        load_classes(folder / CLASSES) if (folder / CLASSES).is_file() else None,
    )


def lm_folder(name: str) -> str:
    """The name in the model folder of a language model's folder."""
    return FIRST if name == FIRST else f"{FIRST}-{name}"


def start_weights(given: Any, lms: Sequence[LanguageModels]) -> Any:
    """Log-linear weights of all M features of language models: as given, or a number shared among them.

    Each language model has an equal share; where its models are features the share is theirs in equal parts, half of
    it where their mixture is one too. The sum is the number. One feature has a number, as ever.
    """
    num = sum(num_lm_features(part.combination, len(part.names)) for part in lms)
    if np.ndim(given) and len(given) != num:
        names = ", ".join(name for part in lms for name in part.feature_names)
        raise UserError(f"weights.lm has {len(given)} numbers: give one, or {num} for the features {names}")
    if num == 1:
        return float(np.ravel(given)[0])
    if np.ndim(given):
        return tuple(given)
    shares: list[float] = []
    for part in lms:
        mixed = {LINEAR: 1.0, LOG_LINEAR: 0.0, BOTH: 0.5}[part.combination]
        shares += [] if part.combination == LOG_LINEAR else [mixed]
        shares += [] if part.combination == LINEAR else [(1 - mixed) / len(part.names)] * len(part.names)
    return tuple(given * share / len(lms) for share in shares)
