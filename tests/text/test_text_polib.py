"""Catalogues and XML as well-kept libraries read them: polib for PO and MO, defusedxml for what is refused."""

import polib
import pytest
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.documents.po import open_po
from jaxsmt.text.documents.xml_bytes import parse_xml
from jaxsmt.text.formats.catalogues import parse_po, read_mo
from jaxsmt.text.formats.tmx import read_tmx

WORDS = st.text(st.sampled_from("abé \"\\\n\t%s{}'_&—\u2028€"), min_size=1, max_size=60).filter(str.strip)
ENTRIES = st.lists(
    st.tuples(WORDS, st.one_of(st.just(""), WORDS), st.booleans(), st.one_of(st.none(), WORDS), st.booleans()),
    max_size=8, unique_by=lambda entry: entry[0],
)  # fmt: skip


def catalogue(entries, wrap):
    """A polib file of (msgid, msgstr, whether it is fuzzy, msgctxt, whether it has a plural)."""
    found = polib.POFile(wrapwidth=wrap)
    found.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": "en"}
    for number, (message, text, is_fuzzy, context, has_plural) in enumerate(entries):
        options = {"msgstr": text} if not has_plural else {
            "msgid_plural": message + "s", "msgstr_plural": {0: text, 1: text and text + "s"}
        }  # fmt: skip
        flags = ["fuzzy"] if is_fuzzy and text else []
        comment, places = ("note", [("a.c", str(number))]) if number % 2 else ("", [])
        found.append(
            polib.POEntry(msgid=message, msgctxt=context, flags=flags, comment=comment, occurrences=places, **options)
        )
    return found


def pairs_of(entries):
    """(msgid, msgstr) of what polib calls translated, on one line each."""
    found = []
    for entry in entries:
        texts = [(entry.msgid, entry.msgstr)]
        if entry.msgid_plural:
            texts = [(entry.msgid, entry.msgstr_plural[0]), (entry.msgid_plural, entry.msgstr_plural[1])]
        found += [tuple(" ".join(side.split()) for side in text) for text in texts]
    return found


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.sampled_from([0, 20, 78]))
def test_polib_reads_the_same(tmp_path_factory, entries, wrap):
    folder = tmp_path_factory.mktemp("polib")
    made = catalogue(entries, wrap)
    made.save(str(folder / "c.po"))
    made.save_as_mofile(str(folder / "c.mo"))
    read = polib.pofile(str(folder / "c.po"))
    assert list(parse_po(folder / "c.po").pairs()) == pairs_of(read.translated_entries())
    if read.translated_entries():
        assert sorted(read_mo(folder / "c.mo")) == sorted(pairs_of(polib.mofile(str(folder / "c.mo"))))


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.sampled_from([0, 20, 78]), WORDS)
def test_polib_finds_what_was_filled_in_and_nothing_else_changed(tmp_path_factory, entries, wrap, text):
    folder = tmp_path_factory.mktemp("polib")
    catalogue(entries, wrap).save(str(folder / "c.po"))
    document = open_po(folder / "c.po")
    (folder / "d.po").write_bytes(document.filled([text] * len(document.segments)))
    before, after = (polib.pofile(str(folder / name)) for name in ("c.po", "d.po"))
    for old, new in zip(before, after, strict=True):
        if not old.translated() and not old.fuzzy:
            assert new.fuzzy
            assert set(new.msgstr_plural.values() or [new.msgstr]) == {text}
            new.flags, new.msgstr, new.msgstr_plural = old.flags, old.msgstr, old.msgstr_plural
        assert new.__dict__ | {"linenum": 0} == old.__dict__ | {"linenum": 0}
    assert before.metadata == after.metadata


ATTACKS = [
    '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]><tmx>&b;</tmx>',
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>',
    '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/x.dtd"> %a;]><tmx/>',
    '<!DOCTYPE x [<!NOTATION n SYSTEM "n"><!ENTITY a SYSTEM "x.gif" NDATA n>]><tmx/>',
]


@pytest.mark.parametrize("text", ATTACKS)
def test_what_a_hardened_parser_refuses_is_refused(tmp_path, text):
    with pytest.raises(DefusedXmlException):
        fromstring(text)
    (tmp_path / "a.tmx").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="declares the XML entity 'a'"):
        parse_xml(tmp_path / "a.tmx")
    with pytest.raises(UserError, match="declares the XML entity 'a'"):
        list(read_tmx(tmp_path / "a.tmx", "fr", "en"))


def test_what_it_takes_is_taken(tmp_path):
    text = '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><a b="&lt;">é &#233; &amp;</a></tmx>'
    assert fromstring(text).tag == "tmx"
    (tmp_path / "a.tmx").write_text(text, encoding="utf-8")
    assert parse_xml(tmp_path / "a.tmx").root.name == "tmx"
