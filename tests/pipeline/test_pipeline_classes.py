"""Class language models in the pipeline: words of all components in classes, models of these, mixed."""

import json

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import load_automaton
from jaxsmt.lm.classes.table import load_classes
from jaxsmt.lm.kenlm_model import kenlm_word_log_probs
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.model.folder import open_model
from jaxsmt.model.source_text import source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.pipeline.class_lms import class_lm_stages
from jaxsmt.pipeline.commands.train import corpus_sources, model_sides, train
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import LanguageModelConfig
from jaxsmt.pipeline.stages.lms import LmText, export_lms, lm_stages
from jaxsmt.pipeline.stages.texts import text_stage
from jaxsmt.pipeline.store import Store
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary
from tests.pipeline.small_corpus import train_config, write_corpus

CLASSES = ["lm/classes=exchange", "lm.classes.num_classes=6", "text=lowercase"]


def made(folder, overrides):
    """The stages of class models alone."""
    config = train_config(folder / "run", [*write_corpus(folder / "corpus"), *overrides])
    sources, text = corpus_sources(config, folder), room_config(TextConfig, config.text)
    store = Store(folder / "artefacts")
    texts = [text_stage(store, name, spec, text) for name, spec in sources["components"].items()]
    lm_text = LmText(texts, sources["dev"], model_sides(config, text, texts)[1])
    return lm_text, class_lm_stages(store, lm_text, room_config(LanguageModelConfig, config.lm))


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    text, found = made(folder, [*CLASSES, "lm.classes.estimation.order=6"])
    export_lms(folder / "lm", found)
    return folder, text, found


def test_weights_are_fitted_to_development_sets(mixture):
    _, _, found = mixture
    assert found.names == ("kitchen", "travel")
    for domain in found.names:
        perplexities = found.perplexities[domain]
        assert perplexities["fitted"] <= 1.001 * min(perplexities.values())
    fitted = json.loads((found.artefact.folder / "weights.json").read_text(encoding="utf-8"))
    assert fitted["weights"] == found.weights


def test_every_word_has_one_of_the_classes(mixture):
    _, text, found = mixture
    table = load_classes(found.artefact.folder / "classes.tsv")
    assert set(table.class_of) == {word for part in text.texts for word in part.target.vocabulary.words}
    assert set(table.class_of.values()) == set("012345")
    assert load_vocabulary(found.artefact.folder / "vocabulary.txt").words == table.vocabulary.words


def test_the_automaton_agrees_with_kenlm_on_the_exported_files(kenlm, mixture):
    folder, _, found = mixture
    table = load_classes(found.artefact.folder / "classes.tsv")
    lines = (folder / "corpus" / "travel.test.en").read_text(encoding="utf-8").lower().splitlines()
    tokens = [[token for token in line.split() if token in table.class_of] for line in lines]
    names = [[table.class_of[token] for token in line] for line in tokens]
    words = Vocabulary(tuple(table.class_of))
    sentences = table.classified(ragged_from_rows(map(words.encode, tokens)), words)
    ours = word_log_probs(load_automaton(found.artefact.folder / "automaton.safetensors"), sentences)
    for place, name in enumerate(found.names):
        model = kenlm.Model(str(folder / "lm" / f"{name}.arpa.gz"))
        theirs = np.concatenate([kenlm_word_log_probs(model, line) for line in names])
        np.testing.assert_allclose(ours.values[:, place], theirs, atol=1e-4)


def test_one_class_a_word_is_the_mixture_of_words(tmp_path):
    text, found = made(tmp_path, ["lm/classes=exchange", "lm.classes.num_classes=1000", "text=lowercase",
                                  "lm.classes.estimation.order=3"])  # fmt: skip
    config = train_config(tmp_path / "run", ["lm=trigram"])
    words = lm_stages(Store(tmp_path / "artefacts"), text, room_config(LanguageModelConfig, config.lm))
    for name in ("kitchen", "travel"):
        np.testing.assert_allclose(found.weights[name], words.weights[name], atol=1e-3)
        for column, value in words.perplexities[name].items():
            assert found.perplexities[name][column] == pytest.approx(value, rel=1e-3)


def test_none_are_made_unless_they_are_wished(tmp_path):
    assert made(tmp_path, [])[1] is None
    assert not list((tmp_path / "artefacts").glob("class*"))


def test_classes_are_found_in_training_text(tmp_path):
    config = room_config(LanguageModelConfig, train_config(tmp_path, CLASSES).lm)
    assert config.classes.estimation.order == 7
    with pytest.raises(UserError, match="finds classes in training text, and there is none"):
        class_lm_stages(Store(tmp_path), LmText([], {}, None), config)
    with pytest.raises(UserError, match=r"lm\.classes\.num_classes is -1"):
        room_config(LanguageModelConfig, train_config(tmp_path, ["lm.classes.num_classes=-1"]).lm)


@pytest.mark.parametrize("extract", ["phrase", "hiero"])
def test_a_trained_model_searches_with_class_models(tmp_path, extract):
    corpus = write_corpus(tmp_path / "corpus")
    quick = ["align=ibm1", "lm=trigram", f"extract={extract}", "lm.classes.combination=both", "all_ways=false"]
    train(train_config(tmp_path, [*corpus, *CLASSES, *quick, "lm.export=true"]))
    model = open_model(tmp_path / "model")
    assert model.lm_names == ("lm", "classes", "classes-kitchen", "classes-travel")
    assert (tmp_path / "lm" / "classes" / "kitchen.arpa.gz").is_file()
    lms = model.lms[1]
    assert lms.automaton.order == 7
    translator = plain_translator(model)
    lines = (tmp_path / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    text = source_text(model.source, lines)
    for ranked in translator.nbest(text, 3, model.profiles(["travel"] * len(text))):
        for output, features in zip(ranked.outputs, ranked.features.lm, strict=True):
            words = ragged_from_rows([lms.encode(output)])
            log_p = word_log_probs(lms.automaton, words).values.astype(np.float64)
            expected = [np.log(np.exp(log_p) @ model.lm_mixture("travel", number=1)).sum(), *log_p.sum(axis=0)]
            np.testing.assert_allclose(features[1:], expected, rtol=1e-4)


def test_clusters_have_weights_for_class_models_too(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    clusters = ["mixture=clusters", "mixture.num_clusters=2", "align=ibm1", "lm=trigram", "translate=[]"]
    train(train_config(tmp_path, [*corpus, *CLASSES, *clusters]))
    model = open_model(tmp_path / "model")
    for label in ("cluster0", "cluster1", "travel", None):
        assert [part.shape for part in model.lm_mixtures(label)] == [(2,), (2,)]


def test_names_and_combinations_are_checked(tmp_path):
    with pytest.raises(UserError, match=r"lm\.classes\.combination is 'none'"):
        room_config(LanguageModelConfig, train_config(tmp_path, ["lm.classes.combination=none"]).lm)
    with pytest.raises(UserError, match="'classes' is the name of the class models"):
        room_config(LanguageModelConfig, train_config(tmp_path, [*CLASSES, "+lm.further.classes=a.arpa"]).lm)
