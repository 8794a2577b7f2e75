"""Log-linear weights as the vector that tuners, votes and members of a bag work on."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxsmt.search.nbest.rescoring import FeatureVectors
from jaxsmt.search.weights import SearchWeights

TUNED_SCALARS = ("lm", "word_penalty", "phrase_penalty", "glue")  # the unknown-word weight stays: it separates nothing
SWAP = "swap"


def tuned_scalars(weights: SearchWeights) -> tuple[str, ...]:
    """Names of the weights that are tuned besides those of rules; that of swaps is 0 where nothing is swapped."""
    return (*TUNED_SCALARS, SWAP) if weights.swap else TUNED_SCALARS


def feature_names(weights: SearchWeights) -> tuple[str, ...]:
    """Of the weights that are tuned."""
    return (*(f"rule{n}" for n in range(len(weights.rule))), *tuned_scalars(weights))


def feature_rows(found: FeatureVectors, weights: SearchWeights) -> np.ndarray:
    """[H, F]: the features of derivations that have a tuned weight, in the order of their names."""
    return np.column_stack([found.rule, *(getattr(found, name) for name in tuned_scalars(weights))])


def vector_of(weights: SearchWeights) -> np.ndarray:
    """[F] the weights that are tuned, in the order of the features."""
    return np.array([*weights.rule, *(getattr(weights, name) for name in tuned_scalars(weights))])


def weights_of(vector: np.ndarray, start: SearchWeights) -> SearchWeights:
    """The weights with tuned values, scaled to the size of those they started from: the unknown-word weight stays."""
    scaled = np.asarray(vector) * np.abs(vector_of(start)).sum() / max(np.abs(vector).sum(), 1e-30)
    values: Sequence[float] = [round(float(value), 9) for value in scaled]
    num_rules = len(start.rule)
    return dataclasses.replace(
        start, rule=tuple(values[:num_rules]), **dict(zip(tuned_scalars(start), values[num_rules:], strict=True))
    )
