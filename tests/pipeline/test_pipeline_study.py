"""Spaces and studies: what is tried depends on the seed and on what came of it, whatever happens in between."""

import math
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from omegaconf import OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.rooms import plain
from jaxsmt.pipeline.experiments.systems import as_value
from jaxsmt.pipeline.jobs.mattering import explained_shares
from jaxsmt.pipeline.jobs.space import SearchChoices, SearchRange, read_space
from jaxsmt.pipeline.jobs.study import SettingsStudy, TriedSettings
from jaxsmt.pipeline.jobs.study_config import StudyConfig
from jaxsmt.pipeline.jobs.study_page import PICTURE, TRIALS, best_of, trials_table, write_results
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, files_below

SPACE = [SearchRange("a", 1, 5), SearchRange("b.c", 0.001, 0.1, True), SearchChoices("d", ("x", "null"))]


def bleu(values):
    """A landscape: best at a = 4, c = 0.01, and one more for x."""
    return 30 - (values["a"] - 4) ** 2 - math.log10(values["b.c"] / 0.01) ** 2 + (values["d"] == "x")


def run(folder, trials, stop=None, space=SPACE, asked="", **settings):
    """Tries settings on the landscape; stop: the trial that is interrupted. Returns what was tried."""
    pytest.importorskip("optuna", reason="no package optuna (extra sweep)")
    study = SettingsStudy(folder, space, StudyConfig(trials, random_trials=4, **settings), asked)
    while True:
        with study.next_trial() as trial:
            if trial is None:
                return study.tried()
            if trial.number == stop:
                raise KeyboardInterrupt
            score = bleu(trial.values)
            for share in (0.5, 0.8, 1.0):
                trial.watch(share * score / 100)
            trial.score = score


def test_spaces_are_read_with_dots_and_nested():
    nested = {"a": {"low": 1, "high": 5}, "b": {"c": {"low": 0.001, "high": 0.1, "log": True}}}
    assert read_space({**nested, "d": {"choices": ["x", None]}}) == SPACE
    assert read_space({"b.c": {"low": 0.001, "high": 0.1, "log": True}, "e": None}) == SPACE[1:2]
    assert read_space({"tune": {"low": {"low": 0, "high": 0.5}}}) == [SearchRange("tune.low", 0, 0.5)]
    assert read_space({"k": {"choices": [True, [1, 2], 0.5]}}) == [SearchChoices("k", ("true", "[1,2]", "0.5"))]
    assert [SearchRange("k", 1, 2).is_whole, SearchRange("k", 1, 2.5).is_whole] == [True, False]


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({}, "space is empty"),
        ({"a": 3}, "space.a is '3'"),
        ({"a": {"low": 3}}, "space.a lacks 'high'"),
        ({"a": {"low": 3, "high": 3}}, "low must be below high"),
        ({"a": {"low": 0, "high": 3, "log": True}}, "give a low above 0"),
        ({"a": {"low": 1, "high": 3, "log": "yes"}}, "space.a.log is 'yes'"),
        ({"a": {"low": "1", "high": 3}}, "space.a.low is '1': give a number"),
        ({"a": {"low": 1, "high": math.inf}}, "space.a.high is 'inf': give a number"),
        ({"a": {"low": 1, "high": 3, "step": 1}}, "space.a has 'step'"),
        ({"a": {"choices": []}}, "give a list"),
        ({"a": {"choices": [1, 1]}}, "a value twice"),
        ({"a": {"choices": [1, 2], "low": 1}}, "space.a has choices, and low"),
        ({"a": {"b": {"low": 1, "high": 2}}, "a.b": {"low": 1, "high": 2}}, "space has 'a.b' twice"),
    ],
)
def test_spaces_that_are_none(space, sentence):
    with pytest.raises(UserError, match=sentence):
        read_space(space)


