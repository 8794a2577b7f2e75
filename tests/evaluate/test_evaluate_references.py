"""References are read line by line, whatever else their text has."""

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.references import read_references


def test_only_line_feeds_end_a_line(tmp_path):
    lines = ["one\u2028two", "a\u0085b\u2029c", "form\x0cfeed \x1c\x1d\x1e", "carriage\rreturn", "", "last"]
    (tmp_path / "a").write_bytes("".join(f"{line}\n" for line in lines).encode())
    (tmp_path / "b").write_bytes("\r\n".join(lines).encode())
    assert read_references([tmp_path / "a", tmp_path / "b"]) == [(line, line) for line in lines]


def test_mistakes_are_named(tmp_path):
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "one").write_text("a\n")
    with pytest.raises(UserError, match="have 2, 1 lines"):
        read_references([tmp_path / "two", tmp_path / "one"])
    with pytest.raises(UserError, match="no lines"):
        read_references([])
    with pytest.raises(UserError, match="nowhere"):
        read_references([tmp_path / "nowhere"])
