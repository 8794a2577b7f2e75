"""Mistakes get the sentences that the docs show."""

import os
import shutil

import pytest

from tests.faults.bad_inputs_table import PAGE, all_cases, page
from tests.faults.bad_settings import CASES
from tests.faults.forked import Job


@pytest.fixture(scope="module")
def place(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(trained / "model", folder / "model")
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_gets_its_sentence(forker, place, case):
    file = place / "model" / case.damage
    data = file.read_bytes() if case.damage else b""
    if case.damage:
        os.truncate(file, len(data) // 2)
    where = [part.replace("model_dir=model", f"model_dir={place / 'model'}") for part in case.overrides]
    work = [f"work_dir={place / 'run'}"] if case.command == "train" else []
    ended = forker.run(Job([case.command, *where, *work]))[0]
    if case.damage:
        file.write_bytes(data)
    assert ended.code == case.code
    assert len(ended.errors.splitlines()) == 1, ended.errors
    assert case.sentence in ended.errors
    assert not (place / "run" / "model").exists()


def test_the_page_is_that_of_the_cases():
    assert PAGE.read_text(encoding="utf-8") == page(all_cases()), "run python -m tests.faults.bad_inputs_table"


def test_a_row_of_the_page():
    rows = page(CASES[:1]).splitlines()[-1]
    assert rows.startswith("| `jaxsmt train` | a misspelled key")
