"""Profiles: what the sentences of a batch are scored with, each once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from jaxsmt.search.weights import SearchWeights


@dataclass(frozen=True)
class Profiles:
    """The distinct (w, λ, LM weights) of a batch; U of them.

    of_sentence: [B]; weights: arrays by profile; mixture: [U, ...] or None.
    lm_mixture: for each language model [U, D] or None.
    """

    of_sentence: np.ndarray
    weights: SearchWeights
    mixture: np.ndarray | None
    lm_mixture: tuple[np.ndarray | None, ...]

    def __len__(self) -> int:
        """U"""
        return len(self.weights.lm)

    def lm_scores(self, profile: np.ndarray, features: Sequence[np.ndarray]) -> np.ndarray:
        """[A] float32: the weighted sum, under profiles [A], of all language models' features, [A, F] each."""
        total, first = np.zeros(len(profile), np.float32), 0
        for values in features:
            weights = self.weights.lm[:, first : first + values.shape[1]]
            total += np.einsum("af,af->a", np.take(weights, profile, axis=0), values)
            first += values.shape[1]
        return total

    @property
    def start_score(self) -> np.ndarray:
        """[U] float64: the score of S → <s>, one rule and one word."""
        return self.weights.phrase_penalty.astype(np.float64) - self.weights.word_penalty


def distinct_profiles(
    weights: SearchWeights, mixture: np.ndarray | None, lm_mixture: Sequence[np.ndarray | None]
) -> Profiles:
    """weights: arrays by sentence [B, ...], mixture [B, ...], lm_mixture: for each language model [B, D] or None."""
    num = len(weights.lm)
    parts = [*(getattr(weights, field.name) for field in fields(weights)), mixture, *lm_mixture]
    columns = [np.asarray(part, np.float32).reshape(num, -1) for part in parts if part is not None]
    _, first, of_sentence = np.unique(np.concatenate(columns, 1), axis=0, return_index=True, return_inverse=True)
    taken = SearchWeights(**{field.name: getattr(weights, field.name)[first] for field in fields(weights)})
    return Profiles(
        of_sentence.reshape(-1),
        taken,
        None if mixture is None else mixture[first],
        tuple(None if part is None else part[first] for part in lm_mixture),
    )
