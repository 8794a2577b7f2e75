"""A sentence as the vector of its entropies under one source-side language model per component: clusters are of these.

Sennrich, Schwenk and Aransa 2013, section 4.1. All D models are one union automaton, so that a batch costs one pass.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.automaton import Automaton, load_automaton, save_automaton, to_device
from jaxsmt.lm.scoring import sentence_entropies
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary

FORMAT_VERSION = 1
AUTOMATON, VOCABULARY, MANIFEST = "automaton.safetensors", "vocabulary.txt", "entropies.json"


@dataclass(frozen=True)
class EntropyModel:
    """D language models that turn a sentence into a D-vector.

    components: D names.
    automaton: the union of the models, on the device.
    vocabulary: what its word ids mean. To a model all words that it does not know are <unk>.
    """

    components: tuple[str, ...]
    automaton: Automaton
    vocabulary: Vocabulary

    def vectors(self, sentences: Ragged) -> np.ndarray:
        """[B, D] float64: bits per word, </s> counted as a word, of sentences in ids of `vocabulary`.

        A sentence without words says nothing about its domain: it gets the zero vector.
        """
        entropies = sentence_entropies(self.automaton, sentences)
        return np.where((sentences.lengths > 0)[:, None], entropies, 0.0)

    def vectors_of_tokens(self, sentences: Iterable[Sequence[str]]) -> np.ndarray:
        """[B, D] float64: `vectors` of tokenised sentences."""
        return self.vectors(ragged_from_rows([self.vocabulary.encode(tokens) for tokens in sentences]))

    def save(self, folder: str | Path) -> None:
        """Writes the automaton, its vocabulary and the names into a folder, which may be there."""
        folder = Path(folder)
        save_automaton(self.automaton, folder / AUTOMATON)
        self.vocabulary.save(folder / VOCABULARY)
        manifest = {"format": FORMAT_VERSION, "components": list(self.components)}
        write_text(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def load_entropy_model(folder: str | Path) -> EntropyModel:
    """Opens what `EntropyModel.save` wrote."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise UserError(f"'{path}' does not exist: give a folder with an entropy model, or run train.py to make it")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version, components = manifest["format"], tuple(manifest["components"])
    except (ValueError, KeyError, TypeError):
        version, components = None, ()
    automaton = load_automaton(path.with_name(AUTOMATON))
    if version != FORMAT_VERSION or len(components) != automaton.num_models:
        raise UserError(f"'{path}' is not an entropy model of this version: delete its folder and run train.py again")
    return EntropyModel(components, to_device(automaton), load_vocabulary(path.with_name(VOCABULARY)))
