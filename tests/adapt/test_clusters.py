"""Clusters of sentences: entropies against KenLM, files that come back, tables and pictures."""

import random
import sys

import numpy as np
import pytest

from jaxsmt.adapt.clusters.clustering import (
    ClusterConfig,
    centre,
    cluster_table,
    fit_clusters,
    format_table,
    load_clusters,
)
from jaxsmt.adapt.clusters.entropies import load_entropy_model
from jaxsmt.adapt.clusters.estimation import build_entropy_model, estimate_entropy_model
from jaxsmt.adapt.clusters.labels import Labels, make_labels
from jaxsmt.adapt.clusters.plots import plot_clusters, project
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.arpa import write_arpa
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kenlm_model import kenlm_sentence_entropies, load_kenlm
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.text.vocabulary import Vocabulary
from tests.adapt.purity import purity

DOMAINS = {
    "it": "click the button to open a file in the window or save the file to a folder",
    "legal": "the minister may by order amend the act subject to section two of the law",
    "talk": "i think you know that she will come home and we eat dinner",
}


def domain_text(name, size, seed=0):
    """Sentences of 3 to 9 words of a domain, some of them from elsewhere."""
    rng = random.Random(f"{name} {seed}")
    words = [*DOMAINS[name].split(), "of", "and", "is", ",", "."]
    return [[rng.choice(words) for _ in range(rng.randint(3, 9))] for _ in range(size)]


def encoded(rows):
    vocabulary = Vocabulary(tuple(dict.fromkeys(word for row in rows for word in row)))
    return ragged_from_rows([vocabulary.encode(row) for row in rows]), vocabulary


@pytest.fixture(scope="module")
def model():
    return estimate_entropy_model({name: encoded(domain_text(name, 60)) for name in DOMAINS}, LmConfig(order=3))


@pytest.fixture(scope="module")
def dev():
    """Sentences, their gold labels, in mixed order."""
    rows = [(row, name) for name in ("it", "legal") for row in domain_text(name, 30, seed=1)]
    random.Random(0).shuffle(rows)
    return [row for row, _ in rows], make_labels([name for _, name in rows])


def test_entropies_equal_kenlm(kenlm, tmp_path):
    texts = {name: encoded(domain_text(name, 60)) for name in DOMAINS}
    lms = {name: estimate_lm(*text, LmConfig(order=3)) for name, text in texts.items()}
    rows = [*domain_text("it", 5, 2), ["never", "seen", "button"], ["unheard"]]
    theirs = []
    for name, lm in lms.items():
        write_arpa(lm, tmp_path / f"{name}.arpa")
        theirs.append(kenlm_sentence_entropies(load_kenlm(tmp_path / f"{name}.arpa"), rows))
    ours = build_entropy_model(lms).vectors_of_tokens(rows)
    np.testing.assert_allclose(ours, np.stack(theirs, axis=1), atol=1e-5)


def test_vectors_depend_on_no_other_sentence(model, dev):
    rows = [*dev[0][:20], [], ["nobody", "knows"]]
    whole = model.vectors_of_tokens(rows)
    assert whole.shape == (22, 3)
    np.testing.assert_array_equal(np.concatenate([model.vectors_of_tokens([row]) for row in rows]), whole)
    assert (whole[20] == 0).all()  # no words, no direction
    assert (whole[21] > 0).all()
    assert model.vectors_of_tokens([]).shape == (0, 3)


def test_unknown_words_cost_about_the_same_everywhere():
    """A model of few words must not look near because it gives each of the many words that it lacks a large share."""
    small, large = [["a", "b"], ["b", "a"]], [[f"w{i}", f"w{i + 1}"] for i in range(200)]
    texts = {"small": encoded(small), "large": encoded(large)}
    alone = build_entropy_model({name: estimate_lm(*text, LmConfig(order=2)) for name, text in texts.items()})
    shared = estimate_entropy_model(texts, LmConfig(order=2))
    rows = [["x", "y", "z"], ["w3", "w4"]]
    assert alone.vectors_of_tokens(rows)[0].argmin() == 0
    assert shared.vectors_of_tokens(rows)[1].argmin() == 1
    assert shared.vectors_of_tokens(rows)[0, 0] > alone.vectors_of_tokens(rows)[0, 0] + 2


