"""The language-model stages: one model per component, and their union with weights for every development set."""

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import Automaton, save_automaton, to_device
from jaxsmt.lm.classes.table import WordClasses, load_classes
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.mixture import fit_mixture, interpolate
from jaxsmt.lm.model import Lm, load_lm, save_lm, special_word_ids
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.model.labelling.target_clusters import load as load_target_clusters
from jaxsmt.model.language_models import (
    AUTOMATON,
    CLASSES,
    EQUAL,
    FIRST,
    JOINT,
    VOCABULARY,
    WEIGHTS,
    LanguageModels,
    load_language_models,
)
from jaxsmt.pipeline.config.schemas import CLASS_MODEL, LanguageModelConfig
from jaxsmt.pipeline.stages.texts import ComponentText, bitext_inputs, fingerprint_input, join_texts
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.search.chart.rows import LINEAR
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.vocabulary import PAD, UNKNOWN, Vocabulary, load_vocabulary, merge_vocabularies

TABLES = "lm.safetensors"


@dataclass(frozen=True)
class LmMixture:
    """The union automaton of D language models, as an artefact, and what development text says about it.

    weights: [D] by development set, EQUAL, and JOINT where one of them is a model of all text.
    perplexities: by development set: of each model alone, of equal weights, and of the set's own weights.
    models: the D models, by name.
    """

    artefact: Artefact
    names: tuple[str, ...]
    weights: dict[str, list[float]]
    perplexities: dict[str, dict[str, float]]
    models: dict[str, Artefact]


@dataclass(frozen=True)
class LmFeature:
    """A language model of the model in the making: one feature, or one for each of its models.

    name: FIRST, or that of a further one.
    artefact: a folder as `jaxsmt.model.language_models` describes it; combination: as `SearchLm` has it.
    """

    name: str
    artefact: Artefact
    combination: str = LINEAR

    def opened(self) -> LanguageModels:
        """As the model has it."""
        return load_language_models(self.artefact.folder, self.name, self.combination)


def lm_features(
    store: Store, mixture: LmMixture, config: LanguageModelConfig, classes: LmMixture | None = None
) -> tuple[LmFeature, ...]:
    """All language models of the model: the mixture, that of class models, and further ones."""
    own = [_feature(FIRST, mixture, config.combination)]
    own += [] if classes is None else [_feature(CLASS_MODEL, classes, config.classes.combination)]
    further = (LmFeature(name, _given(store, name, Path(path))) for name, path in config.further.items())
    return *own, *further


def _feature(name: str, mixture: LmMixture, combination: str) -> LmFeature:
    return LmFeature(name, mixture.artefact, combination if len(mixture.names) > 1 else LINEAR)


def _given(store: Store, name: str, path: Path) -> Artefact:
    """The folder of a language model made elsewhere, or an ARPA file as such a folder."""
    if not path.is_dir():
        inputs = {"arpa": fingerprint_input(str(path))}
    elif all((path / file).is_file() for file in (AUTOMATON, VOCABULARY, WEIGHTS)):
        files = [file for file in (AUTOMATON, VOCABULARY, WEIGHTS, CLASSES) if (path / file).is_file()]
        inputs = {file: fingerprint_input(str(path / file)) for file in files}
    else:
        raise UserError(f"lm.further.{name} is '{path}', which is none: give an ARPA file or lm/ of a model")

    def build(folder: Path) -> Counts:
        if path.is_dir():
            for file in inputs:
                shutil.copy2(path / file, folder / file)
        else:
            save_union(folder, [read_arpa(path)])
            tables = {"names": {0: name}, "weights": {EQUAL: [1.0]}, "perplexities": {}}
            write_text(folder / WEIGHTS, json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
        return {"models": len(json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))["names"])}

    return store.run(f"lm-further-{name}", {}, inputs, build)


