"""Common weights and deviations of labels, fitted together."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.tune.augment import augmentation, plain_columns
from jaxsmt.tune.config import MiraConfig, ProConfig, RiskConfig
from jaxsmt.tune.lists import list_score, rows_of
from jaxsmt.tune.nbest import nbest_from_rows
from jaxsmt.tune.scoring import score_lists
from jaxsmt.tune.tuner import make_tuner

TUNERS = [MiraConfig(iterations=20), ProConfig(samples=300, interpolation=1.0), RiskConfig(gamma_steps=4)]
LABELS = ["law"] * 12 + ["code"] * 12 + [None] * 3


def opposed_lists(seed=0):
    """Lists whose first feature is good for all text, the second for law and bad for code."""
    rng = np.random.default_rng(seed)
    texts, rows, sentences, references = [], [], [], []
    for sentence, label in enumerate(LABELS):
        words = [f"w{number}" for number in rng.integers(0, 30, 10)]
        references.append([" ".join(words)])
        for errors in rng.integers(0, 8, 15):
            wrong = rng.permutation(10)[:errors]
            texts.append(" ".join("x" if place in wrong else word for place, word in enumerate(words)))
            sign = {"law": 1.0, "code": -1.0, None: 0.0}[label]
            rows.append([-0.3 * errors + rng.normal(), -sign * errors + rng.normal()])
            sentences.append(sentence)
    return nbest_from_rows(texts, np.array(rows), np.array(sentences), len(LABELS), ["lm", "rule0"]), references


def test_features_and_weights_of_labels():
    given, _ = opposed_lists()
    made = augmentation(LABELS, 0.5)
    lists = made.lists(given)
    assert made.labels == ("code", "law")
    assert lists.feature_names == ("lm", "rule0", "lm@code", "rule0@code", "lm@law", "rule0@law")
    assert plain_columns(lists.feature_names).tolist() == [0, 1, 0, 1, 0, 1]
    assert plain_columns(("a@b", "c")).tolist() == [0, 1]  # nothing that it deviates from
    vector = np.arange(6.0) + 1
    common, own = made.split(vector)
    by_sentence = np.array([own.get(label or "", common) for label in LABELS])[given.sentences]
    np.testing.assert_allclose(lists.features @ vector, (given.features * by_sentence).sum(1))
    np.testing.assert_array_equal(made.split(made.start(common))[1]["law"], common)
    alone = nbest_from_rows(["a"], [[1.0]], np.array([1]), 2, ["lm"])
    assert augmentation([None, None], 1.0).lists(alone).features.tolist() == [[1.0]]


@pytest.mark.parametrize("config", TUNERS, ids=lambda config: type(config).__name__)
def test_labels_go_their_own_ways(config):
    given, references = opposed_lists()
    start = np.array([0.5, 0.1])
    plain = score_lists(given, references)
    shared, _ = make_tuner(config)(plain, start)
    for deviation, is_free in ((1.0, True), (1e-4, False)):
        made = augmentation(LABELS, deviation)
        found, _ = make_tuner(config)(score_lists(made.lists(given), references), made.start(start))
        common, own = made.split(found)
        if not is_free:
            for weights in own.values():
                np.testing.assert_allclose(weights, common, atol=0.05 * np.abs(common).sum())
            continue
        assert own["law"][1] > 0 > own["code"][1]
        for label in ("law", "code"):
            rows = np.flatnonzero(np.array(LABELS, object) == label)
            few = rows_of(plain, rows)
            assert list_score(few, own[label], "bleu") > list_score(few, shared, "bleu") + 0.05
    again, _ = make_tuner(config)(score_lists(made.lists(given), references), made.start(start))
    np.testing.assert_array_equal(found, again)
    assert replace(config, augment=True).deviation == 0.3
