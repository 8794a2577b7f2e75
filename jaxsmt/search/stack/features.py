"""Distortion and lexicalised reordering of finished derivations, from scratch."""

from typing import NamedTuple

import numpy as np

from jaxsmt.search.rules.model import RuleModel, num_orientations
from jaxsmt.search.stack.hypotheses import MONO, NO_START, OTHER, SWAPPED
from jaxsmt.search.weights import NUM_ORIENTATIONS


class Phrases(NamedTuple):
    """The phrases of H derivations, each derivation's in the order of the output; [T] each.

    owner: the derivation, ascending; pair: rule of the grammar, -1 for what is none; start, end: the source span.
    """

    owner: np.ndarray
    pair: np.ndarray
    start: np.ndarray
    end: np.ndarray


def reordering_features(
    rules: RuleModel, phrases: Phrases, profile: np.ndarray, mixture: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Distortion [H] and log-probabilities of orientations [H, O], float64, as in `SearchWeights`.

    profile: [H] the derivations' rows of `mixture`. A phrase's orientation to the one before it counts for both: once
    among its own probabilities, once among those of the one before for the next phrase. Before the first phrase there
    is none, nothing is counted at the end, and what is no rule of the grammar has no orientations.
    """
    owner, pair, start, end = phrases
    num = len(profile)
    is_first = np.diff(owner, prepend=-1) != 0
    last_end = np.where(is_first, 0, np.roll(end, 1))
    jumps = np.bincount(owner, np.abs(start - last_end), num)
    orientation = orientations_of(phrases)
    logs = _orientations(rules, pair, profile[owner], mixture)
    sums, place = np.zeros((num, logs.shape[1])), np.arange(len(owner))
    later = np.flatnonzero(~is_first)
    for first in range(0, logs.shape[1], NUM_ORIENTATIONS):
        before, after = first + orientation, first + 3 + orientation[later]
        np.add.at(sums, (owner, before), logs[place, before])
        np.add.at(sums, (owner[later], after), logs[later - 1, after])
    return -jumps.astype(np.float64), sums


def orientations_of(phrases: Phrases) -> np.ndarray:
    """[T] MONO, SWAPPED or OTHER: how each phrase stands to the one before it, or to the beginning of the sentence."""
    owner, _, start, end = phrases
    is_first = np.diff(owner, prepend=-1) != 0
    last_end = np.where(is_first, 0, np.roll(end, 1))
    last_start = np.where(is_first, NO_START, np.roll(start, 1))
    return np.where(start == last_end, MONO, np.where(end == last_start, SWAPPED, OTHER))


def _orientations(rules: RuleModel, pair: np.ndarray, profile: np.ndarray, mixture: np.ndarray | None) -> np.ndarray:
    """[T, O] float64; each (pair, profile) is asked for once."""
    logs = np.zeros((len(pair), num_orientations(rules)))
    known = np.flatnonzero(pair >= 0)
    num = int(profile.max(initial=0)) + 1
    keys, place = np.unique(pair[known] * num + profile[known], return_inverse=True)
    logs[known] = rules.orientations(keys // num, keys % num, mixture)[place.reshape(-1)]
    return logs
