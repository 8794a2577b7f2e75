"""The mixing stage: component weights λ for every kind of text, from development sets or clusters of them.

A label is a kind of text: the name of a development set, or of a cluster. Every label has its own weights of the
components, and a sentence that carries the label is translated with them.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import concatenate
from jaxsmt.common.wording import counted
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.model.mixing import COUNTS, LINEAR, MixingConfig
from jaxsmt.pipeline.stages.components import FOLDER
from jaxsmt.pipeline.stages.links import TextLinks, development_links, development_texts
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.vocabulary import Vocabulary
from jaxsmt.tm.component import Component, load_component
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.fit.development import DevelopmentPairs, development_pairs
from jaxsmt.tm.fit.linear import fit_linear
from jaxsmt.tm.fit.orientations import fit_orientation_weights
from jaxsmt.tm.fit.perplexity import fit_instance_weights
from jaxsmt.tm.fit.results import MixtureFit
from jaxsmt.tm.gathering.components import RuleTables
from jaxsmt.tm.reordering import with_orientation_weights
from jaxsmt.tm.union import build_union
from jaxsmt.tm.weights import FEATURE_NAMES

FIT = "fit.json"
NOT_OF_TEXT = ("memory_budget_gb", "kinds")  # settings of extraction that change nothing in a development text


@dataclass(frozen=True)
class DevelopmentSet:
    """A development set with its links, which are missing where no aligner was trained."""

    name: str
    text: ComponentText
    links: TextLinks | None


@dataclass(frozen=True)
class LabelledText:
    """A development set with its links, and the label of each of its pairs."""

    text: ComponentText
    links: TextLinks
    labels: Sequence[str]  # [R]


def develop(
    store: Store, sources: Mapping[str, BitextSource], texts: Sequence[ComponentText], links: Mapping[str, TextLinks],
    given: Mapping[str, str],
) -> list[DevelopmentSet]:  # fmt: skip
    """Prepares and aligns the development sets; none where no component was made of text. given: files of links."""
    if not texts:
        return []
    prepared = development_texts(store, sources, texts)
    found = development_links(store, prepared, links, given)
    return [DevelopmentSet(name, text, found.get(name)) for name, text in prepared.items()]


def mixing_stage(
    store: Store, components: Mapping[str, Artefact], development: Sequence[LabelledText], extract: ExtractConfig,
    config: MixingConfig,
) -> dict[str, Any]:  # fmt: skip
    """Fits λ for every label; returns what `_as_json` writes."""
    kind = LINEAR if config.operation != COUNTS else COUNTS

    def build(folder: Path) -> Counts:
        fit = _fit(components, development, extract, config)
        write_text(folder / FIT, json.dumps(_as_json(fit), indent=1, ensure_ascii=False) + "\n")
        return {"labels": len(fit.set_names), "pairs_used": float(fit.used.sum()), "skipped": float(fit.skipped.sum())}

    settings = {
        "kind": kind,
        "fit": dataclasses.asdict(config.linear if kind == LINEAR else config.perplexity),
        "extract": {key: value for key, value in dataclasses.asdict(extract).items() if key not in NOT_OF_TEXT},
        "labels": {part.text.name: list(part.labels) for part in development},
    }
    inputs = {f"component {name}": part.fingerprint for name, part in components.items()}
    for part in development:
        inputs |= {f"{part.text.name} text": part.text.artefact.fingerprint}
        inputs |= {f"{part.text.name} links": part.links.artefact.fingerprint}
    artefact = store.run("mixture", settings, inputs, build)
    return json.loads((artefact.folder / FIT).read_text(encoding="utf-8"))


def _fit(
    components: Mapping[str, Artefact], development: Sequence[LabelledText], extract: ExtractConfig,
    config: MixingConfig,
) -> MixtureFit:  # fmt: skip
    loaded = [load_component(part.folder / FOLDER) for part in components.values()]
    labels = list(dict.fromkeys(label for part in development for label in part.labels))
    first = development[0].text  # all were prepared with one vocabulary
    counts = {label: _label_counts(development, label, extract) for label in labels}
    return fit_mixture(loaded, counts, (first.source.vocabulary, first.target.vocabulary), config)


def fit_mixture(
    components: Sequence[Component], counts: Mapping[str, RuleCounts], vocabularies: tuple[Vocabulary, Vocabulary],
    config: MixingConfig,
) -> MixtureFit:  # fmt: skip
    """λ for every label, from the pairs of its text; counts: by label, with ids of the vocabularies."""
    usable = RuleTables(components).for_pairs(list(counts.values()), *vocabularies)
    union = build_union(usable)
    pairs: DevelopmentPairs = development_pairs(union, list(counts.values()), *vocabularies, list(counts))
    log.info(
        "fitting weights of %s to %s: %s, %d skipped", counted(len(components), "component"),
        counted(len(counts), "label"), counted(len(pairs), "pair"), int(pairs.num_skipped.sum()),
    )  # fmt: skip
    if config.operation != COUNTS:
        return fit_linear(pairs, config.linear, component_table(union, usable))
    fit = fit_instance_weights(pairs, config.perplexity)
    if pairs.orientations is None or pairs.orientation_counts is None:  # rules with gaps
        return fit
    return dataclasses.replace(fit, reordering=fit_orientation_weights(pairs, config.perplexity))


def _label_counts(development: Sequence[LabelledText], label: str, extract: ExtractConfig) -> RuleCounts:
    """Pairs of all sentences with a label."""
    sources, targets, links = [], [], []
    for part in development:
        rows = np.flatnonzero(np.array(part.labels) == label)
        sources.append(part.text.bitext.source.take(rows))
        targets.append(part.text.bitext.target.take(rows))
        links.append(part.links.links.take(rows))
    bitext = Bitext(concatenate(sources), concatenate(targets))
    return extract_counts(bitext, concatenate(links), extract.with_rare_rules)


def fitted_weights(fit: MixtureFit) -> np.ndarray:
    """[S, 4, D], or [S, 5, D] with those of orientations."""
    return fit.weights if fit.reordering is None else with_orientation_weights(fit.weights, fit.reordering.weights)


def _as_json(fit: MixtureFit) -> dict[str, Any]:
    def by_label(values: np.ndarray) -> dict[str, list]:
        return dict(zip(fit.set_names, values.tolist(), strict=True))

    weights, bits, equal_bits = fitted_weights(fit), fit.cross_entropy, fit.start_cross_entropy
    features = list(FEATURE_NAMES)
    if (own := fit.reordering) is not None:
        features.append("orientation")
        bits, equal_bits = np.c_[bits, own.cross_entropy], np.c_[equal_bits, own.start_cross_entropy]
    return {
        "features": features,
        "components": list(fit.component_names),
        "weights": by_label(weights),
        "bits": by_label(np.nan_to_num(bits)),
        "equal_bits": by_label(np.nan_to_num(equal_bits)),
        "pairs_used": by_label(fit.used),
        "pairs_skipped": by_label(fit.skipped),
    }
