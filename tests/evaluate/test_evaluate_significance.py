"""Significance tests against sacrebleu's, with replicas, and the table."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest as SacrebleuTest

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.bleu import corpus_bleu
from jaxsmt.evaluate.compare import (
    CompareConfig,
    compare_systems,
    replica_statistics,
    segment_statistics,
    stars,
)
from jaxsmt.evaluate.significance import approximate_randomisation, paired_bootstrap


@pytest.fixture(scope="module")
def outputs():
    """References and two systems, the second a little better."""
    rng = np.random.default_rng(0)
    references = [" ".join(f"w{i}" for i in rng.integers(0, 30, rng.integers(5, 15))) for _ in range(80)]

    def garbled(text, rate):
        return " ".join(word if rng.random() > rate else f"x{rng.integers(9)}" for word in text.split())

    return references, [garbled(t, 0.22) for t in references], [garbled(t, 0.19) for t in references]


@pytest.mark.parametrize(("kind", "ours"), [("ar", approximate_randomisation), ("bs", paired_bootstrap)])
def test_p_values_agree_with_sacrebleu(outputs, kind, ours):
    references, first, second = outputs
    metric = BLEU(references=[references])
    systems = [("first", first), ("second", second)]
    _, found = SacrebleuTest(systems, {"BLEU": metric}, None, test_type=kind, n_samples=2000)()
    expected = found["BLEU"][1].p_value
    goals = [[text] for text in references]
    statistics = [replica_statistics("bleu", [output], goals) for output in (first, second)]
    test = ours(*statistics, corpus_bleu, 2000, seed=1)
    error = 4 * np.sqrt(2 * max(expected * (1 - expected), 1e-3) / 2000)
    assert test.p_value == pytest.approx(expected, abs=error)
    assert test.difference == pytest.approx(found["BLEU"][1].score - found["BLEU"][0].score, abs=1e-6)


def test_a_system_does_not_differ_from_itself(outputs):
    references, first, _ = outputs
    statistics = replica_statistics("bleu", [first], [[text] for text in references])
    assert approximate_randomisation(statistics, statistics, corpus_bleu, 500).difference == 0
    assert approximate_randomisation(statistics, statistics, corpus_bleu, 500).p_value == 1


def test_randomisation_equals_all_swaps_of_a_tiny_set():
    # three sentences: 8 equally likely swaps; the score is the sum itself
    first, second = np.array([[[1.0], [2.0], [3.0]]]), np.array([[[2.0], [4.0], [3.5]]])
    test = approximate_randomisation(first, second, lambda sums: sums[..., 0], 20_000, seed=0)
    gaps = [abs(a * 1 + b * 2 + c * 0.5) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    expected = np.mean([gap >= 3.5 for gap in gaps])
    assert test.difference == pytest.approx(3.5)
    assert test.p_value == pytest.approx(expected + 1 / 20_001, abs=0.01)


def test_replicas_are_pooled_and_repeatable(outputs):
    references, first, second = outputs
    goals = [[text] for text in references]
    results = compare_systems({"a": [first, second, first], "b": [second] * 3}, goals, CompareConfig(trials=300))
    again = compare_systems({"a": [first, second, first], "b": [second] * 3}, goals, CompareConfig(trials=300))
    assert results == again
    scores = [corpus_bleu(segment_statistics("bleu", output, goals).sum(0)) for output in (first, second, first)]
    assert results["a"]["bleu"].mean == pytest.approx(np.mean(scores))
    assert results["a"]["bleu"].deviation == pytest.approx(np.std(scores, ddof=1))
    assert results["a"]["bleu"].versus is None


def test_stars():
    assert [stars(p) for p in (0.2, 0.05, 0.01, 0.0005)] == ["", "*", "**", "***"]


def test_mistakes_are_named(outputs):
    references, first, second = outputs
    goals = [[text] for text in references]
    with pytest.raises(UserError, match="80 references"):
        compare_systems({"a": [first[:-1]]}, goals)
    with pytest.raises(UserError, match="a 1, b 2"):
        compare_systems({"a": [first], "b": [first, second]}, goals)
    with pytest.raises(UserError, match="'meteor'"):
        compare_systems({"a": [first]}, goals, CompareConfig(metrics=("meteor",)))


@pytest.mark.parametrize("test_fn", [approximate_randomisation, paired_bootstrap])
def test_equal_systems_do_not_differ(test_fn):
    statistics = np.random.default_rng(3).integers(1, 9, (2, 20, 2)).astype(float)
    found = test_fn(statistics, statistics.copy(), lambda sums: 100 * sums[..., 0] / sums[..., 1], 100)
    assert found.difference == 0
    assert found.p_value == 1
