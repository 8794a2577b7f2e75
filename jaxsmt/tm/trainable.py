"""Features of a few pairs as differentiable functions of the mixture weights λ, for counts and for linear mixtures.

Equal to `jaxsmt.tm.features` and to linear mixtures in the search, in any precision; no feature depends on the scale
of a λ. Weights: [4, D], or [5, D] with those of orientations.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.tm.features import LOG_FLOOR, factor_table, log_ratio, mix, ratio, scaled
from jaxsmt.tm.reordering import mixed_orientations
from jaxsmt.tm.selection import Selection
from jaxsmt.tm.weights import LEX_SOURCE, LEX_TARGET, P_SOURCE, P_TARGET

HostArray = Any  # on the host or on the device


class CountTerms(NamedTuple):
    """What the features of n pairs under weighted counts are made of: `selection`, orientation counts [D, n, 6]."""

    selection: Selection
    orientations: HostArray | None

    def features(self, weights: Array) -> Array:
        """[n, 4], or [n, 10] with orientations."""
        found = count_features(self.selection, weights[:4])
        if self.orientations is None:
            return found
        counts = jnp.asarray(self.orientations)
        split = counts.reshape(*counts.shape[:2], 2, 3)
        logs = jnp.log(mixed_orientations(split, weights[4][:, None, None])).reshape(-1, 6)
        return jnp.concatenate([found, logs], 1)


class LinearTerms(NamedTuple):
    """What the features of n pairs in a linear mixture are made of.

    probability: [4, D, n], 0 where a component lacks the pair; share: [4, D, n] the part of λ_d that is divided by.
    orientations: [D, n, 6] probabilities; knows: [D, n] 1 where the component knows them.
    """

    probability: HostArray
    share: HostArray
    orientations: HostArray | None
    knows: HostArray | None

    def features(self, weights: Array) -> Array:
        """[n, 4], or [n, 10] with orientations."""
        each = jax.vmap(lambda own, upper, lower: log_ratio(_weighted(own, upper), _weighted(own, lower)))
        found = jnp.maximum(each(weights[:4], jnp.asarray(self.probability), jnp.asarray(self.share)), LOG_FLOOR).T
        if self.orientations is None or self.knows is None:
            return found
        known = weights[4][:, None] * jnp.asarray(self.knows)  # [D, n]
        upper, lower = (known[..., None] * jnp.asarray(self.orientations)).sum(0), known.sum(0)[:, None]
        is_known = lower > 0
        logs = jnp.log(jnp.where(is_known, upper, 1.0) / jnp.where(is_known, lower, 3.0))
        return jnp.concatenate([found, logs], 1)


def _weighted(weights: Array, values: Array) -> Array:
    return jnp.matmul(weights, values, precision=jax.lax.Precision.HIGHEST)


def count_features(selection: Selection, weights: Array) -> Array:
    """[n, 4] of selected pairs for one λ [4, D]; see `jaxsmt.tm.features`."""
    few = Selection(*map(jnp.asarray, selection))
    own = scaled(weights)[:, None]  # [4, 1, D]
    of_source = ratio(mix(own[LEX_SOURCE], few.word_joint), mix(own[LEX_SOURCE], few.word_target_totals))
    of_target = ratio(mix(own[LEX_TARGET], few.word_joint), mix(own[LEX_TARGET], few.word_source_totals))
    columns = (
        log_ratio(mix(own[P_SOURCE], few.joint), mix(own[P_SOURCE], few.target_totals))[0],
        factor_table(of_source, few.source_links)[0][few.source_factors].sum(0),
        log_ratio(mix(own[P_TARGET], few.joint), mix(own[P_TARGET], few.source_totals)[:, few.source_place])[0],
        factor_table(of_target, few.target_links)[0][few.target_factors].sum(0),
    )
    return jnp.maximum(jnp.stack(columns, -1), LOG_FLOOR)


def columns_of(values: np.ndarray, pairs: np.ndarray, size: int) -> np.ndarray:
    """[D, size, ...]: columns of [D, P, ...] at pairs, then zeros."""
    taken = np.zeros((len(values), size, *values.shape[2:]), values.dtype)
    taken[:, : len(pairs)] = values[:, pairs]
    return taken
