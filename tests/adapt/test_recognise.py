"""Domain recognisers against their formulas and scikit-learn, where that is installed."""

import math
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from jaxsmt.adapt.clusters.labels import Labels, make_labels
from jaxsmt.adapt.recognise.bag_of_words import count_words, frequent_words, inverse_frequencies, latent_axes, tf_idf
from jaxsmt.adapt.recognise.logistic import fit_logistic, fit_naive_bayes, fit_with_scikit_learn, sample_weights
from jaxsmt.adapt.recognise.recogniser import (
    RecogniserConfig,
    TextClusterConfig,
    cluster_texts,
    load_recogniser,
    train_recogniser,
)
from jaxsmt.common.errors import UserError
from jaxsmt.text.vocabulary import Vocabulary
from tests.adapt.purity import purity

TOPICS = ("file window click button menu", "act law section minister court", "virus dose fever patient nurse")


def topic_text(size, seed=0, num_topics=3):
    """Sentences of topic words and common words, and their topics; more of the first topics."""
    rng = np.random.default_rng(seed)
    topic = np.minimum(rng.integers(0, num_topics, size), rng.integers(0, num_topics, size))
    topic[:num_topics] = np.arange(num_topics)
    rows = [[*rng.choice(TOPICS[t].split(), 4), *rng.choice(["the", "of", "a"], 2)] for t in topic]
    labels = Labels(("it", "law", "med")[:num_topics], topic.astype(np.int32))
    return [[str(word) for word in row] for row in rows], labels


def random_problem(num_classes, seed=0):
    rng = np.random.default_rng(seed)
    features = csr_array(rng.random((40, 6)) * (rng.random((40, 6)) < 0.5))
    labels = np.concatenate([np.arange(num_classes), rng.integers(0, num_classes, 40 - num_classes)])
    return features, labels, num_classes, sample_weights(labels, num_classes, True)


