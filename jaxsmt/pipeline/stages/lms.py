"""The language-model stages: one model per component, and their union with weights for every development set."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import Automaton, save_automaton, to_device
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.mixture import fit_mixture, interpolate
from jaxsmt.lm.model import Lm, load_lm, save_lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.model.labelling.target_clusters import load as load_target_clusters
from jaxsmt.model.language_models import AUTOMATON, EQUAL, JOINT, VOCABULARY, WEIGHTS
from jaxsmt.pipeline.config.schemas import LanguageModelConfig
from jaxsmt.pipeline.stages.texts import ComponentText, bitext_inputs, fingerprint_input, join_texts
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary, load_vocabulary, merge_vocabularies

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


def lm_stages(
    store: Store, texts: Sequence[ComponentText], dev: Mapping[str, BitextSource], target: TextSide,
    config: LanguageModelConfig, clusters: Artefact | None = None,
) -> LmMixture:  # fmt: skip
    """Estimates a model of every component's target side, reads given ARPA files, and mixes them all.

    clusters: of the target sides; they have models then, and the components have none.
    """
    clash = set(config.arpas) & {text.name for text in texts}
    if clash:
        raise UserError(f"lm.arpas and corpus.components both have '{min(clash)}': rename one")
    if config.joint and JOINT in {*config.arpas, *(text.name for text in texts)}:
        raise UserError(f"'{JOINT}' is the name of the model of all text (lm.joint): rename the corpus or ARPA file")
    words, _ = merge_vocabularies([text.target.vocabulary for text in texts])
    num_words = len(words.words) + 2  # with <unk> and </s>
    if clusters is None:
        artefacts = {text.name: _estimated(store, text.name, [text], config, num_words) for text in texts}
    else:
        names = load_target_clusters(clusters.folder).names
        artefacts = {name: _estimated(store, name, texts, config, num_words, clusters) for name in names}
    if config.joint and texts:
        artefacts[JOINT] = _estimated(store, JOINT, texts, config, num_words)
    artefacts |= {name: _from_arpa(store, name, path) for name, path in config.arpas.items()}
    if not artefacts:
        raise UserError("there is no text for a language model: name a training bitext or an ARPA file (lm.arpas)")
    return _mixed(store, artefacts, dev, target, config)


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
    store: Store, name: str, texts: Sequence[ComponentText], config: LanguageModelConfig, num_words: int,
    clusters: Artefact | None = None,
) -> Artefact:  # fmt: skip
    """The model of one text, or of several as if they were one; clusters: only of the pairs in the cluster `name`."""
    # models that are mixed share one number of words, or those that know few would give unknown ones too much
    estimation = dataclasses.replace(config.estimation, pad_vocabulary=config.estimation.pad_vocabulary or num_words)

    def build(folder: Path) -> Counts:
        joint = join_texts(texts)
        target = joint.bitext.target
        if clusters is not None:
            target = target.take(load_target_clusters(clusters.folder).rows_of(name))
        return _save(folder, estimate_lm(target, joint.target, estimation))

    settings = dataclasses.asdict(estimation)
    del settings["memory_budget_gb"]  # changes the way, not the result
    inputs = {"text": texts[0].artefact.fingerprint}
    inputs |= {f"text {number}": text.artefact.fingerprint for number, text in enumerate(texts[1:], 2)}
    inputs |= {"clusters": clusters.fingerprint} if clusters is not None else {}
    return store.run(f"lm-{name}", settings, inputs, build)


def target_in(words: Vocabulary, text: ComponentText) -> Ragged:
    """The target side of a text in the ids of another vocabulary."""
    target = text.bitext.target
    return dataclasses.replace(target, values=text.target.vocabulary.ids_in(words)[target.values])


def _from_arpa(store: Store, name: str, path: str) -> Artefact:
    return store.run(f"lm-{name}", {}, {"arpa": fingerprint_input(path)}, lambda folder: _save(folder, read_arpa(path)))


def _save(folder: Path, lm: Lm) -> Counts:
    save_lm(lm, folder / TABLES)
    lm.vocabulary.save(folder / VOCABULARY)
    return {"ngrams": sum(len(level.word) for level in lm.levels), "order": lm.order}


def _mixed(
    store: Store, artefacts: Mapping[str, Artefact], dev: Mapping[str, BitextSource], target: TextSide,
    config: LanguageModelConfig,
) -> LmMixture:  # fmt: skip
    names = tuple(artefacts)

    def build(folder: Path) -> Counts:
        lms = [load_component_lm(artefact) for artefact in artefacts.values()]
        automaton, vocabulary = save_union(folder, lms)
        fitted = _fit(automaton, vocabulary, dev, target, names, config)
        write_text(folder / WEIGHTS, json.dumps(fitted, indent=1, ensure_ascii=False) + "\n")
        return {"models": len(names)}

    inputs = {f"lm {name}": artefact.fingerprint for name, artefact in artefacts.items()}
    inputs |= bitext_inputs(dev)
    settings = {"mixture": dataclasses.asdict(config.mixture), "text": dataclasses.asdict(target.config)}
    artefact = store.run("lm-mixture", settings, inputs, build)
    fitted = json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8"))
    return LmMixture(artefact, names, fitted["weights"], fitted["perplexities"], dict(artefacts))


def save_union(folder: Path, lms: Sequence[Lm]) -> tuple[Automaton, Vocabulary]:
    """Builds the union automaton of models and writes it with its words."""
    automaton, vocabulary = build_union_automaton(lms)
    save_automaton(automaton, folder / AUTOMATON)
    vocabulary.save(folder / VOCABULARY)
    return automaton, vocabulary


def _fit(
    automaton: Automaton, vocabulary: Vocabulary, dev: Mapping[str, BitextSource], target: TextSide,
    names: Sequence[str], config: LanguageModelConfig,
) -> dict[str, dict]:  # fmt: skip
    """Weights of every development set by EM, and perplexities under single models and mixtures."""
    automaton = to_device(automaton)
    side = dataclasses.replace(target, vocabulary=vocabulary)
    equal = [1 / len(names)] * len(names)
    weights, perplexities = {EQUAL: equal}, {}
    if JOINT in names:
        weights[JOINT] = [float(name == JOINT) for name in names]
    for name, spec in dev.items():
        sentences = side.encode_lines(translation for _, translation in read_bitext(spec))
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
