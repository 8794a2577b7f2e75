"""Pieces without left context: put together in any way they score like the whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import ROOT, build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.fragments import append_words, empty_fragment, join, score_fragment, start_fragment
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.scoring import score
from jaxsmt.lm.union import build_union_automaton
from tests.lm.slow_lm import encode, random_arpa, random_text, slow_from_lm

COUNT, LONGEST = 200, 5
extend, put_together, finish, score_word = (jax.jit(f) for f in (append_words, join, score_fragment, score))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Automata of several kinds, the weights to score them by, and their vocabularies' sizes."""
    kinds = []
    for order, prune in ((1, ()), (3, (0, 0, 1)), (5, ())):
        lm = estimate_lm(*encode(random_text(order, 150, 10)), LmConfig(order=order, prune=prune))
        kinds.append((build_automaton(lm), None, len(lm.vocabulary)))
    path = tmp_path_factory.mktemp("odd") / "odd.arpa"
    lm = read_arpa(random_arpa(1, order=4, with_contexts=False).write(path))
    kinds.append((build_automaton(lm), None, len(lm.vocabulary)))
    lms = [estimate_lm(*encode(random_text(seed, 80, 8)), LmConfig(order=2 + seed)) for seed in range(2)]
    union, vocabulary = build_union_automaton(lms)
    kinds.append((union, jnp.broadcast_to(jnp.array([0.3, 0.7]), (COUNT, 2)), len(vocabulary)))
    return [(jax.device_put(automaton), weights, size) for automaton, weights, size in kinds]


def from_scratch(automaton, state, words, num_words, weights):
    """log p and the state after the first num_words [N] of words [N, T], word by word."""
    total = np.zeros(len(words), np.float32)
    for t in range(words.shape[1]):
        log_p, after = score_word(automaton, state, words[:, t], weights)
        inside = t < np.asarray(num_words)
        total, state = total + np.where(inside, log_p, 0.0), np.where(inside, after, state)
    return total, state


def random_pieces(rng, vocabulary_size):
    """Pieces with a bias to few words, so that n-grams match, some without words."""
    words = np.minimum(6 + rng.geometric(0.35, (COUNT, LONGEST)) - 1, vocabulary_size - 1)
    return jnp.asarray(words, jnp.int32), jnp.asarray(rng.integers(0, LONGEST + 1, COUNT), jnp.int32)


def test_pieces_score_like_the_whole_in_every_context(models):
    rng = np.random.default_rng(0)
    for automaton, weights, size in models:
        words, num_words = random_pieces(rng, size)
        piece = extend(automaton, empty_fragment(automaton, (COUNT,)), words, num_words, weights)
        reached = np.concatenate([np.asarray(automaton.unigrams)[:, 0], np.asarray(automaton.arcs)[:, 2]])
        context = rng.integers(0, reached.max() + 1, COUNT).astype(np.int32)
        total, state = finish(automaton, context, piece, weights)
        expected, expected_state = from_scratch(automaton, context, words, num_words, weights)
        np.testing.assert_allclose(total, expected, atol=2e-5)
        np.testing.assert_array_equal(state, expected_state)
        assert (np.asarray(piece.num_left) <= automaton.order - 1).all()


def test_joined_pieces_equal_the_piece_of_all_words(models):
    rng = np.random.default_rng(1)
    for automaton, weights, size in models:
        parts = [random_pieces(rng, size) for _ in range(3)]
        nothing = empty_fragment(automaton, (COUNT,))
        first, second, third = (extend(automaton, nothing, *part, weights) for part in parts)
        leftwards = put_together(automaton, put_together(automaton, first, second, weights), third, weights)
        rightwards = put_together(automaton, first, put_together(automaton, second, third, weights), weights)
        whole = nothing
        for part in parts:
            whole = extend(automaton, whole, *part, weights)
        for joined in (leftwards, rightwards):
            for name, value in joined._asdict().items():
                if name in ("estimate", "exact"):
                    np.testing.assert_allclose(value, getattr(whole, name), atol=2e-5, err_msg=name)
                else:
                    np.testing.assert_array_equal(value, getattr(whole, name), err_msg=name)


