"""The tuning stage: log-linear weights from the development sets, each decoded with its own domain's mixtures."""

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.settings import LARGEST_NUMBER, check_positive, from_values
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.reranking.features import ListRescorer, fitted_shares
from jaxsmt.model.rescoring import Rescoring
from jaxsmt.model.source_text import SourceText, joined_texts, source_text
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import feature_names, feature_rows, vector_of, weights_and_more, weights_of
from jaxsmt.pipeline.stages.texts import bitext_inputs
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.search.chart.rows import LINEAR
from jaxsmt.search.nbest.arrays import NBestArrays, nbest_arrays
from jaxsmt.search.nbest.moses import output_texts
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.tune.augment import Augmentation, augmentation
from jaxsmt.tune.config import TrustRegionConfig
from jaxsmt.tune.loop import LoopConfig, NotWorthIt, TuningResult, WatchFn, curve, table, tune
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows
from jaxsmt.tune.rescoring import TextScorer, ranked_anew, rescored
from jaxsmt.tune.trust_region import maximise
from jaxsmt.tune.tuner import make_tuner

WEIGHTS, RESCORING, SHARES, TABLE = "weights.json", "rescoring.json", "shares.json", "table.txt"
LABEL_WEIGHTS, CURVE = "label_weights.json", "curve.json"
MIXTURE_SEARCH = TrustRegionConfig(initial_radius=0.2, final_radius=0.02, max_evaluations=40, low=0.0, high=1.0)
MAX_TUNING_WORDS = 128  # longer sentences would be decoded in parts, which have no common derivation


@dataclass(frozen=True)
class ListsConfig:
    """What is tuned on.

    size: length of the n-best lists; loop: how often they are made.
    sentences: so many of all development sentences, taken at equal steps; None: all.
    """

    size: int = 100
    loop: LoopConfig = field(default_factory=LoopConfig)
    sentences: int | None = None

    def __post_init__(self) -> None:
        for name, value in {"nbest_size": self.size, "tune_sentences": self.sentences}.items():
            if value is not None and not 1 <= value <= LARGEST_NUMBER:
                raise UserError(f"{name} is {value}: give a number from 1 to {LARGEST_NUMBER}")


@dataclass(frozen=True)
class TuningTask:
    """What is tuned, how, and on what.

    dev: development sets by name; tuner: a configuration of `jaxsmt.tune`, None where nothing is tuned.
    lists: lists to tune on; rescoring: what rescores them, with weights that are tuned too.
    watch_fn: is told how each tuning goes, found ones too, and may end it.
    """

    dev: Mapping[str, BitextSource]
    tuner: Any
    lists: ListsConfig
    rescoring: Rescoring | None = None
    watch_fn: WatchFn | None = None


@dataclass(frozen=True)
class Tuned:
    """What tuning finds: log-linear weights of the search, and rescoring with its weights where there is some.

    by_label: weights of labels that deviate from the common ones (tune.augment).
    """

    weights: SearchWeights
    rescoring: Rescoring | None = None
    by_label: Mapping[str, SearchWeights] = field(default_factory=dict)


