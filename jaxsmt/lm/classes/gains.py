"""What moving each of many words to each class gains, on the device: the kernel of the exchange algorithm."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Array = Any
# Gains this near to each other, in nats for each occurrence of the word, are equal: single precision knows no better.
TIE = 1e-4


class ClassCounts(NamedTuple):
    """How often classes follow each other; class C stands for sentence ends and unknown words.

    following: [C + 1, C + 1] int32, N(g, h): class g, then class h.
    preceding: [C + 1, C + 1] int32, its transpose, so that both are read by rows.
    total: [C] int32, N(g): the words of a class.
    """

    following: Array
    preceding: Array
    total: Array


class Neighbours(NamedTuple):
    """The classes on one side of B words, as lists of at most K classes and as counts of all; the word itself left out.

    classes: [B, K] int32; counts: [B, K] int32, 0 beyond the end of a list.
    dense: [B, C + 1] int32, the same counts by class.
    """

    classes: Array
    counts: Array
    dense: Array


class WordBatch(NamedTuple):
    """B words to move, and what stands beside them.

    own: [B] int32, the class of each word.
    count: [B] int32, how often it occurs; repeats: [B] int32, how often it follows itself.
    right, left: the classes of the words after and before it.
    longest: [] int32, the longest of all lists.
    """

    own: Array
    count: Array
    repeats: Array
    right: Neighbours
    left: Neighbours
    longest: Array


class Choice(NamedTuple):
    """Where B words want to be: the class that gains most [B] int32 and what it gains over staying [B] float32."""

    target: Array
    gain: Array


@jax.jit
def best_moves(counts: ClassCounts, batch: WordBatch) -> Choice:
    """For every word the class that raises the log-likelihood most if that word alone moves.

    Of classes that are equally good (see TIE) the one with the lowest number; the own class, with a gain of 0, where
    no other is better by more than a tie.
    """
    gains = move_gains(counts, batch)
    tie = TIE * batch.count
    best = gains.max(axis=1)
    target = jnp.argmax(gains >= (best - tie)[:, None], axis=1).astype(jnp.int32)
    stays = best <= tie
    gain = jnp.take_along_axis(gains, target[:, None], axis=1)[:, 0]
    return Choice(jnp.where(stays, batch.own, target), jnp.where(stays, 0.0, gain))


@jax.jit
def move_gains(counts: ClassCounts, batch: WordBatch) -> Array:
    """[B, C] float32: the change of log-likelihood for every word and class, 0 for the class that the word has.

    F = Σ_gh φ(N(g, h)) − 2 Σ_g φ(N(g)) with φ(n) = n log n (Martin, Liermann and Ney 1998, section 3), of which only
    rows and columns of two classes change: that of the word, which is taken out first, and that which it is put in.
    """
    num_classes = counts.total.shape[0]
    outside = _listed_rises(counts, batch, num_classes)
    diagonal = jnp.diagonal(counts.following)[None, :num_classes]
    right, left = batch.right.dense[:, :num_classes], batch.left.dense[:, :num_classes]
    both = right + left + batch.repeats[:, None]
    # the lists took (c, c) for two cells, and it is one
    inside = _rise(diagonal, both) - _rise(diagonal, right) - _rise(diagonal, left)
    from_own = _own_class_rises(counts, batch, right, left)
    size = _rise(counts.total[None], batch.count[:, None])
    is_own = jnp.arange(num_classes)[None] == batch.own[:, None]
    gains = outside + inside + from_own - 2 * size - _staying(counts, batch)[:, None]
    return jnp.where(is_own, 0.0, gains)


def _listed_rises(counts: ClassCounts, batch: WordBatch, num_classes: int) -> Array:
    """[B, C]: the cells (c, g) and (g, c) of all neighbouring classes g but the word's own, as if c were no g."""

    def add(place: Array, gains: Array) -> Array:
        for table, side in ((counts.preceding, batch.right), (counts.following, batch.left)):
            classes = jax.lax.dynamic_index_in_dim(side.classes, place, 1, keepdims=False)
            number = jax.lax.dynamic_index_in_dim(side.counts, place, 1, keepdims=False)
            number = jnp.where(classes == batch.own, 0, number)
            gains += _rise(table[classes, :num_classes], number[:, None])
        return gains

    start = jnp.zeros((batch.own.shape[0], num_classes), jnp.float32)
    return jax.lax.fori_loop(0, batch.longest, add, start)


def _own_class_rises(counts: ClassCounts, batch: WordBatch, right: Array, left: Array) -> Array:
    """[B, C]: the cells of c and the word's own class, where the word no longer is."""
    num_classes = counts.total.shape[0]
    before = counts.preceding[batch.own, :num_classes] - left  # (c, own)
    after = counts.following[batch.own, :num_classes] - right  # (own, c)
    right_own = jnp.take_along_axis(batch.right.dense, batch.own[:, None], axis=1)
    left_own = jnp.take_along_axis(batch.left.dense, batch.own[:, None], axis=1)
    return _rise(before, right_own) + _rise(after, left_own)


def _staying(counts: ClassCounts, batch: WordBatch) -> Array:
    """[B]: what putting the word back into its own class gives."""
    own = batch.own[:, None]
    is_own = jnp.arange(counts.following.shape[0])[None] == own
    right, left = (jnp.where(is_own, 0, side.dense) for side in (batch.right, batch.left))
    beside = _rise(counts.following[batch.own] - right, right) + _rise(counts.preceding[batch.own] - left, left)
    sides = (jnp.take_along_axis(side.dense, own, axis=1)[:, 0] for side in (batch.right, batch.left))
    inside = sum(sides, start=batch.repeats)
    within = _rise(counts.following[batch.own, batch.own] - inside, inside)
    size = _rise(counts.total[batch.own] - batch.count, batch.count)
    return beside.sum(axis=1) + within - 2 * size


def _rise(count: Array, more: Array) -> Array:
    """φ(n + m) − φ(n) without the loss of digits that subtracting has; 0 where m is 0."""
    count, more = count.astype(jnp.float32), more.astype(jnp.float32)
    return count * jnp.log1p(more / jnp.maximum(count, 1)) + more * jnp.log(jnp.maximum(count + more, 1))
