"""The bagging stage: systems tuned on bootstrap samples of the development sentences (Song, Mi, Lü & Liu 2012)."""

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from jaxsmt.adapt.bagging import bootstrap_multiplicities, restarted_members, tune_members
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.model.model import Model
from jaxsmt.model.reranking.bagging import Bag, for_members
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of, weights_of
from jaxsmt.pipeline.config.adapters import BaggingStageConfig
from jaxsmt.pipeline.stages.texts import bitext_inputs
from jaxsmt.pipeline.stages.tuning import TuningText, as_nbest_lists, decode_lists, model_settings, tuning_text
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.lists import TuningLists, list_score
from jaxsmt.tune.nbest import NBestLists, merge_nbest
from jaxsmt.tune.scoring import score_lists

_ROWS_AT_ONCE = 16_384  # sentences × members in one request, so that lists stay below some gigabytes


@dataclasses.dataclass(frozen=True)
class Round:
    """number: how often members have decoded; lists: all hypotheses so far; weights: [M, F] tuned on them."""

    number: int
    lists: NBestLists
    weights: np.ndarray


def bagging_stage(
    store: Store, model: Model, inputs: Mapping[str, str], dev: Mapping[str, BitextSource], config: BaggingStageConfig
) -> Artefact:
    """Weights of all members; an interrupted run goes on after its last whole round."""
    settings = {**model_settings(model), "bagging": dataclasses.asdict(config)}
    inputs = {**inputs, **bitext_inputs(dev)}
    progress = store.folder.parent / "tuning" / store.folder_of("bagging", settings, inputs).name

    def build(folder: Path) -> Counts:
        text = tuning_text(model, dev)
        if not len(text):
            raise UserError("no development sentence can be tuned on: all are empty or too long, give others")
        found = tuned_members(model, text, config, progress)
        Bag(found.weights, feature_names(model.weights, model.lm_names), config.nbest, config.sizes).save(folder)
        return {"members": len(found.weights), "hypotheses": len(found.lists.texts)}

    artefact = store.run("bagging", settings, inputs, build)
    shutil.rmtree(progress, ignore_errors=True)
    return artefact


def tuned_members(model: Model, text: TuningText, config: BaggingStageConfig, folder: Path) -> Round:
    """Tunes members on the lists of the model, then as often as asked for on their own lists too."""
    translator = plain_translator(model)
    last = _load(folder, feature_names(model.weights, model.lm_names))
    for number in range(0 if last is None else last.number + 1, config.rounds + 1):
        if last is None:
            lists = decode_lists(translator, text, model.weights, config.nbest)
        else:
            members = [weights_of(theta, model.weights) for theta in last.weights]
            lists = merge_nbest([last.lists, *decode_members(translator, text, members, config.nbest)])
        scored = score_lists(lists, text.references, with_ter=config.mert.metric == "ter")
        weights = tuned_weights(scored, vector_of(model.weights), config)
        mean = np.mean([list_score(scored, theta, config.mert.metric) for theta in weights])
        log.info("round %d: %d hypotheses, mean objective of members %.4f", number, len(lists.texts), mean)
        last = Round(number, lists, weights)
        _save(folder, last)
    assert last is not None
    return last


def tuned_weights(lists: TuningLists, start: np.ndarray, config: BaggingStageConfig) -> np.ndarray:
    """[M, F] weights of the members."""
    if config.differ_by == "starts":
        return restarted_members(lists, config.members, dataclasses.replace(config.mert, seed=config.seed))
    counts = bootstrap_multiplicities(len(lists), config.members, config.seed)
    return tune_members(lists, start, counts, config.mert)


def decode_members(
    translator: PlainTranslator, text: TuningText, members: Sequence[SearchWeights], size: int
) -> list[NBestLists]:
    """The n-best lists of every member."""
    request, tokens = translator.request(text.source, text.profiles), list(text.source.tokens)
    step = max(1, _ROWS_AT_ONCE // len(tokens))
    found: list[NBestLists] = []
    for start in range(0, len(members), step):
        some = members[start : start + step]
        arrays = nbest_arrays(translator.decoder, for_members(request, some), size)
        found += lists_of_members(as_nbest_lists(translator, arrays, tokens * len(some)), len(some))
    return found


def lists_of_members(lists: NBestLists, num_members: int) -> list[NBestLists]:
    """Cuts the lists of a request that `for_members` made into those of each member."""
    size = len(lists) // num_members
    return [_sentences(lists, number * size, (number + 1) * size) for number in range(num_members)]


def _sentences(lists: NBestLists, first: int, end: int) -> NBestLists:
    """The lists of sentences first, first + 1, …, end − 1."""
    part = slice(int(lists.offsets[first]), int(lists.offsets[end]))
    return dataclasses.replace(
        lists,
        texts=lists.texts[part],
        features=lists.features[part],
        scores=lists.scores[part],
        offsets=lists.offsets[first : end + 1] - lists.offsets[first],
        extras=lists.extras[part],
    )


def _file(folder: Path, number: int) -> Path:
    return folder / f"round-{number}.safetensors"


def _save(folder: Path, done: Round) -> None:
    arrays = {
        "features": done.lists.features, "scores": done.lists.scores, "offsets": done.lists.offsets,
        "texts": np.frombuffer("\n".join(done.lists.texts).encode(), np.uint8), "weights": done.weights,
    }  # fmt: skip
    save_arrays(_file(folder, done.number), arrays)
    if done.number:
        _file(folder, done.number - 1).unlink(missing_ok=True)


def _load(folder: Path, names: tuple[str, ...]) -> Round | None:
    """The last round that was saved."""
    numbers = [int(path.stem.removeprefix("round-")) for path in folder.glob("round-*.safetensors")]
    if not numbers:
        return None
    arrays = {name: np.array(part) for name, part in open_arrays(_file(folder, max(numbers))).items()}
    texts = tuple(arrays["texts"].tobytes().decode().split("\n"))
    lists = NBestLists(
        texts, arrays["features"], arrays["scores"], arrays["offsets"], names, len(names), ((),) * len(texts)
    )
    return Round(max(numbers), lists, arrays["weights"])
