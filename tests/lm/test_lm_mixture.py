"""Mixtures: the union automaton against separate KenLM models, static interpolation, EM weights."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kenlm_model import kenlm_word_log_probs, load_kenlm
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.mixture import MixtureConfig, fit_mixture, fit_weights, interpolate, share_unknown_mass
from jaxsmt.lm.scoring import mix, score, word_log_probs
from jaxsmt.lm.union import build_union_automaton
from tests.lm.slow_lm import encode, random_arpa, random_sentences, random_text, slow_from_lm


def three_models(orders=(3, 2, 4), shared_vocabulary=False, pad=0):
    texts = [random_text(seed, 60, 8 + 4 * seed) for seed in range(3)]
    vocabulary = encode([row for text in texts for row in text])[1] if shared_vocabulary else None
    return [
        estimate_lm(*encode(text, vocabulary), LmConfig(order=order, pad_vocabulary=pad))
        for text, order in zip(texts, orders, strict=True)
    ]


@pytest.mark.parametrize("shared_vocabulary", [True, False])
def test_union_equals_separate_kenlm_models(kenlm, tmp_path, shared_vocabulary):
    lms = three_models(shared_vocabulary=shared_vocabulary)
    rows = random_text(77, 20, 20) + random_sentences(5, 18)
    theirs = []
    for d, lm in enumerate(lms):
        write_arpa(lm, tmp_path / f"{d}.arpa")
        model = load_kenlm(tmp_path / f"{d}.arpa")
        theirs.append(np.concatenate([kenlm_word_log_probs(model, row) for row in rows]))
    union, vocabulary = build_union_automaton(lms)
    ours = word_log_probs(union, encode(rows, vocabulary)[0]).values
    np.testing.assert_allclose(ours, np.stack(theirs, 1), rtol=0, atol=1e-5)
    for seed in range(5):
        weights = np.random.default_rng(seed).dirichlet(np.ones(3)).astype(np.float32)
        mixed = mix(jnp.asarray(ours), jnp.asarray(weights))
        np.testing.assert_allclose(mixed, np.log(np.exp(np.stack(theirs, 1)) @ weights), rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_union_of_odd_models(tmp_path, seed):
    paths = [
        random_arpa(10 * seed + d, 2 + (seed + d) % 3, 4 + d, with_unknown_ngrams=False).write(tmp_path / f"{d}.arpa")
        for d in range(2)
    ]
    lms = [read_arpa(path) for path in paths]
    union, vocabulary = build_union_automaton(lms)
    rows = random_sentences(seed, 5)
    ours = word_log_probs(union, encode(rows, vocabulary)[0]).values
    for d, lm in enumerate(lms):
        alone = word_log_probs(build_automaton(lm), encode(rows, lm.vocabulary)[0]).values[:, 0]
        np.testing.assert_allclose(ours[:, d], alone, rtol=0, atol=1e-5)


def test_weights_per_sentence_and_switching():
    lms = three_models(shared_vocabulary=True)
    union, vocabulary = build_union_automaton(lms)
    state = jnp.full((4, 5), union.start)
    word = jnp.asarray(np.random.default_rng(0).integers(6, len(vocabulary), (4, 5)), jnp.int32)
    weights = jnp.concatenate([jnp.eye(3), jnp.array([[0.2, 0.3, 0.5]])])  # [B, D]
    log_p, _ = score(union, state, word, weights)
    for d, lm in enumerate(lms):
        alone = build_automaton(lm)
        expected, _ = score(alone, jnp.full(5, alone.start), word[d])
        np.testing.assert_allclose(log_p[d], expected, rtol=1e-6)
    by_model = [score(union, state[3], word[3], weights[d])[0] for d in range(3)]
    expected = np.log(np.exp(np.stack(by_model, 1)) @ np.array([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(log_p[3], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="3 models: give their weights"):
        score(union, state, word)


def contexts_and_words(slow):
    words = [ngram[0] for ngram in slow.entries if len(ngram) == 1 and ngram != ("<s>",)]
    return [()] + [ngram for ngram in slow.entries if len(ngram) < slow.order], words


@pytest.mark.parametrize("shared_vocabulary", [True, False])
@pytest.mark.parametrize("pad", [0, 18])
def test_interpolation_sums_to_one_and_has_the_mixture_in_the_union(shared_vocabulary, pad):
    lms = three_models((3, 2, 3), shared_vocabulary, pad)
    weights = [0.5, 0.2, 0.3]
    mixed = interpolate(lms, weights)
    slow = slow_from_lm(mixed)
    contexts, words = contexts_and_words(slow)
    assert len(words) == mixed.is_word.sum() - 1
    for context in contexts[::3]:
        assert sum(10 ** slow.log10_p(context, word) for word in words) == pytest.approx(1, abs=1e-6), context
    components = [slow_from_lm(share_unknown_mass(lm, len(words) + 1)) for lm in lms]
    for ngram, (log10_p, _) in slow.entries.items():
        if ngram[-1] != "<s>":
            each = [10 ** part.log10_p(ngram[:-1], ngram[-1]) for part in components]
            assert log10_p == pytest.approx(np.log10(np.dot(weights, each)), abs=1e-5), ngram


def test_interpolation_of_padded_models_equals_the_union_automaton():
    """With `pad_vocabulary` the models' own probabilities of unseen words are proper shares: nothing is changed."""
    lms = three_models((3, 3, 3), True, pad=19)  # 20 words in all, <s> is not predicted
    num_words = int(np.logical_or.reduce([lm.is_word for lm in lms]).sum())
    lms = three_models((3, 3, 3), True, pad=num_words - 1)
    weights = np.array([0.6, 0.1, 0.3], np.float32)
    static = build_automaton(interpolate(lms, [0.6, 0.1, 0.3]))
    union, vocabulary = build_union_automaton(lms)
    rows = random_text(2, 60, 16)  # text of the third model: its n-grams are in the union
    sentences, _ = encode(rows, vocabulary)
    exact = mix(jnp.asarray(word_log_probs(union, sentences).values), jnp.asarray(weights))
    np.testing.assert_allclose(word_log_probs(static, sentences).values[:, 0], exact, rtol=0, atol=1e-5)


