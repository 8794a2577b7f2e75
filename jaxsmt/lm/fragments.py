"""Pieces of a translation whose left context is not known yet, as a chart decoder builds them.

Of a piece w_1 … w_k only the first words can change their score when words are put before it: w_1 … w_L, where L is the
shortest beginning that no longer context of the model ends in (left-state minimisation; Heafield, Hoang et al. 2011).
The rest is exact for good. Until the context is known, the left words count with rest costs: probabilities
of models of just their order (Heafield, Koehn and Lavie 2012, section 3.1).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsmt.lm.automaton import ROOT, Automaton
from jaxsmt.lm.scoring import look_up, mix, score
from jaxsmt.text.vocabulary import PAD

Array = Any


class Fragment(NamedTuple):
    """Pieces without left context; all fields have the same leading axes [...].

    left_words: [..., order - 1] int32, the words whose scores will change, PAD after them.
    num_left: [...] int32, L.
    is_open: [...] bool, whether the left words are all there is and a longer context may end in them.
    estimate: [...] float32, rest costs of the left words.
    exact: [...] float32, log p of the other words, final.
    state: [...] int32, the state after the piece; final unless the piece is open.
    Two pieces with equal left_words, num_left, is_open and state score all surroundings alike.
    """

    left_words: Array
    num_left: Array
    is_open: Array
    estimate: Array
    exact: Array
    state: Array


def empty_fragment(automaton: Automaton, shape: tuple[int, ...] = ()) -> Fragment:
    """Pieces without words."""
    zeros = jnp.zeros(shape, jnp.float32)
    return Fragment(
        jnp.full((*shape, automaton.order - 1), PAD, jnp.int32),
        jnp.zeros(shape, jnp.int32),
        jnp.full(shape, automaton.order > 1),
        zeros,
        zeros,
        jnp.full(shape, ROOT, jnp.int32),
    )


def start_fragment(automaton: Automaton, shape: tuple[int, ...] = ()) -> Fragment:
    """Pieces that consist of <s>: what follows is exact."""
    start = jnp.broadcast_to(automaton.start, shape)
    return empty_fragment(automaton, shape)._replace(is_open=jnp.zeros(shape, bool), state=start)


def append_word(automaton: Automaton, fragment: Fragment, word: Array, weights: Array | None = None) -> Fragment:
    """The pieces with one more word [...] at the end; `weights` as in `score`."""
    found = look_up(automaton, fragment.state, word)
    log_p, log_rest = mix(found.log_p, weights), mix(found.log_rest, weights)
    is_open = fragment.is_open
    places = jax.lax.broadcasted_iota(jnp.int32, fragment.left_words.shape, fragment.left_words.ndim - 1)
    at_end = is_open[..., None] & (places == fragment.num_left[..., None])
    num_left = fragment.num_left + is_open
    left_length = jnp.asarray(automaton.left_length).at[found.state].get(mode="promise_in_bounds")
    return Fragment(
        jnp.where(at_end, word[..., None], fragment.left_words),
        num_left,
        is_open & (left_length == num_left),
        fragment.estimate + jnp.where(is_open, log_rest, 0.0),
        fragment.exact + jnp.where(is_open, 0.0, log_p),
        found.state,
    )


def append_words(
    automaton: Automaton, fragment: Fragment, words: Array, num_words: Array, weights: Array | None = None
) -> Fragment:
    """The pieces with rows of words [..., T] at the end, of which the first num_words [...] count."""

    def step(fragment: Fragment, place_and_word: tuple[Array, Array]) -> tuple[Fragment, None]:
        place, word = place_and_word
        longer = append_word(automaton, fragment, word, weights)
        return _choose(place < num_words, longer, fragment), None

    places = jnp.arange(words.shape[-1])
    return jax.lax.scan(step, fragment, (places, jnp.moveaxis(words, -1, 0)))[0]


def join(automaton: Automaton, left: Fragment, right: Fragment, weights: Array | None = None) -> Fragment:
    """Pieces put side by side: only the left words of the right piece are scored again."""
    joined = append_words(automaton, left, right.left_words, right.num_left, weights)
    is_open = joined.is_open & right.is_open
    return joined._replace(
        is_open=is_open,
        exact=joined.exact + right.exact,
        state=jnp.where(right.is_open, joined.state, right.state),
    )


def score_fragment(
    automaton: Automaton, state: Array, fragment: Fragment, weights: Array | None = None
) -> tuple[Array, Array]:
    """Exact log p of the pieces after a known context, and the state after them."""

    def step(carry: tuple[Array, Array], place_and_word: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        total, state = carry
        place, word = place_and_word
        log_p, next_state = score(automaton, state, word, weights)
        inside = place < fragment.num_left
        return (total + jnp.where(inside, log_p, 0.0), jnp.where(inside, next_state, state)), None

    places = jnp.arange(fragment.left_words.shape[-1])
    words = jnp.moveaxis(fragment.left_words, -1, 0)
    (total, after), _ = jax.lax.scan(step, (fragment.exact, state), (places, words))
    return total, jnp.where(fragment.is_open, after, fragment.state)


def _choose(condition: Array, yes: Fragment, no: Fragment) -> Fragment:
    """Field by field, for a condition with the leading axes."""

    def choose(first: Array, second: Array) -> Array:
        return jnp.where(condition.reshape(*condition.shape, *(1,) * (first.ndim - condition.ndim)), first, second)

    return Fragment(*(choose(first, second) for first, second in zip(yes, no, strict=True)))
