"""`jaxsmt adapt-lists`: translations chosen from n-best lists of any system, adapted to little text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from jaxsmt.adapt.bagging import best_of_lists
from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.rerank import rerank
from jaxsmt.adapt.voting import chosen_texts, merge_members, vote
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.evaluate.references import read_references
from jaxsmt.pipeline.config.adapters import BaggingStageConfig, BpaStageConfig, adapter_config
from jaxsmt.pipeline.stages.bagging import tuned_weights
from jaxsmt.pipeline.standard import write_lines
from jaxsmt.text.streams import read_lines
from jaxsmt.tune.lists import padded_lists
from jaxsmt.tune.nbest import NBestLists, merge_nbest, named_weights, read_nbest, with_features
from jaxsmt.tune.scoring import score_lists

References = list[tuple[str, ...]]


def adapt_lists(config: DictConfig) -> None:
    """Chooses and writes translations."""
    settings = adapter_config(config.adapt)
    ways: dict[str, Callable[[DictConfig, Any], list[str]]] = {"bpa": _reranked, "bagging": _bagged}
    if config.adapt.name not in ways:
        raise UserError(f"adapt={config.adapt.name} cannot work on lists: choose adapt=bpa or adapt=bagging")
    texts = ways[config.adapt.name](config, settings)
    if config.output is not None and config.nbest:
        write_lines(config.output, texts)


def _reranked(config: DictConfig, settings: BpaStageConfig) -> list[str]:
    """Bayesian predictive adaptation: the lists after reranking."""
    known, references = _with_references(config, "adaptation")
    if not config.nbest:
        raise UserError("there is nothing to rerank: name the lists to choose translations from, nbest=[…]")
    weights = named_weights(known, _read_weights(config.weights_file))
    lists = best_of_lists(with_features(_merged(config.nbest), known.feature_names), weights, settings.nbest)
    known = best_of_lists(known, weights, settings.nbest)
    votes, info = adapt(score_lists(known, references, with_ter=settings.oracle == "ter"), weights, settings)
    log.info("%.0f effective samples", info.effective_size)
    if advice := info.advice():
        log.warning("%s", advice)
    padded = padded_lists(lists.features, lists.offsets, feature_names=lists.feature_names)
    found = rerank(padded, votes)
    return chosen_texts(lists, np.where(found.index >= 0, found.index + lists.offsets[:-1], -1))


def _bagged(config: DictConfig, settings: BaggingStageConfig) -> list[str]:
    """Bagging: members tuned on the development lists vote on the others."""
    known, references = _with_references(config, "dev")
    if not config.nbest and config.member_weights is None:
        raise UserError("there is nothing to do: name lists to vote on, nbest=[…], or a folder, member_weights=…")
    start = named_weights(known, _read_weights(config.weights_file))
    scored = score_lists(known, references, with_ter=settings.mert.metric == "ter")
    theta = tuned_weights(scored, start, settings)  # [M, F]
    if config.member_weights is not None:
        _write_members(Path(config.member_weights), known.feature_names, theta)
    if not config.nbest:
        return []
    merged = merge_members(_lists_of_members(config.nbest, known.feature_names, theta, settings.nbest))
    return chosen_texts(merged.lists, vote(merged, theta).chosen)


def _lists_of_members(paths: Sequence[str], names: Sequence[str], theta: np.ndarray, size: int) -> list[NBestLists]:
    """One list for each member: its own, or what it finds best in all that there is."""
    if 1 < len(paths) == len(theta):
        parts = [read_nbest(path) for path in paths]
        num = max(len(part) for part in parts)
        own = parts if all(len(part) == num for part in parts) else [read_nbest(path, num) for path in paths]
        return [with_features(part, names) for part in own]
    lists = with_features(_merged(paths), names)
    return [best_of_lists(lists, row, size) for row in theta]


def _with_references(config: DictConfig, part: str) -> tuple[NBestLists, References]:
    """The lists <part>_nbest, merged, and their references."""
    paths, references = config[f"{part}_nbest"], config[f"{part}_references"]
    if not paths or not references:
        raise UserError(
            f"adapt={config.adapt.name} needs lists and references of known sentences: "
            f"name {part}_nbest=[…] and {part}_references=[…]"
        )
    goals = read_references(list(references))
    return _merged(paths, len(goals)), goals


def _merged(paths: Sequence[str], num_sentences: int | None = None) -> NBestLists:
    parts = [read_nbest(path, num_sentences) for path in paths]
    num = max(len(part) for part in parts)
    if any(len(part) < num for part in parts):  # the last sentences of some list are missing
        parts = [read_nbest(path, num) for path in paths]
    return merge_nbest(parts)


def _read_weights(path: str | None) -> dict[str, float]:
    if path is None:
        raise UserError("the weights that the lists were decoded with are not given: name their file, weights_file=…")
    weights = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            name, value = line.split()
            weights[name] = float(value)
        except ValueError:
            raise UserError(f"'{path}' line {number} is '{line}': give a feature name and a number a line") from None
    return weights


def _write_members(folder: Path, names: Sequence[str], theta: np.ndarray) -> None:
    for number, row in enumerate(theta, 1):
        lines = [f"{name} {value:.9g}\n" for name, value in zip(names, row, strict=True)]
        write_text(folder / f"member{number}.txt", "".join(lines))
