"""Adaptation on n-best files of any system, and votes on disk."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.adapt.bpa.adaptation import BpaInfo, adapt
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.rerank import Votes, load_votes, rerank, save_votes
from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.references import read_references
from jaxsmt.tune.lists import padded_lists
from jaxsmt.tune.nbest import named_weights, nbest_from_rows, read_nbest, with_features, write_nbest
from jaxsmt.tune.scoring import score_lists

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
    lists = replace(nbest_from_rows(texts, np.array(features), sentences, 6, ["LM0_0", "TM0_0", "S_a"]), num_dense=2)
    write_nbest(tmp_path / "known.nbest", lists)
    more = replace(nbest_from_rows(texts, np.array(features), sentences, 6, ["LM0_0", "TM0_0", "S_b"]), num_dense=2)
    write_nbest(tmp_path / "test.nbest", more)
    (tmp_path / "known.en").write_text("".join(f"{text}\n" for text in references), encoding="utf-8")
    return tmp_path


def test_bpa_on_files(files):
    references = read_references([files / "known.en"])
    known = read_nbest(files / "known.nbest", len(references))
    lists = with_features(read_nbest(files / "test.nbest"), known.feature_names)
    config = BpaConfig(sampler="laplace", num_samples=40, sigma_prior=10.0)
    votes, info = adapt(score_lists(known, references, with_ter=True), named_weights(known, WEIGHTS), config)
    found = rerank(padded_lists(lists.features, lists.offsets, feature_names=lists.feature_names), votes)
    assert [(lists.texts[row],) for row in found.index + lists.offsets[:-1]] == references
    assert info.advice() is None
    assert "R-hat 1.50" in BpaInfo(1.0, r_hat=np.array([1.0, 1.5])).advice()


def test_features_are_matched_by_name(files):
    lists = read_nbest(files / "test.nbest")
    matched = with_features(lists, ("TM0_0", "LM0_0", "S_a"))
    np.testing.assert_array_equal(matched.features[:, :2], lists.features[:, [1, 0]])
    assert not matched.features[:, 2].any()
    with pytest.raises(UserError, match="'TM0_0' is in one"):
        with_features(lists, ("LM0_0",))
    with pytest.raises(UserError, match="weight 'LM'"):
        named_weights(lists, {"LM": 1.0})


def test_votes_survive_the_disk(tmp_path):
    votes = Votes(np.random.default_rng(0).normal(size=(5, 3)), np.arange(5.0), 2.5, True)
    save_votes(tmp_path / "votes.safetensors", votes, ("a", "β", "c"))
    again, names = load_votes(tmp_path / "votes.safetensors")
    np.testing.assert_array_equal(again.samples, votes.samples)
    np.testing.assert_array_equal(again.log_weights, votes.log_weights)
    assert (again.delta, again.viterbi, names) == (2.5, True, ("a", "β", "c"))
