"""Configurations drawn from the schema get to work or a sentence, and lines of any letters come out again."""

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from tests.faults.drawn_configs import draw_configs
from tests.faults.drawn_lines import drawn_lines, translate_lines
from tests.pipeline.small_corpus import write_corpus


def test_no_configuration_gets_a_traceback(trained, tmp_path):
    found = draw_configs(tmp_path, write_corpus(trained / "corpus"), trained / "model", 60)
    assert found.tracebacks == []
    assert found.working > 2
    assert found.refused > 20


def test_no_line_is_lost_whatever_its_letters(trained, tmp_path):
    found = translate_lines(tmp_path, trained / "model", drawn_lines(300, seed=1))
    assert (found.lines, found.lost, found.tracebacks) == (300, 0, [])


@pytest.mark.parametrize("override", ["device=[1]", "+text=-2.5"])
def test_what_hydra_itself_stumbles_over_is_one_sentence(override):
    command = [sys.executable, "train.py", override]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("error: ")
