"""Mistakes in the configuration become one sentence."""

import json
import re
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from tests.faults.workplace import outcome
from tests.pipeline.page_reading import check_page, rows_of
from tests.pipeline.small_corpus import write_corpus


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPOSITORY / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)


@pytest.mark.parametrize(
    ("command", "argument", "sentence"),
    [
        ("train", "extract.max_phrase_lenght=5", "did you mean 'extract.max_phrase_length'?"),
        ("train", "algin.alpha=0.1", "did you mean 'align.alpha'?"),
        ("train", "extract=hierro", "did you mean 'hiero'?; choose from hiero, phrase"),
        ("train", "extract.max_phrase_length=seven", "'extract.max_phrase_length': Value 'seven'"),
        ("train", "extract.max_phrase_length=70", "extract.max_phrase_length is 70: give a number from 1 to 8"),
        ("train", "corpus=files", "corpus.components is empty"),
        ("decode", "model_dri=x", "did you mean 'model_dir'?"),
        ("decode", "model_dir=nowhere", "'nowhere' is not a model folder"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_1(tmp_path, monkeypatch, command, argument, sentence):
    monkeypatch.chdir(tmp_path)
    result = outcome([command, argument])
    check_sentence(result.code, result.stdout, result.stderr, sentence)


@pytest.mark.parametrize(
    ("script", "argument", "sentence"),
    [
        ("train.py", "algin.alpha=0.1", "did you mean 'align.alpha'?"),
        ("decode.py", "model_dir=nowhere", "'nowhere' is not a model folder"),
    ],
)
def test_scripts_are_the_commands(script, argument, sentence):
    result = run(script, argument)
    check_sentence(result.returncode, result.stdout, result.stderr, sentence)


def check_sentence(code, stdout, stderr, sentence):
    assert (code, stdout) == (1, "")
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("error: ")
    assert sentence in lines[0]


def test_a_sweep_shares_artefacts_and_keeps_results_apart(tmp_path):
    options = [*write_corpus(tmp_path / "corpus"), "align=ibm1", "lm=trigram", f"work_dir={tmp_path / 'run'}"]
    result = run("train.py", "--multirun", "tm=full,top50", "+corpus.groups.both=[travel,kitchen]", *options)
    assert result.returncode == 0, result.stderr
    results = tmp_path / "run" / "sweep"
    assert [(results / job / "model" / "model.json").is_file() for job in "01"] == [True, True]
    stages = [path.name.rsplit("-", 1)[0] for path in (tmp_path / "run" / "artefacts").iterdir()]
    assert {stage: stages.count(stage) for stage in ("text-travel", "links", "lm-mixture", "component-travel")} == {
        "text-travel": 1,
        "links": 1,
        "lm-mixture": 1,
        "component-travel": 2,
    }
    table = (results / "comparison.txt").read_text()
    assert table in result.stdout
    for title in ("test kitchen", "test both, all of travel, kitchen"):
        assert re.search(rf"^{title}\nsystem +BLEU +TER +chrF2\ntm=full .*\ntm=top50 ", table, re.MULTILINE)
    check_sweep_page(results)


def check_sweep_page(folder):
    """The page of a sweep shows the figures of the comparison, links to its jobs' pages and has their translations."""
    page = check_page((folder / "report.html").read_text(encoding="utf-8"))
    figures = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    for title, systems in figures.items():
        heads, *rows = rows_of(page, title)
        assert heads == ["setting", "BLEU", "TER", "chrF2"]
        assert [row[0] for row in rows] == list(systems)
        for name, *cells in rows:
            for cell, metric in zip(cells, ("bleu", "ter", "chrf"), strict=True):
                assert float(cell.rstrip("*")) == pytest.approx(systems[name][metric]["mean"], abs=0.0051)
    links = [link.attributes["href"] for link in page.one("section", id="jobs").all("a")]
    assert links == ["0/report.html", "1/report.html"]
    assert all((folder / link).is_file() for link in links)
    jobs = rows_of(page, "All jobs")
    assert "tm=top50" in jobs[2][jobs[0].index("told")]
    card = page.one("section", id="samples").all("article")[0]
    row = int(re.match(r"Line (\d+),", card.one("h4").text())[1]) - 1
    shown = dict(zip([own.text() for own in card.all("dt")], card.all("dd"), strict=True))
    name = page.one("section", id="samples").all("h3")[0].text().replace(" ", ".")
    for system, job in (("tm=full", "0"), ("tm=top50", "1")):
        lines = (folder / job / "translations" / f"{name}.own-domain.txt").read_text(encoding="utf-8").splitlines()
        assert shown[system].text(without=("del",)).split() == lines[row].split()