@dataclass(frozen=True)
class LmText:
    """What language models are made from.

    texts: of the components; dev: what weights are fitted to; target: the language of all.
    clusters: of the target sides; they have models then, and the components have none.
    classes: of words, where the models are to be models of classes.
    """

    texts: Sequence[ComponentText]
    dev: Mapping[str, BitextSource]
    target: TextSide
    clusters: Artefact | None = None
    classes: Artefact | None = None

    @property
    def stage(self) -> str:
        """What names of stages begin with."""
        return "lm" if self.classes is None else "class-lm"

    @property
    def inputs(self) -> dict[str, str]:
        """Fingerprints of what all models go by."""
        return {} if self.classes is None else {"classes": self.classes.fingerprint}

    @cached_property
    def table(self) -> WordClasses | None:
        """The word classes, opened."""
        return None if self.classes is None else load_classes(self.classes.folder / CLASSES)

    @cached_property
    def num_words(self) -> int:
        """All that any model could know, with <unk> and </s>."""
        words, _ = merge_vocabularies([text.target.vocabulary for text in self.texts])
        return len(words.words if self.table is None else self.table.vocabulary.words) + 2

    def training(self, texts: Sequence[ComponentText], cluster: str | None = None) -> tuple[Ragged, Vocabulary]:
        """The target sides of texts, or of the pairs in one cluster, as the models see them."""
        joint = join_texts(texts)
        target, words = joint.bitext.target, joint.target
        if cluster is not None and self.clusters is not None:
            target = target.take(load_target_clusters(self.clusters.folder).rows_of(cluster))
        if self.table is None:
            return target, words
        ids = self.table.ids_of(words)
        ids[special_word_ids(words)] = PAD  # tokens that no model of words has either
        return Ragged(ids[target.values], target.offsets), self.table.vocabulary

    def development(self, name: str, vocabulary: Vocabulary) -> Ragged:
        """A development set in the ids of the models' vocabulary."""
        lines = (translation for _, translation in read_bitext(self.dev[name]))
        if self.table is None:
            return dataclasses.replace(self.target, vocabulary=vocabulary).encode_lines(lines)
        words = Vocabulary(tuple(self.table.class_of))
        return self.table.classified(dataclasses.replace(self.target, vocabulary=words).encode_lines(lines), words)


def lm_stages(store: Store, text: LmText, config: LanguageModelConfig) -> LmMixture:
    """Estimates a model of every component's target side, reads given ARPA files, and mixes them all."""
    texts = text.texts
    clash = set(config.arpas) & {part.name for part in texts}
    if clash:
        raise UserError(f"lm.arpas and corpus.components both have '{min(clash)}': rename one")
    if config.joint and JOINT in {*config.arpas, *(part.name for part in texts)}:
        raise UserError(f"'{JOINT}' is the name of the model of all text (lm.joint): rename the corpus or ARPA file")
    if text.clusters is None:
        artefacts = {part.name: _estimated(store, part.name, [part], text, config) for part in texts}
    else:
        names = load_target_clusters(text.clusters.folder).names
        artefacts = {name: _estimated(store, name, texts, text, config, name) for name in names}
    if config.joint and texts:
        artefacts[JOINT] = _estimated(store, JOINT, texts, text, config)
    artefacts |= {name: _from_arpa(store, name, path) for name, path in config.arpas.items()}
    if not artefacts:
        raise UserError("there is no text for a language model: name a training bitext or an ARPA file (lm.arpas)")
    return _mixed(store, artefacts, text, config)


def load_component_lm(artefact: Artefact) -> Lm:
    """The language model of an artefact that `lm_stages` made."""
    return load_lm(artefact.folder / TABLES, load_vocabulary(artefact.folder / VOCABULARY))


def export_lms(folder: Path, mixture: LmMixture) -> None:
    """Writes every model, and for every development set the static mixture with its weights, as <name>.arpa.gz."""
    lms = {name: load_component_lm(artefact) for name, artefact in mixture.models.items()}
    for name, lm in lms.items():
        write_arpa(lm, folder / f"{name}.arpa.gz")
    for name, weights in mixture.weights.items():
        write_arpa(interpolate(list(lms.values()), weights), folder / f"mixture.{name}.arpa.gz")


def _estimated(
    store: Store, name: str, texts: Sequence[ComponentText], text: LmText, config: LanguageModelConfig,
    cluster: str | None = None,
) -> Artefact:  # fmt: skip
    """The model of one text, or of several as if they were one; cluster: only of the pairs in it."""
    # models that are mixed share one number of words, or those that know few would give unknown ones too much
    padded = config.estimation.pad_vocabulary or text.num_words
    estimation = dataclasses.replace(config.estimation, pad_vocabulary=padded)
    settings = dataclasses.asdict(estimation)
    del settings["memory_budget_gb"]  # changes the way, not the result
    inputs = {"text": texts[0].artefact.fingerprint, **text.inputs}
    inputs |= {f"text {number}": part.artefact.fingerprint for number, part in enumerate(texts[1:], 2)}
    inputs |= {"clusters": text.clusters.fingerprint} if cluster is not None and text.clusters is not None else {}

    def build(folder: Path) -> Counts:
        return _save(folder, estimate_lm(*text.training(texts, cluster), estimation, store.tasks))

    return store.run(f"{text.stage}-{name}", settings, inputs, build)


def target_in(lms: LanguageModels, text: ComponentText) -> Ragged:
    """The target side of a text in the ids of a language model."""
    target = text.bitext.target
    return dataclasses.replace(target, values=lms.ids_of(text.target.vocabulary)[target.values])