def test_interpolated_model_is_an_arpa_model(kenlm, tmp_path):
    mixed = interpolate(three_models(), [0.2, 0.2, 0.6])
    write_arpa(mixed, tmp_path / "mixed.arpa")
    model = load_kenlm(tmp_path / "mixed.arpa")
    rows = random_text(5, 20, 20)
    ours = word_log_probs(build_automaton(mixed), encode(rows, mixed.vocabulary)[0]).values[:, 0]
    np.testing.assert_allclose(ours, np.concatenate([kenlm_word_log_probs(model, row) for row in rows]), atol=1e-5)


def test_one_model_mixed_with_itself_stays():
    lm = three_models()[0]
    mixed = interpolate([lm, lm], [0.25, 0.75])
    for ours, theirs in zip(mixed.levels, lm.levels, strict=True):
        np.testing.assert_allclose(ours.log_p, theirs.log_p, atol=1e-6)
        np.testing.assert_allclose(ours.log_backoff, theirs.log_backoff, atol=1e-4)


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.6], [1.5, -0.5]])
def test_bad_weights_are_named(weights):
    lm = three_models()[0]
    with pytest.raises(UserError, match="give one per model"):
        interpolate([lm, lm], weights)


def test_unknown_ngrams_of_unequal_vocabularies_are_refused(tmp_path):
    with_unknown = read_arpa(random_arpa(1, 3, 4).write(tmp_path / "a.arpa"))
    larger = read_arpa(random_arpa(2, 3, 6, with_unknown_ngrams=False).write(tmp_path / "b.arpa"))
    with pytest.raises(UserError, match="language model 1 of 2 has n-grams with <unk>"):
        build_union_automaton([with_unknown, larger])
    union, vocabulary = build_union_automaton([with_unknown, with_unknown])
    rows = random_sentences(1, 4)
    ours = word_log_probs(union, encode(rows, vocabulary)[0]).values
    alone = word_log_probs(build_automaton(with_unknown), encode(rows, vocabulary)[0]).values
    np.testing.assert_allclose(ours, np.repeat(alone, 2, axis=1), atol=1e-6)


def test_em_finds_the_weights_that_made_the_data():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(50, 0.3), 3)  # three distributions over 50 words
    truth = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    draws = np.stack([rng.choice(50, 20_000, p=weights @ p) for weights in truth])
    group = np.repeat([0, 1], 20_000)
    log_p = np.log(p.T[draws.reshape(-1)] + 1e-30)
    fit = fit_weights(log_p, group, 3, MixtureConfig(tolerance=1e-6, max_iterations=500))
    np.testing.assert_allclose(fit.weights[:2], truth, atol=0.02)
    np.testing.assert_allclose(fit.weights[2], 1 / 3)  # no text, no opinion
    np.testing.assert_allclose(fit.weights.sum(axis=1), 1)
    assert (np.diff(fit.entropies) <= 1e-12).all()  # EM never gets worse


def test_em_optimum_is_a_grid_optimum():
    rng = np.random.default_rng(1)
    log_p = np.log(rng.dirichlet(np.ones(4), (2, 200))[..., 0].T)
    fit = fit_weights(log_p, np.zeros(200, int), 1, MixtureConfig(1e-9, 5000))
    grid = np.linspace(0.001, 0.999, 999)
    likelihood = [np.log(np.exp(log_p) @ np.array([x, 1 - x])).sum() for x in grid]
    assert fit.weights[0, 0] == pytest.approx(grid[np.argmax(likelihood)], abs=2e-3)


def test_prior_pulls_towards_equal_weights():
    log_p = np.log(np.array([[0.9, 0.1]] * 10))
    free = fit_weights(log_p, np.zeros(10, int), 1).weights[0]
    held = fit_weights(log_p, np.zeros(10, int), 1, MixtureConfig(prior=1000.0)).weights[0]
    assert free[0] > 0.98
    assert held[0] == pytest.approx(0.5, abs=0.01)


def test_fit_on_text_prefers_the_model_of_that_text():
    lms = three_models(shared_vocabulary=True)
    union, vocabulary = build_union_automaton(lms)
    texts = [random_text(seed, 60, 8 + 4 * seed) for seed in (0, 2)]
    rows = [[*row, "nobody-knows"] for row in texts[0]] + texts[1]
    groups = np.repeat([0, 1], [len(texts[0]), len(texts[1])])
    fit = fit_mixture(union, encode(rows, vocabulary)[0], groups=groups)
    assert fit.weights.argmax(axis=1).tolist() == [0, 2]
    without, _ = encode(texts[0] + texts[1], vocabulary)
    assert fit.weights.shape == fit_mixture(union, without, groups=groups).weights.shape
    with pytest.raises(UserError, match="fit the weights on other text"):
        fit_mixture(union, encode([], vocabulary)[0])
