"""Two directed alignments to one: intersect, union, grow-diag, grow-diag-final, grow-diag-final-and.

Koehn, Och and Marcu (2003), "Statistical Phrase-Based Translation", section 3.1; the result depends on the
order in which points are visited, here always by source, then target position, points added being seen at once:

  grow-diag: start with the intersection; sweep over the other points of the union and add a point when one of its
    eight neighbours is in and its source or its target word has no link yet; repeat until a sweep adds nothing.
  final: one sweep over the forward links, then one over the reverse links; add where the source or the target
    word (final-and: the source and the target word) has no link yet.

Sentences run side by side: a sentence is its list of candidates (union without intersection) and a grid of links.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.align.links import make_links
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text.buckets import make_batches

SYMMETRISATIONS = ("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
_NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
_FINAL = {"grow-diag": 0, "grow-diag-final": 1, "grow-diag-final-and": 2}
_CELLS_PER_BATCH = 1 << 27  # grid cells times candidates; a step touches few of them, so many sentences at once pay
_ROWS_PER_SHAPE = 4000  # few sentences are not worth many compilations
_MAX_SHAPES = 8


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
    row = np.concatenate([forward.row_index, reverse.row_index])
    links = np.concatenate([forward.values, reverse.values])
    union = make_links(row, links[:, 0], links[:, 1], len(forward))
    width = int(links.max(initial=0)) + 1

    def key(part: Ragged) -> np.ndarray:
        return (part.row_index * width + part.values[:, 0]) * width + part.values[:, 1]

    keys = key(union)
    return union, np.isin(keys, key(forward)), np.isin(keys, key(reverse))


def _grow_all(points: Ragged, is_core: np.ndarray, is_forward: np.ndarray, method: str) -> np.ndarray:
    """[T - core] bool: which points outside the intersection are added."""
    core = _select(points, is_core)
    candidates = _select(points, ~is_core)
    flags = Ragged(is_forward[~is_core], candidates.offsets)
    added = np.zeros(len(candidates.values), bool)
    rows = np.argsort(candidates.lengths, kind="stable")  # sentences with as many candidates side by side
    rows = rows[candidates.lengths[rows] > 0]
    side = _row_max(points)[rows] + 1  # [rows, 2] source and target words that have points
    area = (side[:, 0] + 2) * (side[:, 1] + 2)
    longest = -(-int(side.max(initial=1)) // 32) * 32
    max_shapes = min(2 + len(rows) // _ROWS_PER_SHAPE, _MAX_SHAPES)
    for batch in make_batches(area, candidates.lengths[rows], step=16, cells_per_batch=_CELLS_PER_BATCH,
                              max_shapes=max_shapes, max_rows=1024):  # fmt: skip
        place = batch.real_rows
        chosen = rows[place]
        num, stride = len(batch.rows), np.ones(len(batch.rows), np.int32)
        stride[: len(chosen)] = side[place, 1] + 2
        point, flag = np.zeros((num, batch.width_target, 2), np.int32), np.zeros((num, batch.width_target), bool)
        point[: len(chosen)] = candidates.padded(chosen, batch.width_target)
        flag[: len(chosen)] = flags.padded(chosen, batch.width_target)
        count = batch.take(candidates.lengths[rows])
        grid = _link_grid(core, chosen, stride, num, batch.width_source)
        covered = _covered(core, chosen, num, longest)
        result = np.asarray(_grow(point, flag, count.astype(np.int32), grid, stride, *covered, _FINAL[method]))
        inside = np.arange(batch.width_target) < count[:, None]
        added[_flat_positions(candidates, chosen)] = result[inside]
    return added


def _select(points: Ragged, is_chosen: np.ndarray) -> Ragged:
    counts = np.bincount(points.row_index[is_chosen], minlength=len(points))
    return Ragged(points.values[is_chosen], offsets_of(counts))


def _row_max(points: Ragged) -> np.ndarray:
    """[R, 2]: the largest source and target position of each row, -1 where it has no point."""
    largest = np.full((len(points), 2), -1, np.int64)
    np.maximum.at(largest, points.row_index, points.values)
    return largest


def _flat_positions(ragged: Ragged, rows: np.ndarray) -> np.ndarray:
    lengths = ragged.lengths[rows]
    start = np.repeat(ragged.offsets[:-1][rows] - offsets_of(lengths)[:-1], lengths)
    return start + np.arange(lengths.sum())


def _link_grid(core: Ragged, rows: np.ndarray, stride: np.ndarray, num: int, size: int) -> np.ndarray:
    """[B, size] bool: links of each row on a grid with a border of one cell, source position times stride."""
    grid = np.zeros((num, size), bool)
    part = core.take(rows)
    place = part.row_index
    grid[place, (part.values[:, 0] + 1) * stride[place] + part.values[:, 1] + 1] = True
    return grid


def _covered(core: Ragged, rows: np.ndarray, num: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """[B, longest] bool twice: which source and target positions have a link."""
    part = core.take(rows)
    source, target = np.zeros((num, longest), bool), np.zeros((num, longest), bool)
    source[part.row_index, part.values[:, 0]] = True
    target[part.row_index, part.values[:, 1]] = True
    return source, target


@jax.jit
def _grow(
    point: jax.Array, is_forward: jax.Array, count: jax.Array, grid: jax.Array, stride: jax.Array,
    covered_source: jax.Array, covered_target: jax.Array, final: int,
) -> jax.Array:  # fmt: skip
    """[B, C] bool: the candidates that are added.

    Args:
      point: [B, C, 2] candidates in the order of visit.
      is_forward: [B, C] whether a candidate is a forward link (otherwise it is a reverse link).
      count: [B] number of candidates.
      grid: [B, G] links of the intersection, bordered.
      stride: [B] cells from one source position to the next.
      covered_source, covered_target: [B, L] bool, positions with a link in the intersection.
      final: 0 no final sweeps, 1 final, 2 final-and.
    """
    num, width = is_forward.shape
    lane = jnp.arange(num)
    cell = (point[..., 0] + 1) * stride[:, None] + point[..., 1] + 1  # [B, C]
    steps = jnp.array(_NEIGHBOURS, jnp.int32)
    around = steps[None, :, 0] * stride[:, None] + steps[None, :, 1]  # [B, 8]
    is_candidate = jnp.arange(width)[None, :] < count[:, None]

    def visit(c: jax.Array, carry: tuple, allowed: jax.Array, is_growing: bool) -> tuple:
        grid, covered_source, covered_target, added = carry
        i, j, here = point[:, c, 0], point[:, c, 1], cell[:, c]
        source_free, target_free = ~covered_source[lane, i], ~covered_target[lane, j]
        take = (source_free | target_free) & allowed[:, c] & ~added[:, c]
        if is_growing:
            take &= jnp.any(grid[lane[:, None], here[:, None] + around], axis=1)
        else:
            take &= (source_free & target_free) | (final == 1)
        grid = grid.at[lane, here].max(take)
        covered_source = covered_source.at[lane, i].max(take)
        covered_target = covered_target.at[lane, j].max(take)
        return grid, covered_source, covered_target, added.at[:, c].max(take)

    def sweep(carry: tuple, allowed: jax.Array, is_growing: bool) -> tuple:
        last = jnp.max(count)
        return jax.lax.fori_loop(0, last, lambda c, state: visit(c, state, allowed, is_growing), carry)

    def grow(state: tuple) -> tuple:
        carry, _ = state
        after = sweep(carry, is_candidate, is_growing=True)
        return after, jnp.any(after[3] != carry[3])

    carry = (grid, covered_source, covered_target, jnp.zeros((num, width), bool))
    carry, _ = jax.lax.while_loop(lambda state: state[1], grow, (carry, jnp.bool_(True)))
    carry = sweep(carry, is_candidate & is_forward & (final > 0), is_growing=False)
    return sweep(carry, is_candidate & ~is_forward & (final > 0), is_growing=False)[3]
