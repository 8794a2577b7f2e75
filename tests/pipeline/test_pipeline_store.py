"""The artefact store: nothing is made twice, nothing half-made stays."""

import dataclasses
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from jaxsmt.common.files import MANIFEST, TEMPORARY_PREFIX
from jaxsmt.common.integrity import checks
from jaxsmt.common.integrity.owners import STALE_SECONDS, this_owner
from jaxsmt.pipeline.store import BUILDING_PREFIX, Store, StoreConfig, claimed
from tests.conftest import REPOSITORY


def build_text(text: str, log: list[str]):
    def build(folder):
        log.append(text)
        (folder / "text").write_text(text)
        return {"letters": len(text)}

    return build


def test_a_stage_runs_once_for_the_same_config_and_inputs(tmp_path):
    store, runs = Store(tmp_path), []
    first = store.run("stage", {"x": 1}, {"in": "f"}, build_text("a", runs))
    again = Store(tmp_path).run("stage", {"x": 1}, {"in": "f"}, build_text("b", runs))
    assert (again, runs) == (first, ["a"])
    assert again.counts == {"letters": 1}


@pytest.mark.parametrize(("config", "inputs"), [({"x": 2}, {"in": "f"}), ({"x": 1}, {"in": "g"})])
def test_other_config_or_inputs_make_another_artefact(tmp_path, config, inputs):
    store, runs = Store(tmp_path), []
    first = store.run("stage", {"x": 1}, {"in": "f"}, build_text("a", runs))
    other = store.run("stage", config, inputs, build_text("b", runs))
    assert other.folder != first.folder
    assert other.fingerprint != first.fingerprint
    assert runs == ["a", "b"]


def test_an_interrupted_stage_leaves_nothing_and_runs_again(tmp_path):
    def interrupted(folder):
        (folder / "text").write_text("ha")
        raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.run("stage", {}, {}, interrupted)
    assert list(tmp_path.iterdir()) == []
    assert (store.run("stage", {}, {}, build_text("half", [])).folder / "text").read_text() == "half"


def test_a_damaged_artefact_is_made_again(tmp_path):
    store, runs = Store(tmp_path), []
    first = store.run("stage", {}, {}, build_text("whole", runs))
    (first.folder / "text").write_text("who")
    store.run("stage", {}, {}, build_text("whole", runs))
    assert (first.folder / "text").read_text() == "whole"
    assert len(runs) == 2


