"""The artefact store: nothing is made twice, nothing half-made stays."""

import os

import pytest

from jaxsmt.common.files import TEMPORARY_PREFIX
from jaxsmt.pipeline.store import Store


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


def test_leftovers_of_dead_processes_go_and_those_of_living_ones_stay(tmp_path):
    dead, living = tmp_path / f"{TEMPORARY_PREFIX}999999999-a", tmp_path / f"{TEMPORARY_PREFIX}{os.getppid()}-b"
    dead.mkdir()
    living.mkdir()
    Store(tmp_path)
    assert not dead.exists()
    assert living.exists()


def test_the_bytes_of_an_artefact_do_not_depend_on_when_it_was_made(tmp_path):
    one = Store(tmp_path / "1").run("stage", {"x": 1}, {}, build_text("a", []))
    two = Store(tmp_path / "2").run("stage", {"x": 1}, {}, build_text("a", []))
    assert one.fingerprint == two.fingerprint
    assert one.folder.name == two.folder.name
