"""The alignment models: against enumeration of all alignments, monotone EM, padding, determinism, real text."""

import gzip
import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import digamma

from jaxsmt.align.cells import find_cells, number_cells
from jaxsmt.align.em import PaddedPairs, posteriors
from jaxsmt.align.lexicon import Lexicon, LexiconCounts, carry_hot, exp_digamma, m_step
from jaxsmt.align.links import read_links
from jaxsmt.align.model import AlignConfig, load_aligner, save_aligner
from jaxsmt.align.positions import (
    Positions,
    count_lengths,
    initial_positions,
    mean_prior_feature,
    update_jumps,
    update_tension,
)  # fmt: skip
from jaxsmt.align.training import align, align_directed, train_and_align
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.common.sizes import padded_rows
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import make_batches
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, build_vocabulary

P0 = 0.15
jitted_posteriors = jax.jit(posteriors, static_argnums=(4, 5))
VOCABULARY = NUM_RESERVED + 12


def random_bitext(seed: int, num: int = 40, longest: int = 9) -> Bitext:
    """Pairs that are noisy word-by-word translations in a changed order; some empty sides and single words."""
    random = np.random.default_rng(seed)
    source, target = [], []
    for row in range(num):
        words = random.integers(NUM_RESERVED, VOCABULARY, random.integers(1, longest + 1))
        order = np.argsort(np.arange(len(words)) + random.random(len(words)) * 2.5)
        made = words[order][random.random(len(words)) < 0.9]
        noise = random.integers(NUM_RESERVED, VOCABULARY, len(made))
        source.append([] if row == 3 else words)
        target.append([] if row == 5 else np.where(random.random(len(made)) < 0.1, noise, made))
    return Bitext(ragged_from_rows(source), ragged_from_rows(target))


def config(model: str, number: int, **changes) -> AlignConfig:
    iterations = {f"{name}_iterations": number if name == model else 0 for name in ("ibm1", "diagonal", "hmm")}
    return AlignConfig(**iterations, **{"max_shapes": 1, "alpha": 0.0, "agreement": False} | changes)


def history(bitext: Bitext, settings: AlignConfig) -> np.ndarray:
    """[iterations, 2] perplexities."""
    seen: list = []
    train_and_align(bitext, VOCABULARY, VOCABULARY, settings, progress=seen.append)
    return np.array([iteration.perplexity for iteration in seen])


def enumerate_alignments(emission, null, model, tension, jump):
    """p(target), link and NULL posteriors of one pair by summing over all (I+1)^J alignments; 0 is NULL."""
    width, height = emission.shape
    limit = (len(jump) - 1) // 2
    total, cell, nothing = 0.0, np.zeros((width, height)), np.zeros(height)
    for alignment in itertools.product(range(width + 1), repeat=height):
        probability, state = 1.0, 0
        for j, i in enumerate(alignment):
            if i == 0:
                probability *= P0 * null[j]
                continue
            if model == "hmm":
                prior = jump[i - state + limit] / sum(jump[k - state + limit] for k in range(1, width + 1))
                state = i
            else:
                weight = [np.exp(-tension * abs(k / width - (j + 1) / height)) for k in range(1, width + 1)]
                prior = weight[i - 1] / sum(weight)
            probability *= (1 - P0) * prior * emission[i - 1, j]
        total += probability
        for j, i in enumerate(alignment):
            if i:
                cell[i - 1, j] += probability
            else:
                nothing[j] += probability
    return total, cell / total, nothing / total