@pytest.mark.parametrize("size", [1, 3 << 20])  # a large file is known by its stamp, which a change alters
def test_a_flipped_bit_is_found(tmp_path, size, monkeypatch, caplog):
    monkeypatch.setenv("JAXSMT_CACHE", str(tmp_path / "cache"))
    runs = []

    def build(folder):
        runs.append(1)
        (folder / "data").write_bytes(b"a" * size)
        return {}

    store = Store(tmp_path / "store")
    path = store.run("stage", {}, {}, build).folder / "data"
    with open(path, "r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"b")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))  # clocks of file systems may be coarse
    Store(tmp_path / "store").run("stage", {}, {}, build)
    assert path.read_bytes() == b"a" * size
    assert len(runs) == 2
    assert str(path) in caplog.text


def test_full_verification_reads_what_stamps_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXSMT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checks, "_found_whole", {})
    runs = []

    def build(folder):
        runs.append(1)
        (folder / "data").write_bytes(b"a" * (2 << 20))
        return {}

    path = Store(tmp_path / "store").run("stage", {}, {}, build).folder / "data"
    Store(tmp_path / "store").run("stage", {}, {}, build)  # learns the stamp
    before = path.stat()
    with open(path, "r+b") as stream:
        stream.write(b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a disk that decays would leave it
    monkeypatch.setattr(checks, "_found_whole", {})  # another process
    Store(tmp_path / "store").run("stage", {}, {}, build)
    assert len(runs) == 1
    monkeypatch.setattr(checks, "_found_whole", {})
    Store(tmp_path / "store", StoreConfig(verify="full")).run("stage", {}, {}, build)
    assert len(runs) == 2
    assert path.read_bytes()[:1] == b"a"


def test_a_manifest_that_says_something_else_is_damage(tmp_path):
    store, runs = Store(tmp_path), []
    first = store.run("stage", {}, {}, build_text("whole", runs))
    manifest = first.folder / MANIFEST
    manifest.write_text(manifest.read_text().replace('"letters": 5', '"letters": 6'))
    again = Store(tmp_path).run("stage", {}, {}, build_text("whole", runs))
    assert again.counts == {"letters": 5}
    assert len(runs) == 2


def leftover(folder, owner, silent=0.0):
    path = folder / f"{TEMPORARY_PREFIX}{owner.mark()}-stage"
    path.mkdir()
    os.utime(path, (time.time() - silent,) * 2)
    return path


def test_leftovers_of_dead_processes_go_and_all_others_stay(tmp_path):
    here = this_owner()
    dead = leftover(tmp_path, dataclasses.replace(here, process=999999999))
    earlier = leftover(tmp_path, dataclasses.replace(here, start="0"))
    living = leftover(tmp_path, dataclasses.replace(here, process=os.getppid()))
    elsewhere = leftover(tmp_path, dataclasses.replace(here, host="other", process=999999999))
    silent = leftover(tmp_path, dataclasses.replace(here, host="gone"), silent=2 * STALE_SECONDS)
    Store(tmp_path)
    assert [path.exists() for path in (dead, earlier, living, elsewhere, silent)] == [False, False, True, True, False]


def test_claims_of_dead_processes_go_and_all_others_stay(tmp_path):
    here = this_owner()
    owners = [dataclasses.replace(here, process=999999999), dataclasses.replace(here, process=os.getppid()),
              dataclasses.replace(here, host="other", process=999999999)]  # fmt: skip
    claims = [tmp_path / f"{BUILDING_PREFIX}stage-{number}" for number in range(3)]
    for claim, owner in zip(claims, owners, strict=True):
        claim.write_text(owner.mark())
    Store(tmp_path)
    assert [claim.exists() for claim in claims] == [False, True, True]


BUILDER = """
import sys, time
from pathlib import Path
from jaxsmt.pipeline.store import Store

def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    (folder / "part").write_text("half")
    time.sleep(float(sys.argv[3]))
    (folder / "part").write_text("whole")
    return {}

print((Store(Path(sys.argv[1])).run("stage", {}, {}, build).folder / "part").read_text())
"""


def builder(tmp_path, seconds):
    command = [sys.executable, "-c", BUILDER, str(tmp_path / "store"), str(tmp_path / "log"), str(seconds)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def test_processes_that_need_the_same_build_it_once(tmp_path):
    processes = [builder(tmp_path, 1.0) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["whole\n"] * 3
    assert (tmp_path / "log").read_text() == "built\n"
    assert [path.name.split("-")[0] for path in (tmp_path / "store").iterdir()] == ["stage"]


def test_what_was_finished_before_the_claim_is_not_built_again(tmp_path, monkeypatch):
    def write(folder):
        (folder / "part").write_text("whole")
        return {}

    @contextmanager
    def claimed_late(folder):
        monkeypatch.undo()
        Store(tmp_path).run("stage", {}, {}, write)  # another process ends between our look and our claim
        with claimed(folder) as other:
            yield other

    monkeypatch.setattr("jaxsmt.pipeline.store.claimed", claimed_late)
    found = Store(tmp_path).run("stage", {}, {}, lambda _: pytest.fail("built again"))
    assert (found.folder / "part").read_text() == "whole"
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["stage"]


def test_who_waits_for_a_killed_process_builds_it(tmp_path):
    first = builder(tmp_path, 600)
    while not (tmp_path / "log").exists():
        time.sleep(0.05)
        assert first.poll() is None
    second = builder(tmp_path, 0.0)
    first.kill()
    first.communicate()
    assert second.communicate()[0] == "whole\n"
    assert (tmp_path / "log").read_text() == "built\n" * 2


def test_a_finished_artefact_is_never_replaced(tmp_path):
    store = Store(tmp_path)

    def build(folder):
        other = Store(tmp_path).folder_of("stage", {}, {})
        other.mkdir()  # another process, that had not seen our claim, was faster
        (other / "text").write_text("first")
        return {}

    found = store.run("stage", {}, {}, build)
    assert (found.folder / "text").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == [found.folder.name]


def test_the_bytes_of_an_artefact_do_not_depend_on_when_it_was_made(tmp_path):
    one = Store(tmp_path / "1").run("stage", {"x": 1}, {}, build_text("a", []))
    two = Store(tmp_path / "2").run("stage", {"x": 1}, {}, build_text("a", []))
    assert one.fingerprint == two.fingerprint
    assert one.folder.name == two.folder.name
