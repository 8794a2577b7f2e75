"""Utilities between all pairs of a list's translations, and their means under posteriors, for a batch of lists."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsmt.adapt.consensus.config import BLEU

_BETA_SQUARED = 4.0  # of chrF: recall counts twice as much as precision


class ListBatch(NamedTuple):
    """B lists of at most H translations, with n-grams of O orders; 0 where there is none.

    has_item: [O, B, H, V] uint8: whether a translation has an item; num_common: [O, B] items that all have besides.
    totals: [O, B, H] float32: n-grams of each translation.
    lengths: [B, H] float32: its tokens.
    posteriors: [B, G, H] float32: of each translation, for G scales.
    """

    has_item: Array
    num_common: Array
    totals: Array
    lengths: Array
    posteriors: Array


@partial(jax.jit, static_argnames="utility")
def mean_utilities(batch: ListBatch, utility: str) -> Array:
    """[B, G, H] float32: Σ_r p(r) u(h, r) of every translation h, u in 0..1 (Kumar & Byrne 2004, section 2)."""
    utilities = pairwise_utilities(batch, utility)  # [B, H, H]
    return jnp.einsum("bhr,bgr->bgh", utilities, batch.posteriors, precision=lax.Precision.HIGHEST)


def pairwise_utilities(batch: ListBatch, utility: str) -> Array:
    """[B, H, H] float32: u(h, r) of translation h if r were the reference."""
    return _sentence_bleu(batch) if utility == BLEU else _chrf(batch)


def _matches(has_item: Array, num_common: Array, totals: Array) -> Array:
    """[B, H, H]: clipped matches of one order, exactly; has_item: [B, H, V], num_common: [B], totals: [B, H]."""
    rows = has_item.astype(jnp.float32)
    # 0 and 1 are exact in any format that a device may multiply in, and so are sums below 2^24 in float32
    shared = jnp.einsum("bhv,brv->bhr", rows, rows, precision=lax.Precision.DEFAULT, preferred_element_type=jnp.float32)
    is_itself = jnp.eye(rows.shape[1], dtype=bool)
    return jnp.where(is_itself, totals[:, :, None], shared + num_common[:, None, None])


def _sentence_bleu(batch: ListBatch) -> Array:
    """BLEU + 1 (Lin & Och 2004): one more match and n-gram for n > 1; 0 where no word matches."""

    def add_order(carry: Array, order: tuple[Array, ...]) -> tuple[Array, Array]:
        number, *counts = order
        more = (number > 0).astype(jnp.float32)
        matches = _matches(*counts)
        precision = (matches + more) / jnp.maximum(counts[2] + more, 1.0)[:, :, None]
        return carry + jnp.log(jnp.where(precision > 0, precision, 1.0)), matches > 0

    num_orders, shape = len(batch.totals), (*batch.lengths.shape, batch.lengths.shape[1])
    log_precision, has_match = lax.scan(add_order, jnp.zeros(shape), (jnp.arange(num_orders), *batch[:3]))
    shortness = batch.lengths[:, None, :] / jnp.maximum(batch.lengths, 1.0)[:, :, None] - 1.0
    return jnp.where(has_match[0], jnp.exp(log_precision / num_orders - jnp.maximum(shortness, 0.0)), 0.0)


def _chrf(batch: ListBatch) -> Array:
    """chrF2 (Popović 2015): precision and recall averaged over the orders that both sides have."""

    def add_order(carry: Array, counts: tuple[Array, ...]) -> tuple[Array, None]:
        matches, totals = _matches(*counts), counts[2]
        own, other = totals[:, :, None], totals[:, None, :]
        has_both = (own > 0) & (other > 0)
        ratios = [jnp.where(has_both, matches / jnp.maximum(part, 1.0), 0.0) for part in (own, other)]
        return carry + jnp.stack([*ratios, has_both.astype(jnp.float32)]), None

    start = jnp.zeros((3, *batch.lengths.shape, batch.lengths.shape[1]))
    (precision, recall, orders), _ = lax.scan(add_order, start, batch[:3])
    precision, recall = precision / jnp.maximum(orders, 1.0), recall / jnp.maximum(orders, 1.0)
    weighted = _BETA_SQUARED * precision + recall
    return (1 + _BETA_SQUARED) * precision * recall / jnp.where(weighted > 0, weighted, 1.0)