@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_posteriors_equal_enumeration(model):
    random = np.random.default_rng(3)
    sizes = [(1, 1), (3, 4), (4, 3), (1, 3), (3, 1), (0, 2), (2, 0), (2, 5)]
    width, height, limit = 5, 6, 7
    num_pairs, vocabulary = 40, 9
    pair = random.random((num_pairs, 2), dtype=np.float32) ** 4 + np.float32(1e-5)
    lexicon = Lexicon(pair, *(random.random(vocabulary, dtype=np.float32) * 0.3 for _ in range(2)))
    tension = 0.0 if model == "ibm1" else 3.0
    positions = Positions(
        np.array([tension, tension / 2], np.float32), random.random((2, 2 * limit + 1), dtype=np.float32) + 0.05
    )
    index = random.integers(0, num_pairs, (len(sizes), width, height)).astype(np.int32)
    source = random.integers(0, vocabulary, (len(sizes), width)).astype(np.int32)
    target = random.integers(0, vocabulary, (len(sizes), height)).astype(np.int32)
    lengths = np.array(sizes, np.int32)
    batch = PaddedPairs(index, source, target, lengths[:, 0], lengths[:, 1])
    found = jitted_posteriors(batch, lexicon, positions, P0, model, True)
    for direction, evidence in enumerate(found):
        log_likelihood = 0.0
        for row, (num_source, num_target) in enumerate(sizes):
            emission = pair[index[row], direction][:num_source, :num_target]
            words = source[row, :num_source] if direction else target[row, :num_target]
            null = lexicon[1 + direction][words]
            shape = (num_source, num_target)[:: -1 if direction else 1]
            cell, nothing = np.asarray(evidence.cell[row]), np.asarray(evidence.null[row])
            assert np.all(cell[shape[0] :] == 0)
            assert np.all(cell[:, shape[1] :] == 0)
            assert np.all(nothing[shape[1] :] == 0)
            if 0 in shape:
                assert np.all(cell == 0)
                continue
            emission = emission.T if direction else emission
            total, expected, expected_null = enumerate_alignments(
                emission, null, model, positions.tension[direction], positions.jump[direction]
            )
            log_likelihood += np.log(total)
            np.testing.assert_allclose(cell[: shape[0], : shape[1]], expected, rtol=2e-4, atol=1e-6)
            np.testing.assert_allclose(nothing[: shape[1]], expected_null, rtol=2e-4, atol=1e-6)
        np.testing.assert_allclose(float(evidence.log_likelihood), log_likelihood, rtol=1e-5)


