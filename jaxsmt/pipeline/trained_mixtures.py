"""Component weights trained for the result: λ and the weights of language models by the gradient of expected BLEU.

Listed derivations keep what they were made of, so that their features can be computed under other weights. Each round
decodes, adds the new derivations to those there are, and moves log-linear and component weights together.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.common.settings import from_values
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.model import LabelSettings, Model, Profile
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of, weights_of
from jaxsmt.pipeline.stages.texts import bitext_inputs
from jaxsmt.pipeline.stages.tuning import (
    CURVE,
    TABLE,
    WEIGHTS,
    TuningTask,
    TuningText,
    as_nbest_lists,
    model_settings,
    tuning_text,
)
from jaxsmt.pipeline.store import Counts, Store
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.trainable import listed_rules, listed_words, lm_feature, rule_features
from jaxsmt.search.nbest.uses import DerivationUses, joined_uses, uses_of
from jaxsmt.search.weights import SearchWeights
from jaxsmt.tm.weights import P_TARGET
from jaxsmt.tune.lists import TuningLists, rows_of
from jaxsmt.tune.loop import curve, table, tune
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows
from jaxsmt.tune.risk.mixtures import Mixture, Point, mixture_risk
from jaxsmt.tune.scoring import score_lists
from jaxsmt.tune.tuner import TunerConfig

TRAINED = "trained"
MIXTURES = "mixtures.json"
LEAST = 1e-4  # of a weight that training starts from, against the largest: a logarithm must not be too far away
_jitted: dict[Any, Any] = {feature_fn: jax.jit(feature_fn) for feature_fn in (rule_features, lm_feature)}


def check_trained(config: MixingConfig, tuner: TunerConfig | None, has_rescoring: bool) -> None:
    """Raises UserError where component weights are to be trained and cannot be."""
    if config.weighting != TRAINED:
        return
    if tuner is None or not tuner.has_gradient:
        raise UserError("mixture.weighting=trained needs the gradient of expected scores: choose tune=risk")
    if config.tune_each:
        raise UserError("mixture.weighting=trained has one tuning for all labels: set mixture.tune_each=false")
    if has_rescoring:
        raise UserError("mixture.weighting=trained and rescore=… do not go together yet: leave one out")


def trained_model(store: Store, model: Model, inputs: Mapping[str, str], task: TuningTask) -> Model:
    """The model with log-linear weights and with component weights of every label, trained on the development sets."""
    if not task.dev:
        raise UserError("tuning needs a development set: name one, +corpus.dev.NAME.source=… and .target=…")

    def build(folder: Path) -> Counts:
        text = tuning_text(model, task.dev).at_most(task.lists.sentences)
        training = MixtureTraining(plain_translator(model), text, task)
        result = tune(training.decode, text.references, training.start, training, task.lists.loop)
        weights, labels = training.read(result.weights)
        write_text(folder / WEIGHTS, json.dumps(dataclasses.asdict(weights), indent=1) + "\n")
        write_text(folder / MIXTURES, json.dumps(labels, indent=1, ensure_ascii=False) + "\n")
        write_text(folder / TABLE, table(result))
        write_text(folder / CURVE, curve(result))
        return {"iterations": len(result.iterations)}

    settings = {
        "tuner": [type(task.tuner).__name__, dataclasses.asdict(task.tuner)],
        "lists": dataclasses.asdict(task.lists),
        **model_settings(model),
    }
    artefact = store.run(TRAINED, settings, {**inputs, **bitext_inputs(task.dev)}, build)
    weights = from_values(SearchWeights, json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8")))
    found = json.loads((artefact.folder / MIXTURES).read_text(encoding="utf-8"))
    for label, rows in found["mixtures"].items():
        log.info("component weights of '%s': %s", label, _shown(rows))
        log.info("weights of the language models for '%s': %s", label, _shown(found["lm_mixtures"][label]))
    labels = model.mixing.labels.updated(LabelSettings(found["mixtures"], found["lm_mixtures"]))
    return dataclasses.replace(model, weights=weights, mixing=dataclasses.replace(model.mixing, labels=labels))


def _shown(rows: Sequence[Sequence[float]]) -> str:
    return "; ".join(" ".join(f"{value / max(sum(row), 1e-30):.3f}" for value in row) for row in rows)


@dataclass(frozen=True)
class KeptDerivations:
    """K distinct derivations by sentence: sentences [K], texts, features [K, F] and what they are made of."""

    sentences: np.ndarray
    texts: tuple[str, ...]
    features: np.ndarray
    uses: DerivationUses

    def lists(self, num_sentences: int, names: Sequence[str]) -> NBestLists:
        """As n-best lists in the same order."""
        return nbest_from_rows(self.texts, self.features, self.sentences, num_sentences, names)


def distinct_derivations(parts: Sequence[KeptDerivations]) -> KeptDerivations:
    """All derivations by sentence; of those with the same text, rules and orientations the first."""
    sentences = np.concatenate([part.sentences for part in parts])
    texts = [text for part in parts for text in part.texts]
    uses = joined_uses([part.uses for part in parts])
    seen: dict[tuple[int, str, bytes], int] = {}
    for row, (sentence, text) in enumerate(zip(sentences.tolist(), texts, strict=True)):
        seen.setdefault((sentence, text, uses.rules[row].tobytes()), row)
    kept = np.array(list(seen.values()), np.int64)
    kept = kept[np.argsort(sentences[kept], kind="stable")]
    features = np.concatenate([part.features for part in parts])[kept]
    return KeptDerivations(sentences[kept], tuple(texts[row] for row in kept), features, uses.take(kept))


@dataclass
class MixtureTraining:
    """Decodes and tunes for `jaxsmt.tune.loop.tune`, whose weights are [w, θ of all labels], and keeps derivations.

    kept: what was listed so far.
    """

    translator: PlainTranslator
    text: TuningText
    task: TuningTask
    kept: KeptDerivations | None = None
    metric: str = field(init=False)

    def __post_init__(self) -> None:
        self.metric = self.task.tuner.metric
        self.labels = sorted(set(self.text.labels), key=lambda label: label or "")
        self.mixtures = _mixtures(self.translator)
        self.centre = self._first_thetas()

    @property
    def start(self) -> np.ndarray:
        """[F + Θ]"""
        return np.concatenate([vector_of(self.translator.model.weights), self.centre])

    def _first_thetas(self) -> np.ndarray:
        """Logarithms of the weights that the model has, of all labels, in one vector."""
        model, found = self.translator.model, []
        for label in self.labels:
            profile = model.profile(label)
            arrays = [_with_orientations(profile.mixture, self.mixtures[0].shape[0])]
            arrays += [profile.lm_mixtures[number][None] for number in trained_lms(self.translator.model)]
            for array in arrays:
                share = np.maximum(array / array.max(1, keepdims=True), LEAST)
                found.append(np.log(share / share.sum(1, keepdims=True)).ravel())
        return np.concatenate(found)

    def arrays(self, thetas: np.ndarray) -> list[list[np.ndarray]]:
        """For each label, for each mixture λ [L, D], rows of sum 1."""
        found: list[list[np.ndarray]] = []
        values = list(np.asarray(thetas, np.float64))
        for _ in self.labels:
            found.append([])
            for mixture in self.mixtures:
                size = mixture.shape[0] * mixture.shape[1]
                powers = np.exp(np.array(values[:size]).reshape(mixture.shape))
                found[-1].append(powers / powers.sum(1, keepdims=True))
                values = values[size:]
        return found

    def profiles(self, thetas: np.ndarray) -> list[Profile]:
        """Of the sentences, with the weights that θ says."""
        made = {}
        for label, (mixture, *own) in zip(self.labels, self.arrays(thetas), strict=True):
            profile = self.translator.model.profile(label)
            lm_mixtures = list(profile.lm_mixtures)
            for number, array in zip(trained_lms(self.translator.model), own, strict=True):
                lm_mixtures[number] = array[0]
            made[label] = dataclasses.replace(profile, mixture=mixture, lm_mixtures=tuple(lm_mixtures))
        return [made[label] for label in self.text.labels]

    def read(self, vector: np.ndarray) -> tuple[SearchWeights, dict[str, Any]]:
        """Log-linear weights, and mixtures by label; sentences without a label have none to keep."""
        weights, thetas = self._split(vector)
        first = dict(zip(self.text.labels, self.profiles(thetas), strict=True))
        named = {label: profile for label, profile in first.items() if label is not None}
        return weights, {
            "mixtures": {label: profile.mixture.tolist() for label, profile in named.items()},
            "lm_mixtures": {label: [row.tolist() for row in profile.lm_mixtures] for label, profile in named.items()},
        }

    def _split(self, vector: np.ndarray) -> tuple[SearchWeights, np.ndarray]:
        start = self.translator.model.weights
        first, thetas = np.split(np.asarray(vector), [len(vector_of(start))])
        return weights_of(first, start), thetas

    def decode(self, vector: np.ndarray) -> NBestLists:
        """n-best lists under weights [F + Θ]; θ are features that are always 0."""
        weights, thetas = self._split(vector)
        translator, profiles = self.translator, self.profiles(thetas)
        request = dataclasses.replace(translator.request(self.text.source, profiles), weights=weights)
        arrays = nbest_arrays(translator.decoder, request, self.task.lists.size, keep_trees=True)
        lists = as_nbest_lists(translator, arrays, self.text.source.tokens)
        uses = uses_of(translator.decoder, request, arrays)
        new = KeptDerivations(lists.sentences, lists.texts, lists.features, uses)
        self.kept = distinct_derivations([new] if self.kept is None else [self.kept, new])
        names = (*lists.feature_names, *(f"theta{number}" for number in range(len(thetas))))
        features = np.pad(lists.features, ((0, 0), (0, len(thetas))))
        return dataclasses.replace(lists, features=features, feature_names=names, num_dense=len(names))

    def __call__(self, lists: TuningLists, start: np.ndarray) -> tuple[np.ndarray, Any]:
        """New weights [F + Θ] from the derivations that were kept; the given lists say nothing more."""
        assert self.kept is not None
        num = len(start) - len(self.centre)
        listed = self.kept.lists(len(self.text), lists.feature_names[:num])
        scored = score_lists(listed, self.text.references, with_ter=self.metric == "ter")
        number = {label: place for place, label in enumerate(self.labels)}
        of_sentence = np.array([number[label] for label in self.text.labels])
        order = np.argsort(of_sentence, kind="stable")
        rows = np.where(scored.is_real, listed.offsets[:-1, None] + np.arange(scored.is_real.shape[1]), -1)
        data = tuple(self._data(rows[order][of_sentence[order] == place]) for place in range(len(self.labels)))
        sorted_lists = self._under(rows_of(scored, order), data, start[num:])
        point = Point(np.asarray(start[:num]), np.asarray(start[num:]))
        found, expected = mixture_risk(sorted_lists, self.mixtures, data, point, self.centre, self.task.tuner)
        return np.concatenate(found), expected

    def _data(self, rows: np.ndarray) -> tuple[Any, ...]:
        """What the features of derivations rows [B, H] are computed from."""
        assert self.kept is not None
        uses = self.kept.uses
        words = (listed_words(uses, number, rows) for number in trained_lms(self.translator.model))
        return listed_rules(self.translator.decoder.rules, uses, rows), *words

    def _under(self, lists: TuningLists, data: tuple[tuple[Any, ...], ...], thetas: np.ndarray) -> TuningLists:
        """Lists, sorted by label, with the features that derivations have under θ."""
        features = lists.features.copy()
        for number, mixture in enumerate(self.mixtures):
            feature_fn = _jitted[mixture.feature_fn]
            parts = [
                np.asarray(feature_fn(own[number], arrays[number].astype(np.float32)))
                for own, arrays in zip(data, self.arrays(thetas), strict=True)
            ]
            features[..., list(mixture.columns)] = np.concatenate(parts) * lists.is_real[..., None]
        return dataclasses.replace(lists, features=features)


def _mixtures(translator: PlainTranslator) -> tuple[Mixture, ...]:
    """What is trained: λ of the rules first, then the weights of language models, and the features they are in."""
    model = translator.model
    names, places = feature_names(model.weights, model.lm_names), range(len(vector_of(model.weights)))
    place = dict(zip(names, places, strict=True))
    has_orientations = bool(translator.decoder.rules.orientation_names) and "reordering0" in place
    own = [*(f"rule{n}" for n in range(4)), *(f"reordering{n}" for n in range(6) if has_orientations)]
    rows = (*range(4), *(4 for _ in own[4:]))
    shape = (4 + has_orientations, len(model.names))
    found = [Mixture(rule_features, tuple(place[name] for name in own), rows, shape)]
    for number in trained_lms(model):
        lm = model.lms[number]
        found.append(Mixture(lm_feature, (place[lm.feature_names[0]],), (0,), (1, len(lm.names))))
    return tuple(found)


def trained_lms(model: Model) -> list[int]:
    """Numbers of the language models that are mixed with fitted weights; models that are switched are not mixed."""
    if model.mixing.config.lm_weighting != "fitted":
        return []
    found = [number for number, part in enumerate(model.lms) if part.is_mixed]
    return [n for n in found if any(model.lm_mixture(label, number=n).max() < 1 for label in (*model.labels, None))]


def _with_orientations(mixture: np.ndarray, num_rows: int) -> np.ndarray:
    """λ [num_rows, D] from [4, D] or [5, D]: orientations without a row of their own have that of p(t|s)."""
    rows = mixture if len(mixture) >= num_rows else np.concatenate([mixture, mixture[P_TARGET][None]])
    return np.asarray(rows[:num_rows], np.float64)
