"""Language models in the pipeline: estimated, mixed, written, brought along."""

import json

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import load_automaton
from jaxsmt.lm.kenlm_model import kenlm_word_log_probs
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.model.folder import open_model
from jaxsmt.pipeline.commands.train import train
from jaxsmt.text.vocabulary import load_vocabulary
from tests.pipeline.small_corpus import train_config, write_corpus

QUICK = ["align=ibm1", "lm=trigram"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lms")
    train(train_config(folder, [*write_corpus(folder / "corpus"), *QUICK, "lm.export=true"]))
    return folder


def test_fitted_weights_are_the_best_on_their_development_set(trained):
    fitted = json.loads((trained / "model" / "lm" / "weights.json").read_text())
    for domain, place in (("kitchen", 0), ("travel", 1)):
        perplexity = fitted["perplexities"][domain]
        assert perplexity["fitted"] <= 1.001 * min(perplexity.values())  # EM stops a little before the optimum
        assert np.argmax(fitted["weights"][domain]) == place


def test_the_automaton_of_the_model_agrees_with_kenlm_on_the_exported_files(kenlm, trained):
    side = open_model(trained / "model").target
    folder = trained / "model" / "lm"
    lines = (trained / "corpus" / "travel.test.en").read_text(encoding="utf-8").splitlines()
    tokens = [side.preprocess(line) for line in lines]
    vocabulary = load_vocabulary(folder / "vocabulary.txt")
    known = [[token for token in line if token in vocabulary.id_of] for line in tokens]
    automaton = load_automaton(folder / "automaton.safetensors")
    ours = word_log_probs(automaton, ragged_from_rows(map(vocabulary.encode, known)))
    for place, name in enumerate(("kitchen", "travel")):
        model = kenlm.Model(str(trained / "lm" / f"{name}.arpa.gz"))
        theirs = np.concatenate([kenlm_word_log_probs(model, line) for line in known])
        np.testing.assert_allclose(ours.values[:, place], theirs, atol=1e-4)


def test_an_arpa_file_joins_the_mixture(trained, tmp_path):
    corpus = [part for part in write_corpus(tmp_path / "corpus") if "components.travel" not in part]
    arpa = f"+lm.arpas.travel={trained / 'lm' / 'travel.arpa.gz'}"
    train(train_config(tmp_path / "run", [*corpus, *QUICK, arpa]))
    fitted = json.loads((tmp_path / "run" / "model" / "lm" / "weights.json").read_text())
    assert list(fitted["names"].values()) == ["kitchen", "travel"]
    assert fitted["weights"]["travel"][1] > fitted["weights"]["kitchen"][1]
    with pytest.raises(UserError, match="both have 'kitchen': rename one"):
        train(train_config(tmp_path / "run", [*corpus, *QUICK, arpa.replace("arpas.travel", "arpas.kitchen")]))


def test_one_model_of_all_text_is_that_of_the_concatenated_corpora(kenlm, tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    quick = [*QUICK, "text=lowercase", "translate=[]", "lm.export=true"]  # each text has a truecaser of its own
    train(train_config(tmp_path / "run", [*corpus, *quick, "lm.joint=true"]))
    model = open_model(tmp_path / "run" / "model")
    assert model.lms[0].names == ("kitchen", "travel", "joint")
    np.testing.assert_array_equal(model.lm_mixture(), [0, 0, 1])
    assert model.lm_mixture("travel")[1] > model.lm_mixture("travel")[0]
    for side in ("fr", "en"):
        parts = [(tmp_path / "corpus" / f"{name}.train.{side}").read_text() for name in ("kitchen", "travel")]
        (tmp_path / f"both.{side}").write_text("".join(parts))
    sides = {"source": tmp_path / "both.fr", "target": tmp_path / "both.en"}
    both = [f"+corpus.components.both.{side}={path}" for side, path in sides.items()]
    rest = [part for part in corpus if "components." not in part]
    train(train_config(tmp_path / "one", [*rest, *both, *quick]))
    ours, theirs = (kenlm.Model(str(tmp_path / path)) for path in ("run/lm/joint.arpa.gz", "one/lm/both.arpa.gz"))
    for line in (tmp_path / "both.en").read_text(encoding="utf-8").splitlines()[:20]:
        words = " ".join(model.target.preprocess(line))
        assert ours.score(words) == pytest.approx(theirs.score(words), abs=1e-4)


def test_language_models_can_stay_the_same_for_all_text(trained, tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    train(train_config(tmp_path / "run", [*corpus, *QUICK, "translate=[]", "mixture.lm_weighting=equal"]))
    model = open_model(tmp_path / "run" / "model")
    np.testing.assert_array_equal(model.lm_mixture("travel"), [0.5, 0.5])
    assert model.mixture("travel")[2, 1] > model.mixture("travel")[2, 0]  # its rules are weighted all the same


def test_weights_are_fitted_anew_when_less_of_a_development_set_is_read(tmp_path):
    corpus = [*write_corpus(tmp_path / "corpus"), *QUICK, "translate=[]"]
    for first in (5, 1):
        train(train_config(tmp_path / "run", [*corpus, f"+corpus.dev.kitchen.first={first}"]))
    assert len(list((tmp_path / "run" / "artefacts").glob("lm-mixture-*"))) == 2


def test_mixtures_can_be_interpolated_beforehand(tmp_path):
    corpus = [*write_corpus(tmp_path / "corpus"), *QUICK, "mixture=clusters", "mixture.num_clusters=2"]
    for name in ("union", "static"):
        train(train_config(tmp_path / "run", [*corpus, f"lm.static={name == 'static'}"]))
        (tmp_path / "run" / "model").rename(tmp_path / name)
        (tmp_path / "run" / "translations").rename(tmp_path / f"{name}.translations")
    union, static = open_model(tmp_path / "union"), open_model(tmp_path / "static")
    assert static.lms[0].names == ("equal", "kitchen", "travel", "cluster0", "cluster1")
    np.testing.assert_array_equal(static.lm_mixture("cluster1"), [0, 0, 0, 0, 1])
    np.testing.assert_array_equal(static.lm_mixture(), [1, 0, 0, 0, 0])
    words = load_vocabulary(tmp_path / "static" / "lm" / "vocabulary.txt")
    lines = (tmp_path / "corpus" / "travel.train.en").read_text(encoding="utf-8").splitlines()
    sentences = ragged_from_rows(words.encode(static.target.preprocess(line)) for line in lines)
    means = []
    for model in (union, static):
        assert model.lms[0].vocabulary.words == words.words
        probabilities = np.exp(word_log_probs(model.lms[0].automaton, sentences).values.astype(np.float64))
        means.append(np.log(probabilities @ model.lm_mixture("cluster1")).mean())
    assert means[0] == pytest.approx(means[1], abs=0.01)  # all these n-grams are in the union
    names = [path.name for path in (tmp_path / "union.translations").iterdir() if "reference" not in path.name]
    texts = [[(tmp_path / f"{way}.translations" / name).read_text() for name in names] for way in ("union", "static")]
    assert np.mean([one == two for one, two in zip(*texts, strict=True)]) > 0.4
