"""Normalising and cleaning."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.normalise import NormaliseConfig, make_normaliser
from jaxsmt.text.preparing import prepare_bitext

ALL = NormaliseConfig(guillemets=True, dashes=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301te\u0301", "été"),
        ("a\u00a0b\u202fc\u2009d\u3000e\u2028f\x85g\th", "a b c d e f g h"),
        ("soft\u00adhyphen zero\u200bwidth \ufeff\u2060x", "softhyphen zerowidth x"),
        ("e\u200b\u0301", "é"),
        ("l’ami “said” ‘so’", "l'ami \"said\" 'so'"),
        ("«\u00a0oui\u00a0» – non", "« oui » – non"),
        ("  bell\x07 and\x00null  ", "bell and null"),
        ("ﬁne ½", "ﬁne ½"),
        ("नहीं می‌خواهم", "नहीं می‌خواهم"),
    ],
)
def test_defaults(text, expected):
    assert make_normaliser(NormaliseConfig())(text) == expected


def test_options():
    assert make_normaliser(ALL)("«oui» a–b—c −1") == '"oui" a-b-c -1'
    assert make_normaliser(NormaliseConfig(unicode="NFKC"))("ﬁne") == "fine"
    nothing = make_normaliser(NormaliseConfig(unicode="none", spaces=False, quotes=False))
    assert nothing("e\u0301 l’\u00a0ami  x") == "e\u0301 l’\u00a0ami  x"
    with pytest.raises(UserError, match=r"'NFX': set text\.normalise\.unicode to one of NFC"):
        NormaliseConfig(unicode="NFX")


@pytest.mark.parametrize("config", [NormaliseConfig(), ALL, NormaliseConfig(unicode="NFKC")])
@given(st.text())
def test_normalising_twice_changes_nothing(config, text):
    normalise = make_normaliser(config)
    assert normalise(normalise(text)) == normalise(text)


PAIRS = [
    ("a b", "c"),
    ("", "c"),
    (" \u00a0", "c"),
    ("a b", "c"),
    ("w " * 101, "c " * 90),
    ("w " * 100, "c " * 100),
    ("w " * 10, "c"),
    ("w " * 9, "c"),
    ("bell\x07", "x\ty"),
]


def prepared(**limits):
    return prepare_bitext(PAIRS, TextConfig(control_characters="replace", **limits), ("fr", "en"), name="law")


def test_every_reason_is_counted():
    cleaned = prepared(remove_duplicates=True)
    assert cleaned.rows.tolist() == [0, 5, 7, 8]
    assert [side.vocabulary.decode(ids) for side, ids in (
        (cleaned.source, cleaned.bitext.source[3]), (cleaned.target, cleaned.bitext.target[3])
    )] == [["bell"], ["x", "y"]]  # fmt: skip
    assert cleaned.counts.table == {
        "read": 9, "control characters replaced": 1, "empty": 2, "too long": 1, "length ratio": 1, "duplicate": 1,
        "kept": 4,
    }  # fmt: skip


def test_no_limits():
    assert prepared(max_length=None, max_ratio=None).rows.tolist() == [0, 3, 4, 5, 6, 7, 8]


def test_bad_limits():
    with pytest.raises(UserError, match="max_length is 0"):
        TextConfig(max_length=0)
    with pytest.raises(UserError, match=r"max_ratio is 0\.5"):
        TextConfig(max_ratio=0.5)


def test_counts_in_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="jaxsmt"):
        prepared()
    assert "law: read 9, control characters replaced 1, empty 2, too long 1, length ratio 1, kept 5" in caplog.text