def test_hmm_jump_counts_equal_enumeration():
    random = np.random.default_rng(5)
    width, height, limit = 3, 4, 4
    pair = random.random((width * height, 2), dtype=np.float32)
    null = np.full(8, 0.2, np.float32)
    positions = Positions(np.zeros(2, np.float32), random.random((2, 2 * limit + 1), dtype=np.float32) + 0.1)
    index = np.arange(width * height, dtype=np.int32).reshape(1, width, height)
    batch = PaddedPairs(
        index, np.zeros((1, width), np.int32), np.zeros((1, height), np.int32), np.array([width]), np.array([height])
    )
    evidence = jitted_posteriors(batch, Lexicon(pair, null, null), positions, P0, "hmm", True)[0]
    jump, weight, leaving, total = positions.jump[0], np.zeros(2 * limit + 1), np.zeros((limit + 1, limit + 1)), 0.0
    for alignment in itertools.product(range(width + 1), repeat=height):
        probability, state, moves = 1.0, 0, []
        for j, i in enumerate(alignment):
            if i == 0:
                probability *= P0 * 0.2
                continue
            share = jump[i - state + limit] / sum(jump[k - state + limit] for k in range(1, width + 1))
            probability *= (1 - P0) * share * pair[index[0, i - 1, j], 0]
            moves.append((i - state, state))
            state = i
        total += probability
        for step, origin in moves:
            weight[step + limit] += probability
            leaving[width, origin] += probability
    np.testing.assert_allclose(np.asarray(evidence.jump), weight / total, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.asarray(evidence.departures), leaving / total, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_em_raises_the_likelihood(model):
    perplexity = history(random_bitext(1), config(model, 8))
    assert np.all(perplexity[1:] <= perplexity[:-1] * (1 + 1e-5))
    assert np.all(perplexity[-1] < 0.7 * perplexity[0])


def test_jump_update_never_lowers_its_objective():
    random = np.random.default_rng(2)
    limit = 5
    departures = np.zeros((limit + 1, limit + 1))
    counts = np.zeros(2 * limit + 1)
    sizes, states = random.integers(1, 6, 300), random.integers(0, 6, 300)
    for size, state, position in zip(sizes, states, random.random(300), strict=True):
        origin = min(state, size)
        departures[size, origin] += 1
        counts[int(position * size) + 1 - origin + limit] += 1

    def objective(jump):
        places = np.arange(-limit, limit + 1)
        rest = 0.0
        for size, state in np.argwhere(departures > 0):
            inside = (places + state >= 1) & (places + state <= size)
            rest += departures[size, state] * np.log(jump[inside].sum())
        return np.sum(counts * np.log(np.maximum(jump, 1e-30))) - rest

    jump = initial_positions(4.0, limit).jump[0].astype(np.float64)
    values = [objective(jump)]
    for _ in range(4):
        jump = update_jumps(jump, counts, departures).astype(np.float64)
        values.append(objective(jump))
    assert np.all(np.diff(values) > -1e-3)
    assert values[1] > values[0] + 1


def test_prior_feature_and_tension():
    lengths = count_lengths(np.array([3, 3, 1, 7, 0]), np.array([4, 4, 5, 2, 3]))
    for tension in (0.1, 4.0, 14.0):
        values = []
        for given, made in ((3, 4), (3, 4), (1, 5), (7, 2)):
            distance = np.abs(np.arange(1, given + 1)[:, None] / given - np.arange(1, made + 1)[None] / made)
            weight = np.exp(-tension * distance)
            values += (-np.sum(weight * distance, axis=0) / weight.sum(axis=0)).tolist()
        assert mean_prior_feature(lengths, tension) == pytest.approx(np.mean(values), rel=1e-9)
    feature = mean_prior_feature(lengths, 6.0)  # gradient steps move towards the tension that explains it
    assert abs(update_tension(4.0, feature, lengths) - 6.0) < 2.0
    assert update_tension(4.0, 0.0, lengths) > 6.0


def test_lexicon_m_step():
    bitext = random_bitext(4)
    batches = make_batches(bitext.source.lengths, bitext.target.lengths, max_shapes=1)
    pairs, _ = number_cells(bitext, batches, VOCABULARY, VOCABULARY, 1 << 30, hot_words=3)
    count = np.random.default_rng(0).random((len(pairs), 2)).astype(np.float32) * pairs.is_seen[:, None]
    zero = jnp.zeros((pairs.num_hot, 2), jnp.float32)
    words = jnp.ones(VOCABULARY, jnp.float32)
    for alpha in (0.0, 0.01):
        counts = carry_hot(LexiconCounts(jnp.asarray(padded_rows(count)), zero, zero, words, words))
        lexicon = m_step(counts, pairs, alpha)
        for side, word in enumerate((pairs.source_word, pairs.target_word)):
            total = np.bincount(word, count[:, side] + alpha * pairs.is_seen, VOCABULARY)[word]
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = np.exp(digamma(count[:, side] + alpha) - digamma(total)) if alpha else count[:, side] / total
            seen = pairs.is_seen
            got = np.asarray(lexicon.pair)[: len(pairs)][seen, side]
            np.testing.assert_allclose(got, np.maximum(expected[seen], 1e-30), rtol=1e-3)
        share = np.exp(digamma(1 + alpha) - digamma(VOCABULARY * (1 + alpha))) if alpha else 1 / VOCABULARY
        np.testing.assert_allclose(np.asarray(lexicon.null_target), share, rtol=1e-4)
    x = np.array([0.02, 0.3, 1.0, 5.0, 1e4], np.float32)
    np.testing.assert_allclose(np.asarray(exp_digamma(jnp.asarray(x))), np.exp(digamma(x.astype(float))), rtol=3e-5)


@pytest.mark.parametrize("hot_words", [0, 3, 256])
@pytest.mark.parametrize("dense", [1, 10**9])
def test_cells_are_numbered_right(monkeypatch, hot_words, dense):
    monkeypatch.setattr("jaxsmt.align.cells._DENSE_CELLS", dense)
    monkeypatch.setattr("jaxsmt.align.cells._GROUP_CELLS", 300)
    bitext = random_bitext(2)
    batches = make_batches(bitext.source.lengths, bitext.target.lengths, step=4, cells_per_batch=400, max_shapes=3)
    pairs, cells = number_cells(bitext, batches, VOCABULARY, VOCABULARY, 1 << 30, hot_words)
    _, on_disk = number_cells(bitext, batches, VOCABULARY, VOCABULARY, 0, hot_words)
    seen = set()
    for (batch, index), (_, same) in zip(cells, on_disk, strict=True):
        assert np.array_equal(index, same)
        for place, row in enumerate(batch.real_rows):
            source, target = bitext.source[row], bitext.target[row]
            part = index[place, : len(source), : len(target)]
            assert np.array_equal(pairs.source_word[part], np.tile(source[:, None], (1, len(target))))
            assert np.array_equal(pairs.target_word[part], np.tile(target, (len(source), 1)))
            seen |= {(int(f), int(e)) for f in source for e in target}
    real = np.flatnonzero(pairs.is_seen)
    numbered = list(zip(pairs.source_word[real].tolist(), pairs.target_word[real].tolist(), strict=True))
    assert len(numbered) == len(set(numbered))
    assert set(numbered) == seen
    assert np.array_equal(find_cells(bitext, batches, pairs, 1 << 30).index, cells.index)
    other = random_bitext(9)
    for batch, index in find_cells(other, make_batches(other.source.lengths, other.target.lengths), pairs, 1 << 30):
        for place, row in enumerate(batch.real_rows):
            for i, j in np.ndindex(len(other.source[row]), len(other.target[row])):
                pair = (int(other.source[row][i]), int(other.target[row][j]))
                number = index[place, i, j]
                found = number >= 0 and (int(pairs.source_word[number]), int(pairs.target_word[number])) == pair
                assert found == (pair in seen)
                assert found or number == -1


@pytest.mark.parametrize("model", ["diagonal", "hmm"])
def test_batches_do_not_change_the_result(model):
    bitext = random_bitext(6)
    first = history(bitext, config(model, 3, alpha=0.01))
    second = history(bitext, config(model, 3, alpha=0.01, cells_per_batch=800, max_shapes=2))
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_repeated_training_gives_the_same_bytes_and_loads_again(tmp_path):
    bitext = random_bitext(8)
    settings = AlignConfig(ibm1_iterations=1, diagonal_iterations=2, hmm_iterations=1, max_shapes=1)
    _, links = train_and_align(bitext, VOCABULARY, VOCABULARY, settings)
    for folder in ("a", "b"):
        save_aligner(tmp_path / folder, train_and_align(bitext, VOCABULARY, VOCABULARY, settings)[0])
    for name in ("aligner.safetensors", "aligner.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    loaded = load_aligner(tmp_path / "a")
    assert loaded.config == settings
    again = align(loaded, bitext)
    assert np.array_equal(again.values, links.values)
    assert np.array_equal(again.offsets, links.offsets)
    assert len(links[3]) == len(links[5]) == 0  # an empty side
    with pytest.raises(UserError, match="holds no aligner"):
        load_aligner(tmp_path)


@pytest.mark.parametrize("model", ["diagonal", "hmm"])
def test_new_text_with_unknown_words_and_longer_sentences(model):
    aligner, _ = train_and_align(random_bitext(8, num=60), VOCABULARY, VOCABULARY, config(model, 4, alpha=0.01))
    words = np.arange(NUM_RESERVED, VOCABULARY)
    unknown = [UNKNOWN, words[0], VOCABULARY + 50, words[1]]  # an id beyond the training vocabulary, too
    long = np.tile(words, 4)
    source, target = [unknown, long, [], [words[2]]], [unknown, long, [words[0]], [words[2]]]
    new = Bitext(ragged_from_rows(source), ragged_from_rows(target))
    links = align(aligner, new)
    assert (0, 0) in {tuple(link) for link in links[0].tolist()}  # two unknown words on the diagonal
    assert (1, 1) in {tuple(link) for link in links[0].tolist()}
    assert len(links[1]) >= 0.9 * len(long)
    assert len(links[2]) == 0
    assert links[3].tolist() == [[0, 0]]


def test_word_by_word_text_is_aligned_word_by_word():
    random = np.random.default_rng(0)
    rows = [random.permutation(np.arange(NUM_RESERVED, VOCABULARY))[: random.integers(2, 10)] for _ in range(60)]
    bitext = Bitext(ragged_from_rows(rows), ragged_from_rows(rows))
    for model in ("ibm1", "hmm"):
        _, links = train_and_align(bitext, VOCABULARY, VOCABULARY, config(model, 6, alpha=0.01))
        assert all(np.array_equal(links[row][:, 0], links[row][:, 1]) for row in range(len(rows)))
        assert np.array_equal(links.lengths, bitext.source.lengths)


def test_bad_settings_are_named():
    with pytest.raises(UserError, match=r"align\.symmetrisation is 'grow'"):
        AlignConfig(symmetrisation="grow")
    with pytest.raises(UserError, match=r"align\.null_probability is 1\.5"):
        AlignConfig(null_probability=1.5)
    with pytest.raises(UserError, match="iterations"):
        AlignConfig(ibm1_iterations=0, diagonal_iterations=0, hmm_iterations=0)
    empty = Bitext(ragged_from_rows([[]]), ragged_from_rows([[]]))
    with pytest.raises(UserError, match="no words on one side"):
        train_and_align(empty, 10, 10)


def reference_bitext(folder, domain: str, num: int | None = None) -> tuple[Bitext, int, int]:
    sides = []
    for language in ("fr", "en"):
        with gzip.open(folder / "text" / f"{domain}.{language}.gz", "rt", encoding="utf-8") as stream:
            rows = [line.split() for line in stream][:num]
        vocabulary = build_vocabulary(Counter(word for row in rows for word in row))
        sides.append((ragged_from_rows([vocabulary.encode(row) for row in rows]), len(vocabulary)))
    return Bitext(sides[0][0], sides[1][0]), sides[0][1], sides[1][1]


def agreement(first, second) -> float:
    """The F1 of the two sets of links."""
    sets = [set(zip(part.row_index.tolist(), *part.values.T.tolist(), strict=True)) for part in (first, second)]
    return 2 * len(sets[0] & sets[1]) / (len(sets[0]) + len(sets[1]))


def test_diagonal_model_agrees_with_fast_align(reference):
    """The second pass is the same; later ones differ a little, because the tension is estimated otherwise."""
    bitext, *sizes = reference_bitext(reference, "A")
    seen: list = []
    aligner, _ = train_and_align(bitext, *sizes, config("diagonal", 5, alpha=0.01, max_shapes=3), progress=seen.append)
    forward, reverse = align_directed(aligner, bitext)
    assert agreement(forward, read_links(reference / "align" / "A.forward.gz")) > 0.98
    assert agreement(reverse, read_links(reference / "align" / "A.reverse.gz")) > 0.96
    np.testing.assert_allclose(seen[1].perplexity, (271.967, 294.162), rtol=1e-5)
    np.testing.assert_allclose([seen[2].perplexity[0], seen[3].perplexity[0]], (33.3046, 23.7856), rtol=0.03)


def test_hmm_beats_diagonal_beats_ibm1_on_real_text(reference):
    bitext, *sizes = reference_bitext(reference, "A", 500)
    last = {}
    for model in ("ibm1", "diagonal", "hmm"):
        seen: list = []
        train_and_align(bitext, *sizes, config(model, 5, hmm_null_probability=0.08), progress=seen.append)
        last[model] = np.array(seen[-1].perplexity)
    assert np.all(last["hmm"] < last["diagonal"])
    assert np.all(last["diagonal"] < last["ibm1"])