@pytest.mark.parametrize("name", ["mixtures", "mira"])
def test_our_own_spaces_are_of_keys_that_trainings_have(name):
    space = read_space(plain(compose_config("sweep", [f"space={name}"]).space))
    told = ["tune=mira"] if name == "mira" else []
    for place in (0, -1):
        ends = [own.values if isinstance(own, SearchChoices) else (own.low, own.high) for own in space]
        config = compose_config(
            "train", [*told, *(f"{own.key}={end[place]}" for own, end in zip(space, ends, strict=True))]
        )
        found = [OmegaConf.select(config, own.key) for own in space if own.key != "mixture"]
        assert [as_value(value) for value in found] == [
            str(end[place]) for own, end in zip(space, ends, strict=True) if own.key != "mixture"
        ]


def test_the_same_seed_makes_the_same_trials_also_after_an_interruption(tmp_path):
    whole = run(tmp_path / "whole", 12)
    assert [own.number for own in whole] == list(range(1, 13))
    for own in whole:
        assert isinstance(own.values["a"], int)
        assert 1 <= own.values["a"] <= 5
        assert 0.001 <= own.values["b.c"] <= 0.1
        assert own.values["d"] in ("x", "null")
    for stop in (3, 9):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "parts", 12, stop)
    assert run(tmp_path / "parts", 12) == whole
    assert run(tmp_path / "fewer", 7) == whole[:7]
    assert run(tmp_path / "fewer", 12) == whole  # a study goes on behind its last trial
    assert run(tmp_path / "fewer", 5) == whole
    assert run(tmp_path / "other", 12, seed=2) != whole
    for folder in ("whole", "parts"):
        write_results(tmp_path / folder / "results", "demo", SPACE, run(tmp_path / folder, 12))
    assert files_below(tmp_path / "whole" / "results") == files_below(tmp_path / "parts" / "results")


def test_trials_that_fall_behind_end_early(tmp_path):
    tried = run(tmp_path / "pruned", 12, prune_after=3)
    states = [own.state for own in tried]
    assert states[:3] == ["done"] * 3
    assert "pruned" in states
    medians = [np.median([own.score for own in tried[:place] if own.state == "done"]) for place in range(3, 12)]
    for own, median in zip(tried[3:], medians, strict=True):  # reports are in proportion to the score
        assert (own.state == "pruned") == (bleu(own.values) < median)
    assert {own.state for own in run(tmp_path / "whole", 12, prune=False)} == {"done"}
    assert best_of(tried).state == "done"


def test_a_trial_that_fails_is_told_and_others_go_on(tmp_path, caplog):
    pytest.importorskip("optuna", reason="no package optuna (extra sweep)")
    study = SettingsStudy(tmp_path, SPACE, StudyConfig(3), "")

    def one(why=None):
        with study.next_trial() as trial:
            if why:
                raise UserError(why)
            trial.score = bleu(trial.values)

    with pytest.raises(UserError, match="no such file"):
        one("no such file: give another")  # the first: it may well be the same for all
    assert study.tried() == []
    one()
    one("too large: give less")
    one()
    assert [(own.number, own.state, own.why) for own in study.tried()] == [
        (1, "done", ""), (2, "failed", "too large: give less"), (3, "done", ""),
    ]  # fmt: skip
    assert "trial 2 failed: too large" in caplog.text
    with study.next_trial() as trial:
        assert trial is None
    write_results(tmp_path, "demo", SPACE, study.tried())
    assert "too large: give less" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_has_one_study(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 2, stop=1, asked="first")
    other = [SearchChoices("d", ("y", "z"))]
    study = SettingsStudy(tmp_path, other, StudyConfig(1), "second")  # nothing had come of the first
    with study.next_trial() as trial:
        trial.score = 1.0
    with pytest.raises(UserError, match="has a study of other settings: give another output_dir"):
        run(tmp_path, 2, asked="first")
    (tmp_path / "study.journal").write_text("{}\n")
    with pytest.raises(UserError, match="is no journal of a study"):
        run(tmp_path, 2)


