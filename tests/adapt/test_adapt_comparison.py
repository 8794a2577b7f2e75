"""The comparison of adaptation with re-estimation, on lists with a planted answer."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, TER

from benchmarks.scarce_plots import plot_comparison, plot_sweep, plot_times
from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.comparison import (
    METHODS,
    Comparison,
    ComparisonConfig,
    compare,
    comparison_text,
    draw_sets,
    first_hypotheses,
    joined_lists,
    precision_text,
    sweep,
)
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.rerank import rerank
from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig
from jaxsmt.tune.lists import best_hypotheses, rows_of
from jaxsmt.tune.nbest import nbest_from_rows
from jaxsmt.tune.scoring import score_lists

OLD, NEW = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.1, 0.7])
CONFIG = ComparisonConfig(
    METHODS, sizes=(6, 8), repetitions=2,
    bpa=BpaConfig(num_samples=20, chains=4, burn_in=20, chain_length=20),
    mert=MertConfig(restarts=1, perturbation_rounds=0), mira=MiraConfig(iterations=3), pro=ProConfig(samples=50),
)  # fmt: skip


def domain(weights, num_sentences, seed):
    """Scored lists in which the weights order hypotheses by quality, references and texts."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(30)])
    references = rng.choice(words, (num_sentences, 12))
    features = rng.normal(size=(num_sentences, 8, 3))
    num_right = 12 - (features @ weights).argsort(1)[:, ::-1].argsort(1)
    texts = []
    for sentence in range(num_sentences):
        for right in num_right[sentence]:
            texts.append(" ".join([*references[sentence, :right], *rng.choice(words, 12 - right)]))
    sentences = np.repeat(np.arange(num_sentences), 8)
    lists = nbest_from_rows(texts, features.reshape(-1, 3), sentences, num_sentences, ["LM_0", "TM_0", "TM_1"])
    goals = [[" ".join(row)] for row in references]
    return score_lists(lists, goals, with_ter=True), lists, goals


@pytest.fixture(scope="module")
def domains():
    return domain(OLD, 20, 0)[0], domain(NEW, 20, 1)[0], *domain(NEW, 15, 2)


@pytest.fixture(scope="module")
def comparison(domains):
    dev, pool, test, _, _ = domains
    return compare(dev, pool, test, CONFIG, OLD)


def test_sets_are_drawn_by_seed_size_and_repetition():
    counts = draw_sets(20, CONFIG)
    assert counts.shape == (2, 2, 20)
    assert (counts.sum(2) == [[6], [8]]).all()
    again = draw_sets(20, ComparisonConfig(sizes=(8,), repetitions=1))
    np.testing.assert_array_equal(again[0, 0], counts[1, 0])
    without = draw_sets(8, ComparisonConfig(sizes=(8,), repetitions=2, with_replacement=False))
    assert (without == 1).all()
    with pytest.raises(UserError, match="8 sentences cannot be drawn from 7"):
        draw_sets(7, ComparisonConfig(sizes=(8,), with_replacement=False))
    with pytest.raises(UserError, match="no sentences"):
        draw_sets(0, CONFIG)


def test_parts_and_unions_of_lists(domains):
    lists = domains[0]
    some = first_hypotheses(rows_of(lists, np.array([3, 2, 3])), 4)
    assert some.sizes.tolist() == [4, 4, 4]
    joined = joined_lists(some, lists)
    assert joined.sizes.tolist() == [4, 4, 4, *lists.sizes]
    np.testing.assert_array_equal(joined.ter[3:], lists.ter)
    np.testing.assert_array_equal(joined.bleu[:3, :4], some.bleu)
    with pytest.raises(UserError, match="cannot be joined"):
        joined_lists(lists, replace(lists, feature_names=("a", "b", "c")))


