"""Adaptation with n-best lists in Moses' format, whichever system wrote them, as commands would want it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.bagging import (
    BaggingConfig,
    BaggingResult,
    best_of_lists,
    bootstrap_multiplicities,
    combine_members,
    tune_members,
)
from jaxsmt.adapt.bpa.adaptation import BpaInfo, adapt
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.rerank import Reranking, Votes, rerank
from jaxsmt.adapt.voting import MergedLists, chosen_texts, merge_members, vote
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import TuningLists, padded_lists
from jaxsmt.tune.nbest import NBestLists, read_nbest
from jaxsmt.tune.scoring import score_lists


@dataclass(frozen=True)
class BpaOutput:
    """texts: the chosen translations, empty where a list is; votes, info: of the adaptation; ranking: of the lists."""

    texts: list[str]
    votes: Votes
    info: BpaInfo
    ranking: Reranking


@dataclass(frozen=True)
class BaggingOutput:
    """texts: the chosen translations; weights: [M, F] of the members; result: scores, where there are references."""

    texts: list[str]
    weights: np.ndarray
    feature_names: tuple[str, ...]
    result: BaggingResult | None


def adapt_nbest_lists(
    adaptation: str | Path, references: Sequence[str | Path], test: str | Path, weights: Mapping[str, float],
    config: BpaConfig | None = None, output: str | Path | None = None,
) -> BpaOutput:  # fmt: skip
    """Bayesian predictive adaptation: reranks the lists of a test file after a few lists with references.

    weights: those that the lists were decoded with, by feature name; features that are not named have weight 0.
    references: one or more files, tokenised as the lists are. output: where to write the translations, one a line.
    """
    goals = read_references(references)
    known = read_nbest(adaptation, len(goals))
    unknown = with_features(read_nbest(test), known.feature_names)
    lists = score_lists(known, goals, with_ter=True)
    votes, info = adapt(lists, named_weights(known, weights), config)
    ranking = rerank(_unscored(unknown), votes)
    rows = np.where(ranking.index >= 0, ranking.index + unknown.offsets[:-1], -1)
    texts = chosen_texts(unknown, rows)
    _write_lines(output, texts)
    return BpaOutput(texts, votes, info, ranking)


def bag_nbest_lists(
    dev: str | Path, references: Sequence[str | Path], test: str | Path, weights: Mapping[str, float],
    config: BaggingConfig | None = None, mert_config: MertConfig | None = None,
    test_references: Sequence[str | Path] = (), output: str | Path | None = None,
) -> BaggingOutput:  # fmt: skip
    """Bagging without a decoder: members are tuned on bootstrap sets of the dev lists, and rerank the test lists.

    Each member's own n-best list are the hypotheses of a test list that it scores highest. weights: where tuning
    starts, by feature name.
    """
    config = config or BaggingConfig()
    goals = read_references(references)
    known = read_nbest(dev, len(goals))
    counts = bootstrap_multiplicities(len(goals), config.members, config.seed)
    lists = score_lists(known, goals, with_ter=(mert_config or MertConfig()).metric == "ter")
    theta = tune_members(lists, named_weights(known, weights), counts, mert_config)
    unknown = with_features(read_nbest(test), known.feature_names)
    member_lists = [best_of_lists(unknown, row, config.nbest) for row in theta]
    result, merged = None, merge_members(member_lists)
    if test_references:
        result = combine_members(member_lists, theta, read_references(test_references), config.sizes)
    texts = _voted(merged, theta)
    _write_lines(output, texts)
    return BaggingOutput(texts, theta, known.feature_names, result)


def _voted(merged: MergedLists, theta: np.ndarray) -> list[str]:
    return chosen_texts(merged.lists, vote(merged, theta).chosen)


def _unscored(lists: NBestLists) -> TuningLists:
    return padded_lists(lists.features, lists.offsets, feature_names=lists.feature_names)


def with_features(lists: NBestLists, names: Sequence[str]) -> NBestLists:
    """The lists with the named features alone, in that order; sparse ones that they lack are 0 everywhere.

    A feature that adaptation has never seen cannot be weighted, so it is left out.
    """
    column = {name: place for place, name in enumerate(lists.feature_names)}
    dense = lists.feature_names[: lists.num_dense]
    if not set(dense) <= set(names):
        missing = next(name for name in dense if name not in set(names))
        raise UserError(f"feature '{missing}' is in one n-best list and not in the other: make both with one system")
    features = np.zeros((len(lists.texts), len(names)))
    for place, name in enumerate(names):
        if name in column:
            features[:, place] = lists.features[:, column[name]]
    return NBestLists(
        lists.texts, features, lists.scores, lists.offsets, tuple(names), lists.num_dense, lists.extras
    )  # fmt: skip


def named_weights(lists: NBestLists, weights: Mapping[str, float]) -> np.ndarray:
    """Weights by name as [F]."""
    wrong = sorted(set(weights) - set(lists.feature_names))
    if wrong:
        known = ", ".join(lists.feature_names)
        raise UserError(f"weight '{wrong[0]}' is no feature of the lists, which have {known}: check its name")
    return np.array([weights.get(name, 0.0) for name in lists.feature_names])


def read_references(paths: Sequence[str | Path]) -> list[tuple[str, ...]]:
    """For each sentence its references, one from each file."""
    columns = []
    for path in map(Path, paths):
        if not path.is_file():
            raise UserError(f"reference file '{path}' does not exist: check the path")
        columns.append(path.read_text(encoding="utf-8").splitlines())
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise UserError(
            f"the reference files have {lengths or 'no'} lines: give at least one, and as many lines in each"
        )
    return list(zip(*columns, strict=True))


def _write_lines(path: str | Path | None, texts: Sequence[str]) -> None:
    if path is not None:
        write_text(path, "".join(f"{text}\n" for text in texts))
