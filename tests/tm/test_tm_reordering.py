"""Orientations under mixture weights, against the definition."""

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counts import LexicalCounts
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary
from jaxsmt.tm import reordering
from jaxsmt.tm.component import Component
from jaxsmt.tm.reordering import (
    application_orientations,
    component_orientations,
    orientation_counts,
    orientation_probabilities,
    orientation_weights,
    with_orientation_weights,
)
from jaxsmt.tm.union import build_union


def slow_orientations(counts: np.ndarray, weights: np.ndarray) -> list[float]:
    """[6] p(o|s, t; λ) of one pair in float64 from counts [D, 6] and λ [D], by effective numbers of observations."""
    found = []
    for side in (counts[:, :3], counts[:, 3:]):
        weighted = [(float(w), row.astype(float)) for w, row in zip(weights, side, strict=True) if w > 0 and row.any()]
        if not weighted:
            found += [1 / 3] * 3
            continue
        total = sum(w * row.sum() for w, row in weighted)
        number = total**2 / sum(w**2 * row.sum() for w, row in weighted)
        frequency = sum(w * row for w, row in weighted) / total
        found += ((number * frequency + 0.5) / (number + 1.5)).tolist()
    return found


def random_counts(rng: np.random.Generator, num_components: int, num_pairs: int) -> np.ndarray:
    """[D, P, 6], as many to the previous as to the next; most components lack a pair, and some pairs are in none."""
    totals = rng.integers(0, 20, (num_components, num_pairs)) * (rng.random((num_components, num_pairs)) < 0.4)
    sides = [rng.multinomial(totals, (0.6, 0.1, 0.3)) for _ in range(2)]
    return np.concatenate(sides, -1).astype(np.float32)


def test_orientations_by_hand_and_back():
    counts = np.array([[[2, 0, 1, 0, 3, 0]], [[0, 4, 0, 1, 1, 2]]], np.float32)  # [D=2, P=1, 6]
    result = orientation_probabilities(counts, np.array([1.0, 0.5], np.float32))
    half = 0.5 * (3 + 4 / 4) / (3 + 4 / 2)  # of what an occurrence weighs
    expected = (np.array([2, 2, 1, 0.5, 3.5, 1]) + half) / (5 + 3 * half)
    np.testing.assert_allclose(result, expected[None], rtol=1e-6)
    plain = orientation_probabilities(counts[:1], np.ones(1, np.float32))
    np.testing.assert_array_equal(orientation_counts(np.asarray(plain), np.array([3.0])), counts[0])
    assert orientation_probabilities(counts[:, :0], np.ones(2, np.float32)).shape == (0, 6)


@pytest.mark.parametrize(("num_components", "num_pairs"), [(1, 0), (1, 1), (2, 1), (3, 40), (5, 300)])
def test_applications_equal_the_definition_and_single_calls(num_components, num_pairs, monkeypatch):
    rng = np.random.default_rng(num_pairs)
    counts = random_counts(rng, num_components, num_pairs)
    weights = np.exp(rng.normal(size=(4, num_components)) * 3) * (rng.random((4, num_components)) < 0.8)
    weights[:, 0] += 1e-6
    pairs, rows = rng.integers(0, max(num_pairs, 1), 3 * num_pairs), rng.integers(0, 4, 3 * num_pairs)
    found = application_orientations(counts, weights, pairs, rows)
    assert (found.shape, found.dtype) == ((3 * num_pairs, 6), np.float32)
    expected = [slow_orientations(counts[:, p], weights[u]) for p, u in zip(pairs, rows, strict=True)]
    np.testing.assert_allclose(np.exp(found), np.reshape(expected, (-1, 6)), rtol=2e-6)
    np.testing.assert_allclose(np.exp(found).reshape(-1, 2, 3).sum(-1), 1, rtol=1e-6)
    for a in range(min(num_pairs, 5)):
        alone = application_orientations(counts, weights[rows[a]][None], pairs[a : a + 1], np.zeros(1, int))
        np.testing.assert_array_equal(alone[0], found[a])
    monkeypatch.setattr(reordering, "PAIRS_PER_CALL", 256)
    np.testing.assert_array_equal(application_orientations(counts, weights, pairs, rows), found)


