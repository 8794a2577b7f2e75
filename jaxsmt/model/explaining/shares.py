"""Which components a rule comes from, and how much of its probability is theirs."""

import numpy as np

from jaxsmt.model.mixing import COUNTS, FILL_UP, LOG_LINEAR, MixingConfig
from jaxsmt.tm.union import UnionView
from jaxsmt.tm.weights import P_SOURCE, P_TARGET


def component_shares(union: UnionView, pairs: np.ndarray, mixture: np.ndarray, config: MixingConfig) -> np.ndarray:
    """[A, D] float64, rows of sum 1: the components' shares in p(t|s) and p(s|t) of pairs [A], the mean of both.

    Where counts are added, p(t|s) = Σ_d λ_d c_d(s,t) / Σ_d λ_d c_d(s), the share of d is λ_d c_d(s,t) in the numerator;
    where probabilities are mixed, λ_d p_d. Fill-up takes all from the first component that has the pair, and in a
    log-linear model, which has a weight for each, all that have it count alike.
    mixture: λ as in `Profile`.
    """
    counts = union.statistics.joint_counts[:, pairs].T.astype(np.float64)  # [A, D]
    if config.operation == FILL_UP:
        return np.eye(counts.shape[1])[(counts > 0).argmax(1)] * (counts > 0).any(1, keepdims=True)
    if config.operation == LOG_LINEAR:
        return _normalised((counts > 0).astype(np.float64))
    rows = np.broadcast_to(mixture, (4, len(union.names))) if np.ndim(mixture) == 1 else np.asarray(mixture)
    parts = []
    for row, totals in ((P_TARGET, _totals(union, pairs, True)), (P_SOURCE, _totals(union, pairs, False))):
        own = counts if config.operation == COUNTS else counts / np.maximum(totals, 1e-30)
        parts.append(_normalised(rows[row] * own))
    return _normalised(parts[0] + parts[1])


def _totals(union: UnionView, pairs: np.ndarray, is_source: bool) -> np.ndarray:
    """[A, D] counts of the pairs' source or target sides."""
    statistics = union.statistics
    if is_source:
        return statistics.source_counts[:, statistics.source_index[pairs]].T
    return statistics.target_counts[:, statistics.target_index[pairs]].T


def _normalised(values: np.ndarray) -> np.ndarray:
    total = values.sum(1, keepdims=True)
    return np.divide(values, total, out=np.zeros_like(values), where=total > 0)
