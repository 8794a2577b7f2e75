"""Folders that nothing can be written to: said before work where something must be, no matter where nothing must."""

import shutil

import pytest

from tests.faults.forked import Job
from tests.faults.kills import QUICK
from tests.faults.mounts import read_only
from tests.pipeline.small_corpus import files_below, write_corpus


@pytest.fixture
def closed(trained, tmp_path):
    """A folder with a model and some lines, read-only."""
    folder = tmp_path / "closed"
    shutil.copytree(trained / "model", folder / "model")
    (folder / "lines").write_text("le chat\n", encoding="utf-8")
    with read_only(folder):
        yield folder


def test_what_cannot_be_written_is_said_before_work(forker, closed, tmp_path):
    before = files_below(closed)
    decode = ["decode", f"model_dir={closed / 'model'}", f"input={closed / 'lines'}", "quiet=true"]
    train = ["train", *write_corpus(tmp_path / "corpus"), *QUICK, "translate=[]"]
    refused = {
        "output": [*decode, f"output={closed / 'out'}"],
        "alignments": [*decode, f"output={tmp_path / 'out'}", f"alignments={closed / 'new' / 'links'}"],
        "output_dir": [*train, f"work_dir={tmp_path / 'run'}", f"output_dir={closed / 'run'}"],
    }
    for key, arguments in refused.items():
        ended = forker.run(Job(arguments))[0]
        assert ended.is_sentence, (key, ended)
        assert ended.errors.startswith(f"error: {key} is '{closed}"), ended.errors
        assert f"and nothing can be written to '{closed}': choose another folder" in ended.errors
    ended = forker.run(Job([*train, f"work_dir={closed / 'run'}"]))[0]
    assert ended.is_sentence, ended
    assert f"error: '{closed / 'run'}': " in ended.errors  # Hydra makes the folder
    assert files_below(closed) == before
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "run" / "artefacts").exists()
    assert forker.run(Job([*decode, f"output={tmp_path / 'out'}"]))[0].code == 0  # a model is only read
    assert (tmp_path / "out").read_text(encoding="utf-8").count("\n") == 1
