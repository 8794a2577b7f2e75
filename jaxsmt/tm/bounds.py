"""What a pair's features can be at the most, whatever the mixture weights λ.

A mixture's ratio Σ_d λ_d x_d / Σ_d λ_d y_d is never above the largest x_d / y_d. For p(t|s), whose denominator is
the same for all pairs of a source side, Σ_d λ_d c_d(s,t) ≤ max_d λ_d · Σ_d c_d(s,t) says more: most pairs are rare.
"""

import numpy as np

from jaxsmt.tm.features import LOG_FLOOR
from jaxsmt.tm.union import Statistics

PAIRS_PER_CHUNK = 1 << 18


def feature_bounds(statistics: Statistics) -> np.ndarray:
    """[P, 4] float32: upper bounds of log p(s|t), log lex(s|t), log lex(t|s); the third column is log Σ_d c_d(s,t)."""
    words, (source_word, target_word) = statistics.word_joint_counts, statistics.word_pairs.T
    of_source = _largest(words, statistics.target_word_counts, target_word)  # of w(s|t)
    of_target = _largest(words, statistics.source_word_counts, source_word)
    of_source = _log_factors(of_source, statistics.source_factor_links)
    of_target = _log_factors(of_target, statistics.target_factor_links)
    bounds = np.empty((len(statistics.source_index), 4), np.float32)
    for start in range(0, len(bounds), PAIRS_PER_CHUNK):
        part = slice(start, start + PAIRS_PER_CHUNK)
        joint = statistics.joint_counts[:, part]
        columns = (
            _log(_largest(joint, statistics.target_counts, statistics.target_index[part])),
            of_source[statistics.source_factors[part]].sum(1),
            _log(joint.sum(0)),
            of_target[statistics.target_factors[part]].sum(1),
        )
        bounds[part] = np.maximum(np.stack(columns, 1), LOG_FLOOR)
    return bounds


def _largest(joint: np.ndarray, totals: np.ndarray, index: np.ndarray) -> np.ndarray:
    """[N]: max over components of joint [D, N] / totals [D, ·] at index [N]; 0 where both are 0."""
    result = np.zeros(joint.shape[1], np.float32)
    for counts, total in zip(joint, totals, strict=True):
        np.maximum(result, counts / np.maximum(total[index], np.finfo(np.float32).tiny), out=result)
    return result


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(values, out=np.full(values.shape, -np.inf, np.float32), where=values > 0)


def _log_factors(word_bounds: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Bounds in the order of factor ids, see `jaxsmt.tm.factors.Factors`."""
    num_words = len(word_bounds)
    padded = np.append(word_bounds, np.zeros(2, np.float32))
    num_links = np.maximum((links <= num_words).sum(1), 1).astype(np.float32)
    return _log(np.concatenate([word_bounds, np.array([0, 1], np.float32), padded[links].sum(1) / num_links]))
