"""Weights by label in a trained model: fitted ones, clusters, labels for each line."""

import json
import re

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.mixing import MixingConfig, fixed_weights
from jaxsmt.model.source_text import SourceText, source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of, weights_of
from jaxsmt.pipeline.commands.decode import decode, known_text
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.stages.tuning import ListsConfig, TuningText, _simplex, decode_lists
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, QUICK_MERT, compose_config, train_config, write_corpus

QUICK = ("align=ibm1", "lm=trigram", "translate=[test]")


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("mixtures")


@pytest.fixture(scope="module")
def corpus(work_dir):
    return write_corpus(work_dir / "corpus")


@pytest.fixture(scope="module")
def fitted(work_dir, corpus):
    """A model with instance weights for both development sets."""
    train(train_config(work_dir / "fitted", [*corpus, *QUICK]))
    return work_dir / "fitted" / "model"


@pytest.fixture(scope="module")
def clustered(work_dir, corpus):
    train(train_config(work_dir / "clustered", [*corpus, *QUICK, "mixture=clusters", "mixture.num_clusters=2"]))
    return work_dir / "clustered" / "model"


def translated(model_dir, folder, lines, *options):
    write_text(folder / "input", "".join(line + "\n" for line in lines))
    files = [f"model_dir={model_dir}", f"input={folder / 'input'}", f"output={folder / 'output'}"]
    decode(compose_config("decode", [*files, *options]))
    return (folder / "output").read_text(encoding="utf-8").splitlines()


def test_each_development_set_prefers_its_own_component(fitted):
    model = open_model(fitted)
    assert model.labels == ("kitchen", "travel")
    for own, name in enumerate(model.names):
        shares = model.mixture(name) / model.mixture(name).sum(1, keepdims=True)
        assert shares.shape == (5, 2)  # four features of rules, and orientations
        assert shares[2, own] > 0.5  # p(t|s)
    np.testing.assert_array_equal(model.mixture(), np.ones((5, 2)))


def test_lines_with_labels_are_translated_as_with_that_domain(fitted, work_dir, corpus, tmp_path):
    lines = [line for name in ("kitchen", "travel") for line in _test_lines(work_dir, name)]
    by_domain = {
        name: translated(fitted, tmp_path, lines, f"domain={name}", "weights.lm=0.1") for name in ("kitchen", "travel")
    }
    plain = translated(fitted, tmp_path, lines, "domain=none", "weights.lm=0.1")
    by_domain["-"] = plain
    labels = ["kitchen", "travel", "-"] * 4
    write_text(tmp_path / "labels", "".join(label + "\n" for label in labels[: len(lines)]))
    mixed = translated(
        fitted, tmp_path, lines, f"labels={tmp_path / 'labels'}", f"labels_output={tmp_path / 'out'}", "weights.lm=0.1"
    )
    assert mixed == [by_domain[label][row] for row, label in enumerate(labels[: len(lines)])]
    assert (tmp_path / "out").read_text() == (tmp_path / "labels").read_text()


def test_wrong_labels_are_named(fitted, tmp_path):
    write_text(tmp_path / "labels", "kitchen\ntravle\n")
    options = [f"labels={tmp_path / 'labels'}"]
    with pytest.raises(UserError, match=r"line 2.*travle.*travel"):
        translated(fitted, tmp_path, ["le", "la"], *options)
    write_text(tmp_path / "labels", "kitchen\n")
    with pytest.raises(UserError, match="has 1 lines and the input more: give one label a line"):
        translated(fitted, tmp_path, ["le", "la"], *options)
    with pytest.raises(UserError, match="labels and domain exclude each other"):
        translated(fitted, tmp_path, ["le"], *options, "domain=travel")


def test_clusters_label_every_sentence_by_itself(clustered, work_dir, corpus, tmp_path):
    model = open_model(clustered)
    lines = [line for name in ("kitchen", "travel") for line in _test_lines(work_dir, name)]
    tokens = source_text(model.source, lines).tokens
    labels = model.labeller().labels_of(tokens)
    assert set(labels) <= set(model.labels)
    assert labels == [model.labeller().labels_of([sentence])[0] for sentence in tokens]
    whole = translated(clustered, tmp_path, lines, f"labels_output={tmp_path / 'labels'}")
    assert (tmp_path / "labels").read_text().splitlines() == labels
    assert whole == translated(clustered, tmp_path, lines, f"labels={tmp_path / 'labels'}")
    settings = json.loads((clustered / "model.json").read_text())["mixing"]["labels"]
    assert set(settings["mixtures"]) == set(settings["lm_mixtures"]) == {"cluster0", "cluster1"}
    assert (clustered / "clusters" / "clusters.png").read_bytes()[:4] == b"\x89PNG"


