"""Adaptation on n-best files of any system, and votes on disk."""

import numpy as np
import pytest

from jaxsmt.adapt.bagging import BaggingConfig
from jaxsmt.adapt.bpa.adaptation import BpaInfo
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.files import load_votes, save_votes
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.adapt.list_commands import adapt_nbest_lists, bag_nbest_lists, named_weights, with_features
from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.nbest import nbest_from_rows, read_nbest, write_nbest

WEIGHTS = {"LM0_0": 1.0, "TM0_0": 0.5}


@pytest.fixture
def files(tmp_path):
    """Six sentences whose right translation the second feature tells, and a test list with a sparse feature more."""
    rng = np.random.default_rng(0)
    texts, features, references = [], [], []
    for sentence in range(6):
        references.append(f"this is sentence number {sentence} of six")
        for right in (0, 1, 0):
            texts.append(references[-1] if right else f"that was number {sentence} or so")
            features.append([rng.normal(), right + 0.1 * rng.normal(), 1.0 - right])
    sentences = np.repeat(np.arange(6), 3)
    lists = nbest_from_rows(texts, np.array(features), sentences, 6, ["LM0_0", "TM0_0", "S_a"], num_dense=2)
    write_nbest(tmp_path / "known.nbest", lists)
    more = nbest_from_rows(texts, np.array(features), sentences, 6, ["LM0_0", "TM0_0", "S_b"], num_dense=2)
    write_nbest(tmp_path / "test.nbest", more)
    (tmp_path / "known.en").write_text("".join(f"{text}\n" for text in references), encoding="utf-8")
    return tmp_path


def test_bpa_on_files(files):
    found = adapt_nbest_lists(
        files / "known.nbest", [files / "known.en"], files / "test.nbest", WEIGHTS,
        BpaConfig(sampler="laplace", num_samples=40, sigma_prior=10.0), files / "out.en",
    )  # fmt: skip
    references = (files / "known.en").read_text(encoding="utf-8")
    assert (files / "out.en").read_text(encoding="utf-8") == references
    assert found.texts == references.splitlines()
    assert found.info.advice() is None
    assert "R-hat 1.50" in BpaInfo(1.0, r_hat=np.array([1.0, 1.5])).advice()


def test_bagging_on_files(files):
    found = bag_nbest_lists(
        files / "known.nbest", [files / "known.en"], files / "test.nbest", WEIGHTS,
        BaggingConfig(members=3, sizes=(1, 3), nbest=2), MertConfig(restarts=1, perturbation_rounds=0),
        [files / "known.en"], files / "out.en",
    )  # fmt: skip
    assert (files / "out.en").read_text(encoding="utf-8") == (files / "known.en").read_text(encoding="utf-8")
    assert found.weights.shape == (3, 3)
    assert found.result.rows[-1].bleu == pytest.approx(1.0)
    assert [row.num_members for row in found.result.rows] == [1, 3]


def test_features_are_matched_by_name(files):
    lists = read_nbest(files / "test.nbest")
    matched = with_features(lists, ("TM0_0", "LM0_0", "S_a"))
    np.testing.assert_array_equal(matched.features[:, :2], lists.features[:, [1, 0]])
    assert not matched.features[:, 2].any()
    with pytest.raises(UserError, match="'TM0_0' is in one"):
        with_features(lists, ("LM0_0",))
    with pytest.raises(UserError, match="weight 'LM'"):
        named_weights(lists, {"LM": 1.0})


def test_missing_references_are_named(files):
    known, test = files / "known.nbest", files / "test.nbest"
    with pytest.raises(UserError, match="nowhere"):
        adapt_nbest_lists(known, [files / "nowhere"], test, WEIGHTS)
    with pytest.raises(UserError, match="no lines"):
        adapt_nbest_lists(known, [], test, WEIGHTS)


def test_votes_survive_the_disk(tmp_path):
    votes = Votes(np.random.default_rng(0).normal(size=(5, 3)), np.arange(5.0), 2.5, True)
    save_votes(tmp_path / "votes.safetensors", votes, ("a", "β", "c"))
    again, names = load_votes(tmp_path / "votes.safetensors")
    np.testing.assert_array_equal(again.samples, votes.samples)
    np.testing.assert_array_equal(again.log_weights, votes.log_weights)
    assert (again.delta, again.viterbi, names) == (2.5, True, ("a", "β", "c"))
    assert again.mean_weights() == pytest.approx(np.exp(np.arange(5.0)) @ votes.samples / np.exp(np.arange(5.0)).sum())
