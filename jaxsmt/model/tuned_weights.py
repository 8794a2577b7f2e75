"""Log-linear weights as the vector that tuners, votes and members of a bag work on; and as mixtures need them."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxsmt.common.norms import l1_norm
from jaxsmt.model.mixing import FILL_UP, LOG_LINEAR, MixingConfig
from jaxsmt.search.weights import OWN_FEATURES, SearchWeights

if TYPE_CHECKING:
    from jaxsmt.search.nbest.rescoring import FeatureVectors
    from jaxsmt.tm.provenance import Provenance

TUNED = ("rule", "lm", "word_penalty", "phrase_penalty")  # the unknown-word weight stays: it separates nothing


def tuned_fields(weights: SearchWeights) -> tuple[str, ...]:
    """Names of the fields of `SearchWeights` that are tuned; those of features that a search has not are 0."""
    return (*TUNED, *(name for name in OWN_FEATURES if np.any(getattr(weights, name))))


def feature_names(weights: SearchWeights, lm_names: Sequence[str]) -> tuple[str, ...]:
    """Of the weights that are tuned; those of a vector are numbered, but for features of language models."""
    names: list[str] = []
    for name in tuned_fields(weights):
        value = np.asarray(getattr(weights, name))
        numbered = [name] if value.ndim == 0 else [f"{name}{number}" for number in range(len(value))]
        names += lm_names if name == "lm" else numbered
    return tuple(names)


def feature_rows(found: "FeatureVectors", weights: SearchWeights) -> np.ndarray:
    """[H, F]: the features of derivations that have a tuned weight, in the order of their names."""
    return np.column_stack([getattr(found, name) for name in tuned_fields(weights)])


def vector_of(weights: SearchWeights) -> np.ndarray:
    """[F] the weights that are tuned, in the order of the features."""
    return np.concatenate([np.atleast_1d(getattr(weights, name)) for name in tuned_fields(weights)])


def weights_of(vector: np.ndarray, start: SearchWeights) -> SearchWeights:
    """The weights with tuned values, scaled to the size of those they started from: the unknown-word weight stays."""
    values, changes = list(_scaled(vector, vector, start)), {}
    for name in tuned_fields(start):
        size = np.size(getattr(start, name))
        taken, values = values[:size], values[size:]
        changes[name] = tuple(taken) if np.ndim(getattr(start, name)) else taken[0]
    return dataclasses.replace(start, **changes)


def weights_and_more(vector: np.ndarray, start: SearchWeights) -> tuple[SearchWeights, tuple[float, ...]]:
    """`weights_of` the first values of a vector [F + M], and the M behind them, which are scaled by the same factor."""
    first, more = np.split(np.asarray(vector), [len(vector_of(start))])
    return weights_of(first, start), _scaled(more, first, start)


def fitting_weights(
    weights: SearchWeights, config: MixingConfig, num_components: int, provenance: "Provenance | None" = None
) -> SearchWeights:
    """Weights of the four features as weights of what the operation makes of them, which give about the same scores.

    Features of where rules were seen have weights of 0 before tuning.
    """
    rule, reordering = np.array(weights.rule), np.array(weights.reordering)
    if config.operation == LOG_LINEAR:
        rule, reordering = (np.tile(part, num_components) / num_components for part in (rule, reordering))
    elif config.operation == FILL_UP:
        rule = np.concatenate([rule, np.zeros(num_components - 1)])
    elif config.is_ensemble:
        rule = np.array([norm_of(weights)])
    if provenance is not None:
        rule = np.concatenate([rule, np.zeros(provenance.num_features(num_components))])
    return dataclasses.replace(weights, rule=tuple(rule.tolist()), reordering=tuple(reordering.tolist()))


def normalised_rule(weights: SearchWeights) -> tuple[float, ...]:
    """A component's rule weights in an ensemble: all its weights together have the L1 norm 1 (Razmara et al. 2012)."""
    return tuple(value / norm_of(weights) for value in weights.rule)


def norm_of(weights: SearchWeights) -> float:
    """The L1 norm of all weights but that of unknown words, which is no matter of taste."""
    return float(l1_norm(vector_of(weights))) or 1.0


def _scaled(values: np.ndarray, vector: np.ndarray, start: SearchWeights) -> tuple[float, ...]:
    """Values times the factor that gives a vector [F] the size of the weights it started from."""
    scaled = np.asarray(values) * l1_norm(vector_of(start)) / max(l1_norm(vector), 1e-30)
    return tuple(round(float(value), 9) for value in scaled)
