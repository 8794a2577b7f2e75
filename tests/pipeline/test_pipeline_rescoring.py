"""Models that rescore with KenLM files: tuned with them, stored, and translating as brute force does."""

import dataclasses
import json
import logging
import re
import shutil
import sys

import numpy as np
import pytest

import jaxsmt
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import fingerprint_file
from jaxsmt.model.folder import open_model
from jaxsmt.model.source_text import source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.model.tuned_weights import feature_rows, vector_of, weights_and_more, weights_of
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.evaluation import evaluate_model
from jaxsmt.pipeline.stages.tuning import rescored_lists
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.nbest import nbest_from_rows
from tests.lm.slow_lm import SlowLm, slow_kneser_ney, write_word_arpa
from tests.pipeline.rescoring_runs import QUICK, decoded, source_lines, with_weights, write_settings
from tests.pipeline.small_corpus import COMPONENTS, ENOUGH_TO_TUNE, compose_config, train_config, write_corpus

TUNED = ["tune=mira", "nbest_size=30", "loop.max_iterations=3"]
NAME = "kenlm-big-model_0"
NBEST = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rescoring")


@pytest.fixture(scope="module")
def corpus(folder):
    return write_corpus(folder / "corpus", ENOUGH_TO_TUNE)


@pytest.fixture(scope="module")
def untuned(folder, corpus):
    """A model without rescoring; it shares its artefacts with the others."""
    train(compose_config("train", [*corpus, *QUICK, f"work_dir={folder}", f"output_dir={folder / 'untuned'}"]))
    return open_model(folder / "untuned" / "model")


@pytest.fixture(scope="module")
def slow_lm(folder, untuned) -> SlowLm:
    """A language model that has seen the references of the development and test sets."""
    lines = [
        line
        for name in COMPONENTS
        for part in ("dev", "test")
        for line in (folder / "corpus" / f"{name}.{part}.en").read_text(encoding="utf-8").splitlines()
    ]
    return slow_kneser_ney([untuned.target.preprocess(line) for line in lines], 3)


@pytest.fixture(scope="module")
def arpa(folder, slow_lm):
    return slow_lm.write(folder / "big.model.arpa")


@pytest.fixture(scope="module")
def run(kenlm, folder, corpus, arpa):
    """Trains with the file; returns the folder of the results."""
    options = [*corpus, *QUICK, *TUNED, f"rescore.kenlm=[{arpa}]", f"rescore.nbest={NBEST}"]
    train(compose_config("train", [*options, f"work_dir={folder}", f"output_dir={folder / 'run'}"]))
    return folder / "run"


def test_the_tuned_weight_is_stored(run, arpa):
    stored = json.loads((run / "model" / "model.json").read_text())["rescoring"]
    file = {"name": NAME, "path": str(arpa), "fingerprint": fingerprint_file(arpa)}
    assert (stored["files"], stored["nbest"]) == ([file], NBEST)
    found = open_model(run / "model").rescoring
    assert found.names == (NAME,)
    assert found.weights == tuple(stored["weights"])
    assert found.weights[0] > 0  # the file knows the references


@pytest.fixture(scope="module")
def strong(run, folder):
    """The same with so much weight that the file chooses."""
    return with_weights(run, folder / "strong", [5.0])


def brute_force(model, lines, slow_lm, domain):
    """The best translations, and the three highest scores of each line."""
    text, plain = source_text(model.source, lines), plain_translator(model)
    expected, scores = [], []
    for row, found in enumerate(plain.nbest(text, NBEST, [model.profile(domain)] * len(text))):
        own = np.array([sum(slow_lm.word_scores(words)) for words in found.outputs])
        said_by_search = feature_rows(found.features, model.weights) @ np.array(model.rescoring.shares[0])
        total = found.features.score + (own - said_by_search) * model.rescoring.weights[0]
        expected.append(plain.line(text, row, found.listed[int(total.argmax())], domain).text)
        scores.append(np.sort(total)[::-1][:3])
    return expected, scores


