"""A run over sentences of mixed lengths compiles a program for each class of sizes, and another run none."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np
import pytest

from jaxsmt.search.chart.kernel import fill_chart
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.stack.decoder import sized_batches
from jaxsmt.search.stack.kernel import fill_stacks
from jaxsmt.search.stack.planning import word_class
from tests.search.search_oracle import WEIGHTS, random_lm, random_sentences, random_table

# sizes that no other test has, so that nothing is compiled yet
BEAM, STACK = Beam(kept=5, rules=8, expanded=6, neighbours=8), StackConfig(kept=5, spans=6, scored=8)


@contextmanager
def compilations() -> Iterator[Counter]:
    """Counts what is compiled in the block, or read from the persistent cache."""
    found: Counter = Counter()
    counts = True

    def listen(event, *_, **__):
        found[event.rpartition("/")[2]] += counts and event.endswith("backend_compile_duration")

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        counts = False  # not every version of JAX lets a listener go


@pytest.fixture(scope="module")
def automaton():
    return random_lm(np.random.default_rng(3), 3)


def run(decoder, seed):
    """Translates 80 sentences of up to 40 words, in another order and with other words for every seed."""
    random = np.random.default_rng(seed)
    lengths = random.permutation([*range(40), *[3, 17] * 20])
    decoder.translate(Request(random_sentences(random, lengths), weights=WEIGHTS))
    return lengths


@pytest.mark.parametrize(("kind", "max_gaps"), [("stack", 0), ("chart", 2)])
def test_a_text_of_mixed_lengths_is_compiled_for_once(automaton, kind, max_gaps):
    table = random_table(np.random.default_rng(8), 25, max_gaps)
    config = SearchConfig(BEAM, max_span=5, kind=kind, stack=STACK)
    decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], config)
    kernel = fill_stacks if kind == "stack" else fill_chart
    before = kernel._cache_size()
    with compilations() as first:
        lengths = np.sort(run(decoder, 1))
    num = kernel._cache_size() - before
    assert 1 <= num <= (len(stack_shapes(decoder, lengths)) if kind == "stack" else 1)
    assert num <= sum(first.values())
    with compilations() as again:
        run(decoder, 2)
    assert sum(again.values()) == 0


def stack_shapes(decoder, lengths):
    """Sizes of batches and classes of words that occur, of ascending lengths [B]."""
    batches = sized_batches(lengths, decoder.tiles.sentences)
    return {(size, word_class(int(lengths[part].max()))) for part, size in batches}
