"""Models with several language models: components as features, further models, classes; tuned, adapted, decoded."""

import json

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import build_automaton, save_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.model.folder import open_model
from jaxsmt.model.language_models import LanguageModels, start_weights
from jaxsmt.model.source_text import source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.model.tuned_weights import feature_names
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.text.vocabulary import Vocabulary
from tests.lm.slow_lm import write_word_arpa
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, LITTLE_MERT, QUICK_MERT, compose_config, write_corpus

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]", "all_ways=false"]
TUNED = [*QUICK_MERT, "loop.max_iterations=2"]
BAG_MERT = [f"adapt.mert.{option}" for option in LITTLE_MERT]


def write_classes(folder, lines):
    """A folder with a language model of two classes: words of few letters, and of many."""
    tokens = [line.lower().split() for line in lines]
    class_of = {word: "short" if len(word) < 4 else "long" for line in tokens for word in line}
    classes = Vocabulary(("short", "long"))
    text = ragged_from_rows([classes.encode(class_of[word] for word in line) for line in tokens])
    folder.mkdir()
    save_automaton(
        build_automaton(estimate_lm(text, classes, LmConfig(order=4, discount_fallback=(0.5, 1.0, 1.5)))),
        folder / "automaton.safetensors",
    )
    classes.save(folder / "vocabulary.txt")
    write_text(folder / "classes.tsv", "".join(f"{word}\t{name}\n" for word, name in class_of.items()))
    write_text(folder / "weights.json", json.dumps({"names": {"0": "all"}, "weights": {"equal": [1.0]}}))
    return folder


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    """One store for all runs: what they share is made once."""
    folder = tmp_path_factory.mktemp("lms")
    write_word_arpa(folder / "news.arpa", {"the": -1.0, "water": -2.0})
    return folder


@pytest.fixture(scope="module")
def run(work_dir):
    """Trains with options; returns the folder of the results."""
    corpus = write_corpus(work_dir / "corpus", ENOUGH_TO_TUNE)
    classes = write_classes(work_dir / "classes", (work_dir / "corpus" / "travel.train.en").read_text().splitlines())
    further = [f"+lm.further.news={work_dir / 'news.arpa'}", f"+lm.further.short-long={classes}"]
    done = {}

    def train_once(*options):
        if options not in done:
            folder = work_dir / f"run{len(done)}"
            own = [*corpus, *QUICK, *(further if "further" in options else [])]
            own += [option for option in options if option != "further"]
            train(compose_config("train", [*own, f"work_dir={work_dir}", f"output_dir={folder}"]))
            done[options] = folder
        return done[options]

    return train_once


def decoded(folder, lines, *options):
    """Output of decode.py with a run's model."""
    write_text(folder / "input", "".join(line + "\n" for line in lines))
    files = [f"model_dir={folder / 'model'}", f"input={folder / 'input'}", f"output={folder / 'output'}"]
    decode(compose_config("decode", [*files, *options]))
    return (folder / "output").read_text(encoding="utf-8").splitlines()


BOTH = ("further", "lm.combination=both", "lm.joint=true", *TUNED)
NAMES = ("lm", "lm-kitchen", "lm-travel", "lm-joint", "news", "short-long")


