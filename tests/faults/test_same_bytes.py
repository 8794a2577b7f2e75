"""The same inputs, configuration and seed give the same bytes on one core and on several."""

import os
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import files_below, write_corpus

ON_CORES = """
import os, sys
os.sched_setaffinity(0, {int(core) for core in sys.argv[1].split("+")})
from jaxsmt.pipeline.main import main
main(sys.argv[2:])
"""
# the HMM's sums over a batch and the products of the fits are those that threads share
OPTIONS = ("align=hmm", "lm=trigram", "mixture=linear", "translate=[]", "quiet=true")


def trained_on(cores, folder, corpus, **variables):
    command = [sys.executable, "-c", ON_CORES, "+".join(map(str, cores)), "train", *corpus, *OPTIONS]
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("NPROC", "NUM_THREADS"))}
    done = subprocess.run(
        [*command, f"work_dir={folder}"], cwd=REPOSITORY, env=environment | variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {name: data for name, data in files_below(folder).items() if name.startswith(("artefacts", "model"))}


def test_the_number_of_cores_changes_no_byte(tmp_path):
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        pytest.skip("one core, or none that can be chosen")
    corpus = write_corpus(tmp_path / "corpus", num_pairs=200)
    one = trained_on(cores[:1], tmp_path / "one", corpus)
    several = trained_on(cores, tmp_path / "several", corpus)
    assert one.keys() == several.keys()
    assert [name for name in one if one[name] != several[name]] == []
    assert any(name.endswith("aligner.safetensors") for name in one)