def _test_lines(work_dir, name):
    return (work_dir / "corpus" / f"{name}.test.fr").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("weighting", "operation", "expected"),
    [
        ("own", "counts", [0, 1, 0]),
        ("others", "counts", [1, 0, 1]),
        ("raised", "counts", [1, 7, 1]),
        ("equal", "counts", [1, 1, 1]),
        ("others", "wsum", [0.5, 0, 0.5]),
        ("equal", "linear", [1 / 3] * 3),
    ],
)
def test_weights_that_need_no_fit(weighting, operation, expected):
    config = MixingConfig(operation=operation, weighting=weighting, raise_by=7.0)
    np.testing.assert_allclose(fixed_weights(config, "b", ["a", "b", "c"]), expected)
    nobody = fixed_weights(config, "x", ["a", "b", "c"])
    np.testing.assert_allclose(nobody, np.full(3, nobody[0]))


def test_points_of_the_search_are_weights_of_models():
    for num in (2, 3, 5):
        for point in (np.full(num - 1, 0.5), np.zeros(num - 1), np.ones(num - 1), np.linspace(0, 1, num - 1)):
            weights = _simplex(point)
            assert len(weights) == num
            np.testing.assert_allclose(weights.sum(), 1)
            assert (weights >= 0).all()
    np.testing.assert_allclose(_simplex(np.array([0.5])), [0.5, 0.5])
    np.testing.assert_allclose(_simplex(np.full(2, 0.5)), [1 - 0.5**0.5, 0.5**0.5 / 2, 0.5**0.5 / 2])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"operation": "sum"}, "mixture.operation is 'sum': choose one of counts, linear"),
        ({"weighting": "tuned"}, "mixture.weighting=tuned is for ensembles: choose another one for 'counts'"),
        ({"epsilon": 0.0}, "mixture.epsilon is 0.0: give a number above 0"),
    ],
)
def test_wrong_settings_are_named(changes, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        MixingConfig(**changes)


@pytest.fixture(scope="module")
def larger(work_dir):
    return write_corpus(work_dir / "larger", ENOUGH_TO_TUNE)


def test_an_ensemble_tunes_its_models_and_their_weights(work_dir, larger):
    tuning = [*QUICK_MERT, "loop.max_iterations=3", "all_ways=false"]
    options = [*larger, *QUICK, *tuning, "mixture=wsum", "mixture.weighting=tuned"]
    train(train_config(work_dir / "ensemble", options))
    mixing = json.loads((work_dir / "ensemble" / "model" / "model.json").read_text())["mixing"]
    own = mixing["component_weights"]
    assert np.shape(own) == (2, 4)
    assert own[0] != own[1]  # each was tuned alone
    weights = mixing["labels"]["mixtures"]
    assert weights["kitchen"] == weights["travel"]
    assert sum(weights["kitchen"]) == pytest.approx(1)


def test_each_cluster_gets_log_linear_weights_of_its_own(work_dir, larger):
    tuning = ["tune=mert", "nbest_size=20", "loop.max_iterations=3", "mixture.tune_each=true"]
    options = [*larger, *QUICK, *tuning, "mixture=clusters", "mixture.num_clusters=2"]
    train(train_config(work_dir / "clustered", options))
    model = open_model(work_dir / "clustered" / "model")
    assert set(model.mixing.labels.weights) == {"cluster0", "cluster1"}
    assert model.profile("cluster0").weights != model.profile("cluster1").weights


def test_a_model_opened_for_certain_lines_translates_them_as_ever(fitted, work_dir):
    lines = (work_dir / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    model = open_model(fitted)
    few, other = source_text(model.source, lines[:3]), source_text(model.source, lines[3:4])
    translator = plain_translator(model.for_text(few))
    assert 0 < len(translator.model.rules.union) < len(model.rules.union) / 2
    profiles = [model.profile("travel")] * 3
    assert translator.translate(few, profiles) == plain_translator(model).translate(few, profiles)
    with pytest.raises(AssertionError, match="has no rules for others"):
        translator.translate(other)


def test_hierarchical_and_phrase_based_components_go_together(work_dir, corpus):
    options = [*corpus, *QUICK, "mixture=switch_max", "extract=hiero", "+extract.kinds.travel=phrase"]
    train(train_config(work_dir / "kinds", options))
    model = open_model(work_dir / "kinds" / "model")
    assert [component.kind for component in model.rules.components] == ["hiero", "phrase"]
    with pytest.raises(UserError, match=r"extract\.kinds has 'sport', which is no component: choose of kitchen"):
        train(train_config(work_dir / "kinds", [*options, "+extract.kinds.sport=phrase"]))
    with pytest.raises(UserError, match=r"extract\.kinds\.travel is 'words': choose 'phrase' or 'hiero'"):
        train(train_config(work_dir / "kinds", [*options[:-1], "+extract.kinds.travel=words"]))


def test_fewer_sentences_are_taken_at_equal_steps():
    source = SourceText(list("abcdefg"), [[x] for x in "abcdefg"], [[x] for x in "abcdefg"])
    text = TuningText(source, [(x,) for x in "ABCDEFG"], ["x", "y", "x", "y", "x", "y", "x"], [None] * 7)
    assert text.at_most(3).source.lines == ["a", "c", "e"]
    assert text.at_most(3).references == [("A",), ("C",), ("E",)]
    assert text.take("x").at_most(2).source == SourceText(["a", "e"], [["a"], ["e"]], [["a"], ["e"]])
    assert text.at_most(None) is text.at_most(7) is text
    assert text.at_most(1).labels == ["x"]
    with pytest.raises(UserError, match="tune_sentences is 0: give a number from 1"):
        ListsConfig(sentences=0)


def test_each_cluster_of_the_target_side_has_a_language_model(work_dir, corpus):
    tuning = [*QUICK_MERT, "loop.max_iterations=2", "all_ways=false"]
    options = [*corpus, *QUICK, *tuning, "mixture=target_clusters", "mixture.num_clusters=2", "lm.joint=true"]
    train(train_config(work_dir / "targets", options))
    model = open_model(work_dir / "targets" / "model")
    assert model.lms[0].names == ("cluster0", "cluster1", "joint")
    np.testing.assert_array_equal(model.lm_mixture("cluster1"), [0, 1, 0])
    np.testing.assert_array_equal(model.mixture("cluster1"), np.ones((4, 2)))  # one rule table for all
    lines = (work_dir / "corpus" / "travel.train.fr").read_text(encoding="utf-8").splitlines()
    labels = model.labeller().labels_of(source_text(model.source, lines).tokens)
    assert set(labels) == set(model.mixing.labels.weights) == {"cluster0", "cluster1"}
    known = [model.clusters.names[place] for place in model.clusters.index[len(model.clusters.index) // 2 :]]
    assert np.mean([own == label for own, label in zip(known, labels, strict=True)]) > 0.8


def test_swapped_blocks_have_a_weight_that_is_tuned(work_dir, corpus):
    train(train_config(work_dir / "swapping", [*corpus, *QUICK, "all_ways=false", "search=reordering"]))
    model = open_model(work_dir / "swapping" / "model")
    assert model.weights.swap == -1.0
    assert feature_names(model.weights, model.lm_names)[-1] == "swap"
    tuned = weights_of(vector_of(model.weights) * [*[1.0] * 8, 2.0], model.weights)
    assert tuned.swap / tuned.lm == pytest.approx(2 * model.weights.swap / model.weights.lm)
    lines = (work_dir / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    translator = plain_translator(model)
    source = source_text(model.source, lines[:2])
    nbest = [line for found in translator.nbest(source, 20) for line in found.moses_lines(0, translator.own_features)]
    assert any("Swap0= 1 " in line for line in nbest)
    text = TuningText(source, [("",)] * 2, [None] * 2, [model.profile()] * 2)
    lists = decode_lists(translator, text, tuned, 20)
    unknown = (lists.features @ vector_of(tuned) - lists.scores) / 100.0  # their weight is not tuned
    np.testing.assert_allclose(unknown, np.round(unknown), atol=1e-5)
    assert len(set(lists.features[:, -1])) > 1


def test_a_search_has_no_weights_of_features_of_others(fitted, work_dir, corpus):
    weights = open_model(fitted).weights
    assert weights.swap == weights.glue == 0.0
    assert len(vector_of(weights)) == len(feature_names(weights, ["lm"])) == 14
    train(train_config(work_dir / "plain", [*corpus, *QUICK, "extract.orientations=false", "all_ways=false"]))
    without = open_model(work_dir / "plain" / "model")
    assert feature_names(without.weights, without.lm_names)[-1] == "distortion"
    assert without.mixture("travel").shape == (4, 2)
    in_chart = SearchWeights().only(SearchConfig(kind="chart").own_features)
    assert feature_names(in_chart, ["lm"])[-1] == "glue"
    assert len(vector_of(in_chart)) == 8


def test_files_are_looked_at_before_rules_are_read(fitted, work_dir, monkeypatch):
    path = work_dir / "corpus" / "travel.test.fr"
    lines = path.read_text(encoding="utf-8").splitlines()
    side = open_model(fitted).source
    assert known_text(str(path), side) == source_text(side, lines)
    assert known_text("-", side) is known_text(str(work_dir / "nowhere"), side) is None
    few = translated(fitted, work_dir, lines, "domain=travel")
    monkeypatch.setattr("jaxsmt.pipeline.commands.decode.MOST_KNOWN", 2)
    assert known_text(str(path), side) is None
    assert translated(fitted, work_dir, lines, "domain=travel") == few
