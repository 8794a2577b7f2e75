"""Compiled targets that are kept equal those compiled anew."""

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.search.chart.rows import prepare_lm
from jaxsmt.search.plan.targets import CompiledTargets
from jaxsmt.search.rules.grammar import compile_targets
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD, Vocabulary

WORDS = Vocabulary(tuple("abcdefgh"))
MIXTURES = np.array([[0.3, 0.7], [1.0, 0.0], [0.3, 0.7]], np.float32)  # two members share the first


@pytest.fixture(scope="module")
def lm():
    rng = np.random.default_rng(0)
    first = NUM_RESERVED
    texts = [[rng.integers(first, first + 8, rng.integers(1, 9)) for _ in range(60)] for _ in range(2)]
    config = LmConfig(order=3, discount_fallback=(0.5, 1.0, 1.5))
    automaton, _ = build_union_automaton([estimate_lm(ragged_from_rows(text), WORDS, config) for text in texts])
    return prepare_lm(automaton)


def random_sides(num):
    rng = np.random.default_rng(num)
    sides = np.full((num, 5), PAD, np.int32)
    for row in sides:
        length = rng.integers(1, 6)
        row[:length] = rng.integers(NUM_RESERVED, NUM_RESERVED + 8, length)
        row[rng.integers(0, 5)] = NONTERMINALS[0] if length == 5 else row[0]
    return sides


def shown(programs, place):
    """What a target is compiled to: its parts with their rows, and its numbers."""
    parts = [programs.rows[part].tolist() if part > 0 else int(part) for part in programs.program[place]]
    return [*parts, programs.estimate[place, 0], programs.log_p[place, 0], programs.num_words[place]]


@pytest.mark.parametrize("most", [10_000, 30, 1])
@pytest.mark.parametrize("num_sides", [0, 1, 40])
def test_kept_targets_equal_those_compiled_anew(lm, num_sides, most):
    sides, ids = random_sides(num_sides), np.arange(NUM_RESERVED + 8, dtype=np.int32)
    compiled, rng = CompiledTargets(lm, sides, ids, most), np.random.default_rng(most)
    anew = [compile_targets(lm, sides, mixture) for mixture in MIXTURES]
    for size in (0, 5, 20, 20):
        target = rng.integers(0, max(num_sides, 1), size if num_sides else 0)
        user = rng.integers(0, 3, len(target))
        programs, place = compiled.programs(target, user, MIXTURES)
        for row, (one, number) in enumerate(zip(target, user, strict=True)):
            assert shown(programs, place[row]) == shown(anew[number], one)


def test_each_target_is_compiled_once_for_a_mixture(lm, monkeypatch):
    sides, ids = random_sides(12), np.arange(NUM_RESERVED + 8, dtype=np.int32)
    compiled, seen = CompiledTargets(lm, sides, ids), []
    add = CompiledTargets._add
    monkeypatch.setattr(CompiledTargets, "_add", lambda self, keys: (seen.append(len(keys)), add(self, keys)))
    everything = np.arange(12)
    compiled.programs(everything, np.zeros(12, int), MIXTURES)
    compiled.programs(everything, np.full(12, 2), MIXTURES)  # another member, the same mixture
    compiled.programs(np.tile(everything, 2), np.repeat([0, 1], 12), MIXTURES)
    assert seen == [12, 12]