def test_entropy_model_comes_back(tmp_path, model, dev):
    model.save(tmp_path / "entropies")
    again = load_entropy_model(tmp_path / "entropies")
    assert again.components == ("it", "legal", "talk")
    np.testing.assert_array_equal(again.vectors_of_tokens(dev[0]), model.vectors_of_tokens(dev[0]))
    (tmp_path / "entropies" / "entropies.json").write_text('{"format": 1, "components": ["a"]}')
    with pytest.raises(UserError, match="not an entropy model of this version"):
        load_entropy_model(tmp_path / "entropies")
    with pytest.raises(UserError, match="does not exist"):
        load_entropy_model(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no language model"):
        build_entropy_model({})


@pytest.mark.parametrize("centring", ["none", "sentence"])
def test_clusters_are_the_domains_and_take_new_sentences(model, dev, centring):
    rows, gold = dev
    vectors = model.vectors_of_tokens(rows)
    clusters = fit_clusters(vectors, model.components, ClusterConfig(num_clusters=2, restarts=4, centring=centring))
    assert clusters.names == ("cluster0", "cluster1")
    assert purity(clusters.labels, gold) > 0.9
    new = model.vectors_of_tokens([*domain_text("it", 10, 3), *domain_text("legal", 10, 3)])
    assert purity(clusters.assign(new), make_labels(["it"] * 10 + ["legal"] * 10)) > 0.9
    np.testing.assert_array_equal(clusters.assign(vectors).index, clusters.assignment)
    for row, label in zip(vectors[:5], clusters.assignment, strict=False):
        assert clusters.assign(row[None]).index.tolist() == [label]
    with pytest.raises(UserError, match=r"of 3 components .it, legal, talk. and the sentences have 2"):
        clusters.assign(new[:, :2])


def test_centring_takes_off_how_hard_a_sentence_is():
    vectors = np.array([[3.0, 5, 7], [0, 0, 0]])
    np.testing.assert_array_equal(centre(vectors, "sentence"), [[-2, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(centre(vectors, "none"), vectors)
    easy, hard = np.array([[5.0, 6, 7]]), np.array([[15.0, 16, 17]])
    one, two = (centre(x, "sentence") for x in (easy, hard))
    np.testing.assert_allclose(one, two)


def test_clusters_come_back(tmp_path, model, dev):
    vectors = model.vectors_of_tokens(dev[0])
    clusters = fit_clusters(vectors, model.components, ClusterConfig(num_clusters=2, restarts=4))
    clusters.save(tmp_path / "model")
    again = load_clusters(tmp_path / "model")
    assert (again.names, again.components, again.centring) == (clusters.names, clusters.components, "none")
    for name in ("centroids", "assignment", "objective"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clusters, name))
    np.testing.assert_array_equal(again.assign(vectors).index, clusters.assignment)
    manifest = tmp_path / "model" / "clusters.json"
    for broken in ("{", '{"format": 9}', manifest.read_text().replace('"talk"', '"talk", "more"')):
        manifest.write_text(broken)
        with pytest.raises(UserError, match="no clusters of this version"):
            load_clusters(tmp_path / "model")
    with pytest.raises(UserError, match="does not exist"):
        load_clusters(tmp_path)


def test_table_says_what_is_in_each_cluster():
    vectors = np.array([[1.0, 5, 9], [1, 5, 9], [1, 5, 8.9], [9, 5, 1]])
    clusters = fit_clusters(vectors, ("a", "b", "c"), ClusterConfig(num_clusters=2, restarts=4))
    gold = make_labels(["x", "x", "y", "y"])
    rows = cluster_table(clusters, gold)
    assert [(row.name, row.size) for row in rows] == [("cluster0", 3), ("cluster1", 1)]
    assert rows[0].shares == pytest.approx({"x": 2 / 3, "y": 1 / 3})
    assert [row.nearest for row in rows] == [("a", "b", "c"), ("c", "b", "a")]
    assert format_table(rows) == (
        "cluster   sentences      x       y  nearest components\n"
        "cluster0          3  66.7%   33.3%  a, b, c\n"
        "cluster1          1   0.0%  100.0%  c, b, a\n"
    )
    assert cluster_table(clusters)[1].shares == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_clusters": 0}, "mixture.num_clusters is 0"),
        ({"restarts": 0}, "mixture.restarts is 0"),
        ({"centring": "mean"}, "mixture.cluster_centring is 'mean': set it to one of none, sentence"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(UserError, match=message):
        ClusterConfig(**options)


def test_one_component_has_nothing_left_after_centring():
    with pytest.raises(UserError, match="one component only"):
        fit_clusters(np.ones((4, 1)), ("a",), ClusterConfig(num_clusters=2, centring="sentence"))
    with pytest.raises(ValueError, match="2 components"):
        fit_clusters(np.ones((4, 1)), ("a", "b"))


def test_projection_is_that_of_the_covariance():
    vectors = np.abs(np.random.default_rng(0).normal(5, 1, (40, 4)))
    points, shares = project(vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    variances, axes = np.linalg.eigh(np.cov(unit.T))
    np.testing.assert_allclose(np.abs(points), np.abs((unit - unit.mean(0)) @ axes[:, [-1, -2]]), atol=1e-9)
    np.testing.assert_allclose(shares, variances[[-1, -2]] / variances.sum())
    np.testing.assert_array_equal(project(np.insert(vectors, 3, 0, axis=0))[0][3], [0, 0])
    for odd in (np.ones((3, 1)), np.ones((1, 4)), np.zeros((2, 3)), np.zeros((0, 3))):
        assert np.isfinite(project(odd)[0]).all()


def test_plot_is_a_picture_and_the_same_one_again(tmp_path):
    pytest.importorskip("matplotlib")
    vectors = np.abs(np.random.default_rng(0).normal(5, 1, (30, 3)))
    clusters = fit_clusters(vectors, ("a", "b", "c"), ClusterConfig(num_clusters=2, restarts=4))
    gold = Labels(("x", "y"), np.arange(30, dtype=np.int32) % 2)
    for name, labels in (("one", gold), ("two", gold), ("plain", None)):
        plot_clusters(tmp_path / f"{name}.png", clusters, vectors, labels)
    pictures = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    assert pictures["one"].startswith(b"\x89PNG")
    assert pictures["one"] == pictures["two"] != pictures["plain"]
    with pytest.raises(UserError, match="29 vectors"):
        plot_clusters(tmp_path / "bad.png", clusters, vectors[:-1])


def test_plot_without_matplotlib_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    vectors = np.ones((2, 2))
    clusters = fit_clusters(vectors, ("a", "b"), ClusterConfig(num_clusters=1))
    with pytest.raises(UserError, match="run `pip install matplotlib`"):
        plot_clusters(tmp_path / "a.png", clusters, vectors)
