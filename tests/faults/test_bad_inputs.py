"""Every bad input gets its sentence and exit code, before any work, and leaves nothing behind."""

import shutil

import pytest

from tests.faults.bad_inputs import BAD_INPUTS
from tests.faults.workplace import QUICK, furnish, outcome
from tests.pipeline.small_corpus import files_below


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    furnish(folder)
    return folder


def arguments_of(bad):
    """What is said besides: nothing that a command would refuse, so that only the bad input is wrong."""
    if bad.command == "train":
        corpus = [] if any(argument.startswith("corpus=") for argument in bad.arguments) else ["corpus=mine"]
        quick = [part for part in QUICK if part.split("=")[0] not in {a.split("=")[0] for a in bad.arguments}]
        return [*corpus, *quick, "work_dir=run"]
    return ["model_dir=trained/model"] if bad.command == "decode" else []


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=lambda bad: f"{bad.command}: {bad.name}")
def test_a_bad_input_gets_its_sentence(folder, monkeypatch, bad):
    monkeypatch.chdir(folder)
    before = files_below(folder)
    for name, data in bad.files.items():
        (folder / name).write_bytes(data)
    found = outcome([bad.command, *arguments_of(bad), *bad.arguments], bad.stdin)
    assert (found.code, found.stdout) == (bad.code, "")
    lines = [line for line in found.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, found.stderr
    assert bad.sentence in lines[0]
    assert "Traceback" not in found.stderr
    for name in bad.files:
        (folder / name).unlink()
    shutil.rmtree(folder / "run", ignore_errors=True)  # what the run was told
    assert files_below(folder) == before


def test_names_of_bad_inputs_are_different():
    names = [(bad.command, bad.name) for bad in BAD_INPUTS]
    assert len(names) == len(set(names))