@pytest.mark.parametrize("domain", [None, "travel"])
@pytest.mark.parametrize("which", ["run", "strong"])
def test_decoding_is_brute_force_rescoring(request, folder, slow_lm, which, domain):
    trained = request.getfixturevalue(which)
    lines = source_lines(folder)
    expected, scores = brute_force(open_model(trained / "model"), lines, slow_lm, domain)
    assert decoded(folder, trained, *([] if domain is None else [f"domain={domain}"])) == expected
    listed = jaxsmt.load_model(trained / "model").nbest(lines, 3, domain or "none")
    assert [found[0].text for found in listed] == expected
    for found, wanted in zip(listed, scores, strict=True):
        np.testing.assert_allclose([line.score for line in found], wanted, rtol=1e-4, atol=2e-3)


def test_the_file_has_a_say(strong, folder):
    plain = plain_translator(open_model(strong / "model"))
    expected = [line.text for line in plain.translate(source_text(plain.model.source, source_lines(folder)))]
    assert decoded(folder, strong, "rescore.nbest=1") == expected  # there is nothing to choose from
    assert decoded(folder, strong) != expected


def test_the_evaluation_rescores(strong, folder, slow_lm, tmp_path):
    model = open_model(strong / "model")
    files = (str(folder / "corpus" / f"travel.test.{language}") for language in ("fr", "en"))
    evaluate_model(model, {"test": {"travel": BitextSource(*files)}}, tmp_path)
    for domain, way in ((None, "unweighted"), ("travel", "own-domain")):
        written = (tmp_path / "translations" / f"test.travel.{way}.txt").read_text(encoding="utf-8").splitlines()
        assert written == brute_force(model, source_lines(folder), slow_lm, domain)[0]


def test_what_was_tuned_is_found_again(run, folder, corpus, arpa):
    """Neither the length of lists while translating nor where a file lies is anything that weights depend on."""
    moved = folder / "again" / arpa.name
    moved.parent.mkdir()
    shutil.copy(arpa, moved)
    before = sorted(path.name for path in (folder / "artefacts").iterdir())
    options = [*corpus, *QUICK, *TUNED, f"rescore.kenlm=[{moved}]", "rescore.nbest=5"]
    train(compose_config("train", [*options, f"work_dir={folder}", f"output_dir={folder / 'again'}"]))
    assert sorted(path.name for path in (folder / "artefacts").iterdir()) == before
    found, first = open_model(folder / "again" / "model").rescoring, open_model(run / "model").rescoring
    assert (found.weights, found.nbest, found.files[0].path) == (first.weights, 5, str(moved))


def test_files_that_moved_or_changed(strong, folder, arpa, tmp_path, caplog, monkeypatch):
    run, expected = strong, decoded(folder, strong)
    model = tmp_path / "run" / "model"
    shutil.copytree(strong / "model", model)
    settings = json.loads((model / "model.json").read_text())
    settings["rescoring"]["files"][0]["path"] = str(tmp_path / "gone.arpa")
    write_settings(model, settings)
    sentence = (
        f"the model rescores with '{tmp_path / 'gone.arpa'}', which is not there: put it back or set "
        "rescore.kenlm=[new path]"
    )
    with pytest.raises(UserError, match=re.escape(sentence)):
        decoded(folder, model.parent)
    shutil.copy(arpa, tmp_path / "big-model.lm")
    with caplog.at_level(logging.WARNING, "jaxsmt"):
        monkeypatch.setattr(logging.getLogger("jaxsmt"), "propagate", True)
        assert decoded(folder, model.parent, f"rescore.kenlm=[{tmp_path / 'big-model.lm'}]") == expected
        assert "has changed" not in caplog.text
        write_word_arpa(tmp_path / "big-model.lm", {"the": -1.0})
        decoded(folder, model.parent, f"rescore.kenlm=[{tmp_path / 'big-model.lm'}]")
        assert "big-model.lm' has changed since its weight was tuned" in caplog.text
    with pytest.raises(UserError, match=f"which is 'kenlm-other_0', and the model has {NAME}: rename it"):
        decoded(folder, run, "rescore.kenlm=[other.bin]")
    with pytest.raises(UserError, match=re.escape("rescore.nbest is 0: give a number from 1")):
        decoded(folder, run, "rescore.nbest=0")
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(UserError, match="needs the package kenlm"):
        decoded(folder, run)


