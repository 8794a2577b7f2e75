"""Both directions as one: what they agree on, by the product of their posterior probabilities.

Liang, Taskar and Klein (2006), "Alignment by Agreement": two models that explain the same links are trained to agree
on them, with expected counts q(i, j) = p(i, j | forward) · p(i, j | reverse) for the lexicons of both (section 3.2,
the heuristic E-step), and links are those whose product exceeds a threshold (section 4.2). NULL's words and the jumps
keep the expected counts of their own direction.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.align.posteriors import Evidence, Number

_BITS = 8  # links of a byte


def agreed_cells(forward: Evidence, reverse: Evidence) -> jax.Array:
    """[B, N, M] product of the posteriors of every link; 0 in padding."""
    return forward.cell * jnp.swapaxes(reverse.cell, 1, 2)


def agreed_evidence(forward: Evidence, reverse: Evidence) -> tuple[Evidence, Evidence]:
    """The evidence of both directions with links counted as far as the other direction has them, too."""
    product = agreed_cells(forward, reverse)
    return forward._replace(cell=product), reverse._replace(cell=jnp.swapaxes(product, 1, 2))


def packed_links(product: jax.Array, threshold: Number) -> jax.Array:
    """[B, N, ⌈M/8⌉] uint8: one bit for every cell [B, N, M] above the threshold."""
    return jnp.packbits(product > threshold, axis=2)


def unpacked_links(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place in the batch, source and target position of every bit that is set, in this order."""
    place, source, byte = np.nonzero(packed)  # few bytes have any
    which, bit = np.nonzero(np.unpackbits(packed[place, source, byte][:, None], axis=1))
    return place[which], source[which], byte[which] * _BITS + bit
