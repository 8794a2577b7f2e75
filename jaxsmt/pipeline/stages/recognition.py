"""The recognition stage: a recogniser of the development sets, and log-linear weights for each of its classes.

The supervised control of bagging (Song, Mi, Lü & Liu 2012, section 4.4): development and test sentences are classified,
and one system is tuned for each class; classes with the fewest sentences may be merged first.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jaxsmt.adapt.clusters.labels import make_labels, merge_smallest
from jaxsmt.adapt.recognise.recogniser import load_recogniser, train_recogniser
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.model.labelling.recognition import Recognition
from jaxsmt.model.model import LabelSettings, Model
from jaxsmt.pipeline.config.adapters import RecogniseStageConfig
from jaxsmt.pipeline.stages.texts import bitext_inputs
from jaxsmt.pipeline.stages.tuning import TuningTask, tuning_stage, tuning_text
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.reading import BitextSource, read_bitext

CLASSES = "classes.json"
Sets = Mapping[str, BitextSource]


def recognition_stage(
    store: Store, model: Model, inputs: Mapping[str, str], config: RecogniseStageConfig, task: TuningTask
) -> Artefact:
    """A recogniser with weights for each class, tuned on the development sentences that it finds to be of the class."""
    recogniser = recogniser_stage(store, model, inputs, task.dev, config)
    found = untuned(model, recogniser)
    labelled = dataclasses.replace(model, adaptation=found)
    inputs = {**inputs, "recogniser": recogniser.fingerprint}
    occurring = set(tuning_text(labelled, task.dev).labels)
    weights = {
        label: tuning_stage(store, labelled, inputs, task, label).weights
        for label in found.labels
        if label in occurring
    }

    def build(folder: Path) -> Counts:
        dataclasses.replace(found, settings=dataclasses.replace(found.settings, weights=weights)).save(folder)
        return {"classes": len(found.labels)}

    settings = {
        "weights": {label: dataclasses.asdict(part) for label, part in weights.items()},
        "mixtures": found.settings.mixtures,
        "lm_mixtures": found.settings.lm_mixtures,
    }
    return store.run("recognition", settings, {"recogniser": recogniser.fingerprint}, build)


def recogniser_stage(
    store: Store, model: Model, inputs: Mapping[str, str], dev: Sets, config: RecogniseStageConfig
) -> Artefact:
    """A classifier of source sentences into development sets, and the classes that these are merged to."""

    def build(folder: Path) -> Counts:
        tokens = {name: [model.source.preprocess(line) for line, _ in read_bitext(spec)] for name, spec in dev.items()}
        kept = {name: [sentence for sentence in part if sentence] for name, part in tokens.items()}
        for name, part in kept.items():
            if not part:
                raise UserError(f"development set '{name}' has no source text to recognise it by: add some or drop it")
        sentences = [sentence for part in kept.values() for sentence in part]
        labels = make_labels([name for name, part in kept.items() for _ in part], tuple(kept))
        recogniser = train_recogniser(sentences, labels, config)
        classified = recogniser.classify(sentences)
        log.info("recogniser: right for %.1f%% of its sentences", 100 * (classified.index == labels.index).mean())
        merging = merge_smallest(classified, config.num_classes or len(kept))
        class_of = {name: merging.names[place] for name, place in zip(kept, merging.new_index, strict=True)}
        recogniser.save(folder)
        sizes = {name: len(part) for name, part in kept.items()}
        write_text(folder / CLASSES, json.dumps({"class_of": class_of, "sizes": sizes}, ensure_ascii=False) + "\n")
        return {"sentences": len(sentences), "classes": len(merging.names)}

    return store.run("recogniser", dataclasses.asdict(config), {**inputs, **bitext_inputs(dev)}, build)


def untuned(model: Model, recogniser: Artefact) -> Recognition:
    """The recogniser with mixtures of its classes: means over their sets, by numbers of sentences."""
    settings = json.loads((recogniser.folder / CLASSES).read_text(encoding="utf-8"))
    class_of, sizes = settings["class_of"], settings["sizes"]
    mixtures, lm_mixtures = {}, {}
    for label in dict.fromkeys(class_of.values()):
        names = [name for name, own in class_of.items() if own == label]
        shares = np.array([sizes[name] for name in names], float)
        known = [name if name in model.labels else None for name in names]
        mixtures[label] = weighted_mean([model.mixture(name) for name in known], shares).tolist()
        by_lm = zip(*(model.lm_mixtures(name) for name in known), strict=True)
        lm_mixtures[label] = [weighted_mean(list(parts), shares).tolist() for parts in by_lm]
    return Recognition(load_recogniser(recogniser.folder), class_of, LabelSettings(mixtures, lm_mixtures))


def weighted_mean(mixtures: list[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """Weights [..., D] whose proportions are the mean of given ones, and whose sums are the mean of theirs."""
    shares = shares / shares.sum()
    totals = [part.sum(-1, keepdims=True) for part in mixtures]
    proportions = sum(share * part / total for share, part, total in zip(shares, mixtures, totals, strict=True))
    return np.asarray(proportions * sum(share * total for share, total in zip(shares, totals, strict=True)))
