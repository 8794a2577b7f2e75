"""Minimum risk: expected scores against sums over all hypotheses, gradients against differences, tuning."""

import gzip
import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import RiskConfig
from jaxsmt.tune.lists import TuningLists, bleu_of_sums, list_score, padded_lists, rows_of, ter_of_sums
from jaxsmt.tune.nbest import read_nbest
from jaxsmt.tune.risk.objective import expected_score, gains, measure_of
from jaxsmt.tune.risk.tuner import RiskProblem, RiskSettings, risk, risk_loss, risk_resampled
from jaxsmt.tune.scoring import score_lists, smoothed_sentence_bleu
from tests.precision import double_precision

KINDS = list(itertools.product(("bleu", "ter"), ("corpus", "sentence")))
REFERENCE_START = np.array([0.3] * 7 + [0.5, -1.0, 0.2] + [0.2] * 4)


def random_lists(sizes=(5, 3, 7, 1, 4), num_features=6, seed=0) -> TuningLists:
    rng = np.random.default_rng(seed)
    num = int(np.sum(sizes))
    length = rng.integers(6, 15, num)
    totals = length[:, None] - np.arange(4)
    matches = rng.binomial(totals, 0.7 ** np.arange(1, 5))
    reference = np.repeat(rng.integers(7, 14, len(sizes)), sizes)
    bleu = np.concatenate([length[:, None], reference[:, None], matches, totals], 1)
    ter = np.stack([rng.integers(0, 9, num), bleu[:, 1]], 1).astype(float)
    return padded_lists(rng.normal(size=(num, num_features)), np.r_[0, np.cumsum(sizes)], bleu.astype(np.int32), ter)


def slow_expectation(lists, scores, counts, metric, level):
    """The same in plain loops, with the brevity penalty of BLEU as it is."""
    sums, total = 0.0, 0.0
    for sentence, size in enumerate(lists.sizes):
        if not size:
            total += counts[sentence]
            continue
        weights = np.exp(scores[sentence, :size] - scores[sentence, :size].max())
        statistics = lists.statistics(metric)[sentence, :size].astype(float)
        if level == "sentence":
            statistics = (smoothed_sentence_bleu(statistics) if metric == "bleu" else -ter_of_sums(statistics))[:, None]
        sums = sums + counts[sentence] * (weights / weights.sum()) @ statistics
        total += counts[sentence]
    if level == "sentence":
        return float(sums[0] / total)
    return float(bleu_of_sums(sums) if metric == "bleu" else -ter_of_sums(sums))


def loss_in_double(lists, metric, level, counts=None):
    """risk_loss as a function of (point, γ, l2, centre), to be called with doubles switched on."""
    worth = gains(lists, metric, level)
    rows, columns = worth.is_real.shape
    features = np.zeros((rows, columns, lists.num_features))
    features[: len(lists), : lists.is_real.shape[1]] = lists.features
    counts = np.pad(np.ones(len(lists)) if counts is None else counts, (0, rows - len(lists)))
    problem = RiskProblem(jnp.asarray(features), worth)

    def loss(point, gamma, l2, centre):
        settings = RiskSettings(centre, jnp.asarray(counts), gamma, l2)
        return risk_loss(point, problem, settings, measure_of(metric, level))

    return loss


@pytest.mark.parametrize(("metric", "level"), KINDS)
def test_expectations_are_sums_over_all_hypotheses(metric, level):
    lists = random_lists((5, 0, 3, 7, 1))
    rng = np.random.default_rng(1)
    scores, counts = rng.normal(size=lists.is_real.shape) * 2, np.array([1.0, 1.0, 0.0, 3.0, 1.0])
    with double_precision():
        worth = gains(lists, metric, level)
        whole = np.full(worth.is_real.shape, 9.0)  # what fills up must not count
        whole[: scores.shape[0], : scores.shape[1]] = scores
        padded_counts = np.pad(counts, (0, len(whole) - len(counts)))
        found = expected_score(jnp.asarray(whole), worth, jnp.asarray(padded_counts), measure_of(metric, level))
    # the smooth brevity penalty is off by at most ln 2 / 1000
    assert float(found) == pytest.approx(slow_expectation(lists, scores, counts, metric, level), abs=7e-4)


@pytest.mark.parametrize(("metric", "level"), KINDS)
def test_gradients_are_differences(metric, level):
    lists = random_lists()
    rng = np.random.default_rng(3)
    point, centre = rng.normal(size=(2, lists.num_features))
    with double_precision():
        loss = loss_in_double(lists, metric, level, np.array([1.0, 2.0, 1.0, 0.0, 1.0]))
        arguments = (jnp.asarray(point), jnp.float64(0.7), jnp.float64(0.01), jnp.asarray(centre))
        slope, slope_of_gamma = jax.grad(loss, (0, 1))(*arguments)
        step = 1e-6
        for place in range(len(point)):
            move = step * np.eye(len(point))[place]
            ends = [float(loss(jnp.asarray(point + sign * move), *arguments[1:])) for sign in (1, -1)]
            assert float(slope[place]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-9)
        ends = [float(loss(arguments[0], arguments[1] + sign * step, *arguments[2:])) for sign in (1, -1)]
        assert float(slope_of_gamma) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("metric", "level"), KINDS)
