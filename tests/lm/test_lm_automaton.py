"""The device automaton against KenLM, against dictionaries, and its own promises."""

import gzip
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm.arpa import read_arpa, write_arpa
from jaxsmt.lm.automaton import ROOT, build_automaton, load_automaton, save_automaton, to_device
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kenlm_model import kenlm_word_log_probs, load_kenlm
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.perfect_hash import build_perfect_hash, find_slots, table_size
from jaxsmt.lm.scoring import look_up, score, sentence_entropies, sentence_log_probs, word_log_probs
from jaxsmt.text.vocabulary import SENTENCE_END, Vocabulary
from tests.lm.slow_lm import encode, flat_scores, random_arpa, random_sentences, random_text, slow_from_lm


@pytest.mark.parametrize("num_keys", [0, 1, 2, 3, 50, 5000, 70_000])
def test_perfect_hash_finds_every_key_in_one_look(num_keys):
    rng = np.random.default_rng(num_keys)
    keys = np.unique(rng.integers(0, 1 << 40, num_keys))
    state, word = (keys >> 20).astype(np.uint32), (keys & 0xFFFFF).astype(np.uint32)
    seeds, salt, owners = build_perfect_hash(state, word)
    assert np.array_equal(np.sort(owners[owners >= 0]), np.arange(len(keys)))
    slots = find_slots(state, word, seeds, salt, len(owners), lambda table, index: table[index])
    np.testing.assert_array_equal(owners[slots], np.arange(len(keys)))
    on_device = jax.jit(lambda s, w: find_slots(s, w, jnp.asarray(seeds), salt, len(owners), lambda t, i: t[i]))
    np.testing.assert_array_equal(on_device(state, word), slots)


@pytest.mark.parametrize("at_least", [1, 2, 65535, 65536, 65537, 131071, 1_000_003, (1 << 31) - 1])
def test_table_sizes_are_tight_and_reducible(at_least):
    size = table_size(at_least)
    assert at_least <= size <= at_least * (1 + 2**-14) + 1
    shift = max(0, size.bit_length() - 16)
    assert size >> shift << shift == size


def assert_automaton_equals_kenlm(lm, path, rows):
    model = load_kenlm(path)
    sentences, _ = encode(rows, lm.vocabulary)
    automaton = build_automaton(lm)
    ours = word_log_probs(automaton, sentences)
    theirs = np.concatenate([kenlm_word_log_probs(model, row) for row in rows])
    np.testing.assert_allclose(ours.values[:, 0], theirs, rtol=0, atol=1e-5)
    return theirs, automaton.num_bytes


@pytest.mark.parametrize(("order", "prune"), [(2, ()), (3, (0, 1)), (4, ()), (5, (0, 0, 1)), (6, ())])
def test_equals_kenlm_on_our_models(kenlm, tmp_path, order, prune):
    rows = random_text(order, 150, 20)
    lm = estimate_lm(*encode(rows), LmConfig(order=order, prune=prune))
    write_arpa(lm, tmp_path / "lm.arpa")
    rows = random_text(order + 50, 30, 22) + random_sentences(order, 20)
    assert_automaton_equals_kenlm(lm, tmp_path / "lm.arpa", rows)


@pytest.mark.parametrize("seed", range(8))
def test_equals_kenlm_on_odd_models(kenlm, tmp_path, seed):
    path = random_arpa(seed, order=2 + seed % 4).write(tmp_path / "odd.arpa")
    assert_automaton_equals_kenlm(read_arpa(path), path, random_sentences(seed, 5))


@pytest.mark.parametrize("seed", range(5))
def test_equals_dictionary_where_contexts_are_missing(tmp_path, seed):
    slow = random_arpa(seed, order=1 + seed % 5, with_contexts=False)
    lm = read_arpa(slow.write(tmp_path / "odd.arpa"))
    rows = random_sentences(seed, 5)
    ours = word_log_probs(build_automaton(lm), encode(rows, lm.vocabulary)[0])
    np.testing.assert_allclose(ours.values[:, 0], flat_scores(slow, rows), atol=1e-5)


