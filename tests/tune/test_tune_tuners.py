"""MERT, MIRA, PRO and trust region on small lists with a known answer, and on the reference list."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig, RiskConfig, TrustRegionConfig
from jaxsmt.tune.lists import TuningLists, list_score, padded_lists
from jaxsmt.tune.mert.tuner import mert, mert_resampled
from jaxsmt.tune.mira import mira
from jaxsmt.tune.nbest import read_nbest
from jaxsmt.tune.pro import logistic_regression, pro, sample_pairs
from jaxsmt.tune.scoring import oracle, score_lists, smoothed_sentence_bleu
from jaxsmt.tune.trust_region import maximise, trust_region
from jaxsmt.tune.tuner import make_tuner

REFERENCE_START = np.array([0.3] * 7 + [0.5, -1.0, 0.2] + [0.2] * 4)


def planted_lists(num_sentences=30, size=12, num_features=4, seed=0) -> tuple[TuningLists, np.ndarray]:
    """Lists in which one direction orders the hypotheses by quality: matches grow with it."""
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, -0.5, 0.3, 0.8])[:num_features]
    features = rng.normal(size=(num_sentences, size, num_features))
    rank = (features @ truth).argsort(1).argsort(1)
    length = np.full((num_sentences, size), 20)
    totals = length[..., None] - np.arange(4)
    matches = np.minimum(totals, (rank[..., None] + 6) - 2 * np.arange(4)).clip(0)
    bleu = np.concatenate([length[..., None], length[..., None], matches, totals], 2)
    ter = np.stack([20 - matches[..., 0], length], 2).astype(float)
    flat = (num_sentences * size, -1)
    offsets = np.arange(num_sentences + 1) * size
    lists = padded_lists(features.reshape(flat), offsets, bleu.reshape(flat).astype(np.int32), ter.reshape(flat))
    return lists, truth


@pytest.fixture(scope="module")
def planted():
    return planted_lists()


@pytest.mark.parametrize(
    "config",
    [
        MertConfig(restarts=3, perturbation_rounds=1, perturbed_starts=2),
        MertConfig(restarts=2, perturbation_rounds=0, strategy="steepest", random_directions=2),
        MertConfig(restarts=3, metric="ter", perturbation_rounds=0),
        MiraConfig(iterations=20),
        ProConfig(samples=500, interpolation=1.0),
        TrustRegionConfig(max_evaluations=150),
    ],
    ids=lambda config: f"{type(config).__name__}-{getattr(config, 'metric', '')}-{getattr(config, 'strategy', '')}",
)
def test_every_tuner_finds_what_was_planted(planted, config):
    lists, truth = planted
    metric = getattr(config, "metric", "bleu")
    start = np.array([0.1, 0.4, 0.4, -0.1])
    weights, _ = make_tuner(config)(lists, start)
    before, after, ceiling = (list_score(lists, w, metric) for w in (start, weights, truth))
    assert after > before + 0.8 * (ceiling - before)
    again, _ = make_tuner(config)(lists, start)
    np.testing.assert_array_equal(weights, again)


@pytest.mark.parametrize("num_sentences", [0, 2])
@pytest.mark.parametrize(
    "config",
    [
        MertConfig(restarts=1, perturbation_rounds=1, perturbed_starts=1),
        MiraConfig(iterations=2),
        ProConfig(samples=10),
        RiskConfig(),
        TrustRegionConfig(max_evaluations=20),
    ],
    ids=lambda config: type(config).__name__,
)
def test_weights_stay_where_lists_say_nothing(config, num_sentences):
    nothing = np.zeros(num_sentences + 1, np.int64)
    lists = padded_lists(np.zeros((0, 3)), nothing, np.zeros((0, 10), np.int32), np.zeros((0, 2)))
    start = np.array([0.5, -0.25, 0.25])
    weights, _ = make_tuner(config)(lists, start)
    np.testing.assert_allclose(weights, start, rtol=1e-6)
    assert list_score(lists, weights, "bleu") == 0


def test_mert_weights_are_normalised_and_scored(planted):
    lists, _ = planted
    weights, info = mert(lists, np.ones(4), MertConfig(restarts=1, perturbation_rounds=0))
    assert np.abs(weights).sum() == pytest.approx(1.0)
    assert info.scores.max() == pytest.approx(list_score(lists, weights, "bleu"))


def test_mert_keeps_weights_above_zero(planted):
    lists, truth = planted
    named = replace(lists, feature_names=("lm", "distortion", "reordering0", "rule0"))
    assert truth[1] < 0
    config = MertConfig(restarts=3, perturbation_rounds=1, perturbed_starts=2)
    weights, info = mert(named, np.array([0.1, -0.4, 0.4, -0.1]), config)
    assert (info.points[:, 1:3] >= 0).all()
    free, _ = mert(named, np.array([0.1, -0.4, 0.4, -0.1]), replace(config, nonnegative=()))
    assert free[1] < 0
    assert list_score(lists, free, "bleu") > list_score(lists, weights, "bleu") > list_score(lists, np.ones(4), "bleu")


def test_resampled_sets_get_their_own_weights(planted):
    lists, _ = planted
    rng = np.random.default_rng(2)
    counts = rng.multinomial(len(lists), np.full(len(lists), 1 / len(lists)), size=4)
    config = MertConfig(restarts=3, perturbation_rounds=0)
    weights, info = mert_resampled(lists, np.ones(4), counts, config)
    assert weights.shape == (4, 4)
    for row, count in zip(weights, counts, strict=True):
        shared = mert(lists, np.ones(4), config)[0]
        assert list_score(lists, row, "bleu", count) >= list_score(lists, shared, "bleu", count) - 1e-3
    np.testing.assert_allclose(
        info.scores.max(1), [list_score(lists, w, "bleu", c) for w, c in zip(weights, counts, strict=True)]
    )


def test_unknown_names_are_refused(planted):
    lists, _ = planted
    with pytest.raises(UserError, match="'zigzag'"):
        mert(lists, np.ones(4), MertConfig(strategy="zigzag"))
    with pytest.raises(UserError, match="'wer'"):
        mert(lists, np.ones(4), MertConfig(metric="wer"))


def test_pairs_point_to_the_better_hypothesis(planted):
    lists, truth = planted
    pairs = sample_pairs(lists, ProConfig(samples=300, kept=20))
    assert 0 < len(pairs) <= 20 * len(lists)
    assert (pairs @ truth > 0).all()
    quality = smoothed_sentence_bleu(lists.bleu)
    assert (np.diff(np.take_along_axis(quality, (lists.features @ truth).argsort(1), 1)) >= 0).all()
    assert len(sample_pairs(planted_lists(size=1)[0], ProConfig())) == 0
    start = np.ones(4)
    np.testing.assert_array_equal(pro(planted_lists(size=1)[0], start)[0], start)


def test_logistic_regression_stands_still_at_the_optimum():
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(50, 3)) + np.array([0.5, 0.0, -0.2])
    weights, value = logistic_regression(pairs, 1.0)
    gradient = weights - 2 * ((1 / (1 + np.exp(pairs @ weights))) @ pairs)
    np.testing.assert_allclose(gradient, 0, atol=1e-3)
    assert value == pytest.approx(2 * np.log1p(np.exp(-pairs @ weights)).sum() + 0.5 * weights @ weights)


@pytest.mark.parametrize(("num_pairs", "l2"), [(1, 1.0), (50, 1.0), (300, 0.01), (300, 30.0)])
def test_logistic_regression_equals_scipy_and_scikit_learn(num_pairs, l2):
    rng = np.random.default_rng(num_pairs)
    scale = np.array([1.0, 20.0, 0.1])  # language models speak louder than penalties
    pairs = (rng.normal(size=(num_pairs, 3)) + np.array([0.5, 0.0, -0.2])) * scale

    def loss(weights):
        return 2 * np.logaddexp(0, -pairs @ weights).sum() + 0.5 * l2 * weights @ weights

    weights, value = logistic_regression(pairs, l2)
    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7 * num_pairs})
    assert value == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(weights * scale, best.x * scale, atol=2e-3)
    linear_model = pytest.importorskip("sklearn.linear_model")
    both = np.concatenate([pairs, -pairs]), np.repeat([1, 0], num_pairs)
    theirs = linear_model.LogisticRegression(C=1 / l2, fit_intercept=False, tol=1e-8, max_iter=1000).fit(*both)
    np.testing.assert_allclose(weights * scale, theirs.coef_[0] * scale, atol=2e-3)


def test_trust_region_climbs_any_score():
    best, info = maximise(
        lambda x: -((x[0] - 0.3) ** 2) - 2 * (x[1] - 0.9) ** 2, np.array([0.5, 0.5]),
        TrustRegionConfig(low=0.0, high=0.8),
    )  # fmt: skip
    np.testing.assert_allclose(best, [0.3, 0.8], atol=1e-2)
    assert info.points.min() >= 0
    assert info.points.max() <= 0.8


@pytest.fixture(scope="module")
def reference_lists(reference):
    lists = read_nbest(reference / "tune" / "dev200.nbest100.gz")
    with gzip.open(reference / "text" / "pydoc-dev.en.gz", "rt", encoding="utf-8") as stream:
        goals = [[line.strip()] for line in stream][:200]
    return score_lists(lists, goals)


def test_reference_statistics_and_oracle(reference, reference_lists):
    with gzip.open(reference / "tune" / "scores.dat.gz", "rt") as stream:
        rows = [line.split() for line in stream if not line.startswith("SCORES")]
    theirs = {tuple(map(int, row)) for row in rows}
    ours = reference_lists.bleu[reference_lists.is_real]
    interleaved = np.concatenate([np.stack([ours[:, 2:6], ours[:, 6:10]], 2).reshape(-1, 8), ours[:, 1:2]], 1)
    assert {tuple(row) for row in interleaved.tolist()} == theirs
    assert list_score(reference_lists, REFERENCE_START, "bleu") == pytest.approx(0.324680, abs=1e-6)
    best = oracle(reference_lists)
    chosen = TuningLists(*(part[np.arange(200), best][:, None] for part in (
        reference_lists.features, reference_lists.is_real, reference_lists.bleu)), None, ())  # fmt: skip
    assert list_score(chosen, REFERENCE_START, "bleu") == pytest.approx(0.4155, abs=1e-4)


def test_mert_reaches_the_reference(reference_lists):
    alone = MertConfig(strategy="steepest", restarts=0, perturbation_rounds=0)
    weights, _ = mert(reference_lists, REFERENCE_START, alone)
    assert list_score(reference_lists, weights, "bleu") == pytest.approx(0.345883, abs=5e-7)
    weights, _ = mert(reference_lists, REFERENCE_START)
    assert list_score(reference_lists, weights, "bleu") >= 0.3498


def test_mira_and_pro_reach_the_reference(reference, reference_lists):
    weights, _ = mira(reference_lists, REFERENCE_START)
    assert list_score(reference_lists, weights, "bleu") >= 0.3395 - 0.002
    weights, _ = pro(reference_lists, REFERENCE_START, ProConfig(interpolation=1.0))
    assert list_score(reference_lists, weights, "bleu") >= 0.3375 - 0.002
    with gzip.open(reference / "tune" / "pro.data.gz", "rt") as stream:
        rows = [line.split() for line in stream if line.startswith("1 ")]
    pairs = np.zeros((len(rows), 14))
    for row, fields in zip(pairs, rows, strict=True):
        row[[int(name[1:]) for name in fields[1::2]]] = [float(value) for value in fields[2::2]]
    _, value = logistic_regression(pairs, 1.0)
    assert value == pytest.approx(8610.7119, abs=0.01)


def test_trust_region_improves_lists(planted):
    lists, _ = planted
    weights, info = trust_region(lists, np.ones(4), TrustRegionConfig(max_evaluations=60))
    assert list_score(lists, weights, "bleu") == pytest.approx(info.scores.max())
    assert info.scores.max() >= info.scores[0]