def test_all_features_are_tuned_stored_and_used(run, work_dir, tmp_path):
    folder = run(*BOTH)
    model = open_model(folder / "model")
    assert [part.name for part in model.lms] == ["lm", "news", "short-long"]
    assert model.lm_names == NAMES
    assert len(model.weights.lm) == len(NAMES)
    assert {"lm", "lm-news", "lm-short-long"} <= {path.name for path in (folder / "model").iterdir()}
    assert set(NAMES) < set(feature_names(model.weights, model.lm_names))
    lines = (work_dir / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    expected = (folder / "translations" / "test.travel.own-domain.txt").read_text(encoding="utf-8").splitlines()
    options = ["domain=travel", "nbest=3", f"nbest_output={tmp_path / 'nbest'}"]
    assert decoded(folder, lines, *options) == expected
    first = (tmp_path / "nbest").read_text(encoding="utf-8").split("\n")[0]
    assert all(f" {name}= " in first for name in NAMES)


def test_glossary_and_unknown_words_have_ids_in_every_model(run, tmp_path):
    folder = run(*BOTH)
    write_text(tmp_path / "glossary", "le zxqv\tthe blorp machine\n")
    output = decoded(folder, ["", "Le zxqv, le wvut !"], f"glossary={tmp_path / 'glossary'}")
    assert output[0] == ""
    assert "the blorp machine" in output[1].lower()
    assert "wvut" in output[1]
    numbers = "weights.lm=[1,0,0,0,0,0.5]"
    assert len(decoded(folder, ["le wvut"], numbers, "lm_mixture=[1,1,2]")) == 1
    with pytest.raises(UserError, match="give 6 numbers"):
        decoded(folder, ["le wvut"], "weights.lm=0.7")


def test_scores_of_a_model_are_those_of_its_features(run):
    model = open_model(run(*BOTH) / "model")
    translator = plain_translator(model)
    text = source_text(model.source, ["Le voyage est long.", "", "Zxqv"])
    lists = nbest_arrays(translator.decoder, translator.request(text, model.profiles(["travel", None, "kitchen"])), 5)
    assert lists.features.lm.shape[1] == len(NAMES)
    np.testing.assert_allclose(lists.score, lists.features.score, atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        ("adapt=bagging", "adapt.members=2", "adapt.nbest=5", "adapt.rounds=1", *BAG_MERT),
        ("adapt=bpa", "adapt.num_samples=20", "adapt.nbest=10", "mixture=clusters", "mixture.num_clusters=2"),
        ("adapt=recognise", "mixture=wsum", *TUNED),
    ],
)
def test_adapted_models_carry_all_features(run, work_dir, options):
    folder = run("further", "lm.combination=loglinear", *options)
    model = open_model(folder / "model")
    assert model.lm_names == ("lm-kitchen", "lm-travel", "news", "short-long")
    lines = (work_dir / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    assert len(decoded(folder, lines)) == len(lines)
    with pytest.raises(UserError, match=r"these are log-linear: give weights\.lm"):
        decoded(folder, lines, "lm_mixture=[1,2]")


def lms_of(name, combination, *components):
    vocabulary = Vocabulary(("a",))
    weights = {"equal": [1 / len(components)] * len(components)}
    return LanguageModels(None, vocabulary, components, weights, name, combination)


def test_weights_start_as_shares_of_one_number():
    alone = lms_of("lm", "linear", "in", "out")
    assert start_weights(0.6, [alone]) == 0.6
    assert start_weights((0.6,), [alone]) == 0.6
    assert start_weights(0.6, [lms_of("lm", "loglinear", "in", "out")]) == (0.3, 0.3)
    both = lms_of("lm", "both", "in", "out")
    assert start_weights(0.8, [both, lms_of("classes", "linear", "in", "out")]) == (0.2, 0.1, 0.1, 0.4)
    assert start_weights((1, 2, 3), [both]) == (1, 2, 3)
    with pytest.raises(UserError, match="give one, or 3 for the features lm, lm-in, lm-out"):
        start_weights((1, 2), [both])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["lm.combination=geometric"], r"lm\.combination is 'geometric': choose one of linear, loglinear, both"),
        (["lm.combination=both", "lm.static=true"], r"lm\.static mixes beforehand"),
        (["+lm.further.lm=x.arpa"], r"lm\.further has 'lm'"),
        (["+lm.further.news=conf"], r"lm\.further\.news is 'conf', which is none"),
        (["weights.lm=[1,2]"], r"weights\.lm has 2 numbers: give one"),
        (["weights.lm=much"], r"weights\.lm is much: give finite numbers"),
    ],
)
def test_mistakes_are_named(run, options, message):
    with pytest.raises(UserError, match=message):
        run(*options)
