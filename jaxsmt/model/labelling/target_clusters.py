"""Clusters of the target side of training text (Song, Mi, Lü & Liu 2012, section 4.5).

A sentence to be translated has no target side: a recogniser of the source sides of the same pairs finds its cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.recognise.recogniser import Recogniser, load_recogniser
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.model.labelling.labellers import CLUSTER_OF_PAIR


@dataclass(frozen=True)
class TargetClusters:
    """A labeller.

    recogniser: of source sentences; index: [R] int32, the cluster of every training pair, components in order.
    """

    recogniser: Recogniser
    index: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return self.recogniser.names

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The cluster of every tokenised source sentence."""
        return list(self.recogniser.classify(sentences).per_sentence)

    def rows_of(self, name: str) -> np.ndarray:
        """[n] int64: the training pairs of a cluster."""
        return np.flatnonzero(self.index == self.names.index(name))

    def save(self, folder: Path) -> None:
        """Writes its files into a folder, which may be there."""
        self.recogniser.save(folder)
        save_arrays(folder / CLUSTER_OF_PAIR, {"index": self.index})


def load(folder: Path) -> TargetClusters:
    """What `save` wrote."""
    return TargetClusters(load_recogniser(folder), np.array(open_arrays(folder / CLUSTER_OF_PAIR)["index"]))
