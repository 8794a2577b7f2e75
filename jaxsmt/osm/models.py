"""N-gram models of operations, mixed, that score translations with their links.

automaton.safetensors   the union of D models
vocabulary.txt          its operations, spelled out: see `jaxsmt.osm.table`
target.txt              the target words, rarer ones later
weights.json            names of the models, and weights by kind of text
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.osm.operations import Operations, operations_of
from jaxsmt.osm.table import OperationTable, rarity_by_place, source_words
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import load_vocabulary

AUTOMATON, VOCABULARY, TARGET_WORDS, WEIGHTS = "automaton.safetensors", "vocabulary.txt", "target.txt", "weights.json"
EQUAL = "equal"


@dataclass(frozen=True)
class OperationModels:
    """D operation sequence models.

    automaton: their union, on the device; table: what its ids mean.
    names: of the models; weights: [D] by label, and EQUAL.
    """

    automaton: Automaton
    table: OperationTable
    names: tuple[str, ...]
    weights: dict[str, list[float]]

    def operations(self, bitext: Bitext, links: Ragged) -> Operations:
        """The operations of pairs, whose words are those of `table`."""
        return operations_of(bitext, links, rarity_by_place(self.table.target))

    def log_probs(self, operations: Operations, labels: Sequence[str | None]) -> np.ndarray:
        """[R] float64: log Σ_d λ_d p_d, summed over the operations of each pair and its end; λ are the label's.

        labels: R; those without weights of their own, and None, take equal ones.
        """
        by_label = {label: self.weights.get(label or EQUAL, self.weights[EQUAL]) for label in set(labels)}
        mixture = np.array([by_label[label] for label in labels], np.float64).reshape(len(labels), len(self.names))
        return self.mixed_log_probs(operations, mixture)

    def mixed_log_probs(self, operations: Operations, mixture: np.ndarray) -> np.ndarray:
        """`log_probs` with λ [R, D] of each pair."""
        found = word_log_probs(self.automaton, self.table.ids_of(operations))
        log_p = _mixed(found.values.astype(np.float64), mixture[found.row_index])
        return np.bincount(found.row_index, log_p, minlength=len(mixture))


def load_operation_models(folder: Path) -> OperationModels:
    """Opens the folder of operation models."""
    mixture = json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))
    spelled = load_vocabulary(folder / VOCABULARY)
    table = OperationTable(spelled, source_words(spelled), load_vocabulary(folder / TARGET_WORDS))
    automaton = to_device(load_automaton(folder / AUTOMATON))
    return OperationModels(automaton, table, tuple(mixture["names"]), mixture["weights"])


def _mixed(log_p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[T] log Σ_d λ_d p_d from [T, D] both."""
    top = log_p.max(axis=1, keepdims=True, initial=-1e30)
    return top[:, 0] + np.log((weights * np.exp(log_p - top)).sum(1))
