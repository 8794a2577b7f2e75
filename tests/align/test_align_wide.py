"""What a GPU is given for word alignment: few large steps, no sums of floats by scatter; run here on the processor."""

import jax
import numpy as np
import pytest

from jaxsmt.align.em import PassKind, e_step
from jaxsmt.align.model import AlignConfig
from jaxsmt.align.training import align, train_and_align
from jaxsmt.common.device import sizes_for
from tests.align.test_align_agreement import random_batch, zero_sums
from tests.align.test_align_models import VOCABULARY, random_bitext


@pytest.mark.parametrize("model", ["diagonal", "hmm"])
def test_all_sums_are_those_of_the_narrow_way(model):
    batch, parameters = random_batch(21)
    narrow, wide = (e_step(zero_sums(), batch, parameters, PassKind(model, False, wide)) for wide in (False, True))
    for one, other in zip(jax.tree.leaves(narrow[:2]), jax.tree.leaves(wide[:2]), strict=True):
        np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=2e-5, atol=2e-6)
    for one, other in zip(narrow[2], wide[2], strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_far_away_positions_have_posteriors():
    """Emissions that leave almost nothing: no sum of a chain vanishes."""
    batch, parameters = random_batch(22)
    pair = np.where(np.random.default_rng(0).random(parameters.lexicon.pair.shape) < 0.8, 1e-30, 1.0)
    lexicon = parameters.lexicon._replace(
        pair=pair.astype(np.float32),
        null_target=np.full(9, 1e-30, np.float32),
        null_source=np.full(9, 1e-30, np.float32),
    )
    jump = np.full_like(parameters.positions.jump, 1e-7)
    jump[:, jump.shape[1] // 2 + 1] = 1.0
    hard = parameters._replace(lexicon=lexicon, positions=parameters.positions._replace(jump=jump))
    narrow, wide = (e_step(zero_sums(), batch, hard, PassKind("hmm", False, wide))[0] for wide in (False, True))
    np.testing.assert_allclose(np.asarray(wide.pair), np.asarray(narrow.pair), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("agreement", [False, True])
def test_training_finds_the_same_links(agreement):
    bitext = random_bitext(5, num=300, longest=12)
    config = AlignConfig(diagonal_iterations=3, hmm_iterations=3, agreement=agreement, max_shapes=3)
    aligner, links = train_and_align(bitext, VOCABULARY, VOCABULARY, config)
    with sizes_for("gpu"):
        assert config.kind_of("hmm") == PassKind("hmm", agreement, True)
        wide_aligner, wide_links = train_and_align(bitext, VOCABULARY, VOCABULARY, config)
        again = align(wide_aligner, bitext)
    assert np.array_equal(links.values, wide_links.values)
    assert np.array_equal(links.values, again.values)
    for one, other in zip(aligner.positions, wide_aligner.positions, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-5)
    probability = (np.asarray(found.lexicon.pair) for found in (aligner, wide_aligner))
    np.testing.assert_allclose(*probability, rtol=1e-3, atol=1e-6)


def test_no_floats_are_added_by_a_scatter():
    batch, parameters = random_batch(23)
    for model in ("diagonal", "hmm"):
        lowered = jax.jit(e_step, static_argnames="kind").lower(
            zero_sums(), batch, parameters, PassKind(model, False, True)
        )
        scatters = lowered.as_text().split('"stablehlo.scatter"')[1:]
        sums = [part.split("})")[0] for part in scatters if "stablehlo.add" in part.split("})")[0]]
        assert len(sums) == 3
        assert all("tensor<ui32>" in part for part in sums)
