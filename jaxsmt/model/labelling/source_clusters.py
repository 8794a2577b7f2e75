"""Clusters of sentences by their entropies under source-side language models (Sennrich et al. 2013, section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.adapt.clusters.clustering import Clusters, load_clusters
from jaxsmt.adapt.clusters.entropies import EntropyModel, load_entropy_model


@dataclass(frozen=True)
class SourceClusters:
    """A labeller: a sentence belongs to the cluster whose centroid is nearest."""

    entropies: EntropyModel
    clusters: Clusters

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.clusters.names)

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The cluster of every tokenised sentence."""
        return list(self.clusters.assign(self.entropies.vectors_of_tokens(sentences)).per_sentence)


def load(folder: Path) -> SourceClusters:
    """What the stage of source clusters made."""
    return SourceClusters(load_entropy_model(folder), load_clusters(folder))
