"""Exact line search over a tuning set: thresholds of all sentences merged, the best interval of every line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from jaxsmt.common.devices.spreading import spread
from jaxsmt.common.memory import keep_freed_memory
from jaxsmt.tune.lists import TuningLists, objective
from jaxsmt.tune.mert.envelope import BlockLines, EnvelopeBlock, Envelopes, block_envelopes, envelope_blocks

_BEYOND = 0.1  # how far past the outermost threshold a step goes
_AT_ORIGIN = 1.5e-4  # a shorter step is none: rounding must not add up


@dataclass(frozen=True)
class SearchSpace:
    """A tuning set prepared for line searches.

    blocks: the lists as the kernel wants them.
    statistics: [C, B·H] float64, of all hypotheses.
    list_size: H.
    metric: 'bleu' or 'ter'.
    is_nonnegative: [F] bool: weights that do not go below 0.
    """

    blocks: list[EnvelopeBlock]
    statistics: np.ndarray
    list_size: int
    metric: str
    is_nonnegative: np.ndarray

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Points [Q, F] with 0 for weights that would be below it."""
        return np.where(self.is_nonnegative, np.maximum(points, 0.0), points)


@dataclass(frozen=True)
class LineEvents:
    """How the statistics change along L lines, by line and then by place on the line.

    starts: [L] int64, where the events of each line begin; the first stands at −∞ and changes nothing.
    places: [T] float64, x of each event, ascending within a line.
    sentences: [T] int64; B for the event at −∞.
    changes: [C, T] float64, what the event adds to the statistics of its sentence.
    first: [L, B] int64: the best hypothesis at −∞, as a column of the statistics.
    """

    starts: np.ndarray
    places: np.ndarray
    sentences: np.ndarray
    changes: np.ndarray
    first: np.ndarray


class _Changes(NamedTuple):
    """T changes of the 1-best, in any order: lines, places and sentences as in `LineEvents`; old and new columns."""

    lines: np.ndarray
    places: np.ndarray
    sentences: np.ndarray
    old: np.ndarray
    new: np.ndarray


def search_space(lists: TuningLists, metric: str, nonnegative: Sequence[str] = ()) -> SearchSpace:
    """Prepares a tuning set; weights of features whose names begin with one of `nonnegative` stay at 0 or above."""
    keep_freed_memory()
    statistics = lists.statistics(metric)
    flat = np.ascontiguousarray(statistics.reshape(-1, statistics.shape[-1]).T, np.float64)
    is_nonnegative = np.array([name.startswith(tuple(nonnegative)) for name in lists.feature_names], bool)
    return SearchSpace(envelope_blocks(lists), flat, lists.is_real.shape[1], metric, is_nonnegative)


