"""The cluster stage: kinds of text that nobody has labelled (Sennrich, Schwenk and Aransa 2013, section 4).

Sentences are vectors of entropies under source-side language models of the components; development sentences are
clustered, and any sentence belongs to the cluster whose centroid is nearest.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxsmt.adapt.clusters.clustering import ClusterConfig, cluster_table, fit_clusters, format_table
from jaxsmt.adapt.clusters.estimation import estimate_entropy_model
from jaxsmt.adapt.clusters.labels import join_labels, make_labels
from jaxsmt.adapt.clusters.nearest import fit_label_means, words_of
from jaxsmt.adapt.clusters.plots import plot_clusters
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.config import LmConfig
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary

TABLE, PLOT = "table.txt", "clusters.png"
SOURCE_LM = LmConfig(order=3)


def cluster_stage(
    store: Store, texts: Sequence[ComponentText], development: Sequence[ComponentText], config: ClusterConfig
) -> Artefact:
    """Source-side models of the components, and clusters of the sentences of all development sets."""
    if not development:
        raise UserError("clusters are made of development sets: name one, +corpus.dev.NAME.source=… and .target=…")

    def build(folder: Path) -> Counts:
        sides = _sides(texts)
        entropies = estimate_entropy_model(sides, SOURCE_LM)
        tokens = [sentence for text in development for sentence in tokens_of(text)]
        vectors = entropies.vectors_of_tokens(tokens)
        clusters = fit_clusters(vectors, list(sides), config)
        entropies.save(folder)
        clusters.save(folder)
        gold = join_labels([make_labels([text.name] * len(text.bitext)) for text in development])
        write_text(folder / TABLE, format_table(cluster_table(clusters, gold)))
        try:
            plot_clusters(folder / PLOT, clusters, vectors, gold)
        except UserError as error:  # a picture is no reason to stop
            log.info("no picture of the clusters: %s", error)
        return {"clusters": len(clusters.names), "sentences": len(tokens)}

    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    inputs |= {text.name: text.artefact.fingerprint for text in development}
    settings = {"clusters": dataclasses.asdict(config), "lm": dataclasses.asdict(SOURCE_LM)}
    return store.run("clusters", settings, inputs, build)


def label_stage(store: Store, texts: Sequence[ComponentText], development: Mapping[str, ComponentText]) -> Artefact:
    """Source-side models of the components, and where among their entropies each development set lies."""

    def build(folder: Path) -> Counts:
        entropies = estimate_entropy_model(_sides(texts), SOURCE_LM)
        tokens = [sentence for text in development.values() for sentence in tokens_of(text)]
        gold = join_labels([make_labels([name] * len(text.bitext)) for name, text in development.items()])
        entropies.save(folder)
        fit_label_means(entropies.vectors_of_tokens(tokens), words_of(tokens), gold).save(folder)
        return {"labels": len(gold.names), "sentences": len(tokens)}

    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    inputs |= {f"dev {name}": text.artefact.fingerprint for name, text in development.items()}
    return store.run("labels", {"lm": dataclasses.asdict(SOURCE_LM)}, inputs, build)


def _sides(texts: Sequence[ComponentText]) -> dict[str, tuple[Ragged, Vocabulary]]:
    return {text.name: (text.bitext.source, text.source.vocabulary) for text in texts}


def tokens_of(text: ComponentText) -> list[list[str]]:
    """The source sentences of a text; words that no component knows stay unknown."""
    words = ("",) * NUM_RESERVED + text.source.vocabulary.words  # no word is empty, so '' is unknown
    source = text.bitext.source
    return [[words[token] for token in source[row].tolist()] for row in range(len(source))]
