"""Features of where rules were seen: tuned by any tuner, stored, and exact in n-best lists."""

import json

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.model.folder import open_model
from jaxsmt.model.tuned_weights import feature_names, vector_of
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.search.nbest.moses import MOSES_NAMES
from jaxsmt.tm.provenance import Provenance
from jaxsmt.tune.nbest import read_nbest
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, WORDS_AS_THEY_ARE, compose_config, write_corpus

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]", "all_ways=false"]
QUICK += ["nbest_size=20", "loop.max_iterations=2", *WORDS_AS_THEY_ARE]


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("provenance")


@pytest.fixture(scope="module")
def corpus(work_dir):
    return write_corpus(work_dir / "corpus", ENOUGH_TO_TUNE)


def trained(work_dir, corpus, name, *options):
    folder = work_dir / name
    train(compose_config("train", [*corpus, *QUICK, *options, f"work_dir={work_dir}", f"output_dir={folder}"]))
    return folder


@pytest.mark.parametrize(
    ("name", "options", "bins"),
    [
        ("mira", ["tune=mira", "tm.provenance=seen"], ()),
        ("pro", ["tune=pro", "tm.provenance=counts", "tm.count_bins=[2]", "tune.interpolation=1"], (2.0,)),
        ("chart", ["tune=mira", "tm.provenance=counts", "extract=hiero"], (1.0, 3.0, 15.0)),
    ],
)
def test_a_model_has_tuned_weights_and_exact_lists(work_dir, corpus, name, options, bins):
    folder = trained(work_dir, corpus, name, *options)
    model = open_model(folder / "model")
    assert model.provenance == Provenance(bins)
    num = 2 * (len(bins) + 1)
    assert len(model.weights.rule) == 4 + num
    assert np.any(np.array(model.weights.rule[4:]))
    files = [f"model_dir={folder / 'model'}", f"input={work_dir / 'corpus' / 'travel.test.fr'}", "domain=travel"]
    lists = [f"output={folder / 'output'}", "nbest=10", f"nbest_output={folder / 'lists'}"]
    decode(compose_config("decode", [*files, *lists]))
    assert (folder / "output").read_text() == (folder / "translations" / "test.travel.own-domain.txt").read_text()
    found = read_nbest(folder / "lists")
    column = {name: place for place, name in enumerate(found.feature_names)}
    names = feature_names(model.weights, model.lm_names)
    total = np.zeros(len(found.texts))
    for own, weight in zip(names, vector_of(model.weights), strict=True):
        label, number = own.rstrip("0123456789"), own[len(own.rstrip("0123456789")) :] or "0"
        total += weight * found.features[:, column[f"{MOSES_NAMES[label]}_{number}"]]
    num_unknown = (total - found.scores) / 100  # lists do not say how many words nobody knows
    np.testing.assert_allclose(num_unknown, num_unknown.round(), atol=2e-4)
    assert num_unknown.min() > -0.1
    seen = found.features[:, [column[f"TranslationModel0_{place}"] for place in range(4, 4 + num)]]
    assert (seen == seen.round()).all()
    assert seen.max() > 0


def test_it_is_off_by_default(work_dir, corpus):
    folder = trained(work_dir, corpus, "plain")
    assert open_model(folder / "model").provenance is None
    assert "provenance" not in json.loads((folder / "model" / "model.json").read_text())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["tm.provenance=seen"], "has weights to tune"),
        (["tm.provenance=seen", "tune=mira", "mixture=wsum"], "ensembles"),
        (["tm.provenance=yes"], "choose one of none, seen, counts"),
        (["tm.count_bins=[2,1]"], "ascending"),
    ],
)
def test_mistakes_are_named(work_dir, corpus, options, sentence):
    with pytest.raises(UserError, match=sentence):
        trained(work_dir, corpus, "wrong", *options)
