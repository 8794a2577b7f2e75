"""What a person sees on a terminal: tables in which no word is cut at any width, the ending, no warnings of others."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jaxsmt.common.memory import PeakMemory, resident_bytes
from jaxsmt.pipeline.store import Store
from jaxsmt.pipeline.terminal.columns import TextTable, output_width
from jaxsmt.pipeline.terminal.ending import command_name, ending, ending_text
from tests.conftest import REPOSITORY

ROWS = [("test", "software", "76.53", "81.53", "13.11", "10.26", "14"), ("dev", "kitchen", "7.00", "", "1.1", "2", "3")]
HEADS = ["BLEU unweighted", "BLEU own domain", "TER unweighted", "TER own domain", "unknown words"]


@pytest.fixture
def table():
    made = TextTable("Translation", ["set", "domain"], HEADS)
    for row in ROWS:
        made.add_row(*row)
    return made


def test_a_table_with_room_has_a_line_for_a_row(table):
    assert table.text(200) == table.text(None)
    lines = table.text(None).splitlines()
    assert lines[0] == "Translation"
    assert lines[1].split("  ")[0] == "set"
    assert [line.split() for line in lines[2:]] == [[cell for cell in row if cell] for row in ROWS]
    assert lines[2].index("81.53") + 5 == lines[1].index("BLEU own domain") + len("BLEU own domain")


@pytest.mark.parametrize("width", [1, 20, 30, 40, 60, 66, 80])
def test_a_narrow_table_cuts_no_word_and_loses_nothing(table, width):
    text = table.text(width)
    names = len("test") + 2 + len("software")
    longest = names + 2 + len("unweighted")
    assert max(map(len, text.splitlines())) <= max(width, longest)
    whole = Counter(table.text(None).split())
    blocks = text.partition("\n")[2].strip("\n").split("\n\n")
    repeated = Counter(["set", "domain", "test", "software", "dev", "kitchen"] * (len(blocks) - 1))
    assert Counter(text.split()) == whole + repeated


def test_a_table_of_no_rows_shows_its_heads():
    assert TextTable("Nothing", ["a"], ["b c"]).text(4) == "Nothing\n   b\na  c\n"
    assert TextTable("Nothing", ["a"], []).text(10) == "Nothing\na\n"


def test_the_width_is_that_of_the_terminal_and_any_in_a_pipe(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output_width() is None  # pytest's capture is no terminal
    monkeypatch.setenv("COLUMNS", "61")
    assert output_width() == 61
    TextTable("T", ["name"], ["number"]).show()
    assert capsys.readouterr().out == "T\nname  number\n\n"


def test_stages_tell_what_they_took(tmp_path):
    store = Store(tmp_path)
    large = 64 << 20

    def build(folder):
        (folder / "x").write_text("1")
        assert np.ones(large, np.uint8).sum() == large
        return {}

    made = store.run("stage", {}, {}, build)
    store.run("stage", {}, {}, build)
    first, again = store.runs
    assert (first.stage, first.folder) == ("stage", made.folder)
    assert first.seconds > 0
    assert again == type(again)("stage", made.folder)
    if resident_bytes() is not None:
        assert 0 < first.peak_bytes < 1 << 45


@pytest.mark.skipif(resident_bytes() is None, reason="the system does not say how much memory a process has")
def test_peak_memory_sees_what_is_gone_when_the_block_ends():
    before, size = resident_bytes(), 200 << 20
    with PeakMemory() as memory:
        held = np.ones(size, np.uint8)
        memory._look()
        del held
    assert memory.peak - before > size // 2


def test_the_ending_names_commands_and_paths_that_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, report = tmp_path / "runs" / "demo" / "model", tmp_path / "runs" / "demo" / "report.html"
    lines = ending(model, report, is_demo=True, is_tuned=False)
    assert lines[:2] == [("model", "runs/demo/model"), ("report", "runs/demo/report.html  # open it in a browser")]
    commands = [text for word, text in lines if word == "try"]
    assert len(commands) == 4
    first = commands[0].partition("#")[0].split()
    assert first[-2:] == ["decode", "model_dir=runs/demo/model"]
    assert shutil.which(first[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Path(command_name().split()[0]).is_file()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert command_name() == "python -m jaxsmt.pipeline.main"
    few = ending(model, None, is_demo=False, is_tuned=True)
    assert [word for word, _ in few] == ["model", "try", "try"]


def test_the_ending_fits_a_terminal():
    lines = [("model", "runs/demo/model"), ("try", "jaxsmt decode model_dir=runs/demo/model input=FILE  # and so on")]
    assert ending_text(lines, None).splitlines() == ["model:  runs/demo/model", f"try:    {lines[1][1]}"]
    assert ending_text(lines, 50).splitlines() == [
        "model:  runs/demo/model",
        "try:    # and so on",
        "        jaxsmt decode model_dir=runs/demo/model \\",
        "          input=FILE",
    ]


def run_logging(code, *, debug="False"):
    """What a process prints to stderr, which is a pipe, after logging was set up."""
    setup = "import logging, warnings\nfrom jaxsmt.pipeline.config.launch import setup_logging\n"
    command = [sys.executable, "-c", f"{setup}setup_logging(False, {debug})\n{code}"]
    environment = {**os.environ, "COLUMNS": "40", "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=REPOSITORY).stderr


def test_libraries_do_not_warn_people():
    code = 'logging.getLogger("jax._src").warning("of jax")\nlogging.getLogger("absl").error("broken")\n'
    code += 'logging.getLogger("jaxsmt").warning("a long message of ours, longer than the window is wide: /a/path")\n'
    lines = run_logging(code).splitlines()
    assert [re.match(r"\[[\d:]+\] (\w+) ", line)[1] for line in lines] == ["ERROR", "WARNING"]
    assert lines[1].endswith("longer than the window is wide: /a/path")
    assert "of jax" in run_logging(code + 'warnings.warn("old")\n', debug="True")


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(tmp_path):
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    block = readme[readme.index("Translation\nset") :].partition("```")[0]
    command = [sys.executable, "train.py", f"work_dir={tmp_path}"]
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, env=environment)
    assert block in done.stdout
    assert f"report: {tmp_path / 'report.html'}" in done.stderr
