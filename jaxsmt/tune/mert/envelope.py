"""Upper envelopes of the lines that hypotheses draw along search directions: the kernel of MERT."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.devices.spreading import Replicas
from jaxsmt.common.sizes import filled_rows, power_of_four, power_of_two, within_an_eighth
from jaxsmt.tune.lists import TuningLists

HIGHEST = jax.lax.Precision.HIGHEST  # no shorter floats on devices that have them
LANES = 256  # sentences in a block: fewer would not keep the vector units busy, more would leave the cache
_SMALL_BLOCK, _LEAST_HEIGHT = 1 << 13, 32  # hypotheses in all, and of a sentence: small blocks come in few heights


class Envelopes(NamedTuple):
    """Upper envelopes along L lines for B sentences, at most E changes of the best hypothesis each.

    first: [L, B] int32, the hypothesis that is best for x → −∞.
    thresholds: [L, E, B] float32, where the best hypothesis changes, ascending; +inf where it no longer does.
    following: [L, E, B] int32, the hypothesis that is best after each threshold.
    """

    first: jax.Array
    thresholds: jax.Array
    following: jax.Array


@partial(jax.jit, static_argnames="capacity")
def upper_envelopes(
    features: jax.Array, is_real: jax.Array, points: jax.Array, directions: jax.Array, num_lines: jax.Array,
    capacity: int,
) -> Envelopes:  # fmt: skip
    """Walks upper envelopes from left to right (Och 2003, section 5), all sentences at once.

    Along w = point + x · direction a hypothesis is a line in x. From the line that is best at x the envelope goes on
    with the steeper line that is met first; a step is a minimum over the H lines, and there are about as many steps as
    a sentence has different best translations.

    Args:
        features: [F, H, B] float32.
        is_real: [H, B] bool, where there is a hypothesis.
        points, directions: [L, F] float32.
        num_lines: [] int32: only so many of the L lines are walked; an argument, so that one kernel serves any number.
        capacity: E.
    """
    flat = features.reshape(len(features), -1)

    def walk_line(line: jax.Array, found: Envelopes) -> Envelopes:
        slopes = jnp.matmul(directions[line], flat, precision=HIGHEST).reshape(is_real.shape)
        intercepts = jnp.matmul(points[line], flat, precision=HIGHEST).reshape(is_real.shape)
        lowest = jnp.where(is_real, slopes, jnp.inf).min(0)
        # what fills a list is as flat as the flattest line and far below it, so it is never met
        envelope = _walk(
            jnp.where(is_real, slopes, lowest[None]), jnp.where(is_real, intercepts, -jnp.inf), lowest, capacity
        )
        return Envelopes(*(whole.at[line].set(part) for whole, part in zip(found, envelope, strict=True)))

    shape = (len(points), capacity, features.shape[2])
    nothing = Envelopes(
        jnp.zeros((shape[0], shape[2]), jnp.int32), jnp.zeros(shape, jnp.float32), jnp.zeros(shape, jnp.int32)
    )
    return jax.lax.fori_loop(0, num_lines, walk_line, nothing)


class _Walk(NamedTuple):
    """The lines [B] that are best now, and what was passed: thresholds and following [E, B]."""

    step: jax.Array
    goes_on: jax.Array
    x: jax.Array
    slope: jax.Array
    intercept: jax.Array
    thresholds: jax.Array
    following: jax.Array


def _walk(slopes: jax.Array, intercepts: jax.Array, lowest: jax.Array, capacity: int) -> Envelopes:
    """The envelopes of hypotheses' lines [H, B] of lowest slopes [B], for one direction through one point."""
    num_lines, num_sentences = intercepts.shape
    place = jax.lax.broadcasted_iota(jnp.int32, intercepts.shape, 0)

    def step(now: _Walk) -> _Walk:
        rise = slopes - now.slope[None]
        crossings = jnp.where(rise > 0, (now.intercept[None] - intercepts) / rise, jnp.inf)
        x = crossings.min(0)
        # two plain minima: a joint minimum of value and place is compiled to scalar code
        winner = jnp.where(crossings <= x[None], place, num_lines - 1).min(0)
        goes_on = x < jnp.inf
        x = jnp.maximum(x, now.x)  # lines through one point may be met out of order by rounding
        return _Walk(
            now.step + 1,
            goes_on.any(),
            jnp.where(goes_on, x, now.x),
            jnp.where(goes_on, jnp.take_along_axis(slopes, winner[None], 0)[0], now.slope),
            jnp.where(goes_on, jnp.take_along_axis(intercepts, winner[None], 0)[0], now.intercept),
            now.thresholds.at[now.step].set(x),
            now.following.at[now.step].set(winner),
        )

    starts = jnp.where(slopes == lowest[None], intercepts, -jnp.inf)
    height = starts.max(0)
    first = jnp.where(starts >= height[None], place, num_lines).min(0)
    thresholds = jnp.full((capacity, num_sentences), jnp.inf, jnp.float32)
    following = jnp.zeros((capacity, num_sentences), jnp.int32)
    begin = _Walk(
        jnp.int32(0), jnp.bool_(True), jnp.full_like(height, -jnp.inf), lowest, height, thresholds, following
    )
    end = jax.lax.while_loop(lambda now: (now.step < capacity) & now.goes_on, step, begin)
    return Envelopes(first, end.thresholds, end.following)


