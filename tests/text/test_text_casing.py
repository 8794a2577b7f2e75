"""Truecasing and recasing."""

from collections import Counter

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.text.casing import (
    Truecaser,
    capitalise,
    has_case,
    initial_positions,
    load_truecaser,
    recase,
    starts_with_capital,
)


def train_truecaser(lines):
    """Counts the forms of words with case inside sentences, one by one."""
    counts = Counter()
    for tokens in lines:
        counts.update(t for t, initial in zip(tokens, initial_positions(tokens), strict=True) if not initial)
    return Truecaser({form: count for form, count in counts.items() if has_case(form)})


LINES = [
    ["The", "cat", "likes", "Python", "."],
    ["In", "Python", "the", "cat", "is", "in", "THE", "box", "."],
    ['"￭', "The", "end", '￭"', "!", "The", "cat", "."],
    ["see", "the", "IT", "cat"],
]


def test_initial_positions():
    assert initial_positions(['"￭', "The", "end", '￭"', "!", "(", "A", "cat"]) == [
        True,
        True,
        False,
        False,
        False,
        True,
        True,
        False,
    ]
    assert initial_positions([]) == []


def test_trained_on_positions_inside_sentences():
    truecaser = train_truecaser(LINES)
    assert truecaser.counts["the"] == 2
    assert "The" not in truecaser.counts
    assert truecaser.best["python"] == "Python"
    assert truecaser.apply(["The", "IT", "cat", ".", "PYTHON", "Unheard", "CAT"]) == [
        "the",
        "IT",
        "cat",
        ".",
        "Python",
        "Unheard",
        "cat",
    ]


def test_ties_go_to_lower_case():
    assert Truecaser({"May": 2, "may": 2, "MAY": 1}).best == {"may": "may"}


def test_saved_and_loaded(tmp_path):
    truecaser = train_truecaser(LINES)
    truecaser.save(tmp_path / "t.tsv")
    assert load_truecaser(tmp_path / "t.tsv") == truecaser
    assert (tmp_path / "t.tsv").read_text(encoding="utf-8").startswith("IT\t1\nPython\t2\n")


def test_bad_files(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        load_truecaser(tmp_path / "no.tsv")
    (tmp_path / "t.tsv").write_text("a\t1\nb\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 2"):
        load_truecaser(tmp_path / "t.tsv")


@pytest.mark.parametrize(
    ("token", "expected"),
    [("cat", "Cat"), ("￭élan", "￭Élan"), ("l'", "L'"), ("ß", "ß"), ("2nd", "2nd"), ("--x", "--X"), ("", "")],
)
def test_capitalise(token, expected):
    assert capitalise(token) == expected


def test_recase():
    assert recase(['"￭', "yes", '￭"', ".", "no", ",", "no"]) == ['"￭', "Yes", '￭"', ".", "No", ",", "no"]
    assert recase(["yes", ".", "no"], first=False) == ["yes", ".", "No"]
    assert recase([]) == []


def test_starts_with_capital():
    assert starts_with_capital("« Été")
    assert not starts_with_capital("été Paris")
    assert not starts_with_capital("123")
