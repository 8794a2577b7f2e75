"""Models that rescore with operation sequence models: tuned with them, stored, and translating as brute force does."""

import json
import re

import jax
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.scoring import score
from jaxsmt.model.folder import open_model
from jaxsmt.model.reranking.features import fitted_shares
from jaxsmt.model.rescoring import OSM_COUNTS
from jaxsmt.model.source_text import source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.model.tuned_weights import feature_rows
from jaxsmt.pipeline.commands.train import train
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import SENTENCE_END
from tests.lm.slow_lm import slow_kneser_ney
from tests.pipeline.rescoring_runs import QUICK, decoded, source_lines, with_weights
from tests.pipeline.small_corpus import COMPONENTS, ENOUGH_TO_TUNE, compose_config, train_config, write_corpus

TUNED = ["tune=mira", "nbest_size=30", "loop.max_iterations=2", "rescore.osm=true", "rescore.osm_order=3"]
NBEST = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("osm")


@pytest.fixture(scope="module")
def corpus(folder):
    return write_corpus(folder / "corpus", ENOUGH_TO_TUNE)


def trained(folder, name, corpus, *options):
    train(compose_config("train", [*corpus, *QUICK, *options, f"work_dir={folder}", f"output_dir={folder / name}"]))
    return folder / name


@pytest.fixture(scope="module", params=["phrase", "hiero"])
def run(request, folder, corpus):
    """Trains with operation models; returns the folder of the results."""
    more = [f"extract={request.param}", f"rescore.nbest={NBEST}"]
    return trained(folder, request.param, corpus, *TUNED, *more)


@pytest.fixture(scope="module")
def strong(run, folder):
    """The same with so much weight that the operations choose; it needs nothing but its folder."""
    return with_weights(run, folder / f"strong-{run.name}", [2.0])


def slow_log_prob(models, source, target, links, label):
    """One translation, one operation after the other."""
    sides = models.table.source.encode(source), models.table.target.encode(target)
    bitext = Bitext(*(ragged_from_rows([side]) for side in sides))
    ids = models.table.ids_of(models.operations(bitext, ragged_from_rows([links], width=2))).values
    weights = np.array(models.weights[label or "equal"], np.float32)
    state, total = models.automaton.start, 0.0
    for operation in [*ids.tolist(), SENTENCE_END]:
        log_p, state = jax.device_get(score(models.automaton, state, np.int32(operation), weights))
        total += float(log_p)
    return total


def brute_force(model, lines, domain):
    text, plain = source_text(model.source, lines), plain_translator(model)
    expected = []
    for row, found in enumerate(plain.nbest(text, NBEST, [model.profile(domain)] * len(text))):
        own = [
            slow_log_prob(model.operations, text.tokens[row], words, item.alignment, domain)
            for words, item in zip(found.outputs, found.listed, strict=True)
        ]
        expected_by_search = feature_rows(found.features, model.weights) @ np.array(model.rescoring.shares[0])
        total = found.features.score + (np.array(own) - expected_by_search) * model.rescoring.weights[-1]
        expected.append(plain.line(text, row, found.listed[int(total.argmax())], domain).text)
    return expected


def test_what_is_stored(run):
    found = open_model(run / "model")
    assert found.rescoring.names == ("osm_0",)
    assert found.rescoring.weights[0] != 0
    assert found.operations.names == COMPONENTS
    assert found.operations.automaton.order == 3
    assert set(found.operations.weights) == {*COMPONENTS, "equal"}
    kitchen, travel = (found.operations.weights[name] for name in COMPONENTS)
    assert kitchen[0] > travel[0]
    stored = json.loads((run / "model" / "osm" / "weights.json").read_text())
    assert stored["bits"]["fitted"] < stored["bits"]["equal weights"]


@pytest.mark.parametrize("domain", [None, "travel"])
def test_decoding_is_brute_force_rescoring(strong, folder, domain):
    expected = brute_force(open_model(strong / "model"), source_lines(folder), domain)
    assert decoded(folder, strong, *([] if domain is None else [f"domain={domain}"])) == expected


def test_shares_are_those_of_the_lists():
    """A feature that is linear in others but for a constant of each list is nothing new; constants say nothing."""
    random = np.random.default_rng(0)
    own, sentence = random.normal(size=(400, 3)) * [1, 10, 0.1], np.repeat([0, 2, 3, 5], 100)
    own = np.column_stack([own, sentence])
    shares = np.array([[1.0, -0.5, 3.0, 0.0], [0.0, 0.2, 0.0, 0.0]])
    features = own @ shares.T + random.normal(size=6)[sentence][:, None]
    np.testing.assert_allclose(fitted_shares(features, own, sentence), shares, rtol=5e-3, atol=1e-2)
    assert fitted_shares(features[:0], own[:0], sentence[:0]).tolist() == np.zeros((2, 4)).tolist()


