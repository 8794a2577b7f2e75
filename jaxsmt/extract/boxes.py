"""Consistent boxes: source and target spans whose links all stay inside, the search on the device.

A box is consistent if no word in either span is linked to a word outside the other span, and at least one link
is inside (Och & Ney 2004, section 3.1; Koehn, Och & Marcu 2003). Unaligned words at the edges may belong to it or not.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.ragged import Ragged, numbered_runs
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

Array = jax.Array


@dataclass(frozen=True)
class Boxes:
    """K boxes of a batch, sorted by (sentence, source start, source length, target start, target length).

    sentence: [K] int64, the sentence's place in the batch.
    source_start, source_length, target_start, target_length: [K] int64, in words, starts within the sentence.
    """

    sentence: np.ndarray
    source_start: np.ndarray
    source_length: np.ndarray
    target_start: np.ndarray
    target_length: np.ndarray

    def __len__(self) -> int:
        return len(self.sentence)

    def source_spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each source span that has boxes, the first box and how many there are: [C] int64 each."""
        is_new = np.ones(len(self), bool)
        columns = (self.sentence, self.source_start, self.source_length)
        is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        first = np.flatnonzero(is_new)
        return first, np.diff(first, append=len(self))


def link_grid(batch: Batch, links: Ragged) -> np.ndarray:
    """[B, N, M] bool: which source word is linked to which target word."""
    grid = np.zeros(batch.shape, bool)
    here = links.take(batch.real_rows)
    grid[here.row_index, here.values[:, 0], here.values[:, 1]] = True
    return grid


def find_boxes(batch: Batch, bitext: Bitext, is_linked: np.ndarray, max_length: int) -> Boxes:
    """All consistent boxes of at most `max_length` words a side of a batch with links [B, N, M]."""
    found = search_boxes(
        is_linked,
        batch.take(bitext.source.lengths).astype(np.int32),
        batch.take(bitext.target.lengths).astype(np.int32),
        max_length=max_length,
    )
    is_box, first, last, room_before, room_after = (np.asarray(array) for array in found)
    sentence, source_start, size = at = np.nonzero(is_box)
    first, last = first[at].astype(np.int64), last[at].astype(np.int64)
    smallest = Boxes(sentence, source_start, size + 1, first, last - first + 1)
    return _extend(smallest, room_before[at], room_after[at], max_length)


def _extend(smallest: Boxes, room_before: np.ndarray, room_after: np.ndarray, max_length: int) -> Boxes:
    """The smallest boxes of source spans [K'] with every extension into the unaligned words around them."""
    free = max_length - smallest.target_length
    num_before = np.minimum(room_before, free) + 1
    num_after = np.minimum(room_after, free) + 1
    span, way = numbered_runs(num_before * num_after)
    before = num_before[span] - 1 - way // num_after[span]  # the widest first: target starts ascend
    after = way % num_after[span]
    fits = before + after <= free[span]
    span, before, after = span[fits], before[fits], after[fits]
    return Boxes(
        smallest.sentence[span],
        smallest.source_start[span],
        smallest.source_length[span],
        smallest.target_start[span] - before,
        smallest.target_length[span] + before + after,
    )


@partial(jax.jit, static_argnames="max_length")
def search_boxes(
    is_linked: Array, source_lengths: Array, target_lengths: Array, *, max_length: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Finds for each source span the smallest target span that makes a consistent box, and the room around it.

    Args:
      is_linked: [B, N, M] bool.
      source_lengths, target_lengths: [B] int32.
      max_length: L, the most words of either span.

    Returns, for the source span that starts at n and has l + 1 words, [B, N, L] each:
      whether there is a box; its first and last target word; unaligned target words before and after it.
    """
    num_source, num_target = is_linked.shape[1:]
    source_place, target_place = jnp.arange(num_source), jnp.arange(num_target)
    first_target, last_target = _reach(is_linked, target_place[None, None, :], axis=2)  # [B, N]
    first_source, last_source = _reach(is_linked, source_place[None, :, None], axis=1)  # [B, M]
    first, last = _windows(first_target, last_target, max_length)  # [B, N, L]
    back_first, back_last = _windows(first_source, last_source, max_length)  # [B, M, L]

    start, size = source_place[None, :, None], jnp.arange(max_length)[None, None, :]
    width = last - first
    is_span = (start + size < source_lengths[:, None, None]) & (last >= 0) & (width < max_length)
    flat = jnp.where(is_span, first * max_length + width, 0).reshape(len(is_linked), -1)
    seen_first = jnp.take_along_axis(back_first.reshape(len(is_linked), -1), flat, axis=1).reshape(first.shape)
    seen_last = jnp.take_along_axis(back_last.reshape(len(is_linked), -1), flat, axis=1).reshape(first.shape)
    is_box = is_span & (seen_first >= start) & (seen_last <= start + size)

    is_aligned = (last_source >= 0)[:, None, :]  # [B, 1, M]
    here, there = target_place[None, :, None], target_place[None, None, :]
    previous = jnp.max(jnp.where(is_aligned & (there < here), there, -1), axis=2)  # [B, M]: aligned, before word m
    following = jnp.min(jnp.where(is_aligned & (there > here), there, target_lengths[:, None, None]), axis=2)
    room_before = first - 1 - _take(previous, jnp.where(is_box, first, 0))
    room_after = _take(following, jnp.where(is_box, last, 0)) - last - 1
    return is_box, first, last, room_before, room_after


def _reach(is_linked: Array, places: Array, axis: int) -> tuple[Array, Array]:
    """The first and last linked place along an axis; beyond the end and -1 where there is none."""
    far = is_linked.shape[axis]
    return jnp.min(jnp.where(is_linked, places, far), axis=axis), jnp.max(jnp.where(is_linked, places, -1), axis=axis)


def _windows(first: Array, last: Array, max_length: int) -> tuple[Array, Array]:
    """[B, N, L] each: least `first` and greatest `last` of the l + 1 words from n on."""
    far = jnp.iinfo(jnp.int32).max
    step = jnp.arange(max_length)
    words = jnp.arange(first.shape[1])[:, None] + step[None, :]  # [N, L]
    first = jnp.pad(first, ((0, 0), (0, max_length)), constant_values=far)[:, words][:, :, None, :]
    last = jnp.pad(last, ((0, 0), (0, max_length)), constant_values=-1)[:, words][:, :, None, :]
    is_word = (step[None, :] <= step[:, None])[None, None]  # [1, 1, L, L]: word k is among the first l + 1
    return jnp.min(jnp.where(is_word, first, far), axis=3), jnp.max(jnp.where(is_word, last, -1), axis=3)


def _take(values: Array, places: Array) -> Array:
    """values [B, M] at places [B, N, L]."""
    return jnp.take_along_axis(values, places.reshape(len(values), -1), axis=1).reshape(places.shape)
