"""What the models know of positions: the tension of the diagonal prior and the jump weights of the HMM; M-steps."""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import numbered_runs

MIN_TENSION, MAX_TENSION = 0.1, 14.0
_TENSION_STEPS, _TENSION_RATE = 8, 20.0
_JUMP_STEPS = 20
_SMALLEST_JUMP = 1e-7  # relative to the mean; keeps every position reachable


class Positions(NamedTuple):
    """Parameters of both directions, forward first."""

    tension: np.ndarray  # [2] float32
    jump: np.ndarray  # [2, 2L+1] float32 weights of jump widths −L … L


class LengthCounts(NamedTuple):
    """How many pairs have which lengths, for one direction."""

    given: np.ndarray  # [K] words on the side that is given
    made: np.ndarray  # [K] words on the side that is generated
    pairs: np.ndarray  # [K]


def initial_positions(tension: float, max_length: int) -> Positions:
    """Both directions alike; jump weights fall off slowly from a step of one word."""
    width = np.arange(-max_length, max_length + 1)
    weight = 1.0 / (1.0 + np.abs(width - 1))
    return Positions(np.full(2, tension, np.float32), np.tile((weight / weight.mean()).astype(np.float32), (2, 1)))


def count_lengths(given: np.ndarray, made: np.ndarray) -> LengthCounts:
    """Groups the pairs of a corpus by their lengths; pairs with an empty side are left out."""
    is_full = (given > 0) & (made > 0)
    lengths, pairs = np.unique(np.stack([given[is_full], made[is_full]], axis=1), axis=0, return_counts=True)
    return LengthCounts(lengths[:, 0], lengths[:, 1], pairs)


def mean_prior_feature(lengths: LengthCounts, tension: float) -> float:
    """The mean of −|i/I − j/J| under the diagonal prior, over all generated words of a corpus.

    In closed form: left and right of the diagonal the weights are geometric series (Dyer et al. 2013, section 3.1).
    """
    size = np.repeat(lengths.given, lengths.made).astype(np.float64)
    j = numbered_runs(lengths.made)[1] + 1
    other = np.repeat(lengths.made, lengths.made)
    split = (j * size.astype(np.int64)) // other  # positions up to here lie on or left of the diagonal
    x = j / other
    ratio = np.exp(-tension / size)
    left_near, right_near = x - split / size, (split + 1) / size - x
    weight, distance = np.zeros_like(size), np.zeros_like(size)
    for near, num in ((left_near, split), (right_near, size - split)):
        series = (1 - ratio**num) / (1 - ratio)
        slope = ratio * (1 - num * ratio ** (num - 1) + (num - 1) * ratio**num) / (1 - ratio) ** 2
        scale = np.exp(-tension * near)
        weight += scale * series
        distance += scale * (near * series + slope / size)
    repeats = np.repeat(lengths.pairs, lengths.made)
    return float(-np.sum(repeats * distance / weight) / max(repeats.sum(), 1))


def update_tension(tension: float, feature: float, lengths: LengthCounts) -> float:
    """A few gradient steps on the tension; `feature` is the mean of −|i/I − j/J| under the posterior."""
    for _ in range(_TENSION_STEPS):
        tension += (feature - mean_prior_feature(lengths, tension)) * _TENSION_RATE
        tension = min(max(tension, MIN_TENSION), MAX_TENSION)
    return tension


def update_jumps(jump: np.ndarray, counts: np.ndarray, departures: np.ndarray) -> np.ndarray:
    """[2L+1]: jump weights that raise Σ_d n(d) ln c(d) − Σ_{I,s} n(I,s) ln Z(I,s), Z = Σ_{i=1..I} c(i−s).

    Replacing each ln Z by its tangent gives c(d) = n(d) / Σ_{I,s: 1 ≤ s+d ≤ I} n(I,s)/Z(I,s), which never lowers
    the objective (the argument of Hunter 2004 for Bradley–Terry models): the EM stays monotone, which plain relative
    frequencies of jump widths would not guarantee.

    Args:
      jump: [2L+1] current weights; counts: [2L+1] n(d); departures: [L+1, L+1] n(I, s).
    """
    limit = (len(jump) - 1) // 2
    weight = np.asarray(jump, np.float64)
    counts = np.asarray(counts, np.float64)
    size, state = np.nonzero(departures > 0)
    num = np.asarray(departures, np.float64)[size, state]
    first, last = limit + 1 - state, limit + size - state  # places of the widths that stay inside
    for _ in range(_JUMP_STEPS):
        total = np.concatenate([[0.0], np.cumsum(weight)])
        share = num / (total[last + 1] - total[first])
        edge = np.bincount(first, share, len(weight) + 1) - np.bincount(last + 1, share, len(weight) + 1)
        exposure = np.cumsum(edge)[:-1]
        fresh = np.divide(counts, exposure, out=np.zeros_like(counts), where=(counts > 0) & (exposure > 1e-12))
        weight = fresh / max(fresh.mean(), 1e-300)
        weight = np.maximum(weight, _SMALLEST_JUMP)
    return weight.astype(np.float32)