def test_two_processes_share_a_study(tmp_path):
    """A trial that another process is at counts; when that process is killed, its settings are tried again."""
    pytest.importorskip("optuna", reason="no package optuna (extra sweep)")
    code = f"""
import sys, time
from pathlib import Path
from jaxsmt.pipeline.jobs.space import SearchRange
from jaxsmt.pipeline.jobs.study import SettingsStudy
from jaxsmt.pipeline.jobs.study_config import StudyConfig
study = SettingsStudy(Path({str(tmp_path)!r}), [SearchRange("a", 0.0, 1.0)], StudyConfig(2), "")
with study.next_trial() as trial:
    print(trial.number, trial.values["a"], flush=True)
    time.sleep(600)
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    study = SettingsStudy(tmp_path, [SearchRange("a", 0.0, 1.0)], StudyConfig(2), "")
    try:
        number, value = other.stdout.readline().split()
        with study.next_trial() as trial:
            assert (number, trial.number) == ("1", 2)
            trial.score = 2.0
        with study.next_trial() as trial:
            assert trial is None
        assert study.num_running() == 1
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    with study.next_trial() as trial:
        assert (trial.number, trial.values["a"]) == (1, float(value))
        trial.score = 1.0
    assert [own.score for own in study.tried()] == [1.0, 2.0]


def test_what_mattered_is_what_explains_the_scores():
    """Against numpy's own fits: a parabola over the logarithm, means of choices."""
    rng = np.random.default_rng(0)
    rows = [{"a": int(a), "b.c": float(10**c), "d": "x" if d else "null"} for a, c, d in
            zip(rng.integers(1, 6, 40), rng.uniform(-3, -1, 40), rng.integers(0, 2, 40), strict=True)]  # fmt: skip
    tried = [TriedSettings(place, row, bleu(row), "done") for place, row in enumerate(rows, 1)]
    tried.append(TriedSettings(41, rows[0], 1.0, "pruned"))
    shares = explained_shares(SPACE, tried)
    scores = np.array([bleu(row) for row in rows])

    def adjusted(fitted, num_columns):
        return 1 - ((scores - fitted) ** 2).sum() / scores.var() / 40 * 39 / (39 - num_columns)

    logs = np.log10([row["b.c"] for row in rows])
    is_x = np.array([row["d"] == "x" for row in rows])
    expected = {
        "a": adjusted(np.polyval(np.polyfit([row["a"] for row in rows], scores, 2), [row["a"] for row in rows]), 2),
        "b.c": adjusted(np.polyval(np.polyfit(logs, scores, 2), logs), 2),
        "d": adjusted(np.where(is_x, scores[is_x].mean(), scores[~is_x].mean()), 1),
    }
    assert shares == pytest.approx({key: max(value, 0.0) for key, value in expected.items()}, abs=1e-5)
    assert next(iter(shares)) == "a"
    assert explained_shares(SPACE, tried[:3]) == {}
    same = [TriedSettings(own.number, own.values, 5.0, "done") for own in tried[:5]]
    assert set(explained_shares(SPACE, same).values()) == {0.0}


def test_results_are_a_table_a_picture_and_a_page(tmp_path):
    values = [{"a": a, "b.c": 0.01, "d": d} for a in (1, 2, 4, 5) for d in ("x", "null")]
    tried = [TriedSettings(place, own, bleu(own), "done") for place, own in enumerate(values, 1)]
    tried.append(TriedSettings(9, values[0], None, "failed", "<b>"))
    write_results(tmp_path, "demo", SPACE, tried)
    lines = (tmp_path / TRIALS).read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["trial\ta\tb.c\td\tstate\tBLEU", "5\t4\t0.01\tx\tdone\t31.00"]
    assert lines[-1] == "9\t1\t0.01\tx\tfailed\t"
    assert trials_table(SPACE, tried).text().splitlines()[2].split() == ["5", "4", "0.01", "x", "done", "31.00"]
    picture = ElementTree.parse(tmp_path / PICTURE).getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [part.text for part in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert [text.split(":")[0] for text in texts] == ["a", "b.c", "d"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 4
    assert "&lt;b&gt;" in page