def test_a_large_gamma_gives_the_score_of_the_best(metric, level):
    lists = random_lists(seed=5)
    point = np.random.default_rng(6).normal(size=lists.num_features)
    with double_precision():
        loss = loss_in_double(lists, metric, level)
        found = -float(loss(jnp.asarray(point), jnp.float64(1e6), jnp.float64(0.0), jnp.asarray(point)))
    expected = list_score(lists, point, metric)
    if level == "sentence":
        chosen = rows_of(lists, np.arange(len(lists))).statistics(metric)
        best = np.where(lists.is_real, lists.features @ point, -np.inf).argmax(1)
        statistics = chosen[np.arange(len(lists)), best]
        expected = (smoothed_sentence_bleu(statistics) if metric == "bleu" else -ter_of_sums(statistics)).mean()
    assert found == pytest.approx(expected, abs=7e-4)


@pytest.mark.parametrize("optimiser", ["lbfgs", "adam"])
def test_what_is_expected_grows(optimiser):
    lists = random_lists((12,) * 20, num_features=3)
    start = np.array([0.5, 0.2, -0.3])
    config = RiskConfig(optimiser=optimiser, l2=1e-4)
    weights, info = risk(lists, start, config)
    assert list_score(lists, weights, "bleu") > list_score(lists, start, "bleu")
    assert np.abs(weights).sum() == pytest.approx(np.abs(start).sum())
    np.testing.assert_array_equal(weights, risk(lists, start, config)[0])
    near, _ = risk(lists, start, RiskConfig(optimiser=optimiser, l2=1e5, learning_rate=1e-4))
    np.testing.assert_allclose(near, start, atol=5e-3)  # the prior is all there is
    assert info.points.shape == (1, 1, 3)


def test_sets_at_once_equal_sets_alone_and_empty_lists_say_nothing():
    lists = random_lists((12,) * 8 + (0,), num_features=3)
    start, config = np.array([0.5, 0.2, -0.3]), RiskConfig(gamma_steps=3, restarts=2)
    counts = np.random.default_rng(0).multinomial(9, np.full(9, 1 / 9), size=3)
    together, info = risk_resampled(lists, start, counts, config)
    assert info.scores.shape == (3, 3)
    for row, own in zip(counts, together, strict=True):
        alone, _ = risk_resampled(lists, start, row[None], config)
        assert list_score(lists, own, "bleu", row) == pytest.approx(list_score(lists, alone[0], "bleu", row), abs=2e-3)
    without = risk(rows_of(lists, np.arange(8)), start, config)[0]
    np.testing.assert_allclose(risk(lists, start, config)[0], without, rtol=1e-4)


@pytest.mark.parametrize(("metric", "level"), KINDS)
@pytest.mark.parametrize("sizes", [(), (0,), (1,), (1, 1), (3,)])
def test_small_sizes_and_empty_references(metric, level, sizes):
    lists = random_lists(sizes, num_features=2)
    bleu, ter = lists.bleu.copy(), lists.ter.copy()
    bleu[..., 1:6], ter[..., 1] = 0, 0
    nothing = replace(lists, bleu=bleu, ter=ter)  # references without a word
    start = np.array([0.5, -0.5])
    for given in (lists, nothing):
        for begin in (start, np.zeros(2)):
            weights, _ = risk(given, begin, RiskConfig(metric=metric, level=level, gamma_steps=2, iterations=3))
            assert weights.shape == (2,)
            assert np.isfinite(weights).all()
    if max(sizes, default=0) < 2:
        np.testing.assert_allclose(risk(lists, start, RiskConfig(metric=metric, level=level))[0], start)


def test_thousands_of_sparse_features():
    """One of thousands marks the best hypothesis of each list; the others are noise that occurs here and there."""
    rng = np.random.default_rng(0)
    base = random_lists((10,) * 40, num_features=2)
    quality = smoothed_sentence_bleu(base.bleu)
    features = np.zeros((40, 10, 5000))
    features[..., :2] = base.features
    features[np.arange(40), quality.argmax(1), 2] = 1.0
    for _ in range(4):
        features[np.arange(40)[:, None], np.arange(10)[None], rng.integers(3, 5000, (40, 10))] = 1.0
    lists = TuningLists(features, base.is_real, base.bleu, base.ter, tuple(map(str, range(5000))))
    start = np.r_[0.5, 0.5, np.zeros(4998)]
    weights, _ = risk(lists, start, RiskConfig(gamma_steps=4, iterations=20))
    assert weights[2] == weights.max()
    assert list_score(lists, weights, "bleu") > list_score(lists, start, "bleu") + 0.1


def test_wrong_settings_are_named():
    lists = random_lists()
    for changes, message in (({"optimiser": "sgd"}, "'sgd'"), ({"level": "word"}, "'word'"), ({"gamma": 0.0}, "gamma")):
        with pytest.raises(UserError, match=message):
            risk(lists, np.ones(6), RiskConfig(**changes))


def test_risk_reaches_the_reference(reference):
    lists = read_nbest(reference / "tune" / "dev200.nbest100.gz")
    with gzip.open(reference / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        scored = score_lists(lists, [[line.strip()] for line in stream][:200])
    weights, _ = risk(scored, REFERENCE_START)
    assert list_score(scored, weights, "bleu") >= 0.3498  # what MERT reaches
