"""Agreement of both directions: products of posteriors against enumeration, links above a threshold, determinism."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.align.agreement import packed_links, unpacked_links
from jaxsmt.align.em import PaddedPairs, Parameters, PassKind, e_step, find_links
from jaxsmt.align.lexicon import Lexicon, LexiconCounts
from jaxsmt.align.model import AlignConfig, load_aligner, save_aligner
from jaxsmt.align.positions import Positions
from jaxsmt.align.training import align, train_and_align
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.text.bitext import Bitext
from tests.align.test_align_models import P0, VOCABULARY, enumerate_alignments, random_bitext

SIZES = [(1, 1), (3, 4), (4, 3), (1, 3), (3, 1), (0, 2), (2, 0), (0, 0), (2, 5)]
NUM_PAIRS, WORDS, WIDTH, HEIGHT, LIMIT = 40, 9, 5, 6, 7


def random_batch(seed: int) -> tuple[PaddedPairs, Parameters]:
    """Pairs of the sizes above, whose cells are any of 40 word pairs."""
    random = np.random.default_rng(seed)
    pair = random.random((NUM_PAIRS, 2), dtype=np.float32) ** 4 + np.float32(1e-5)
    lexicon = Lexicon(pair, *(random.random(WORDS, dtype=np.float32) * 0.3 for _ in range(2)))
    positions = Positions(np.array([3.0, 1.5], np.float32), random.random((2, 2 * LIMIT + 1), dtype=np.float32) + 0.05)
    shape = len(SIZES), WIDTH, HEIGHT
    index = random.integers(0, NUM_PAIRS, shape).astype(np.int32)
    source, target = (random.integers(0, WORDS, shape[:: 1 if side else 2][:2]).astype(np.int32) for side in (1, 0))
    lengths = np.array(SIZES, np.int32)
    return PaddedPairs(index, source, target, lengths[:, 0], lengths[:, 1]), Parameters(lexicon, positions, P0, 0.1)


def zero_sums() -> LexiconCounts:
    shapes = (NUM_PAIRS, 2), (0, 2), (0, 2), WORDS, WORDS
    # the device's own: a pass uses them up, and older JAX would go on in memory that numpy has given away since
    return LexiconCounts(*(jnp.zeros(shape, jnp.float32) for shape in shapes))


def enumerated(batch: PaddedPairs, parameters: Parameters, row: int, direction: int, model: str) -> tuple:
    """Posteriors of one pair's links as [source, target] whatever the direction, and of its words from NULL."""
    lexicon, positions = parameters.lexicon, parameters.positions
    num_source, num_target = SIZES[row]
    emission = lexicon.pair[batch.pair_index[row], direction][:num_source, :num_target]
    words = batch.source[row, :num_source] if direction else batch.target[row, :num_target]
    null = lexicon[1 + direction][words]
    _, cell, nothing = enumerate_alignments(
        emission.T if direction else emission, null, model, positions.tension[direction], positions.jump[direction]
    )
    return cell.T if direction else cell, nothing


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("agreement", [False, True])
@pytest.mark.parametrize("model", ["diagonal", "hmm"])
def test_expected_counts_and_links_equal_enumeration(model, agreement, wide):
    batch, parameters = random_batch(11)
    pair, null_target, null_source = np.zeros((NUM_PAIRS, 2)), np.zeros(WORDS), np.zeros(WORDS)
    links = []
    for row, size in enumerate(SIZES):
        if 0 in size:
            links.append([])
            continue
        (forward, nothing), (reverse, reverse_nothing) = (
            enumerated(batch, parameters, row, direction, model) for direction in (0, 1)
        )
        product = forward * reverse
        index = batch.pair_index[row, : size[0], : size[1]]
        np.add.at(pair[:, 0], index, product if agreement else forward)
        np.add.at(pair[:, 1], index, product if agreement else reverse)
        np.add.at(null_target, batch.target[row, : size[1]], nothing)
        np.add.at(null_source, batch.source[row, : size[0]], reverse_nothing)
        links.append(np.argwhere(product > parameters.threshold).tolist())
    counts, _, found = e_step(zero_sums(), batch, parameters, PassKind(model, agreement, wide))
    np.testing.assert_allclose(np.asarray(counts.pair), pair, rtol=5e-4, atol=1e-6)
    np.testing.assert_allclose(np.asarray(counts.null_target), null_target, rtol=5e-4, atol=1e-6)
    np.testing.assert_allclose(np.asarray(counts.null_source), null_source, rtol=5e-4, atol=1e-6)
    assert sum(map(len, links)) > 5
    for agreed in (found.agreed, find_links(batch, parameters, model, wide).agreed):
        place, source, target = unpacked_links(np.asarray(agreed))
        got = [list(zip(source[place == row], target[place == row], strict=True)) for row in range(len(SIZES))]
        assert [[list(map(int, link)) for link in row] for row in got] == links