def test_a_model_without_rescoring_has_no_weight_for_a_file(untuned, folder):
    assert untuned.rescoring is None
    with pytest.raises(UserError, match=re.escape("no weight to rescore with: train it with rescore.kenlm=[…]")):
        decoded(folder, folder / "untuned", "rescore.kenlm=[big.bin]")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "rescore.kenlm has weights to tune: choose a tuner too, for instance tune=mert"),
        (["tune=mert", "adapt=bpa"], "rescore.kenlm and an adaptation do not go together yet"),
        (["tune=mert", "adapt=bagging"], "rescore.kenlm and an adaptation do not go together yet"),
        (["tune=mert", "adapt=recognise"], "rescore.kenlm and an adaptation do not go together yet"),
        (["tune=mert", "mixture=wsum"], "rescore.kenlm and ensembles (wsum) do not go together yet"),
        (["tune=mert", "mixture.tune_each=true"], "set mixture.tune_each=false or leave out rescore.kenlm"),
        (["tune=mert", "rescore.nbest=0"], "rescore.nbest is 0: give a number from 1"),
        (["tune=mert"], "big.bin"),  # no such file, or no KenLM to open it
    ],
)
def test_mistakes_are_named_before_any_work(tmp_path, options, sentence):
    config = train_config(
        tmp_path / "run", [*write_corpus(tmp_path / "corpus", 2), "rescore.kenlm=[big.bin]", *options]
    )
    with pytest.raises(UserError, match=re.escape(sentence)):
        train(config)
    assert not (tmp_path / "run" / "artefacts").exists()


def test_both_parts_of_a_tuned_vector_are_scaled_alike():
    start = SearchWeights()
    vector = np.random.default_rng(0).normal(size=len(vector_of(start)) + 2)
    weights, more = weights_and_more(vector, start)
    np.testing.assert_allclose(
        np.array([*vector_of(weights), *more]) / vector, np.full(len(vector), more[0] / vector[-2]), rtol=1e-6
    )
    np.testing.assert_allclose(np.abs(vector_of(weights)).sum(), np.abs(vector_of(start)).sum())
    assert weights_and_more(vector[:-2], start) == (weights_of(vector[:-2], start), ())


def test_lists_are_ranked_by_both_parts():
    """Each text's second feature is its length; of equal totals the one that was first stays so."""

    @dataclasses.dataclass(frozen=True)
    class Lengths:
        names = ("length_0",)

        def log_probs(self, texts):
            return np.array([[float(len(text))] for text in texts]).reshape(len(texts), 1)

    texts = ["a", "bbb", "cc", "dd", "e", "ff"]
    scores = np.array([-1.0, -2.0, -2.5, -2.5, -1.0, -3.0])
    lists = nbest_from_rows(texts, -np.ones((6, 1)), np.array([0, 0, 0, 0, 2, 2]), 3, ["tm_0"], scores)
    found = rescored_lists(lists, Lengths(), [0.5])
    assert found.texts == ("a", "bbb", "cc", "dd", "e", "ff")
    found = rescored_lists(lists, Lengths(), [2.0])
    assert found.texts == ("bbb", "cc", "dd", "a", "e", "ff")
    np.testing.assert_array_equal(found.scores, [4.0, 1.5, 1.5, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(found.features[:, 1], [3, 2, 2, 1, 1, 2])
    np.testing.assert_array_equal(found.offsets, lists.offsets)
