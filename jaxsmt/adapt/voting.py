"""System combination by votes on merged n-best lists (Song, Mi, Lü & Liu 2012, section 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.tune.nbest import NBestLists, first_of_equals, merge_with_rows


@dataclass(frozen=True)
class MergedLists:
    """The different hypotheses of M member systems; two are equal only if string and features are.

    lists: K hypotheses, those of a sentence in the order of the members that first had them.
    members: [K] int64, the first member that had it: those of the first m members are the ones below m.
    """

    lists: NBestLists
    members: np.ndarray


@dataclass(frozen=True)
class Combination:
    """scores: [K] float64, of the merged hypotheses; −inf where no member of the bag had it.
    chosen: [B] int64, the row of the best hypothesis of each sentence, −1 where there is none; of equal ones the first.
    """

    scores: np.ndarray
    chosen: np.ndarray


def merge_members(member_lists: Sequence[NBestLists]) -> MergedLists:
    """Merges the n-best lists of the members, over the same sentences; their own totals are dropped."""
    if not member_lists:
        raise UserError("there are no n-best lists to combine: give those of at least one member")
    merged, rows = merge_with_rows(member_lists)
    ends = np.cumsum([len(lists.texts) for lists in member_lists])
    return MergedLists(replace(merged, scores=np.zeros(len(rows))), np.searchsorted(ends, rows, side="right"))


def different_hypotheses(sentences: np.ndarray, texts: Sequence[str], features: np.ndarray) -> np.ndarray:
    """[K'] int64: the places of different hypotheses among K, sentence by sentence; of equal ones the first.

    sentences: [K]; features: [K, F]. Two hypotheses are equal if sentence, text and features are.
    """
    kept = first_of_equals(sentences, texts, features)
    return kept[np.argsort(sentences[kept], kind="stable")]


def aligned_weights(lists: NBestLists, weights: np.ndarray, feature_names: Sequence[str] | None) -> np.ndarray:
    """Members' weights [M, F'] of the named features as [M, F] of the lists' features; 0 for those not named."""
    weights = np.atleast_2d(np.asarray(weights, np.float64))
    names = tuple(feature_names or lists.feature_names)
    if weights.shape[1] != len(names):
        raise UserError(f"members have {weights.shape[1]} weights for {len(names)} features: give one for each")
    column = {name: place for place, name in enumerate(lists.feature_names)}
    unknown = [name for name in names if name not in column]
    if unknown and np.any(weights[:, [names.index(name) for name in unknown]]):
        raise UserError(f"members have a weight for '{unknown[0]}', which is no feature of the n-best lists: check it")
    aligned = np.zeros((len(weights), len(column)))
    for place, name in enumerate(names):
        if name in column:
            aligned[:, column[name]] = weights[:, place]
    return aligned


def vote(merged: MergedLists, weights: np.ndarray, feature_names: Sequence[str] | None = None) -> Combination:
    """score(c) = Σ_t θ_t · feat(c) over the first M members, weights [M, F], on what these members had."""
    theta = aligned_weights(merged.lists, weights, feature_names)
    scores = summed_votes(merged.lists.features, merged.members, theta)
    return Combination(scores, best_rows(scores, merged.lists.offsets))


def summed_votes(features: np.ndarray, members: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """[K] float64: Σ_t θ_t · features over the members θ [M, F]; −inf where none of them had the hypothesis.

    features: [K, F]; members: [K], the first member that had each hypothesis.
    """
    return np.where(members < len(theta), features @ theta.sum(0), -np.inf)


def best_rows(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """[B] int64: the first row of highest score [K] of each sentence; −1 where no row is above −inf."""
    chosen = np.full(len(offsets) - 1, -1)
    filled = np.flatnonzero(np.diff(offsets) > 0)
    if not len(filled):
        return chosen
    starts = offsets[filled]
    highest = np.maximum.reduceat(scores, starts)
    is_best = np.flatnonzero((scores == np.repeat(highest, np.diff(offsets)[filled])) & (scores > -np.inf))
    first = np.searchsorted(is_best, starts)
    has = highest > -np.inf
    chosen[filled[has]] = is_best[first[has]]
    return chosen


def chosen_texts(lists: NBestLists, chosen: np.ndarray) -> list[str]:
    """The translations of rows [B]; empty where there is none."""
    return [lists.texts[row] if row >= 0 else "" for row in chosen.tolist()]
