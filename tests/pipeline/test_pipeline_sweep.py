"""`jaxsmt sweep` on a few sentences: trials share what they have in common, and come out the same from a full store."""

import json

import pytest
from hydra import initialize_config_dir

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.commands.sweep import sweep
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.config.folder import conf_folder
from jaxsmt.pipeline.jobs.study_page import FIGURES, PICTURE, TRIALS
from jaxsmt.tune.loop import NotWorthIt
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, compose_config, files_below, train_config, write_corpus

optuna = pytest.importorskip("optuna", reason="no package optuna (extra sweep)")

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "tune=mira", "loop.max_iterations=2", "nbest_size=10"]
SPACE = [
    "space=own",
    "+space.tune.step_limit={low:0.0001,high:0.1,log:true}",
    "+space.lm.joint={choices:[false,true]}",
]
STUDY = ["study.trials=4", "study.random_trials=4", "study.prune_after=1"]


def sweep_of(folder, corpus, *options):
    told = ",".join(f"'{part}'" for part in QUICK)
    config = compose_config("sweep", [*corpus, f"train=[{told}]", *STUDY, f"work_dir={folder}", *options])
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return sweep(config)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), ENOUGH_TO_TUNE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, corpus):
    """A whole study."""
    folder = tmp_path_factory.mktemp("sweep")
    best = sweep_of(folder, corpus, *SPACE)
    figures = json.loads((folder / "study" / FIGURES).read_text(encoding="utf-8"))
    done = {own["number"]: own["score"] for own in figures["trials"] if own["state"] == "done"}
    assert round(best, 4) == max(done.values()) == done[figures["best"]]
    return folder


def test_trials_share_what_they_have_in_common(folder):
    made = [path.name.rsplit("-", 1)[0] for path in (folder / "artefacts").iterdir()]
    assert made.count("links") == 1
    assert sum(name.startswith("component") for name in made) == 2
    assert 1 < sum(name.startswith("tune") for name in made) <= 4


def test_only_the_best_model_is_kept(folder):
    best = json.loads((folder / "study" / FIGURES).read_text(encoding="utf-8"))["best"]
    models = [path.parent.name for path in (folder / "study" / "trials").glob("*/model")]
    assert models == [str(best)]
    assert not (folder / "tuning").exists() or not list((folder / "tuning").iterdir())


def test_trials_are_the_same_where_all_tunings_are_found(folder, corpus, tmp_path):
    """Reports of a tuning that is found end trials as early as those of one that is made."""
    sweep_of(folder, corpus, *SPACE, f"output_dir={tmp_path}")
    for name in (TRIALS, FIGURES, "report.html"):
        assert (tmp_path / name).read_bytes() == (folder / "study" / name).read_bytes(), name
    assert (tmp_path / PICTURE).is_file() == (folder / "study" / PICTURE).is_file()


def test_a_training_that_is_watched_may_end_early(folder, corpus):
    """Nothing of the tuning stays; whole or found, the reports are the curve of its iterations."""
    told = [*corpus, *QUICK, "translate=[]", "tune.decay=0.99"]
    config = train_config(folder, told)
    before = set(files_below(folder / "artefacts"))
    reports = []

    def ended(value):
        reports.append(value)
        raise NotWorthIt

    with pytest.raises(NotWorthIt):
        train(config, ended)
    assert set(files_below(folder / "artefacts")) == before
    assert not list((folder / "tuning").iterdir())
    made, found = [], []
    train(config, made.append)
    train(config, found.append)
    assert made == found
    assert made[:1] == reports
    assert len(made) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["space=own"], "space is empty"),
        (["space=own", "+space.tune.step_limits={low:0.1,high:1}"], "step_limits"),
        (["space=own", "+space.lm.estimation.ordr={low:1,high:2}"], "did you mean 'lm.estimation.order'"),
        (["space=own", "+space.mixture={choices:[instance,lineal]}"], "'mixture=lineal' is not a choice"),
        (["study.trials=0"], "study.trials is 0"),
    ],
)
def test_what_cannot_be_searched_is_told_before_any_training(tmp_path, corpus, options, sentence):
    with pytest.raises(UserError, match=sentence):
        sweep_of(tmp_path, corpus, *options)
    assert not (tmp_path / "artefacts").exists()