def _from_arpa(store: Store, name: str, path: str) -> Artefact:
    return store.run(f"lm-{name}", {}, {"arpa": fingerprint_input(path)}, lambda folder: _save(folder, read_arpa(path)))


def _save(folder: Path, lm: Lm) -> Counts:
    save_lm(lm, folder / TABLES)
    lm.vocabulary.save(folder / VOCABULARY)
    return {"ngrams": sum(len(level.word) for level in lm.levels), "order": lm.order}


def _mixed(
    store: Store, artefacts: Mapping[str, Artefact], text: LmText, config: LanguageModelConfig
) -> LmMixture:  # fmt: skip
    names = tuple(artefacts)

    def build(folder: Path) -> Counts:
        lms = [load_component_lm(artefact) for artefact in artefacts.values()]
        automaton, vocabulary = save_union(folder, lms)
        dev = {name: text.development(name, vocabulary) for name in text.dev}
        fitted = _fit(automaton, dev, names, config)
        write_text(folder / WEIGHTS, json.dumps(fitted, indent=1, ensure_ascii=False) + "\n")
        if text.table is not None:
            text.table.save(folder / CLASSES)
        return {"models": len(names)}

    inputs = {f"lm {name}": artefact.fingerprint for name, artefact in artefacts.items()}
    inputs |= {**bitext_inputs(text.dev), **text.inputs}
    settings = {"mixture": dataclasses.asdict(config.mixture), "text": dataclasses.asdict(text.target.config)}
    artefact = store.run(f"{text.stage}-mixture", settings, inputs, build)
    fitted = json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8"))
    return LmMixture(artefact, names, fitted["weights"], fitted["perplexities"], dict(artefacts))


def save_union(folder: Path, lms: Sequence[Lm]) -> tuple[Automaton, Vocabulary]:
    """Builds the union automaton of models and writes it with its words."""
    automaton, vocabulary = build_union_automaton(lms)
    save_automaton(automaton, folder / AUTOMATON)
    vocabulary.save(folder / VOCABULARY)
    return automaton, vocabulary


def _fit(
    automaton: Automaton, dev: Mapping[str, Ragged], names: Sequence[str], config: LanguageModelConfig
) -> dict[str, dict]:
    """Weights of every development set by EM, and perplexities under single models and mixtures."""
    automaton = to_device(automaton)
    equal = [1 / len(names)] * len(names)
    weights, perplexities = {EQUAL: equal}, {}
    if JOINT in names:
        weights[JOINT] = [float(name == JOINT) for name in names]
    for name, sentences in dev.items():
        weights[name] = [round(float(x), 6) for x in fit_mixture(automaton, sentences, config.mixture).weights[0]]
        alone = dict(zip(names, np.eye(len(names)), strict=True))
        table = {**alone, EQUAL: np.array(equal), "fitted": np.array(weights[name])}
        perplexities[name] = _perplexities(automaton, sentences, table)
    return {"names": dict(enumerate(names)), "weights": weights, "perplexities": perplexities}


def _perplexities(automaton: Automaton, sentences: Ragged, weights: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Per word, </s> included and words that no model knows left out, as in the fit."""
    is_used = np.ones(len(sentences.values) + len(sentences), bool)
    is_used[np.arange(len(sentences.values)) + sentences.row_index] = sentences.values != UNKNOWN
    probabilities = np.exp(word_log_probs(automaton, sentences).values[is_used].astype(np.float64))  # [words, D]
    means = {name: np.log(probabilities @ vector).mean() for name, vector in weights.items()}
    return {name: round(float(np.exp(-mean)), 4) for name, mean in means.items()}


def static_stage(store: Store, lms: LmMixture, weights: Mapping[str, Sequence[float]]) -> LmMixture:
    """Interpolates the models with each of the weights [D], by name; the new ones are picked by weights of 0 and 1.

    The decoder switches between them then, instead of mixing (Sennrich, Schwenk and Aransa 2013, section 5).
    """
    names = tuple(weights)
    chosen = {name: [float(name == other) for other in names] for name in names}

    def build(folder: Path) -> Counts:
        models = [load_component_lm(artefact) for artefact in lms.models.values()]
        save_union(folder, [interpolate(models, part) for part in weights.values()])
        tables = {"names": dict(enumerate(names)), "weights": chosen, "perplexities": lms.perplexities}
        write_text(folder / WEIGHTS, json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
        return {"models": len(names)}

    settings = {"weights": {name: list(part) for name, part in weights.items()}}
    artefact = store.run("lm-static", settings, {"mixture": lms.artefact.fingerprint}, build)
    return dataclasses.replace(lms, artefact=artefact, names=names, weights=chosen)