@dataclass(frozen=True)
class TuningText:
    """Development sentences of all sets, each with the profile of its label."""

    source: SourceText
    references: list[tuple[str]]  # in the model's tokens, as n-best lists are
    labels: list[str | None]
    profiles: list[Profile]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, label: str | None) -> "TuningText":
        """The sentences with a label."""
        return self._rows([row for row, own in enumerate(self.labels) if own == label])

    def at_most(self, number: int | None) -> "TuningText":
        """So many of the sentences, at equal steps; None: all."""
        if number is None or number >= len(self):
            return self
        return self._rows([place * len(self) // number for place in range(number)])

    def _rows(self, rows: list[int]) -> "TuningText":
        columns = ([column[row] for row in rows] for column in (self.references, self.labels, self.profiles))
        return TuningText(self.source.take(rows), *columns)  # type: ignore[arg-type]


def tuning_stage(
    store: Store, model: Model, inputs: Mapping[str, str], task: TuningTask, label: str | None = None,
    component: str | None = None,
) -> Tuned:  # fmt: skip
    """Tuned weights; an interrupted run goes on after its last whole iteration.

    inputs: fingerprints of all that the model was made from.
    label: only sentences with it take part; component: it alone translates them.
    """
    dev, tuner, lists = task.dev, task.tuner, task.lists
    if not dev:
        raise UserError("tuning needs a development set: name one, +corpus.dev.NAME.source=… and .target=…")

    settings = {
        "tuner": [type(tuner).__name__, dataclasses.asdict(tuner)],
        "lists": dataclasses.asdict(lists),
        **model_settings(model),
        "label": [label, component],
    }
    inputs = {**inputs, **bitext_inputs(dev), **({} if task.rescoring is None else task.rescoring.inputs)}
    progress = store.folder.parent / "tuning" / store.folder_of("tune", settings, inputs).name

    is_watched = False

    def build(folder: Path) -> Counts:
        nonlocal is_watched
        is_watched = True
        text = tuning_text(model, dev, component)
        text = (text if label is None else text.take(label)).at_most(lists.sentences)
        own = dataclasses.replace(task, rescoring=with_shares(model, text, task))
        result = tune_model(model, text, own, progress)
        found = result.weights
        if is_augmented(tuner):
            found, own_weights = label_augmentation(text, tuner).split(found)
            by_label = {name: dataclasses.asdict(weights_of(row, model.weights)) for name, row in own_weights.items()}
            write_text(folder / LABEL_WEIGHTS, json.dumps(by_label, indent=1, ensure_ascii=False) + "\n")
        weights, more = weights_and_more(found, model.weights)
        write_text(folder / WEIGHTS, json.dumps(dataclasses.asdict(weights), indent=1) + "\n")
        if task.rescoring is not None:
            by_name = dict(zip(task.rescoring.names, more, strict=True))
            write_text(folder / RESCORING, json.dumps(by_name, indent=1, ensure_ascii=False) + "\n")
        if own.rescoring is not None:
            write_text(folder / SHARES, json.dumps(own.rescoring.shares, indent=1) + "\n")
        write_text(folder / TABLE, table(result))
        write_text(folder / CURVE, curve(result))
        return {"iterations": len(result.iterations)}

    try:
        artefact = store.run("tune", settings, inputs, build)
    except NotWorthIt:
        shutil.rmtree(progress, ignore_errors=True)
        raise
    shutil.rmtree(progress, ignore_errors=True)
    if task.watch_fn is not None and not is_watched:
        for row in json.loads((artefact.folder / CURVE).read_text(encoding="utf-8"))["iterations"]:
            task.watch_fn(row["bleu"])
    return load_tuned(artefact, task.rescoring)


def model_settings(model: Model) -> dict[str, Any]:
    """What the translations of a model depend on, besides what it was made from; JSON."""
    lms = [[part.name, part.combination] for part in model.lms]
    lms += [["osm", LINEAR]] if model.osm_in_search else []
    parts = ("search", "weights", "mixing", *(() if model.provenance is None else ("provenance",)))
    return {"lms": lms, **{name: dataclasses.asdict(getattr(model, name)) for name in parts}}


def load_tuned(artefact: Artefact, rescoring: Rescoring | None = None) -> Tuned:
    """What `tuning_stage` found."""
    weights = from_values(SearchWeights, json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8")))
    if rescoring is None:
        return Tuned(weights, by_label=_label_weights(artefact.folder / LABEL_WEIGHTS))
    by_name = json.loads((artefact.folder / RESCORING).read_text(encoding="utf-8"))
    shares = tuple(tuple(row) for row in json.loads((artefact.folder / SHARES).read_text(encoding="utf-8")))
    found = tuple(by_name[name] for name in rescoring.names)
    return Tuned(weights, dataclasses.replace(rescoring, weights=found, shares=shares))


def _label_weights(path: Path) -> dict[str, SearchWeights]:
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {label: from_values(SearchWeights, values) for label, values in found.items()}


def is_augmented(tuner: Any) -> bool:
    """Whether labels have deviations of their own."""
    return bool(getattr(tuner, "augment", False))


def label_augmentation(text: TuningText, tuner: Any) -> Augmentation:
    """Of development sentences."""
    return augmentation(text.labels, tuner.deviation)


def check_augmented(tuner: Any, config: MixingConfig, has_rescoring: bool) -> None:
    """Raises UserError where labels are to have deviations and cannot."""
    if not is_augmented(tuner):
        return
    check_positive(tuner, "tune", ("deviation",))
    for is_wrong, what in (
        (has_rescoring, "rescore=…"), (config.is_ensemble, "ensembles"), (config.tune_each, "mixture.tune_each=true"),
        (config.weighting == "trained", "mixture.weighting=trained"),
    ):  # fmt: skip
        if is_wrong:
            raise UserError(f"tune.augment=true and {what} do not go together: leave one out")


def with_shares(model: Model, text: TuningText, task: TuningTask) -> Rescoring | None:
    """Rescoring that knows what the search's own features say of its features, from lists before anything is tuned."""
    if task.rescoring is None:
        return None
    rescorer = task.rescoring.opened(model.operations)
    lists, more = decode_and_rescore(plain_translator(model), text, model.weights, task.lists.size, rescorer)
    shares = fitted_shares(more.given, lists.features, lists.sentences)
    rounded = tuple(tuple(float(f"{value:.6g}") for value in row) for row in shares.tolist())
    return dataclasses.replace(task.rescoring, shares=rounded)


def tune_model(model: Model, text: TuningText, task: TuningTask, folder: Path | None = None) -> TuningResult:
    """Decodes, rescores, merges and optimises until the weights stay; the decoder stays loaded and compiled.

    Weights of what rescores stand behind those of the search.
    """
    translator, lists = plain_translator(model), task.lists
    rescorer = None if task.rescoring is None else task.rescoring.opened(model.operations)

    def decode_fn(vector: np.ndarray) -> NBestLists:
        weights, more = weights_and_more(vector, model.weights)
        if rescorer is None:
            return decode_lists(translator, text, weights, lists.size)
        return rescored_lists(*decode_and_rescore(translator, text, weights, lists.size, rescorer), more)

    if is_augmented(task.tuner):
        return _tune_augmented(translator, text, task, folder)
    start = [*vector_of(model.weights), *(() if task.rescoring is None else task.rescoring.weights)]
    return tune(decode_fn, text.references, np.array(start), make_tuner(task.tuner), lists.loop, folder, task.watch_fn)


def _tune_augmented(
    translator: PlainTranslator, text: TuningText, task: TuningTask, folder: Path | None
) -> TuningResult:
    """The same with deviations of labels: sentences are decoded with the weights of their label."""
    model, labels = translator.model, label_augmentation(text, task.tuner)

    def decode_fn(vector: np.ndarray) -> NBestLists:
        common, own = labels.split(vector)
        made = {label: weights_of(own.get(label or "", common), model.weights) for label in set(text.labels)}
        profiles = [
            dataclasses.replace(profile, weights=made[label])
            for label, profile in zip(text.labels, text.profiles, strict=True)
        ]
        found = nbest_arrays(translator.decoder, translator.request(text.source, profiles), task.lists.size)
        return labels.lists(as_nbest_lists(translator, found, text.source.tokens))

    start = labels.start(vector_of(model.weights))
    return tune(decode_fn, text.references, start, make_tuner(task.tuner), task.lists.loop, folder, task.watch_fn)


@dataclass(frozen=True)
class GivenScores:
    """M features of K texts that are known: names, and log p [K, M]."""

    names: tuple[str, ...]
    given: np.ndarray

    def log_probs(self, texts: Sequence[str]) -> np.ndarray:
        """[K, M], of the K texts that they are of."""
        assert len(texts) == len(self.given)
        return self.given


def decode_and_rescore(
    translator: PlainTranslator, text: TuningText, weights: SearchWeights, size: int, rescorer: ListRescorer
) -> tuple[NBestLists, GivenScores]:
    """`decode_lists`, and the further features of all translations."""
    request = dataclasses.replace(translator.request(text.source, text.profiles), weights=weights)
    arrays = nbest_arrays(translator.decoder, request, size, keep_links=rescorer.needs_links)
    scores = rescorer.scores(translator, text.source, text.profiles, arrays)
    return as_nbest_lists(translator, arrays, text.source.tokens), GivenScores(rescorer.names, scores)


def rescored_lists(lists: NBestLists, scorer: TextScorer, weights: Sequence[float]) -> NBestLists:
    """Lists of the decoder with M further features, ranked as the model will rank them; weights: M."""
    if not scorer.names:
        return lists
    found = rescored(lists, scorer)
    return ranked_anew(found, lists.scores + found.features[:, lists.num_dense :] @ np.array(weights))


def tuning_text(model: Model, dev: Mapping[str, BitextSource], component: str | None = None) -> TuningText:
    """The development sets one after the other, without pairs that have an empty or a very long side.

    component: it alone is asked for rules; the language models are those of the sentences all the same, so that models
      tuned one by one fit together.
    """
    texts: list[SourceText] = []
    references: list[tuple[str]] = []
    labels: list[str | None] = []
    for name, spec in dev.items():
        pairs = list(read_bitext(spec))
        text = source_text(model.source, (source for source, _ in pairs))
        targets = [model.target.preprocess(target) for _, target in pairs]
        kept = [row for row, own in enumerate(text.tokens) if targets[row] and 0 < len(own) <= MAX_TUNING_WORDS]
        texts.append(text.take(kept))
        references += [(" ".join(targets[row]),) for row in kept]
        labels += model.labeller(name).labels_of(texts[-1].tokens)
    mixture = None if component is None else [float(name == component) for name in model.names]
    profiles = {label: model.profile(label, mixture) for label in set(labels)}
    return TuningText(joined_texts(texts), references, labels, [profiles[label] for label in labels])


def best_mixture(store: Store, model: Model, inputs: Mapping[str, str], task: TuningTask) -> list[float]:
    """Weights λ [D] of an ensemble's models that give the development sets the highest BLEU, by a trust region."""

    def build(folder: Path) -> Counts:
        text = tuning_text(model, task.dev).at_most(task.lists.sentences)
        translator = plain_translator(model)
        found, info = maximise(
            lambda point: _bleu(translator, text, _simplex(point)), np.full(len(model.names) - 1, 0.5), MIXTURE_SEARCH
        )
        write_text(folder / WEIGHTS, json.dumps(_simplex(found).tolist()) + "\n")
        return {"evaluations": len(info.scores)}

    settings = {
        **model_settings(model),
        "trust_region": dataclasses.asdict(MIXTURE_SEARCH),
        "sentences": task.lists.sentences,
    }
    artefact = store.run("ensemble", settings, {**inputs, **bitext_inputs(task.dev)}, build)
    return json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8"))


def _simplex(point: np.ndarray) -> np.ndarray:
    """[D] weights with sum 1 from D - 1 numbers between 0 and 1: each the share of what those before it leave."""
    left, weights = 1.0, []
    for number, share in enumerate(np.clip(point, 1e-6, 1 - 1e-6)):
        part = share ** (1.0 / (len(point) - number))  # 0.5 … 0.5 is near equal weights
        weights.append(left * (1 - part))
        left *= part
    return np.array([*weights, left])


def _bleu(translator: PlainTranslator, text: TuningText, mixture: np.ndarray) -> float:
    profiles = [dataclasses.replace(profile, mixture=mixture) for profile in text.profiles]
    output = [" ".join(line.words) for line in translator.translate(text.source, profiles)]
    references = [reference for (reference,) in text.references]
    return BLEU(tokenize="none", force=True).corpus_score(output, [references]).score


def decode_lists(translator: PlainTranslator, text: TuningText, weights: SearchWeights, size: int) -> NBestLists:
    """n-best lists of the development sentences under log-linear weights, with exact features."""
    request = dataclasses.replace(translator.request(text.source, text.profiles), weights=weights)
    return as_nbest_lists(translator, nbest_arrays(translator.decoder, request, size), text.source.tokens)


def as_nbest_lists(translator: PlainTranslator, lists: NBestArrays, tokens: Sequence[Sequence[str]]) -> NBestLists:
    """Lists of the decoder as tuners want them; tokens: of the request's sentences. Their order stays."""
    weights = translator.model.weights
    features, names = feature_rows(lists.features, weights), feature_names(weights, translator.model.lm_names)
    outputs = output_texts(lists, tokens, translator.words)
    return nbest_from_rows(outputs, features, lists.sentence, len(tokens), names, lists.features.score)
