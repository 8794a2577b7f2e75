"""Component weights trained for BLEU: what derivations are made of gives their features, and training moves weights."""

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.model.folder import open_model
from jaxsmt.model.translation import plain_translator
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.stages.tuning import ListsConfig, TuningTask, tuning_text
from jaxsmt.pipeline.trained_mixtures import MixtureTraining, distinct_derivations
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.config import RiskConfig
from tests.pipeline.small_corpus import COMPONENTS, ENOUGH_TO_TUNE, train_config, write_corpus

QUICK = ["align.diagonal_iterations=2", "align.hmm_iterations=2", "lm=trigram", "evaluate.trials=50"]
TUNED = ["tune=risk", "tune.gamma_steps=2", "tune.iterations=8", "nbest_size=20", "loop.max_iterations=2"]
KINDS = {
    "counts": ["mixture=instance"],
    "clusters": [
        "mixture=clusters", "mixture.num_clusters=2", "mixture.operation=linear", "mixture.linear.normalised=true",
    ],
    "chart": ["mixture=instance", "extract=hiero", "lm.combination=both"],
}  # fmt: skip


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("trained")


@pytest.fixture(scope="module")
def corpus(work_dir):
    return write_corpus(work_dir / "corpus", ENOUGH_TO_TUNE)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_trained(work_dir, corpus, kind):
    options = [*corpus, *QUICK, *KINDS[kind], *TUNED, "all_ways=false", "mixture.weighting=trained"]
    train(train_config(work_dir / kind, options))
    model = open_model(work_dir / kind / "model")
    found = model.mixing.labels
    assert set(found.mixtures) == set(found.lm_mixtures)
    assert set(found.mixtures) >= ({"cluster0", "cluster1"} if kind == "clusters" else set(COMPONENTS))
    for label, rows in found.mixtures.items():
        np.testing.assert_allclose(np.sum(rows, 1), 1, rtol=1e-6)
        np.testing.assert_allclose([np.sum(row) for row in found.lm_mixtures[label]], 1, rtol=1e-6)
    check_features(work_dir, model)


def check_features(work_dir, model):
    """Computed from what derivations are made of, features are those of the lists; twice decoded adds nothing."""
    dev = {
        name: BitextSource(*(str(work_dir / "corpus" / f"{name}.dev.{language}") for language in ("fr", "en")))
        for name in COMPONENTS
    }
    task = TuningTask(dev, RiskConfig(gamma_steps=2, iterations=8), ListsConfig(10))
    training = MixtureTraining(plain_translator(model), tuning_text(model, dev), task)
    lists = training.decode(training.start)
    kept = training.kept
    assert len(kept.texts) == len(lists.texts)
    assert len(distinct_derivations([kept, kept]).texts) == len(kept.texts)
    rows = np.full((len(lists), int(np.diff(lists.offsets).max())), -1)
    for sentence in range(len(lists)):
        size = lists.offsets[sentence + 1] - lists.offsets[sentence]
        rows[sentence, :size] = np.arange(lists.offsets[sentence], lists.offsets[sentence + 1])
    for place, (label, arrays) in enumerate(zip(training.labels, training.arrays(training.centre), strict=True)):
        few = np.flatnonzero(np.array(training.text.labels, object) == label)
        data = training._data(rows[few])
        for number, mixture in enumerate(training.mixtures):
            found = np.asarray(mixture.feature_fn(data[number], arrays[number].astype(np.float32)))
            real = rows[few] >= 0
            expected = kept.features[rows[few][real]][:, list(mixture.columns)]
            np.testing.assert_allclose(found[real], expected, rtol=1e-4, atol=2e-3, err_msg=f"{place} {number}")
    before = training(lists, training.start)
    after = training(lists, training.start)
    np.testing.assert_array_equal(before[0], after[0])
    moved = np.abs(before[0] - training.start)[-len(training.centre) :]
    assert moved.max() > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["tune=mira"], "choose tune=risk"),
        ([], "choose tune=risk"),
        (["tune=risk", "mixture.tune_each=true"], "set mixture.tune_each=false"),
        (["tune=risk", "mixture=wsum"], "is for counts and linear"),
        (["tune=risk", "rescore.osm=true"], "do not go together yet"),
    ],
)
def test_what_cannot_be_trained_is_said(work_dir, corpus, options, message):
    with pytest.raises(UserError, match=message):
        train(train_config(work_dir / "wrong", [*corpus, *QUICK, *options, "mixture.weighting=trained"]))


@pytest.mark.parametrize("tuner", ["mira", "risk"])
def test_labels_deviate_from_common_weights(work_dir, corpus, tuner):
    options = [*TUNED[1:], f"tune={tuner}", "tune.augment=true", "tune.deviation=1", "all_ways=false"]
    train(train_config(work_dir / tuner, [*corpus, *QUICK, *options]))
    model = open_model(work_dir / tuner / "model")
    assert set(model.mixing.labels.weights) == set(COMPONENTS)
    (table,) = (work_dir / tuner / "artefacts").glob("tune-*/table.txt")
    assert "distortion@kitchen" in table.read_text()
    for name in COMPONENTS:
        assert model.profile(name).weights == model.mixing.labels.weights[name]


@pytest.mark.parametrize("options", [["mixture=wsum"], ["mixture.tune_each=true"], ["tune.deviation=0"]])
def test_what_does_not_go_with_deviations_is_said(work_dir, corpus, options):
    with pytest.raises(UserError, match=r"tune\.(augment|deviation)"):
        train(train_config(work_dir / "wrong", [*corpus, *QUICK, "tune=mira", "tune.augment=true", *options]))