@pytest.mark.parametrize("scale", [1e-38, 1e-3, 7.0, 1e30])
def test_the_scale_of_weights_does_not_matter(scale):
    rng = np.random.default_rng(3)
    counts, weights = random_counts(rng, 3, 50), np.array([[1.0, 0.25, 1e-3]])
    every, first = np.arange(50), np.zeros(50, int)
    found = application_orientations(counts, scale * weights, every, first)
    np.testing.assert_allclose(found, application_orientations(counts, weights, every, first), atol=2e-6)


def test_weights_that_differ_much_keep_the_word_of_the_only_component():
    counts = np.zeros((2, 2, 6), np.float32)
    counts[0, 0], counts[1] = [3, 0, 0, 3, 0, 0], [0, 2, 0, 0, 2, 0]
    found = application_orientations(counts, np.array([[1, 1e-25]]), np.arange(2), np.zeros(2, int))
    own = component_orientations(np.stack([counts[0, 0], counts[1, 1]]))
    np.testing.assert_allclose(np.exp(found), own, rtol=1e-6)


def test_one_component_and_one_hot_weights_are_that_component():
    rng = np.random.default_rng(5)
    counts = random_counts(rng, 3, 60)
    for d in range(3):
        own = component_orientations(counts[d])
        alone = np.asarray(orientation_probabilities(counts[d : d + 1], np.array([0.3])))
        np.testing.assert_allclose(alone, own, rtol=3e-7)
        one_hot = np.asarray(orientation_probabilities(counts, np.eye(3)[d]))
        np.testing.assert_allclose(one_hot, own, rtol=3e-7)


def test_a_component_without_orientations_counts_nothing():
    rng = np.random.default_rng(6)
    counts = random_counts(rng, 3, 60)
    counts[1] = 0
    with_it = orientation_probabilities(counts, np.array([0.2, 5.0, 1.0]))
    without = orientation_probabilities(counts[[0, 2]], np.array([0.2, 1.0]))
    np.testing.assert_allclose(with_it, without, rtol=1e-6)


def text_component(name, sentences):
    """The component of (source ids, target ids, links) rows."""
    sides = [ragged_from_rows([row[side] for row in sentences]) for side in (0, 1)]
    links = ragged_from_rows([row[2] for row in sentences], width=2)
    rules = extract_counts(Bitext(*sides), links, ExtractConfig(max_phrase_length=3))
    words = Vocabulary(("v", "w", "x", "y"))
    no_words = np.zeros((2, len(words)), np.float32)
    lexical = LexicalCounts(np.zeros((0, 2), np.int32), np.zeros(0, np.float32), *no_words)
    return Component(name, "phrase", rules, lexical, words, words)


def random_sentences(rng, num_sentences):
    rows = []
    for _ in range(num_sentences):
        source, target = ((rng.integers(0, 4, size) + NUM_RESERVED).tolist() for size in rng.integers(1, 6, 2))
        rows.append((source, target, np.argwhere(rng.random((len(source), len(target))) < 0.3).tolist()))
    return rows


def test_equal_weights_are_the_concatenated_corpus():
    rng = np.random.default_rng(7)
    first, second = random_sentences(rng, 20), random_sentences(rng, 30)
    parts = build_union([text_component("a", first), text_component("b", second)])
    whole = build_union([text_component("ab", first + second)])
    assert len(parts) == len(whole) > 50
    assert (parts.orientation_counts > 0).any(-1).all(0).any()  # some pair is in both
    np.testing.assert_allclose(
        orientation_probabilities(parts.orientation_counts, np.ones(2)),
        component_orientations(whole.orientation_counts[0]),
        rtol=1e-6,
    )


def test_the_weights_of_orientations_in_mixtures():
    weights = np.arange(24.0).reshape(2, 4, 3)
    np.testing.assert_array_equal(orientation_weights(weights), weights[:, 2])
    own = np.array([[1.0, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(orientation_weights(with_orientation_weights(weights, own)), own)
    assert with_orientation_weights(weights[0], own[0]).shape == (5, 3)
    np.testing.assert_array_equal(orientation_weights(own), own)
