"""The same inputs, configuration and seed give the same bytes on one core and on several."""

import os

import pytest

from tests.faults.forked import Job
from tests.faults.kills import differing_files
from tests.pipeline.small_corpus import write_corpus

# the HMM's sums over a batch and the products of the fits are those that threads share
OPTIONS = ("align=hmm", "lm=trigram", "mixture=linear", "translate=[]", "quiet=true", "report=false")


def test_the_number_of_cores_changes_no_byte(forker, tmp_path):
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        pytest.skip("one core, or none that can be chosen")
    corpus, folder = write_corpus(tmp_path / "corpus", num_pairs=200), tmp_path / "run"
    arguments = ["train", *corpus, *OPTIONS, f"work_dir={folder}"]
    assert forker.run(Job(arguments, cores=cores[:1]))[0].code == 0
    folder.rename(tmp_path / "one")
    assert forker.run(Job(arguments, cores=cores))[0].code == 0
    assert list(folder.glob("artefacts/links-*/aligner/aligner.safetensors"))
    assert differing_files(folder, tmp_path / "one") == []