@dataclass(frozen=True)
class EnvelopeBlock:
    """Up to LANES sentences whose lists are of similar size, as the kernel wants them.

    sentences: [B'] int64 places in the tuning set.
    features: [F, H, B''] float32, with the features of the first hypothesis taken off (small numbers lose less).
    is_real: [H, B''] bool; B'' ≥ B' is the width of all blocks.
    """

    sentences: np.ndarray
    features: jax.Array
    is_real: jax.Array

    @cached_property
    def copies(self) -> Replicas[tuple[jax.Array, jax.Array]]:
        """Features and what is real of them, for lines that are walked on several devices."""
        return Replicas((self.features, self.is_real))


def envelope_blocks(lists: TuningLists) -> list[EnvelopeBlock]:
    """Splits a tuning set into blocks, sentences with the longest lists first; empty lists are left out."""
    order = np.argsort(-lists.sizes, kind="stable")
    order = order[lists.sizes[order] > 0]
    if not len(order):
        return []
    num_blocks = -(-len(order) // LANES)
    lanes = -(-len(order) // (num_blocks * 8)) * 8
    return [_envelope_block(lists, order[start : start + lanes], lanes) for start in range(0, len(order), lanes)]


def _envelope_block(lists: TuningLists, sentences: np.ndarray, lanes: int) -> EnvelopeBlock:
    longest, real = int(lists.sizes[sentences].max()), len(sentences)
    is_small = longest * lanes <= _SMALL_BLOCK
    height = power_of_two(longest, _LEAST_HEIGHT) if is_small else within_an_eighth(longest)
    features = np.zeros((lists.num_features, height, lanes), np.float32)
    is_real = np.zeros(features.shape[1:], bool)
    is_real[:longest, :real] = lists.is_real[sentences, :longest].T
    is_real[0] = True  # sentences that fill the block have one hypothesis
    centred = lists.features[sentences, :longest] - lists.features[sentences, :1]
    features[:, :longest, :real] = np.where(is_real[None, :longest, :real], centred.transpose(2, 1, 0), 0.0)
    return EnvelopeBlock(sentences, jnp.asarray(features), jnp.asarray(is_real))


class BlockLines(NamedTuple):
    """L lines through the lists of a block, walked on the device of piece `number`: points, directions [L, F]."""

    number: int
    block: EnvelopeBlock
    points: np.ndarray
    directions: np.ndarray

    def walk(self, capacity: int = 16) -> Envelopes:
        """Begins to walk them; lines are padded to few numbers of them, and sentences to those of the block."""
        lines = [
            filled_rows(rows.astype(np.float32), power_of_four(len(rows))) for rows in (self.points, self.directions)
        ]
        return upper_envelopes(*self.block.copies.on(self.number), *lines, np.int32(len(self.points)), capacity)


def block_envelopes(lines: BlockLines, found: Envelopes) -> tuple[np.ndarray, ...]:
    """first [L, B'], thresholds and following [L, E, B'] of lines that are being walked, E large enough."""
    num_lines, real = len(lines.points), len(lines.block.sentences)
    while True:
        first, thresholds, following = (np.asarray(part)[:num_lines, ..., :real] for part in found)
        capacity = found.thresholds.shape[1]
        if capacity >= len(lines.block.is_real) or not np.isfinite(thresholds[:, -1]).any():
            return first, thresholds, following
        found = lines.walk(4 * capacity)  # the last place is taken: there may be more
