"""Orientations of phrase pairs in models that were trained apart: how mixtures and ensembles combine them.

Component m has p_m(o|s, t) of its own (`jaxsmt.tm.reordering.component_orientations`). Orientations are conditioned on
the pair, so a component that lacks it, or has no orientation counts at all, has nothing to say and is left out:
    linear, wsum  Σ_m λ_m p_m / Σ_m λ_m over the components that know the pair's orientations
    wmax          p_m of the component whose score the pair gets, argmax_m (log λ_m + s_m), the first of equal ones
    prod          exp(Σ_m λ_m log p_m / Σ_m λ_m)
    fill-up       p_m of the first component that knows them
    switch        p_m of the component that the rule belongs to
    log-linear    all of them, 6·D features; 1/3 for a component that does not know the pair
A pair whose orientations nobody of positive weight knows has 1/3 everywhere. Counts are mixed in `MixedRules`.
"""

from dataclasses import dataclass

import numpy as np

from jaxsmt.tm.component_table import ComponentTable
from jaxsmt.tm.reordering import LOG_UNKNOWN, ORIENTATION_NAMES, component_orientations, names_of
from jaxsmt.tm.union import UnionView


@dataclass(frozen=True)
class ComponentOrientations:
    """The orientations of the R rules of a component table.

    probabilities: [R, 6] float32; is_known: [R] bool, False where the component has no orientation counts.
    """

    table: ComponentTable
    probabilities: np.ndarray
    is_known: np.ndarray

    @property
    def logs(self) -> np.ndarray:
        """[R, 6] float32."""
        return np.log(self.probabilities)

    def linear(self, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[A, 6] log Σ_m λ_m p_m / Σ_m λ_m of pairs [A], λ of pair a being weights[a] of [A, D]."""
        rows, begin, share = self._shares(pair_index, weights)
        if not len(rows):
            return np.zeros((0, len(ORIENTATION_NAMES)), np.float32)
        total = np.add.reduceat(share[:, None] * self.probabilities[rows], begin)
        return np.log(np.where(total > 0, total, np.float32(1 / 3)))

    def geometric(self, pair_index: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """[A, 6] Σ_m λ_m log p_m / Σ_m λ_m, likewise."""
        rows, begin, share = self._shares(pair_index, weights)
        if not len(rows):
            return np.zeros((0, len(ORIENTATION_NAMES)), np.float32)
        total = np.add.reduceat(share[:, None] * np.log(self.probabilities[rows]), begin)
        return np.where(np.add.reduceat(share, begin)[:, None] > 0, total, np.float32(LOG_UNKNOWN))

    def of_component(self, pair_index: np.ndarray, component: np.ndarray) -> np.ndarray:
        """[A, 6] log p_m of pairs [A], m being component[a]."""
        only = component[:, None] == np.arange(self.table.num_components)
        return self.linear(pair_index, only.astype(np.float32))

    def first(self, pair_index: np.ndarray) -> np.ndarray:
        """[A, 6] log p_m of the first component that knows the orientations of each pair."""
        rows, begin = self.table.rows_of(pair_index)
        known = np.where(self.is_known[rows], self.table.component[rows], self.table.num_components)
        component = np.minimum.reduceat(known, begin) if len(rows) else known
        return self.of_component(pair_index, component)

    def every(self, pair_index: np.ndarray) -> np.ndarray:
        """[A, 6·D] log p_m of all components, the six of component 0 first."""
        rows, begin = self.table.rows_of(pair_index)
        owner = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(rows)))
        shape = (len(begin), self.table.num_components, len(ORIENTATION_NAMES))
        values = np.full(shape, LOG_UNKNOWN, np.float32)
        values[owner, self.table.component[rows]] = np.log(self.probabilities[rows])
        return values.reshape(len(begin), shape[1] * shape[2])

    def _shares(self, pair_index: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of pairs [A], the first one's place of each, and λ [rows] float32 with sum 1, or 0, in each pair."""
        rows, begin = self.table.rows_of(pair_index)
        if not len(rows):
            return rows, begin, np.zeros(0, np.float32)
        owner = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(rows)))
        share = np.where(self.is_known[rows], weights[owner, self.table.component[rows]], 0).astype(np.float32)
        total = np.add.reduceat(share, begin)
        return rows, begin, share / np.where(total > 0, total, 1)[owner]


def own_orientations(union: UnionView, table: ComponentTable) -> ComponentOrientations | None:
    """Those of the components of a union; None if no component has orientation counts."""
    if union.orientation_counts is None:
        return None
    counts = union.orientation_counts[table.component, table.pair]  # [R, 6]
    probabilities = component_orientations(counts).astype(np.float32)
    return ComponentOrientations(table, probabilities, counts.any(1))


def names_of_every(orientations: object, component_names: tuple[str, ...]) -> tuple[str, ...]:
    """[6·D], in the order of `ComponentOrientations.every`."""
    return tuple(f"{feature} {name}" for name in component_names for feature in names_of(orientations))
