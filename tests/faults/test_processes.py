"""Processes that are killed at a rename, that race on one store, and that find the disk full."""

from tests.faults.forked import Job
from tests.faults.kills import QUICK, differing_files, killed_and_whole, races
from tests.faults.mounts import mounted
from tests.pipeline.small_corpus import write_corpus


def test_killed_at_renames_and_started_again_the_bytes_are_the_same(forker, tmp_path):
    found = killed_and_whole(forker, tmp_path, stride=15, first=15, only=("train",))
    assert found.number >= 4
    assert found.differing == []


def test_processes_that_race_on_a_store_all_succeed(forker, tmp_path):
    found = races(forker, tmp_path, 2)  # two processes, and three of two hosts
    assert found.failures == []


def test_a_disk_that_is_full_is_one_sentence_and_nothing_half_written_stays(forker, tmp_path):
    corpus = [part for part in write_corpus(tmp_path / "corpus") if "travel" not in part]
    folder = tmp_path / "run"
    arguments = ["train", *corpus, *QUICK, "translate=[]", f"work_dir={folder}"]
    for largest in (3_000, 30_000):  # not even the configuration can be kept; some artefacts fit
        full = forker.run(Job(arguments, largest_file=largest))[0]
        assert full.is_sentence, full
        assert not (folder / "model").exists()
        assert not list(folder.glob("**/.*"))
    assert forker.run(Job(arguments))[0].code == 0
    folder.rename(tmp_path / "after")
    assert forker.run(Job(arguments))[0].code == 0
    assert differing_files(folder, tmp_path / "after") == []


def test_a_small_file_system_that_fills_up(forker, tmp_path):
    corpus, place = write_corpus(tmp_path / "corpus"), tmp_path / "small"
    with mounted(place, "size=200k"):
        full = forker.run(Job(["train", *corpus, *QUICK, "translate=[]", f"work_dir={place / 'run'}"]))[0]
        assert full.is_sentence, full
        assert "space" in full.errors
        assert not list(place.glob("run/**/.*"))