def test_after_the_sentence_start_all_is_exact(models):
    rng = np.random.default_rng(2)
    for automaton, weights, size in models:
        words, num_words = random_pieces(rng, size)
        piece = extend(automaton, empty_fragment(automaton, (COUNT,)), words, num_words, weights)
        sentence = put_together(automaton, start_fragment(automaton, (COUNT,)), piece, weights)
        start = np.broadcast_to(automaton.start, (COUNT,))
        expected, state = from_scratch(automaton, start, words, num_words, weights)
        np.testing.assert_allclose(sentence.exact, expected, atol=2e-5)
        np.testing.assert_array_equal(sentence.state, state)
        assert not np.asarray(sentence.num_left).any()
        assert not np.asarray(sentence.estimate).any()


@pytest.fixture(scope="module")
def fivegram():
    return estimate_lm(*encode(random_text(11, 250, 14)), LmConfig(order=5))


def test_left_words_are_no_more_than_needed(fivegram):
    """L is the first place where the words so far end no longer context of the model, found in the dictionary."""
    automaton, slow = build_automaton(fivegram), slow_from_lm(fivegram)
    ends = {g[1:-1] for g in slow.entries if len(g) > 2}  # what contexts end in
    words, num_words = random_pieces(np.random.default_rng(3), len(fivegram.vocabulary))
    piece = extend(automaton, empty_fragment(automaton, (COUNT,)), words, num_words)
    shorter = 0
    for row, length, num_left, is_open in zip(words, num_words, piece.num_left, piece.is_open, strict=True):
        names = tuple(fivegram.vocabulary.decode(np.asarray(row[:length]).tolist()))
        ends_longer = [names[:i] in ends for i in range(1, len(names) + 1)]
        expected = next((i for i, longer in enumerate(ends_longer, 1) if not longer), len(names))
        assert (int(num_left), bool(is_open)) == (expected, all(ends_longer))
        shorter += expected < min(len(names), 4)
    assert shorter > 20  # minimisation is at work


def test_rest_costs_come_from_models_of_their_order(fivegram):
    rows = random_text(11, 250, 14)
    alone = [slow_from_lm(estimate_lm(*encode(rows, fivegram.vocabulary), LmConfig(order=k))) for k in range(1, 6)]
    rows = [row[:3] for row in rows if len(row) >= 3][:60]
    ids = jnp.asarray([fivegram.vocabulary.encode(row) for row in rows], jnp.int32)
    num_words = jnp.full(len(rows), 3)
    piece, plain = (
        extend(automaton, empty_fragment(automaton, (len(rows),)), ids, num_words)
        for automaton in (build_automaton(fivegram), build_automaton(fivegram, rest_costs=False))
    )
    np.testing.assert_array_equal(piece.num_left, plain.num_left)
    np.testing.assert_allclose(piece.exact, plain.exact, atol=1e-5)
    slow = slow_from_lm(fivegram)
    columns = (piece.num_left, piece.estimate, plain.estimate)
    for row, num_left, estimate, plain_estimate in zip(rows, *columns, strict=True):
        places = range(int(num_left))
        assert all(tuple(row[: k + 1]) in slow.entries for k in places)
        rest = [alone[k].log10_p(tuple(row[:k]), row[k]) for k in places]
        log10_p = [slow.log10_p(tuple(row[:k]), row[k]) for k in places]
        assert float(estimate) == pytest.approx(sum(rest) * np.log(10), abs=1e-4)
        assert float(plain_estimate) == pytest.approx(sum(log10_p) * np.log(10), abs=1e-4)
    assert (np.abs(piece.estimate - plain.estimate) > 0.01).sum() > 10


def test_single_pieces_equal_batches(fivegram):
    automaton = jax.device_put(build_automaton(fivegram))
    words, num_words = random_pieces(np.random.default_rng(5), len(fivegram.vocabulary))
    batch = extend(automaton, empty_fragment(automaton, (COUNT,)), words, num_words)
    for i in range(6):
        one = extend(automaton, empty_fragment(automaton), words[i], num_words[i])
        for ours, theirs in zip(one, batch, strict=True):
            np.testing.assert_allclose(ours, theirs[i], rtol=1e-6)
    nothing = extend(automaton, empty_fragment(automaton, (0,)), words[:0], num_words[:0])
    assert nothing.left_words.shape == (0, 4)
    assert int(empty_fragment(automaton).state) == ROOT
