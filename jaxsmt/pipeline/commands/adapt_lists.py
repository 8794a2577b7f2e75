"""`jaxsmt adapt-lists`: translations chosen from n-best lists of any system, adapted to little text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from jaxsmt.adapt.bagging import best_of_lists
from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.online import online_bpa, rerank_online
from jaxsmt.adapt.bpa.rerank import rerank
from jaxsmt.adapt.voting import chosen_texts, merge_members, vote
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.evaluate.references import read_references
from jaxsmt.lm.rescoring import Rescorer, open_rescorer
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.checking.outputs import check_folders, check_outputs
from jaxsmt.pipeline.config.adapters import BaggingStageConfig, BpaStageConfig, adapter_config
from jaxsmt.pipeline.stages.bagging import tuned_weights
from jaxsmt.pipeline.standard import write_lines
from jaxsmt.text.streams import read_lines
from jaxsmt.tune.lists import padded_lists
from jaxsmt.tune.nbest import NBestLists, merge_nbest, named_weights, read_nbest, with_features
from jaxsmt.tune.rescoring import rescored
from jaxsmt.tune.scoring import score_lists

References = list[tuple[str, ...]]


def adapt_lists(config: DictConfig) -> None:
    """Chooses and writes translations."""
    settings = adapter_config(config.adapt)
    lists = ("nbest", "references", "adaptation_nbest", "adaptation_references", "dev_nbest", "dev_references")
    check_readable({key: config[key] for key in (*lists, "weights_file")})
    check_outputs({"output": config.output if config.nbest else None})
    check_folders({"member_weights": config.member_weights})
    name, reader = config.adapt.name, _Reader(open_rescorer(list(config.rescore.kenlm)))
    if config.online and name != "bpa":
        raise UserError(f"adapt={name} cannot learn sentence by sentence: choose adapt=bpa or online=false")
    ways: dict[str, Callable[[DictConfig, Any, _Reader], list[str]]] = {
        "bpa": _reranked_online if config.online else _reranked,
        "bagging": _bagged,
    }
    if name not in ways:
        raise UserError(f"adapt={name} cannot work on lists: choose adapt=bpa or adapt=bagging")
    texts = ways[name](config, settings, reader)
    if config.output is not None and config.nbest:
        write_lines(config.output, texts)


@dataclass(frozen=True)
class _Reader:
    """Reads n-best lists; all that it reads have the features of the rescorer."""

    rescorer: Rescorer

    def read(self, path: str, num_sentences: int | None = None) -> NBestLists:
        return rescored(read_nbest(path, num_sentences), self.rescorer)

    def parts(self, paths: Sequence[str], num_sentences: int | None = None) -> list[NBestLists]:
        """The lists of each file; all have as many sentences as the longest."""
        parts = [self.read(path, num_sentences) for path in paths]
        num = max(len(part) for part in parts)
        short = any(len(part) < num for part in parts)  # the last sentences of some list are missing
        return [self.read(path, num) for path in paths] if short else parts

    def merged(self, paths: Sequence[str], num_sentences: int | None = None) -> NBestLists:
        return merge_nbest(self.parts(paths, num_sentences))


def _reranked(config: DictConfig, settings: BpaStageConfig, reader: _Reader) -> list[str]:
    """Bayesian predictive adaptation: the lists after reranking."""
    known, references = _with_references(config, "adaptation", reader)
    _check_lists(config)
    weights = named_weights(known, read_weights(config.weights_file))
    lists = best_of_lists(with_features(reader.merged(config.nbest), known.feature_names), weights, settings.nbest)
    known = best_of_lists(known, weights, settings.nbest)
    votes, info = adapt(score_lists(known, references, with_ter=settings.oracle == "ter"), weights, settings)
    log.info("%.0f effective samples", info.effective_size)
    if advice := info.advice():
        log.warning("%s", advice)
    padded = padded_lists(lists.features, lists.offsets, feature_names=lists.feature_names)
    return _texts_at(lists, rerank(padded, votes).index)


def _reranked_online(config: DictConfig, settings: BpaStageConfig, reader: _Reader) -> list[str]:
    """Bayesian predictive adaptation sentence by sentence: each list after reranking with what came before it."""
    _check_lists(config)
    if not config.references:
        raise UserError("online=true learns from references of the lists, which are not given: name references=[…]")
    goals = read_references(list(config.references))
    lists = reader.merged(config.nbest, len(goals))
    weights = named_weights(lists, read_weights(config.weights_file))
    state = online_bpa(weights, settings)
    with_ter = settings.oracle == "ter"
    if config.adaptation_nbest or config.adaptation_references:
        known, references = _with_references(config, "adaptation", reader)
        known = best_of_lists(with_features(known, lists.feature_names), weights, settings.nbest)
        state = state.update(score_lists(known, references, with_ter))
    lists = best_of_lists(lists, weights, settings.nbest)
    return _texts_at(lists, rerank_online(state, score_lists(lists, goals, with_ter))[0])


def _check_lists(config: DictConfig) -> None:
    if not config.nbest:
        raise UserError("there is nothing to rerank: name the lists to choose translations from, nbest=[…]")


def _texts_at(lists: NBestLists, index: np.ndarray) -> list[str]:
    """The translations at places in the lists [B], −1 for none."""
    return chosen_texts(lists, np.where(index >= 0, index + lists.offsets[:-1], -1))


def _bagged(config: DictConfig, settings: BaggingStageConfig, reader: _Reader) -> list[str]:
    """Bagging: members tuned on the development lists vote on the others."""
    known, references = _with_references(config, "dev", reader)
    if not config.nbest and config.member_weights is None:
        raise UserError("there is nothing to do: name lists to vote on, nbest=[…], or a folder, member_weights=…")
    start = named_weights(known, read_weights(config.weights_file))
    scored = score_lists(known, references, with_ter=settings.mert.metric == "ter")
    theta = tuned_weights(scored, start, settings)  # [M, F]
    if config.member_weights is not None:
        _write_members(Path(config.member_weights), known.feature_names, theta)
    if not config.nbest:
        return []
    parts = [with_features(part, known.feature_names) for part in reader.parts(config.nbest)]
    merged = merge_members(_lists_of_members(parts, theta, settings.nbest))
    return chosen_texts(merged.lists, vote(merged, theta).chosen)


def _lists_of_members(parts: Sequence[NBestLists], theta: np.ndarray, size: int) -> list[NBestLists]:
    """One list for each member: its own, or what it finds best in all that there is."""
    if 1 < len(parts) == len(theta):
        return list(parts)
    lists = merge_nbest(parts)
    return [best_of_lists(lists, row, size) for row in theta]


def _with_references(config: DictConfig, part: str, reader: _Reader) -> tuple[NBestLists, References]:
    """The lists <part>_nbest, merged, and their references."""
    paths, references = config[f"{part}_nbest"], config[f"{part}_references"]
    if not paths or not references:
        raise UserError(
            f"adapt={config.adapt.name} needs lists and references of known sentences: "
            f"name {part}_nbest=[…] and {part}_references=[…]"
        )
    goals = read_references(list(references))
    return reader.merged(paths, len(goals)), goals


def read_weights(path: str | None) -> dict[str, float]:
    if path is None:
        raise UserError("the weights that the lists were decoded with are not given: name their file, weights_file=…")
    weights = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            name, value = line.split()
            weights[name] = float(value)
            if not math.isfinite(weights[name]):
                raise ValueError
        except ValueError:
            raise UserError(f"'{path}' line {number} is '{line}': give a feature name and a number a line") from None
    return weights


def _write_members(folder: Path, names: Sequence[str], theta: np.ndarray) -> None:
    for number, row in enumerate(theta, 1):
        lines = [f"{name} {value:.9g}\n" for name, value in zip(names, row, strict=True)]
        write_text(folder / f"member{number}.txt", "".join(lines))