@pytest.mark.parametrize("order", [3, 5])
def test_equals_kenlm_on_held_out_text(kenlm, reference, order):
    path = reference / "lm" / f"A.en.{order}.arpa.gz"
    with gzip.open(reference / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        rows = [line.split() for line in stream][:200]
    lm, rng = read_arpa(path), np.random.default_rng(0)
    random_rows = [[lm.vocabulary.words[i] for i in rng.integers(0, 300, 12)] for _ in range(56)]
    theirs, num_bytes = assert_automaton_equals_kenlm(lm, path, rows + random_rows)
    assert num_bytes / sum(lm.counts) <= 30
    with gzip.open(reference / "lm" / f"pydoc-dev200.{order}gram.word.tsv.gz", "rt", encoding="utf-8") as stream:
        query = np.array([float(line.rstrip("\n").split("\t")[-1]) for line in stream])
    np.testing.assert_allclose(theirs[: len(query)], query * np.log(10), atol=1e-5)


@pytest.fixture(scope="module")
def trigram():
    return estimate_lm(*encode(random_text(9, 200, 12)), LmConfig(order=3))


def test_states_are_contexts_that_matter(trigram):
    """Two histories have one state exactly where no word ever tells them apart in the tables."""
    automaton = build_automaton(trigram)
    slow = slow_from_lm(trigram)
    words = range(6, len(trigram.vocabulary))
    histories = list(itertools.product(words, words))
    first, second = np.array(histories, np.int32).T
    state = look_up(automaton, jnp.full(len(first), ROOT), jnp.asarray(first)).state
    state = np.asarray(look_up(automaton, state, jnp.asarray(second)).state)
    names = trigram.vocabulary.decode
    alone = np.asarray(look_up(automaton, jnp.full(len(first), ROOT), jnp.asarray(second)).state)
    contexts = {g[:2] for g in slow.entries if len(g) == 3} | {g for g, (_, backoff) in slow.entries.items() if backoff}
    for (a, b), own, shorter in zip(histories, state, alone, strict=True):
        assert (own != shorter) == (tuple(names([a, b])) in contexts)
    num_states = 1 + max(automaton.arcs[:, 2].max(), automaton.unigrams[:, 0].max())
    assert num_states < 1 + len(trigram.levels[0]) + len(trigram.levels[1])


def test_single_queries_equal_batches_of_any_shape(trigram):
    automaton = build_automaton(trigram)
    rng = np.random.default_rng(0)
    state = rng.integers(0, len(automaton.states), (3, 4)).astype(np.int32)
    word = rng.integers(0, len(trigram.vocabulary), (3, 4)).astype(np.int32)
    log_p, after = score(automaton, jnp.asarray(state), jnp.asarray(word))
    for place in np.ndindex(3, 4):
        one = score(automaton, jnp.int32(state[place]), jnp.int32(word[place]))
        assert (float(one[0]), int(one[1])) == (float(log_p[place]), int(after[place]))
    mapped = jax.vmap(lambda s, w: score(automaton, s, w))(state, word)
    np.testing.assert_array_equal(mapped[0], log_p)
    empty = score(automaton, jnp.zeros((0,), jnp.int32), jnp.zeros((0,), jnp.int32))
    assert empty[0].shape == empty[1].shape == (0,)


def test_tables_reach_the_device_unchanged(trigram, monkeypatch):
    monkeypatch.setattr("jaxsmt.lm.automaton._HUGE_PAGE", 1000)  # some tables are above, some below
    automaton = build_automaton(trigram)
    for ours, theirs in zip(jax.tree.leaves(to_device(automaton)), jax.tree.leaves(automaton), strict=True):
        assert isinstance(ours, jax.Array)
        np.testing.assert_array_equal(ours, theirs)


def test_one_compilation_serves_all_calls_of_a_shape(trigram):
    automaton = jax.device_put(build_automaton(trigram))
    traces = []

    @jax.jit
    def run(automaton, state, word):
        traces.append(1)
        return score(automaton, state, word)

    for word in (6, 7, SENTENCE_END):
        run(automaton, jnp.zeros(5, jnp.int32), jnp.full(5, word, jnp.int32))
    assert len(traces) == 1


def test_sentences_sum_their_words(trigram):
    automaton = build_automaton(trigram)
    rows = random_sentences(4, 12)
    sentences, _ = encode(rows, trigram.vocabulary)
    words = word_log_probs(automaton, sentences)
    assert words.lengths.tolist() == [len(row) + 1 for row in rows]
    totals = sentence_log_probs(automaton, sentences)
    np.testing.assert_allclose(totals[:, 0], [words[r].sum() for r in range(len(rows))], rtol=1e-5)
    entropies = sentence_entropies(automaton, sentences)
    np.testing.assert_allclose(entropies[:, 0], -totals[:, 0] / np.log(2) / words.lengths)
    alone = word_log_probs(automaton, sentences.take(np.array([3])))
    np.testing.assert_array_equal(alone.values, words[3])
    assert word_log_probs(automaton, sentences.take(np.array([], int))).values.shape == (0, 1)


def test_words_that_only_the_vocabulary_knows_are_unknown(tmp_path):
    slow = random_arpa(5, order=3)
    lm = read_arpa(slow.write(tmp_path / "lm.arpa"), Vocabulary(("w0", "other", "w1", "w2", "w3", "w4", "<s>")))
    rows = [["w0", "other", "w1"], ["<s>", "w2"], ["nowhere", "other"]]
    ours = word_log_probs(build_automaton(lm), encode(rows, lm.vocabulary)[0])
    plain = [["w0", "<unk>", "w1"], ["<unk>", "w2"], ["<unk>", "<unk>"]]
    np.testing.assert_allclose(ours.values[:, 0], flat_scores(slow, plain), atol=1e-5)


def test_saved_automaton_is_mapped_and_equal(tmp_path, trigram):
    automaton = build_automaton(trigram)
    save_automaton(automaton, tmp_path / "lm.safetensors")
    save_automaton(build_automaton(trigram), tmp_path / "again.safetensors")
    assert (tmp_path / "lm.safetensors").read_bytes() == (tmp_path / "again.safetensors").read_bytes()
    back = load_automaton(tmp_path / "lm.safetensors")
    assert isinstance(back.arcs, np.memmap)
    assert back.order == 3
    assert jax.tree.structure(back) == jax.tree.structure(automaton)
    for ours, theirs in zip(jax.tree.leaves(back), jax.tree.leaves(automaton), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(UserError, match="does not exist"):
        load_automaton(tmp_path / "nothing")
