"""What the commands compile, with all optimisations, finds what the tests' quickly compiled programs find."""

import os
import subprocess
import sys

import numpy as np
import pytest

from jaxsmt.demo import generate_demo
from tests.compiling import VARIABLE, as_the_commands_do
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import write_corpus

QUICK = ["align=ibm1", "lm=trigram", "translate=[]", "report=false", "quiet=true"]


def run(program, arguments, environment):
    command = [sys.executable, REPOSITORY / program, *arguments]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


def test_environments_differ_in_what_they_optimise():
    assert VARIABLE not in as_the_commands_do()
    assert "fusion_emitters" not in as_the_commands_do()["XLA_FLAGS"]


@pytest.mark.parametrize("options", [["extract=phrase"], ["extract=hiero"]], ids=["phrase", "hiero"])
def test_lists_have_the_same_translations_and_scores(tmp_path, options):
    corpus = write_corpus(tmp_path / "corpus")
    run("train.py", [*corpus, *QUICK, *options, f"work_dir={tmp_path}"], os.environ)
    lines = [source for source, _ in generate_demo()["travel"]["dev"][:8]]
    (tmp_path / "lines.fr").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    quick, optimised = (lists(tmp_path, environment) for environment in (dict(os.environ), as_the_commands_do()))
    assert len(quick) == len(lines)
    for own, other in zip(quick, optimised, strict=True):
        np.testing.assert_allclose(sorted(own.values()), sorted(other.values()), atol=2e-3)
        for text in own.keys() & other.keys():
            assert own[text] == pytest.approx(other[text], abs=2e-3)
        assert own.keys() & other.keys()


def lists(folder, environment):
    """For every line: scores of its translations, by their text."""
    found = folder / "lists"
    places = [f"model_dir={folder / 'model'}", f"input={folder / 'lines.fr'}", f"output={folder / 'out'}"]
    run("decode.py", [*places, "nbest=5", f"nbest_output={found}", "domain=travel", "quiet=true"], environment)
    by_line: dict[str, dict[str, float]] = {}
    for line in found.read_text(encoding="utf-8").splitlines():
        number, text, _, score = line.split(" ||| ")[:4]
        by_line.setdefault(number, {})[text] = float(score)
    return list(by_line.values())
