"""Two directed alignments to one: intersect, union, grow-diag, grow-diag-final, grow-diag-final-and.

Koehn, Och and Marcu (2003), "Statistical Phrase-Based Translation", section 3.1; the result depends on the
order in which points are visited, here always by source, then target position, points added being seen at once:

  grow-diag: start with the intersection; sweep over the other points of the union and add a point when one of its
    eight neighbours is in and its source or its target word has no link yet; repeat until a sweep adds nothing.
  final: one sweep over the forward links, then one over the reverse links; add where the source or the target
    word (final-and: the source and the target word) has no link yet.

Sentences run side by side, one candidate (a point of the union outside the intersection) of each at a time, the
sentences with most candidates first, so that those still running are always the first ones. On the host: a step is
a few look-ups a sentence, which numpy does at once, while every shape of a device program had to be compiled.
"""

from typing import NamedTuple

import numpy as np

from jaxsmt.align.links import make_links
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, offsets_of

SYMMETRISATIONS = ("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
_ROWS_AT_ONCE = 16_384  # keeps the grids of links small enough for the processor's cache and memory


def symmetrise(forward: Ragged, reverse: Ragged, method: str) -> Ragged:
    """Combines the links of two directions, both given as (source, target) positions."""
    if method not in SYMMETRISATIONS:
        raise UserError(f"symmetrisation '{method}' is not known: choose one of {', '.join(SYMMETRISATIONS)}")
    if len(forward) != len(reverse):
        raise UserError(f"the two directions have {len(forward)} and {len(reverse)} alignments: align the same text")
    points, is_forward, is_reverse = _union(forward, reverse)
    is_kept = is_forward & is_reverse
    if method == "union":
        is_kept = np.ones(len(points.values), bool)
    elif method != "intersect":
        is_kept[~is_kept] = _grow_all(points, is_kept, is_forward, method)
    row = points.row_index[is_kept]
    return make_links(row, points.values[is_kept, 0], points.values[is_kept, 1], len(points))


def _union(forward: Ragged, reverse: Ragged) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """All points of both, sorted by row, source, target; and for each whether it is in either alignment."""
    width = int(max(forward.values.max(initial=0), reverse.values.max(initial=0))) + 1

    def key(part: Ragged) -> np.ndarray:
        return (part.row_index * width + part.values[:, 0]) * width + part.values[:, 1]

    keys = np.concatenate([key(forward), key(reverse)])
    order = np.argsort(keys, kind="stable")  # two ascending runs: merged in one go
    keys = keys[order]
    is_new = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    place = np.cumsum(is_new) - 1
    is_in = np.zeros((2, int(is_new.sum())), bool)
    is_in[(order >= len(forward.values)).astype(np.int64), place] = True
    row, pair = np.divmod(keys[is_new], width * width)
    return make_links(row, pair // width, pair % width, len(forward)), is_in[0], is_in[1]


class _Rows(NamedTuple):
    """R sentences, most candidates first; positions and grids of all sentences lie end to end.

    first, size: [R] the candidates of a sentence, [T] below.
    cell: [T] place of a candidate in `grid`; stride: [T] cells to the next source position.
    source, target: [T] places of its words in `covered_source` and `covered_target`.
    grid: [Σ (I+2)(J+2)] bool, links so far, with a border of one cell around each sentence.
    covered_source, covered_target: [Σ I], [Σ J] bool, words that have a link.
    added: [T] bool.
    """

    first: np.ndarray
    size: np.ndarray
    cell: np.ndarray
    stride: np.ndarray
    source: np.ndarray
    target: np.ndarray
    grid: np.ndarray
    covered_source: np.ndarray
    covered_target: np.ndarray
    added: np.ndarray


def _grow_all(points: Ragged, is_core: np.ndarray, is_forward: np.ndarray, method: str) -> np.ndarray:
    """[T - core] bool: which points outside the intersection are added."""
    added = np.zeros(int((~is_core).sum()), bool)
    before = offsets_of(np.add.reduceat(np.append(~is_core, False), points.offsets[:-1]) * (points.lengths > 0))
    for start in range(0, len(points), _ROWS_AT_ONCE):
        end = min(start + _ROWS_AT_ONCE, len(points))
        flat = slice(points.offsets[start], points.offsets[end])
        part = Ragged(points.values[flat], points.offsets[start : end + 1] - points.offsets[start])
        rows = _rows_of(part, is_core[flat])
        _grow(rows)
        if method != "grow-diag":
            of_forward = is_forward[flat][~is_core[flat]]
            for allowed in (of_forward, ~of_forward):
                _sweep(rows, np.arange(len(rows.size)), allowed, needs_both=method == "grow-diag-final-and")
        added[before[start] : before[end]] = rows.added
    return added


def _rows_of(points: Ragged, is_core: np.ndarray) -> _Rows:
    sides = _row_max(points) + 1  # [R, 2] words that may have links
    row, (i, j) = points.row_index, points.values.T.astype(np.int64)
    start_source, start_target = offsets_of(sides[:, 0]), offsets_of(sides[:, 1])
    start_grid = offsets_of((sides[:, 0] + 2) * (sides[:, 1] + 2))
    stride = sides[row, 1] + 2
    cell = start_grid[row] + (i + 1) * stride + j + 1
    source, target = start_source[row] + i, start_target[row] + j
    count = np.bincount(row[~is_core], minlength=len(points))
    order = np.argsort(-count, kind="stable")

    def linked(place: np.ndarray, starts: np.ndarray) -> np.ndarray:
        flag = np.zeros(int(starts[-1]), bool)
        flag[place[is_core]] = True
        return flag

    return _Rows(
        first=offsets_of(count)[:-1][order],
        size=count[order],
        cell=cell[~is_core],
        stride=stride[~is_core],
        source=source[~is_core],
        target=target[~is_core],
        grid=linked(cell, start_grid),
        covered_source=linked(source, start_source),
        covered_target=linked(target, start_target),
        added=np.zeros(int(count.sum()), bool),
    )


def _grow(rows: _Rows) -> None:
    """Sweeps over the sentences that the last sweep has changed."""
    everything = np.ones(len(rows.added), bool)
    changed = np.flatnonzero(rows.size > 0)
    while len(changed):
        changed = _sweep(rows, changed, everything)


def _sweep(rows: _Rows, chosen: np.ndarray, allowed: np.ndarray, needs_both: bool | None = None) -> np.ndarray:
    """Visits every allowed candidate of the chosen sentences in its order; returns the sentences that got a link.

    needs_both: whether both words must be free or one is enough; None in grow-diag, where it takes a neighbour too.
    """
    has_grown = np.zeros(len(chosen), bool)
    first, count = rows.first[chosen], rows.size[chosen]
    for step in range(int(count.max(initial=0))):
        candidate = first[: np.searchsorted(-count, -step)] + step  # of the sentences that have so many
        place = np.flatnonzero(allowed[candidate] & ~rows.added[candidate])
        candidate = candidate[place]
        source, target, cell = rows.source[candidate], rows.target[candidate], rows.cell[candidate]
        if needs_both:
            take = ~rows.covered_source[source] & ~rows.covered_target[target]
        else:
            take = ~rows.covered_source[source] | ~rows.covered_target[target]
        if needs_both is None:
            take[take] = _has_neighbour(rows.grid, cell[take], rows.stride[candidate][take])
        has_grown[place[take]] = True
        rows.added[candidate[take]] = rows.grid[cell[take]] = True
        rows.covered_source[source[take]] = rows.covered_target[target[take]] = True
    return chosen[has_grown]


def _has_neighbour(grid: np.ndarray, cell: np.ndarray, stride: np.ndarray) -> np.ndarray:
    found = grid[cell - 1] | grid[cell + 1]
    for middle in (cell - stride, cell + stride):
        found |= grid[middle - 1] | grid[middle] | grid[middle + 1]
    return found


def _row_max(points: Ragged) -> np.ndarray:
    """[R, 2]: the largest source and target position of each row, -1 where it has no point."""
    largest = np.full((len(points), 2), -1, np.int64)
    filled = points.lengths > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(points.values, points.offsets[:-1][filled], axis=0)
    return largest