def test_tf_idf_equals_its_formula():
    rows = [["a", "b", "a"], ["b", "c"], [], ["zzz"], ["b"]]
    vocabulary = Vocabulary(("a", "b", "c"))
    counts = count_words(vocabulary, rows)
    assert counts.toarray().tolist() == [[2, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    idf = inverse_frequencies(counts)
    np.testing.assert_allclose(idf, [math.log(6 / 2) + 1, math.log(6 / 4) + 1, math.log(6 / 2) + 1])
    weighted = tf_idf(counts, idf).toarray()
    first = np.array([(1 + math.log(2)) * idf[0], idf[1], 0])
    np.testing.assert_allclose(weighted[0], first / np.linalg.norm(first))
    np.testing.assert_array_equal(weighted[2:4], 0)
    assert frequent_words(rows, 2).words == ("b",)
    assert frequent_words(rows, 1).words == ("b", "a", "c", "zzz")


def test_tf_idf_equals_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    rows, _ = topic_text(30)
    vocabulary = frequent_words(rows, 1)
    theirs = text.TfidfVectorizer(analyzer=lambda row: row, sublinear_tf=True, vocabulary=vocabulary.words)
    counts = count_words(vocabulary, rows)
    np.testing.assert_allclose(
        tf_idf(counts, inverse_frequencies(counts)).toarray(), theirs.fit_transform(rows).toarray()
    )


@pytest.mark.parametrize("num_classes", [2, 3])
def test_logistic_regression_equals_scipy(num_classes):
    features, labels, _, weights = random_problem(num_classes)
    dense, one_hot = features.toarray(), np.eye(num_classes)[labels]

    def loss(flat):
        matrix = flat.reshape(-1, num_classes)
        logits = dense @ matrix[:-1] + matrix[-1]
        losses = logsumexp(logits, axis=1) - logits[np.arange(len(labels)), labels]
        error = weights[:, None] * (softmax(logits, axis=1) - one_hot)
        gradient = np.vstack([dense.T @ error + matrix[:-1] / 3, error.sum(0)])
        return weights @ losses + (matrix[:-1] ** 2).sum() / 6, gradient.reshape(-1)

    best = minimize(loss, np.zeros(7 * num_classes), jac=True, method="BFGS", options={"gtol": 1e-9})
    matrix, intercepts = fit_logistic(features, labels, num_classes, weights, 3.0, tolerance=1e-8)
    found = np.vstack([matrix, intercepts])
    assert loss(found.reshape(-1))[0] == pytest.approx(best.fun, rel=1e-9)
    theirs = best.x.reshape(-1, num_classes)
    np.testing.assert_allclose(found[:-1], theirs[:-1], atol=1e-4)
    np.testing.assert_allclose(found[-1], theirs[-1] - theirs[-1].mean(), atol=1e-4)
    assert intercepts.sum() == pytest.approx(0, abs=1e-9)


def test_logistic_regression_without_words_or_with_one_sentence_a_class():
    nothing = csr_array(np.zeros((3, 4)))
    labels = np.array([0, 0, 1])
    matrix, intercepts = fit_logistic(nothing, labels, 2, np.ones(3), 3.0, tolerance=1e-7)
    np.testing.assert_array_equal(matrix, 0)
    assert intercepts[0] - intercepts[1] == pytest.approx(np.log(2), abs=1e-5)
    matrix, _ = fit_logistic(csr_array(np.eye(2)), np.array([0, 1]), 2, np.ones(2), 3.0)
    assert (np.diag(matrix) > 0.1).all()


@pytest.mark.parametrize("num_classes", [2, 3])
def test_logistic_regression_equals_scikit_learn(num_classes):
    pytest.importorskip("sklearn")
    problem = random_problem(num_classes)
    ours, theirs = (fit(*problem, 3.0, tolerance=1e-8) for fit in (fit_logistic, fit_with_scikit_learn))
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)


def test_naive_bayes_equals_its_formula():
    counts = csr_array(np.array([[2.0, 0, 1], [0, 1, 0], [1, 1, 0]]))
    matrix, intercepts = fit_naive_bayes(counts, np.array([0, 1, 0]), 2, np.ones(3), 0.5)
    np.testing.assert_allclose(np.exp(matrix[:, 0]), np.array([3.5, 1.5, 1.5]) / 6.5)
    np.testing.assert_allclose(np.exp(matrix[:, 1]), np.array([0.5, 1.5, 0.5]) / 2.5)
    np.testing.assert_allclose(np.exp(intercepts), [2 / 3, 1 / 3])


def test_naive_bayes_equals_scikit_learn():
    bayes = pytest.importorskip("sklearn.naive_bayes")
    features, labels, num_classes, weights = random_problem(3)
    matrix, intercepts = fit_naive_bayes(features, labels, num_classes, weights, 0.1)
    theirs = bayes.MultinomialNB(alpha=0.1).fit(features, labels, weights)
    np.testing.assert_allclose(matrix, theirs.feature_log_prob_.T)
    np.testing.assert_allclose(intercepts, theirs.class_log_prior_)


def test_balanced_weights():
    labels = np.array([0, 0, 0, 1])
    assert sample_weights(labels, 2, False).tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(sample_weights(labels, 2, True), [2 / 3, 2 / 3, 2 / 3, 2])


@pytest.mark.parametrize("classifier", ["naive_bayes", "logistic"])
def test_recogniser_knows_new_sentences_and_comes_back(tmp_path, classifier):
    recogniser = train_recogniser(*topic_text(60), RecogniserConfig(classifier=classifier))
    rows, gold = topic_text(20, seed=1)
    rows += [[], ["nobody", "knows"]]
    found = recogniser.classify(rows)
    assert found.names == ("it", "law", "med")
    np.testing.assert_array_equal(found.index[:20], gold.index)
    p = recogniser.probabilities(rows)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), found.index)
    for at, row in enumerate(rows):  # depends on no other sentence
        np.testing.assert_array_equal(recogniser.probabilities([row])[0], p[at])
    np.testing.assert_array_equal(p[20], p[21])
    assert len(recogniser.classify([])) == 0
    recogniser.save(tmp_path)
    np.testing.assert_array_equal(load_recogniser(tmp_path).probabilities(rows), p)
    manifest = tmp_path / "recogniser.json"
    for broken in ("{", '{"format": 9}', manifest.read_text().replace(classifier, "oracle")):
        manifest.write_text(broken)
        with pytest.raises(UserError, match="no recogniser of this version"):
            load_recogniser(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        load_recogniser(tmp_path / "nowhere")


def test_classes_of_unequal_size_weigh_the_same():
    rows, labels = [["x", "a"]] * 30 + [["x", "b"]], make_labels(["many"] * 30 + ["few"])
    few = {
        (classifier, balanced): train_recogniser(
            rows, labels, RecogniserConfig(classifier, balanced=balanced)
        ).probabilities([["x"]])[0, 0]
        for classifier in ("naive_bayes", "logistic")
        for balanced in (True, False)
    }
    assert few["naive_bayes", True] == pytest.approx(0.5)
    assert few["naive_bayes", False] < 0.1
    assert few["logistic", True] > 2 * few["logistic", False]


def test_one_class_is_certain():
    recogniser = train_recogniser([["a"], ["b"]], make_labels(["x", "x"]), RecogniserConfig("logistic"))
    assert recogniser.probabilities([["a"], []]).tolist() == [[1.0], [1.0]]


def test_recogniser_with_scikit_learn_is_the_same_recogniser():
    pytest.importorskip("sklearn")
    text, rows = topic_text(60), topic_text(20, seed=1)[0]
    ours, theirs = (
        train_recogniser(*text, RecogniserConfig("logistic", solver)) for solver in ("optax", "scikit-learn")
    )
    np.testing.assert_allclose(ours.probabilities(rows), theirs.probabilities(rows), atol=2e-3)


def test_without_scikit_learn_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UserError, match=r"run `pip install scikit-learn`, or set adapt.solver to optax"):
        train_recogniser(*topic_text(10), RecogniserConfig("logistic", "scikit-learn"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classifier": "svm"}, "adapt.classifier is 'svm': choose one of naive_bayes, logistic"),
        ({"solver": "sgd"}, "adapt.solver is 'sgd'"),
        ({"strength": 0.0}, "adapt.strength is 0.0"),
        ({"smoothing": -1.0}, "adapt.smoothing is -1.0"),
        ({"min_sentences": 0}, "adapt.min_sentences is 0"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(UserError, match=message):
        RecogniserConfig(**options)


def test_bad_training_text_is_named():
    labels = make_labels(["x", "y"])
    with pytest.raises(UserError, match="1 sentences and 2 labels"):
        train_recogniser([["a"]], labels)
    with pytest.raises(UserError, match="no sentence has the label 'z'"):
        train_recogniser([["a"], ["b"]], Labels(("x", "y", "z"), labels.index))
    with pytest.raises(UserError, match="no word occurs in 2 sentences"):
        train_recogniser([["a"], ["b"]], labels, RecogniserConfig(min_sentences=2))


def test_latent_axes_are_singular_vectors():
    matrix = csr_array(np.random.default_rng(0).random((30, 12)) * 0.9 ** np.arange(12) ** 2)
    axes = latent_axes(matrix, 3)
    expected = np.linalg.svd(matrix.toarray())[2][:3].T
    np.testing.assert_allclose(np.abs((axes * expected).sum(axis=0)), 1, atol=1e-6)
    np.testing.assert_array_equal(axes, latent_axes(matrix, 3))
    assert latent_axes(csr_array(np.ones((2, 5))), 64).shape == (5, 2)


def test_text_clusters_find_topics_and_a_recogniser_finds_them_again():
    rows, gold = topic_text(60)
    found = cluster_texts([*rows, []], TextClusterConfig(num_clusters=3, num_axes=3, restarts=32))
    assert found.names == ("cluster0", "cluster1", "cluster2")
    assert purity(found.take(np.arange(60)), gold) > 0.9
    assert found.index[60] == 0  # no words, no direction: the largest cluster
    source = [[word.upper() for word in row] for row in rows]  # the other side of the sentence pairs
    again = train_recogniser(source, found.take(np.arange(60))).classify(source)
    assert np.mean(again.index == found.index[:60]) > 0.9
    sampled = cluster_texts(rows, TextClusterConfig(num_clusters=3, num_axes=3, restarts=32, max_fitted=30))
    assert len(sampled) == 60
    with pytest.raises(UserError, match="nothing to cluster"):
        cluster_texts([["a"], ["b"]])