def test_operations_have_a_say(strong, folder):
    plain = plain_translator(open_model(strong / "model"))
    expected = [line.text for line in plain.translate(source_text(plain.model.source, source_lines(folder)))]
    assert decoded(folder, strong, "rescore.nbest=1") == expected  # there is nothing to choose from
    assert decoded(folder, strong) != expected


def test_files_and_operations_rescore_together(kenlm, folder, corpus):
    path = folder / "big.arpa"
    slow_kneser_ney([["the", "train"], ["a", "train", "leaves"]], 2).write(path)
    run = trained(folder, "both", corpus, *TUNED, f"rescore.kenlm=[{path}]", "rescore.osm_counts=true")
    found = open_model(run / "model").rescoring
    assert found.names == ("kenlm-big_0", "osm_0", *OSM_COUNTS)
    assert len(found.weights) == 6


@pytest.fixture(scope="module")
def searched(folder, corpus):
    """A model with operations in the search, tuned."""
    return trained(folder, "search", corpus, *TUNED, "rescore.osm=false", "lm.osm=true", "weights.lm=[0.4,0.2]")


def test_the_search_has_operations(searched, folder):
    model = open_model(searched / "model")
    assert model.lm_names == ("lm", "osm")
    assert model.rescoring is None
    assert len(model.weights.lm) == 2
    assert model.weights.lm[1] != 0
    assert [part.tolist() for part in model.lm_mixtures("travel")[1:]] == [model.operations.weights["travel"]]
    assert model.lm_mixtures(None)[1].tolist() == [0.5, 0.5]
    text, plain = source_text(model.source, source_lines(folder)), plain_translator(model)
    for label in (None, "travel"):
        found = plain.nbest(text, NBEST, [model.profile(label)] * len(text))
        for own in found:
            np.testing.assert_allclose([item.score for item in own.listed], own.features.score, atol=1e-2)
        assert any(len(own.listed) > 1 for own in found)
    assert decoded(folder, searched) == [line.text for line in plain.translate(text)]


def test_operations_of_the_search_are_those_of_lists(searched, folder):
    """The same feature, but for phrases that begin with unlinked words."""
    model = open_model(searched / "model")
    text, plain = source_text(model.source, source_lines(folder)), plain_translator(model)
    num_same = num = 0
    for row, found in enumerate(plain.nbest(text, NBEST, [model.profile("travel")] * len(text))):
        for words, item, value in zip(found.outputs, found.listed, found.features.lm[:, 1], strict=True):
            starts = {begin for begin, _, _ in item.segments}
            if not starts <= {source for source, _ in item.alignment}:
                continue
            known = ["" if token < 0 else word for token, word in zip(item.tokens, words, strict=True)]
            own = slow_log_prob(model.operations, text.tokens[row], known, item.alignment, "travel")
            num_same, num = num_same + (abs(own - value) < 1e-3), num + 1
    assert num > 20
    assert num_same == num


def test_labels_that_are_clusters_have_weights(folder, corpus):
    run = trained(folder, "clusters", corpus, *TUNED, "mixture=clusters", "mixture.num_clusters=2", "translate=[]")
    model = open_model(run / "model")
    assert set(model.operations.weights) == {*model.clusters.names, "equal"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "rescore.osm has weights to tune: choose a tuner too, for instance tune=mert"),
        (["tune=mert", "adapt=bpa"], "rescore.osm and an adaptation do not go together yet"),
        (["rescore.osm=false", "rescore.osm_counts=true"], "counts of operations: set rescore.osm=true too"),
        (["tune=mert", "rescore.osm_order=10"], "rescore.osm_order is 10: give an order from 1 to 9"),
        (["tune=mert", "lm.osm=true", "extract=hiero"], "lm.osm is for the stack search, and this is a chart"),
        (["tune=mert", "lm.osm=true", "search=chart"], "lm.osm is for the stack search, and this is a chart"),
        (["tune=mert", "lm.osm=true", "+lm.further.osm=a.arpa"], "'osm' is the name of the operation models"),
    ],
)
def test_mistakes_are_named_before_any_work(tmp_path, options, sentence):
    config = train_config(tmp_path / "run", [*write_corpus(tmp_path / "corpus", 2), "rescore.osm=true", *options])
    with pytest.raises(UserError, match=re.escape(sentence)):
        train(config)
    assert not (tmp_path / "run" / "artefacts").exists()
