"""The folders of a --multirun, and its page: runs that differ only in their seeds are one setting."""

import json

import pytest
from omegaconf import OmegaConf

from jaxsmt.evaluate.compare import CompareConfig
from jaxsmt.pipeline.evaluation import output_file, reference_file, source_file
from jaxsmt.pipeline.page.records import TuningCurve
from jaxsmt.pipeline.page.run_page import CURVES
from jaxsmt.pipeline.page.sweep_page import joined_curve, sweep_page
from jaxsmt.pipeline.sweep import compare_sweep, sweep_jobs, sweep_record, sweep_report
from tests.pipeline.page_reading import check_page, rows_of

CORPUS = OmegaConf.create({"name": "demo", "source_language": "fr", "target_language": "en"})
SETTINGS = CompareConfig(trials=100)
SYSTEMS = ("mixture=concatenation", "mixture=instance")
REFERENCES = ["the cat is on the mat today", "a dog sleeps in the garden now", "we like all of these trees"]


def test_jobs_come_by_number_and_others_by_name(tmp_path):
    for name in ("10", "9", "lm=trigram", "align=ibm1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.json").write_text("{}")
    (tmp_path / "8").mkdir()  # has not come to its end
    assert [path.name for path in sweep_jobs(tmp_path)] == ["9", "10", "align=ibm1", "lm=trigram"]
    assert sweep_jobs(tmp_path / "8") == []


def write_job(folder, number, told, changed, scores):
    """What a job leaves; changed: lines whose last word is wrong; scores: BLEU of tuning, iteration by iteration."""
    job = folder / str(number)
    lines = [line.rsplit(" ", 1)[0] + " x" if row in changed else line for row, line in enumerate(REFERENCES)]
    iterations = [{"bleu": score, "interval": [score - 0.1, score + 0.1]} for score in scores]
    score = {"part": "test", "domain": "law", "weights": "own", "bleu": 50.0 + number}
    files = {
        job / "config" / "overrides.yaml": json.dumps(told),
        job / "scores.json": json.dumps({"scores": [score]}),
        job / CURVES: json.dumps([{"name": "all", "chosen": 1, "has_converged": True, "iterations": iterations}]),
        source_file(job, "test", "law"): text_of(REFERENCES),
        reference_file(job, "test", "law"): text_of(REFERENCES),
        output_file(job, "test", "law", "own"): text_of(lines),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def text_of(lines):
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def sweep(tmp_path):
    """Two settings, three seeds each; jobs come as Hydra makes them."""
    number = 0
    for fewer, setting in enumerate(SYSTEMS):
        for seed in (1, 2, 3):
            told = ["tune=mira", setting, f"tune.seed={seed}"]
            write_job(tmp_path, number, told, range(seed - fewer), [0.2, 0.2 + seed / 100])
            number += 1
    return tmp_path


def page_of(folder):
    compared = compare_sweep(folder, SETTINGS)
    return check_page(sweep_page(sweep_record(folder, CORPUS, compared, SETTINGS)))


def test_a_page_joins_runs_of_a_setting(sweep):
    page = page_of(sweep)
    heads, first, second = rows_of(page, "test law: means over runs, ± deviation")
    assert heads[:3] == ["setting", "runs", "BLEU"]
    assert [row[:2] for row in (first, second)] == [["mixture=concatenation", "3"], ["mixture=instance", "3"]]
    assert all(" ± " in cell for row in (first, second) for cell in row[2:])
    assert "6 jobs, 2 settings: mixture=concatenation, mixture=instance." in page.text()
    jobs = rows_of(page, "All jobs")[1:]
    assert [row[0] for row in jobs] == ["mixture=concatenation"] * 3 + ["mixture=instance"] * 3
    assert [row[1] for row in jobs] == list("012345")
    keys = page.one("section", id="tuning").one("ul").all("li")
    assert [key.text() for key in keys] == ["mixture=concatenation, 3 runs", "mixture=instance, 3 runs"]


def test_a_table_fits_the_terminal_and_is_whole_in_the_file(sweep, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = sweep_report(sweep, SETTINGS)
    heads, first, second = (line.split() for line in whole.splitlines()[1:4])
    assert (heads, first[0], second[0]) == (["system", "BLEU", "TER", "chrF2"], *SYSTEMS)
    assert all(cells[2] == "±" for cells in (first, second))
    monkeypatch.setenv("COLUMNS", "60")
    narrow = sweep_report(sweep, SETTINGS)
    assert max(map(len, narrow.splitlines())) <= 60
    assert sorted(set(narrow.split())) == sorted(set(whole.split()))
    assert (sweep / "comparison.txt").read_text(encoding="utf-8") == whole


def test_seeds_alone_are_one_setting_with_a_deviation(tmp_path):
    for number in range(2):
        write_job(tmp_path, number, ["tune=mira", f"tune.seed={number}"], range(number), [0.2])
    assert "default" in sweep_report(tmp_path, SETTINGS)
    assert "±" in sweep_report(tmp_path, SETTINGS)
    assert "2 jobs, 1 setting: default." in page_of(tmp_path).text()


def test_one_run_of_each_setting_has_no_deviation(tmp_path):
    for number, setting in enumerate(("lm=trigram", "lm=fivegram")):
        write_job(tmp_path, number, [setting], range(number), [0.2])
    page = page_of(tmp_path)
    assert rows_of(page, "test law")[0] == ["setting", "BLEU", "TER", "chrF2"]
    assert "±" not in page.one("section", id="results").text()
    assert "Of several runs" not in page.one("section", id="tuning").text()


def test_curves_are_joined_as_far_as_all_went():
    runs = [TuningCurve("a", [{"bleu": score} for score in own], 1, True) for own in ((0.1, 0.2, 0.3), (0.3, 0.4))]
    found = joined_curve("tune=mira", runs)
    assert [row["bleu"] for row in found.iterations] == pytest.approx([0.2, 0.3])
    assert found.iterations[0]["interval"] == pytest.approx([0.2 - 0.02**0.5, 0.2 + 0.02**0.5])
    assert (found.name, found.chosen) == ("tune=mira, 2 runs", None)