def test_every_method_runs_and_the_batched_one_equals_single_runs(domains, comparison):
    _, pool, test, _, _ = domains
    assert comparison.bleu.shape == (len(METHODS), 2, 2, 10)
    assert (comparison.seconds >= 0).all()
    counts = draw_sets(20, CONFIG)
    for method, viterbi in (("heuristic", False), ("heuristic-viterbi", True)):
        for place in range(2):
            used = np.flatnonzero(counts[place, 1])
            config = BpaConfig(num_samples=20, viterbi=viterbi)
            votes, _ = adapt(rows_of(pool, used), OLD, config, counts[place, 1][used])
            index = rerank(test, votes).index
            expected = test.ter[np.arange(15), index].sum(0)
            np.testing.assert_array_equal(comparison.ter[METHODS.index(method), place, 1], expected)
    means = comparison.means("ter")
    assert (means[1:, 1] < means[0, 1]).sum() >= 8  # the planted answer helps nearly all


def test_scores_are_those_of_sacrebleu(domains, comparison):
    _, _, test, lists, goals = domains
    texts = [lists.texts[8 * b + k] for b, k in enumerate(best_hypotheses(test, OLD))]
    columns = [[goal for (goal,) in goals]]
    bleu = BLEU(tokenize="none", force=True).corpus_score(texts, columns)
    assert comparison.means("bleu")[0] == pytest.approx([bleu.score] * 2)
    assert comparison.means("ter")[0] == pytest.approx([TER().corpus_score(texts, columns).score] * 2)
    assert (comparison.intervals("ter")[0] == 0).all()
    np.testing.assert_allclose(comparison.precisions()[0, 0], bleu.precisions)
    assert comparison.brevity()[0, 0] == pytest.approx(min(1.0, bleu.sys_len / bleu.ref_len))


def hand_made():
    ter = np.array([[[[10, 100], [12, 100], [14, 100]]], [[[20, 100], [20, 100], [20, 100]]]], float)
    bleu = np.ones((2, 1, 3, 10))
    return Comparison(("mert", "unadapted"), (10,), bleu, ter, np.array([[1.0], [0.0]]))


def test_means_and_intervals_by_hand():
    found = hand_made()
    np.testing.assert_allclose(found.means("ter"), [[12], [20]])
    np.testing.assert_allclose(found.intervals("ter"), [[4], [0]])  # σ = 2
    assert "12.00 ± 4.00" in comparison_text(found, "ter")
    assert "100.0" in precision_text(found, [10])


def test_sweeps(domains):
    dev, pool, test, _, _ = domains
    quick = ComparisonConfig(("unadapted", "heuristic"), (8,), 2, bpa=CONFIG.bpa)
    by_prior = sweep(dev, pool, test, "sigma_prior", [1e-9, 0.1], quick, OLD)
    np.testing.assert_array_equal(by_prior["1e-09"].ter[1], by_prior["1e-09"].ter[0])
    assert by_prior["0.1"].ter[1, ..., 0].sum() < by_prior["0.1"].ter[0, ..., 0].sum()
    by_size = sweep(dev, pool, test, "nbest", [1], quick, OLD)
    np.testing.assert_array_equal(by_size["1"].ter[0, 0, 0], test.ter[:, 0].sum(0))
    with pytest.raises(UserError, match="'mood'"):
        sweep(dev, pool, test, "mood", [1], quick, OLD)


def test_wrong_settings_are_named():
    with pytest.raises(UserError, match="'magic'"):
        ComparisonConfig(methods=("magic",))
    with pytest.raises(UserError, match="sizes of at least 1"):
        ComparisonConfig(sizes=(0,))


def test_plots_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UserError, match="pip install matplotlib"):
        plot_comparison(hand_made(), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    plot_comparison(hand_made(), tmp_path / "a.png", bars=True)
    plot_sweep({"1": hand_made(), "4": hand_made()}, "δ", tmp_path / "b.svg", "bleu")
    plot_times(hand_made(), tmp_path / "c.pdf")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "b.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "c.pdf").read_bytes()[:4] == b"%PDF"
    with pytest.raises(UserError, match="unknown ending"):
        plot_times(hand_made(), tmp_path / "c.gif")