def feasible_steps(space: SearchSpace, points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """[L, 2]: how far one can go back and forth from points [L, F], which are inside, without leaving the space."""
    moves = np.where(space.is_nonnegative, directions, 0.0)
    ends = -points / np.where(moves == 0, 1.0, moves)
    back = np.where(moves > 0, ends, -np.inf).max(1, initial=-np.inf)
    forth = np.where(moves < 0, ends, np.inf).min(1, initial=np.inf)
    return np.stack([back, forth], 1)


def line_events(
    space: SearchSpace, points: np.ndarray, directions: np.ndarray, at_once: int
) -> Iterator[tuple[slice, LineEvents]]:
    """All changes of the 1-best along lines through points [Q, F] in directions [Q, F], some at a time, and which.

    Lines and blocks of sentences are independent: they go to the devices in turn.
    """

    def walk(number: int, piece: tuple[EnvelopeBlock, slice]) -> list[tuple[BlockLines, Envelopes]]:
        block, rows = piece
        lines = BlockLines(number, block, points[rows], directions[rows])
        return [(lines, lines.walk())]

    cut = [slice(start, min(start + at_once, len(points))) for start in range(0, len(points), at_once)]
    walked = spread(walk, ((block, rows) for rows in cut for block in space.blocks))
    for rows in cut:
        yield rows, _events(space, rows.stop - rows.start, islice(walked, len(space.blocks)))


def _events(space: SearchSpace, num_lines: int, walked: Iterable[tuple[BlockLines, Envelopes]]) -> LineEvents:
    """Of L lines, from what was found in each block."""
    num_sentences = space.statistics.shape[1] // space.list_size
    first = np.zeros((num_lines, num_sentences), np.int64)
    parts = [_events_at_infinity(num_lines, num_sentences)]
    for lines, found in walked:
        begin, thresholds, following = block_envelopes(lines, found)
        block = lines.block
        before = np.concatenate([begin[:, None], following[:, :-1]], 1)
        at = np.flatnonzero(thresholds < np.inf)  # flat places: quicker than three indices
        lane = at % thresholds.shape[2]
        columns = block.sentences * space.list_size
        first[:, block.sentences] = begin + columns
        column = columns.take(lane)
        line, sentence = at // (thresholds.shape[1] * thresholds.shape[2]), block.sentences.take(lane)
        old, new = before.take(at) + column, following.take(at) + column
        parts.append(_Changes(line, thresholds.take(at), sentence, old, new))
    return _sorted_events(space, first, _Changes(*(np.concatenate(part) for part in zip(*parts, strict=True))))


def _events_at_infinity(num_lines: int, num_sentences: int) -> _Changes:
    nothing = np.zeros(num_lines, np.int64)
    far = np.full(num_lines, -np.inf, np.float32)
    return _Changes(np.arange(num_lines), far, np.full(num_lines, num_sentences), nothing, nothing)


def _sorted_events(space: SearchSpace, first: np.ndarray, found: _Changes) -> LineEvents:
    lines, places, sentences, old, new = found
    order = np.argsort(_sort_keys(lines, places))
    changes = space.statistics.take(new[order], 1)
    changes -= space.statistics.take(old[order], 1)
    counts = np.bincount(lines)
    starts = np.cumsum(counts) - counts
    return LineEvents(starts, places[order].astype(np.float64), sentences[order], changes, first)


def _sort_keys(lines: np.ndarray, places: np.ndarray) -> np.ndarray:
    """[T] int64 that sort by line and then by float32 place: one sort of integers is quicker than two of floats."""
    bits = (places + np.float32(0.0)).view(np.int32).astype(np.int64)  # −0 becomes 0
    ascending = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return (lines.astype(np.int64) << 33) + ascending + (1 << 32)


def best_steps(
    space: SearchSpace, events: LineEvents, multiplicities: np.ndarray | None = None, limits: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The best score [L] on each line and the step [L] to the middle of the (first) interval that has it.

    multiplicities: [L, B], how often each sentence counts for the line; once if None.
    limits: [L, 2] the shortest and the longest step; None: any.
    """
    first = space.statistics.take(events.first, 1)  # [C, L, B]
    lengths = np.diff(np.append(events.starts, len(events.places)))
    if multiplicities is None:
        begin, sums = first.sum(2), events.changes.copy()
    else:
        begin = np.einsum("clb,lb->cl", first, multiplicities)
        line = np.repeat(np.arange(len(lengths)), lengths)
        per_event = np.pad(multiplicities, ((0, 0), (0, 1)))[line, events.sentences]
        sums = events.changes * per_event
    ends = begin + np.add.reduceat(sums, events.starts, 1)
    sums[:, events.starts] = begin  # each line starts anew, whatever the sum of the line before it
    sums[:, events.starts[1:]] -= ends[:, :-1]
    np.cumsum(sums, 1, out=sums)
    scores = objective(sums.T, space.metric)
    right = np.append(events.places[1:], np.inf)
    right[events.starts[1:] - 1] = np.inf
    left = events.places
    if limits is not None:
        low, high = np.repeat(limits.T, lengths, 1)
        left, right = np.maximum(left, low), np.minimum(right, high)
    scores[right <= left] = -np.inf
    best = np.maximum.reduceat(scores, events.starts)
    is_best = np.flatnonzero(scores == np.repeat(best, lengths))
    chosen = is_best[np.searchsorted(is_best, events.starts)]
    return best, np.where(best > -np.inf, _middle(left[chosen], right[chosen]), 0.0)  # no step where none is allowed


def _middle(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The middle of each interval; a little past its finite end where it has only one; 0 where it has none."""
    bounded_left, bounded_right = np.isfinite(left), np.isfinite(right)
    low = np.where(bounded_left, left, np.where(bounded_right, right - 2 * _BEYOND, 0.0))
    high = np.where(bounded_right, right, np.where(bounded_left, left + 2 * _BEYOND, 0.0))
    step = 0.5 * (low + high)
    return np.where(np.abs(step) < _AT_ORIGIN, 0.0, step)
