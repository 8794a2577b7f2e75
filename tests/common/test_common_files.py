"""Files and folders appear whole or not at all."""

import pytest

from jaxsmt.common.files import atomic_file, atomic_folder, fingerprint_file, write_text


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


def test_fingerprints_are_of_bytes(tmp_path):
    write_text(tmp_path / "a", "été\r\n")
    assert (tmp_path / "a").read_bytes() == "été\r\n".encode()
    # sha256 of the empty file is a known value
    write_text(tmp_path / "b", "")
    assert fingerprint_file(tmp_path / "b").startswith("e3b0c44298fc1c149afbf4c8996fb924")
