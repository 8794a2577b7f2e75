"""Files and folders appear whole or not at all."""

import dataclasses
import os

import pytest

from jaxsmt.common import files
from jaxsmt.common.files import atomic_file, atomic_folder, fingerprint_file, write_text
from jaxsmt.common.integrity.owners import this_owner


def interrupt_after_writing(path):
    path.write_text("half")
    raise KeyboardInterrupt


def test_a_file_appears_at_the_end(tmp_path):
    target = tmp_path / "new" / "file"
    with atomic_file(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_an_interrupted_file_leaves_the_old_one(tmp_path):
    target = tmp_path / "file"
    write_text(target, "old")
    with pytest.raises(KeyboardInterrupt), atomic_file(target) as temporary:
        interrupt_after_writing(temporary)
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupted_folder_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "folder") as temporary:
        interrupt_after_writing(temporary / "part")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_whole(tmp_path):
    for name in ("one", "two"):
        with atomic_folder(tmp_path / "folder") as temporary:
            (temporary / name).write_text(name)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["two"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_reader_of_a_replaced_folder_sees_the_old_or_the_new(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    with atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "a").write_text("old")
    with atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "a").write_text("new")
        assert (tmp_path / "folder" / "a").read_text() == "old"
    assert (tmp_path / "folder" / "a").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_process_left_of_a_file_goes_with_the_next_attempt(tmp_path):
    dead = dataclasses.replace(this_owner(), process=999999999)
    names = {f"{files.TEMPORARY_PREFIX}{dead.mark()}-out.txt", f"{files.TEMPORARY_PREFIX}{dead.mark()}-other.txt"}
    for name in names:
        (tmp_path / name).write_text("half")
    (tmp_path / f"{files.REPLACED_PREFIX}{dead.mark()}-out.txt").mkdir()  # killed between two renames
    write_text(tmp_path / "other.txt", "whole")
    assert (tmp_path / "other.txt").read_text() == "whole"
    assert not list(tmp_path.glob(".unfinished-*"))
    assert len(list(tmp_path.glob(".replaced-*"))) == 1  # it may be all that is left of out.txt
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "out.txt") as temporary:
        interrupt_after_writing(temporary / "part")
    assert (tmp_path / "out.txt").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {"other.txt", "out.txt"}


def test_what_others_and_this_process_are_writing_stays(tmp_path):
    elsewhere = dataclasses.replace(this_owner(), host="elsewhere", process=999999999)
    alive = dataclasses.replace(this_owner(), process=os.getppid())
    names = {f"{files.TEMPORARY_PREFIX}{owner.mark()}-out.txt" for owner in (elsewhere, alive)}
    for name in (*names, ".unfinished-business", ".unfinished-1.2.3.4"):
        (tmp_path / name).write_text("half")
    with atomic_file(tmp_path / "ours.txt") as temporary:
        temporary.write_text("ours")
        write_text(tmp_path / "out.txt", "whole")
        assert temporary.exists()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {*names, ".unfinished-business", ".unfinished-1.2.3.4", "ours.txt", "out.txt"}


def test_names_as_long_as_a_system_allows(tmp_path):
    write_text(tmp_path / ("é" * 127), "whole")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]


def test_fingerprints_are_of_bytes(tmp_path):
    write_text(tmp_path / "a", "été\r\n")
    assert (tmp_path / "a").read_bytes() == "été\r\n".encode()
    # sha256 of the empty file is a known value
    write_text(tmp_path / "b", "")
    assert fingerprint_file(tmp_path / "b").startswith("e3b0c44298fc1c149afbf4c8996fb924")