def test_a_batch_equals_its_pairs_one_by_one():
    batch, parameters = random_batch(12)
    together = np.asarray(find_links(batch, parameters, "hmm").agreed)
    counts = np.asarray(e_step(zero_sums(), batch, parameters, PassKind("hmm", True))[0].pair)
    alone = np.zeros_like(counts)
    for row in range(len(SIZES)):
        single = PaddedPairs(*(part[row : row + 1] for part in batch))
        assert np.array_equal(np.asarray(find_links(single, parameters, "hmm").agreed)[0], together[row])
        alone += np.asarray(e_step(zero_sums(), single, parameters, PassKind("hmm", True))[0].pair)
    np.testing.assert_allclose(alone, counts, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 1, 1), (3, 5, 8), (2, 7, 17)])
def test_packed_links_are_the_cells_above_the_threshold(shape):
    product = np.random.default_rng(0).random(shape, dtype=np.float32)
    got = unpacked_links(np.asarray(packed_links(product, 0.6)))
    assert np.array_equal(np.stack(got, axis=1), np.argwhere(product > 0.6))


def agreement_config(**changes) -> AlignConfig:
    return AlignConfig(
        diagonal_iterations=2, hmm_iterations=3, agreement=True, symmetrisation="product", max_shapes=1, **changes
    )


def test_repeated_training_gives_the_same_bytes_and_aligns_alike(tmp_path):
    bitext, settings = random_bitext(8), agreement_config()
    aligner, links = train_and_align(bitext, VOCABULARY, VOCABULARY, settings)
    again, same_links = train_and_align(bitext, VOCABULARY, VOCABULARY, settings)
    for folder, part in (("a", aligner), ("b", again)):
        save_aligner(tmp_path / folder, part)
    for name in ("aligner.safetensors", "aligner.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    loaded = load_aligner(tmp_path / "a")
    assert loaded.config == settings
    for other in (same_links, align(loaded, bitext)):
        assert np.array_equal(other.values, links.values)
        assert np.array_equal(other.offsets, links.offsets)
    assert len(links.values) > 100
    assert len(links[3]) == len(links[5]) == 0  # an empty side


def test_a_lower_threshold_only_adds_links():
    bitext = random_bitext(8)
    aligner, _ = train_and_align(bitext, VOCABULARY, VOCABULARY, agreement_config())
    found = [align(aligner, bitext, agreement_config(product_threshold=value)) for value in (0.02, 0.3, 0.9)]
    sets = [set(zip(part.row_index.tolist(), *part.values.T.tolist(), strict=True)) for part in found]
    for more, fewer in itertools.pairwise(sets):
        assert fewer < more


def test_agreement_leaves_the_passes_before_the_hmm_alone():
    bitext = random_bitext(8)
    results = []
    for agreement in (False, True):
        settings = AlignConfig(diagonal_iterations=3, hmm_iterations=0, agreement=agreement, max_shapes=1)
        results.append(train_and_align(bitext, VOCABULARY, VOCABULARY, settings)[0])
    assert np.array_equal(np.asarray(results[0].lexicon.pair), np.asarray(results[1].lexicon.pair))


def test_agreement_keeps_words_without_a_partner_apart():
    """A word that one side alone has is a rare word's favourite partner without agreement, and nobody's with it."""
    random = np.random.default_rng(4)
    source, target = [], []
    for _ in range(150):
        words = random.permutation(np.arange(VOCABULARY - 12, VOCABULARY - 1))[: random.integers(2, 7)]
        source.append(words)
        target.append(np.insert(words, random.integers(0, len(words) + 1), VOCABULARY - 1))
    bitext = Bitext(ragged_from_rows(source), ragged_from_rows(target))
    _, links = train_and_align(bitext, VOCABULARY, VOCABULARY, agreement_config())
    wrong = 0
    for row in range(len(source)):
        wrong += sum(source[row][i] != target[row][j] for i, j in links[row])
    assert wrong < 0.02 * len(links.values)
    assert len(links.values) > 0.95 * len(bitext.source.values)


def test_bad_settings_of_agreement_are_named():
    with pytest.raises(UserError, match=r"align\.product_threshold is 1\.0: give a probability between 0 and 1"):
        AlignConfig(product_threshold=1.0)
    with pytest.raises(UserError, match=r"align\.symmetrisation is 'sum': choose one of .*, product"):
        AlignConfig(symmetrisation="sum")


def test_matrix_products_state_their_precision():
    """Devices with shorter floats would use them otherwise."""
    batch, parameters = random_batch(13)
    lowered = jax.jit(e_step, static_argnames="kind").lower(zero_sums(), batch, parameters, PassKind("hmm", True))
    products = [line for line in lowered.as_text().splitlines() if "dot_general" in line]
    assert len(products) == 10  # five of each direction
    wide = jax.jit(e_step, static_argnames="kind").lower(zero_sums(), batch, parameters, PassKind("hmm", True, True))
    products += [line for line in wide.as_text().splitlines() if "dot_general" in line]
    assert len(products) == 16  # four of both at once, and the departures of each
    assert all(line.count("HIGHEST") == 2 for line in products)
