"""Features of listed derivations as differentiable functions of the weights of components and language models."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsmt.common.sizes import within_an_eighth
from jaxsmt.search.nbest.uses import NONE, DerivationUses
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.rules.terms import Terms


class ListedRules(NamedTuple):
    """The rules of B lists with at most H derivations of at most R rules.

    terms: of n rules.
    place: [R, B, H] int32: which of them, n for none.
    before, after: [R, B, H] int32: orientations, as in `DerivationUses`.
    """

    terms: Terms
    place: Array
    before: Array
    after: Array


def rule_features(listed: ListedRules, weights: Array) -> Array:
    """[B, H, 4], or [B, H, 10] with orientations, for mixture weights [4, D] or [5, D]."""
    table = listed.terms.features(weights)
    table = jnp.concatenate([table, jnp.zeros((1, table.shape[1]), table.dtype)])
    columns = jnp.arange(table.shape[1] - 4)[None, None]

    def add(total: Array, rule: tuple[Array, Array, Array]) -> tuple[Array, None]:
        place, before, after = rule
        row = table[place]  # [B, H, 4 or 10]
        is_own = (columns == before[..., None]) | (columns == after[..., None])
        return total + jnp.concatenate([row[..., :4], jnp.where(is_own, row[..., 4:], 0.0)], -1), None

    start = jnp.zeros((*listed.place.shape[1:], table.shape[1]), table.dtype)
    return jax.lax.scan(add, start, (listed.place, listed.before, listed.after))[0]


def lm_feature(log_p: Array, weights: Array) -> Array:
    """[B, H, 1]: Σ_t log Σ_d μ_d p_d(t) of words [T, B, H, D], with zeros for no word, for weights [1, D]."""
    logs = jnp.log(weights[0])

    def add(total: Array, word: Array) -> tuple[Array, None]:
        mixed = jax.nn.logsumexp(word + logs[None, None], axis=-1) - jax.nn.logsumexp(logs)
        return total + mixed, None

    start = jnp.zeros(log_p.shape[1:3], jnp.result_type(log_p.dtype, weights.dtype))
    return jax.lax.scan(add, start, log_p)[0][..., None]


def listed_rules(rules: RuleModel, uses: DerivationUses, rows: np.ndarray) -> ListedRules:
    """The rules of derivations rows [B, H], -1 for none."""
    own = uses.rules.take(rows[rows >= 0])
    terms, place = rules.terms(own.values[:, 0])
    none = jax.tree.leaves(terms)[0].shape[-1]  # the size of what is padded
    numbered = type(own)(np.concatenate([place[:, None], own.values[:, 1:]], 1), own.offsets)
    longest = within_an_eighth(int(own.lengths.max(initial=1)))
    values = np.full((*rows.shape, longest, 3), NONE, np.int32)
    values[rows >= 0] = numbered.padded(np.arange(len(own)), longest, NONE)
    values[..., 0][values[..., 0] == NONE] = none
    return ListedRules(terms, *(jnp.asarray(column.transpose(2, 0, 1)) for column in np.moveaxis(values, -1, 0)))


def listed_words(uses: DerivationUses, number: int, rows: np.ndarray) -> Array:
    """[T, B, H, D] float32: log p of the words of derivations rows [B, H], -1 for none, in a language model."""
    own = uses.words[number].take(rows[rows >= 0])
    longest = within_an_eighth(int(own.lengths.max(initial=1)))
    values = np.zeros((*rows.shape, longest, own.values.shape[1]), np.float32)
    values[rows >= 0] = own.padded(np.arange(len(own)), longest)
    return jnp.asarray(values.transpose(2, 0, 1, 3))
