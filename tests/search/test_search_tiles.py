"""What is found does not depend on how much is one step, nor on what else is in the batch."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.chart.tiles import CHART_TILES, ChartTiles, chart_tiles
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack.tiles import STACK_TILES, stack_tiles
from tests.search.search_oracle import WEIGHTS, random_lm, random_sentences, random_table

BEAM = Beam(kept=6, rules=12, expanded=8, neighbours=20)
NARROW, WIDE = ChartTiles(64, 256, 64), ChartTiles(2048, 4096, 4096)
WHOLE_LEVELS = ChartTiles(1 << 12, 1 << 17, 1 << 7, wide=True)  # 128 sentences of 12 words have fewer cells


@pytest.fixture(scope="module")
def decoder():
    random = np.random.default_rng(0)
    return make_decoder(
        fixed_rules(random_table(random, 60, 2)), [LmFeatures(random_lm(random, 3))], SearchConfig(BEAM, max_span=6)
    )


@pytest.fixture(scope="module")
def sentences():
    random = np.random.default_rng(1)
    return random_sentences(random, random.integers(0, 12, 128))


def lists_of(decoder, sentences, size, tiles):
    """Roots and scores of n-best lists, for batches of `size` sentences."""
    decoder, found = replace(decoder, tiles=tiles), []
    for at in range(0, len(sentences), size):
        part = sentences.take(np.arange(at, min(at + size, len(sentences))))
        found += nbest(decoder, Request(part, weights=WEIGHTS), 10, distinct=False)
    return [[(item.root, item.score) for item in derivations] for derivations in found]


def test_steps_of_any_size_find_the_same(decoder, sentences):
    expected = lists_of(decoder, sentences, 128, NARROW)
    assert max(map(len, expected)) == 10
    for tiles in (WIDE, WHOLE_LEVELS):
        assert lists_of(decoder, sentences, 128, tiles) == expected
    many = sentences.take(np.tile(np.arange(len(sentences)), 2))
    assert lists_of(decoder, many, 256, WIDE._replace(batches=2)) == expected * 2
    for size in (1, 7):
        few = sentences.take(np.arange(16))
        assert lists_of(decoder, few, size, WHOLE_LEVELS) == expected[:16]


def test_every_kind_of_device_has_tiles():
    assert chart_tiles("cpu") == CHART_TILES["cpu"]
    assert chart_tiles("some accelerator") == CHART_TILES["gpu"]
    assert stack_tiles("cpu") == STACK_TILES["cpu"]
    assert stack_tiles("some accelerator") == STACK_TILES["gpu"]
    assert all(list(tiles.sentences) == sorted(tiles.sentences) for tiles in STACK_TILES.values())
    for tiles in CHART_TILES.values():
        assert tiles.lanes % tiles.block == 0
        for num in (1, 100, 1 << 20):
            fitted = tiles.within(num)
            assert fitted.lanes % fitted.block == 0
            assert fitted.lanes >= min(num, tiles.lanes)
