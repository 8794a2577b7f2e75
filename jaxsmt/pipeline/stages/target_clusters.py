"""Clusters of the target side of all training text, for one language model each (Song, Mi, Lü & Liu 2012, section 4.5).

A sentence to be translated has no target side: a recogniser of the source sides of the same pairs finds its cluster.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from jaxsmt.adapt.recognise.recogniser import RecogniserConfig, TextClusterConfig, cluster_texts, train_recogniser
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged
from jaxsmt.model.labelling.target_clusters import TargetClusters
from jaxsmt.pipeline.stages.texts import ComponentText, join_texts
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.vocabulary import Vocabulary

RECOGNISER = RecogniserConfig(min_sentences=2, balanced=False)  # clusters differ in size, and so do their priors


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
        TargetClusters(recogniser, labels.index).save(folder)
        return dict(zip(labels.names, labels.counts.tolist(), strict=True))

    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    settings = {"clusters": dataclasses.asdict(config), "recogniser": dataclasses.asdict(RECOGNISER)}
    return store.run("target-clusters", settings, inputs, build)


def _tokens(sentences: Ragged, vocabulary: Vocabulary) -> list[list[str]]:
    return [vocabulary.decode(sentences[row].tolist()) for row in range(len(sentences))]
