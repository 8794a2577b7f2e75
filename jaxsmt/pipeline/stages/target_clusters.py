"""Clusters of the target side of all training text, for one language model each (Song, Mi, Lü & Liu 2012, section 4.5).

A sentence to be translated has no target side: a recogniser of the source sides of the same pairs finds its cluster.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.recognise.recogniser import (
    Recogniser,
    RecogniserConfig,
    TextClusterConfig,
    cluster_texts,
    load_recogniser,
    train_recogniser,
)
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged
from jaxsmt.pipeline.stages.texts import ComponentText, join_texts
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.vocabulary import Vocabulary

INDEX = "cluster-of-pair.safetensors"
RECOGNISER = RecogniserConfig(min_sentences=2, balanced=False)  # clusters differ in size, and so do their priors


@dataclass(frozen=True)
class TargetClusters:
    """recogniser: of source sentences; index: [R] int32, the cluster of every training pair, components in order."""

    recogniser: Recogniser
    index: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return self.recogniser.names

    def labels_of(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """The cluster of every tokenised source sentence."""
        return self.recogniser.classify(sentences).per_sentence

    def rows_of(self, name: str) -> np.ndarray:
        """[n] int64: the training pairs of a cluster."""
        return np.flatnonzero(self.index == self.names.index(name))


def target_cluster_stage(store: Store, texts: Sequence[ComponentText], num_clusters: int, seed: int) -> Artefact:
    """Clusters the target sides of all pairs by their words, and trains the recogniser."""
    config = TextClusterConfig(num_clusters=num_clusters, seed=seed)

    def build(folder: Path) -> Counts:
        joint = join_texts(texts)
        labels = cluster_texts(_tokens(joint.bitext.target, joint.target), config)
        sources = _tokens(joint.bitext.source, joint.source)
        recogniser = train_recogniser(sources, labels, RECOGNISER)
        right = (recogniser.classify(sources).index == labels.index).mean()
        log.info("the source side tells the cluster of %.1f%% of the training pairs", 100 * right)
        recogniser.save(folder)
        save_arrays(folder / INDEX, {"index": labels.index})
        return dict(zip(labels.names, labels.counts.tolist(), strict=True))

    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    settings = {"clusters": dataclasses.asdict(config), "recogniser": dataclasses.asdict(RECOGNISER)}
    return store.run("target-clusters", settings, inputs, build)


def is_target_clusters(folder: Path) -> bool:
    """Whether a folder has what the stage writes."""
    return (folder / INDEX).is_file()


def load_target_clusters(folder: Path) -> TargetClusters:
    """What `target_cluster_stage` made."""
    return TargetClusters(load_recogniser(folder), np.array(open_arrays(folder / INDEX)["index"]))


def _tokens(sentences: Ragged, vocabulary: Vocabulary) -> list[list[str]]:
    return [vocabulary.decode(sentences[row].tolist()) for row in range(len(sentences))]
