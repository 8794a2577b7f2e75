"""The language models of a trained model: the automaton of them all, and weights that mix them.

automaton.safetensors   the union of D models
vocabulary.txt          its words
weights.json            names of the models, and weights by kind of text
"""

import json
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary

AUTOMATON, VOCABULARY, WEIGHTS = "automaton.safetensors", "vocabulary.txt", "weights.json"
EQUAL, JOINT = "equal", "joint"


@dataclass(frozen=True)
class LanguageModels:
    """D language models, mixed while decoding.

    automaton: their union, on the device; vocabulary: what its word ids mean.
    names: of the models.
    weights: [D] by development set, EQUAL, and JOINT where one of them is a model of all text.
    """

    automaton: Automaton
    vocabulary: Vocabulary
    names: tuple[str, ...]
    weights: dict[str, list[float]]

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that weights were fitted to."""
        return tuple(name for name in self.weights if name not in (EQUAL, JOINT))

    @property
    def common_weights(self) -> list[float]:
        """[D] for text of no particular kind: the model of all text alone where there is one, or equal weights."""
        return self.weights.get(JOINT, self.weights[EQUAL])


def load_language_models(folder: Path) -> LanguageModels:
    """Opens the folder of the language models."""
    mixture = json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))
    return LanguageModels(
        to_device(load_automaton(folder / AUTOMATON)),
        load_vocabulary(folder / VOCABULARY),
        tuple(mixture["names"].values()),
        mixture["weights"],
    )
