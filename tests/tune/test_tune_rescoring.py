"""n-best lists with features of KenLM models, against KenLM itself."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.lm.rescoring import open_rescorer, rescoring_feature
from jaxsmt.tune.commands import tune_nbest_lists
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.nbest import nbest_from_rows, read_nbest, write_nbest
from jaxsmt.tune.rescoring import rescored
from tests.lm.slow_lm import random_arpa, random_sentences, write_word_arpa


@pytest.fixture
def lists():
    """Two dense features and a sparse one; texts that come twice, and an empty one."""
    rows = [*random_sentences(5, 9, 8), []]
    texts = [" ".join(rows[k % len(rows)]) for k in range(14)]
    features = np.random.default_rng(0).normal(size=(14, 3))
    return replace(nbest_from_rows(texts, features, np.arange(14) % 4, 5, ("LM0_0", "TM0_0", "rare_word")), num_dense=2)


def test_new_columns_are_the_scores_of_kenlm(kenlm, tmp_path, lists):
    paths = [random_arpa(seed, order=seed).write(tmp_path / f"order.{seed}.arpa") for seed in (2, 3)]
    found = rescored(lists, open_rescorer(paths))
    assert found.feature_names == ("LM0_0", "TM0_0", "kenlm-order-2_0", "kenlm-order-3_0", "rare_word")
    assert found.num_dense == 4
    np.testing.assert_array_equal(found.features[:, [0, 1, 4]], lists.features)
    for column, path in zip((2, 3), paths, strict=True):
        model = kenlm.Model(str(path))
        expected = [model.score(text) * math.log(10) for text in lists.texts]
        np.testing.assert_allclose(found.features[:, column], expected, rtol=1e-5)
    assert found.texts == lists.texts
    write_nbest(tmp_path / "new.nbest", found)
    again = read_nbest(tmp_path / "new.nbest", len(found))
    assert again.feature_names == found.feature_names
    np.testing.assert_allclose(again.features, found.features, rtol=1e-8)


def test_nothing_to_do_changes_nothing(lists, kenlm, tmp_path):
    assert rescored(lists, open_rescorer([])) is lists
    path = random_arpa(1, order=2).write(tmp_path / "one.arpa")
    empty = nbest_from_rows([], np.zeros((0, 1)), np.zeros(0, np.int64), 2, ["LM0_0"])
    found = rescored(empty, open_rescorer([path]))
    assert (found.features.shape, len(found)) == ((0, 2), 2)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("lm/big.bin", "kenlm-big_0"),
        ("A.en.5.arpa.gz", "kenlm-A-en-5_0"),
        ("my_big lm.trie.bin", "kenlm-my-big-lm_0"),
        ("news", "kenlm-news_0"),
        ("_.lm", "kenlm-model_0"),
    ],
)
def test_names_of_features(path, name):
    assert rescoring_feature(path) == name


def test_mistakes_are_named(kenlm, tmp_path, lists, monkeypatch):
    paths = [random_arpa(1, order=2).write(tmp_path / name) for name in ("one.arpa", "one.lm")]
    with pytest.raises(UserError, match=r"one\.arpa' and .*one\.lm', which would both be 'kenlm-one_0': rename a file"):
        open_rescorer(paths)
    once = rescored(lists, open_rescorer(paths[:1]))
    with pytest.raises(UserError, match="have a feature 'kenlm-one_0' already: leave its file out"):
        rescored(once, open_rescorer(paths[:1]))
    with pytest.raises(UserError, match=r"nowhere\.bin' does not exist"):
        open_rescorer([tmp_path / "nowhere.bin"])
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(UserError, match="needs the package kenlm"):
        open_rescorer(paths[:1])


def test_tuning_finds_the_use_of_a_large_model(kenlm, tmp_path):
    """The model alone knows which of two equal translations is right."""
    write_word_arpa(tmp_path / "big.arpa", {"right": -1.0, "wrong": -2.0})
    rows = "".join(
        f"{n} ||| {word} {word} {word} {word} ||| TM0= -1 ||| -1\n" for n in range(3) for word in ("wrong", "right")
    )
    (tmp_path / "lists").write_text(rows)
    (tmp_path / "references").write_text("right right right right\n" * 3)
    files = [tmp_path / "lists"], [tmp_path / "references"]
    scorer = open_rescorer([tmp_path / "big.arpa"])
    tuned = tune_nbest_lists(*files, {"TM0_0": 1.0}, MertConfig(), scorer=scorer)
    assert tuned.after == pytest.approx(1.0)
    assert tuned.weights["kenlm-big_0"] > 0
    again = tune_nbest_lists(*files, {"kenlm-big_0": 1.0}, MertConfig(), scorer=scorer)
    assert again.before == pytest.approx(1.0)
