"""The tuning stage: log-linear weights from the development sets, each decoded with its own domain's mixtures."""

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.pipeline.config import WeightsConfig
from jaxsmt.pipeline.model import Model
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.pipeline.texts import fingerprint_input
from jaxsmt.pipeline.translation import LineTranslator, make_line_translator
from jaxsmt.search.nbest import nbest
from jaxsmt.search.rescoring import rescore
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.tune.loop import LoopConfig, TuningResult, table, tune
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows
from jaxsmt.tune.tuner import make_tuner

NO_TUNER = "none"
WEIGHTS, TABLE = "weights.json", "table.txt"
_SCALARS = ("lm", "word_penalty", "phrase_penalty", "glue")  # the unknown-word weight stays: it separates nothing
MAX_TUNING_WORDS = 128  # longer sentences would be decoded in parts, which have no common derivation


@dataclass(frozen=True)
class TuningText:
    """Development sentences of all sets, with the mixture of their domain each.

    mixture: [B, 4, D]; lm_mixture: [B, D].
    """

    lines: list[str]
    references: list[tuple[str]]  # in the model's tokens, as n-best lists are
    mixture: np.ndarray
    lm_mixture: np.ndarray


def tuning_stage(
    store: Store, model: Model, inputs: Mapping[str, str], dev: Mapping[str, BitextSource], tuner: Any, size: int
) -> WeightsConfig:
    """Tuned weights; an interrupted run goes on after its last whole iteration.

    inputs: fingerprints of all that the model was made from. tuner: a configuration of `jaxsmt.tune`.
    size: length of the n-best lists.
    """
    if not dev:
        raise UserError("tuning needs a development set: name one, +corpus.dev.NAME.source=… and .target=…")

    settings = {
        "tuner": [type(tuner).__name__, dataclasses.asdict(tuner)],
        "size": size,
        "search": dataclasses.asdict(model.search),
        "start": dataclasses.asdict(model.weights),
    }
    files = {
        f"dev {name} {n}": fingerprint_input(path) for name, spec in dev.items() for n, path in enumerate(spec.files)
    }
    inputs = {**inputs, **files}
    progress = store.folder.parent / "tuning" / store.folder_of("tune", settings, inputs).name

    def build(folder: Path) -> Counts:
        result = tune_model(model, tuning_text(model, dev), tuner, size, progress)
        weights = weights_of(result.weights, model.weights)
        write_text(folder / WEIGHTS, json.dumps(dataclasses.asdict(weights), indent=1) + "\n")
        write_text(folder / TABLE, table(result))
        return {"iterations": len(result.iterations)}

    artefact = store.run("tune", settings, inputs, build)
    shutil.rmtree(progress, ignore_errors=True)
    return load_weights(artefact)


def load_weights(artefact: Artefact) -> WeightsConfig:
    """What `tuning_stage` found."""
    values = json.loads((artefact.folder / WEIGHTS).read_text(encoding="utf-8"))
    return WeightsConfig(**{**values, "rule": tuple(values["rule"])})


def tune_model(model: Model, text: TuningText, tuner: Any, size: int, folder: Path | None = None) -> TuningResult:
    """Decodes, merges and optimises until the weights stay; the decoder stays loaded and compiled."""
    first = model.mixture(), model.lm_mixture()
    translator = make_line_translator(model, *first, model.search, model.weights.of_search)

    def decode_fn(vector: np.ndarray) -> NBestLists:
        return decode_lists(translator, text, weights_of(vector, model.weights).of_search, size)

    return tune(decode_fn, text.references, vector_of(model.weights), make_tuner(tuner), LoopConfig(), folder)


def tuning_text(model: Model, dev: Mapping[str, BitextSource]) -> TuningText:
    """The development sets one after the other, without pairs that have an empty or a very long side."""
    lines: list[str] = []
    references: list[tuple[str]] = []
    domains: list[str | None] = []
    for name, spec in dev.items():
        for source, target in read_bitext(spec):
            tokens = model.target.preprocess(target)
            if tokens and 0 < len(model.source.preprocess(source)) <= MAX_TUNING_WORDS:
                lines.append(source)
                references.append((" ".join(tokens),))
                domains.append(name if name in model.names else None)
    mixtures = {domain: (model.mixture(domain), model.lm_mixture(domain)) for domain in set(domains)}
    return TuningText(
        lines,
        references,
        np.stack([mixtures[domain][0] for domain in domains]),
        np.stack([mixtures[domain][1] for domain in domains]),
    )


def decode_lists(translator: LineTranslator, text: TuningText, weights: SearchWeights, size: int) -> NBestLists:
    """n-best lists of the development sentences under log-linear weights, with exact features."""
    lm_mixture = None if translator.lm_mixture is None else text.lm_mixture
    request, tokens = translator.request(text.lines)
    request = dataclasses.replace(request, weights=weights, mixture=text.mixture, lm_mixture=lm_mixture)
    lists = nbest(translator.decoder, request, size)
    flat = [(row, derivation) for row, found in enumerate(lists) for derivation in found]
    rows = [row for row, _ in flat]
    found = rescore(translator.decoder, request, [derivation for _, derivation in flat], rows)
    features = np.column_stack([found.rule, *(getattr(found, name) for name in _SCALARS)])
    outputs = [" ".join(translator.output(tokens[row], derivation.tokens)) for row, derivation in flat]
    names = [*(f"rule{n}" for n in range(found.rule.shape[1])), *_SCALARS]
    return nbest_from_rows(outputs, features, np.array(rows), len(lists), names, found.score)


def vector_of(weights: WeightsConfig) -> np.ndarray:
    """[F] the weights that are tuned, in the order of the features."""
    return np.array([*weights.rule, *(getattr(weights, name) for name in _SCALARS)])


def weights_of(vector: np.ndarray, start: WeightsConfig) -> WeightsConfig:
    """The weights with tuned values, scaled to the size of those they started from: the unknown-word weight stays."""
    scaled = np.asarray(vector) * np.abs(vector_of(start)).sum() / max(np.abs(vector).sum(), 1e-30)
    values: Sequence[float] = [round(float(value), 9) for value in scaled]
    num_rules = len(start.rule)
    return dataclasses.replace(
        start, rule=tuple(values[:num_rules]), **dict(zip(_SCALARS, values[num_rules:], strict=True))
    )
