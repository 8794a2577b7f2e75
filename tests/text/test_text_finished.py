"""Finished translations of documents: which they are, how a model sees them, and where they are used again."""

import pytest

from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.documents.finished import collect_finished, finished_lines
from jaxsmt.text.documents.memory import open_memory
from jaxsmt.text.documents.po import open_po
from jaxsmt.text.documents.tsv import open_tsv
from jaxsmt.text.documents.xliff import open_xliff

PO = """msgid ""
msgstr "Language: en\\n"

#, c-format
msgid "Le train %s"
msgstr "The train %s"

msgid "%d train"
msgid_plural "%d trains"
msgstr[0] "%d train."
msgstr[1] "%d trains."

#, fuzzy
msgid "flou"
msgstr "fuzzy"

msgid "vide"
msgstr ""

#~ msgid "vieux"
#~ msgstr "old"
"""
XLIFF = """<xliff version="1.2"><file source-language="fr" target-language="en"><body>
<trans-unit><source>un</source><target>one</target></trans-unit>
<trans-unit><source>deux</source><target state="needs-review-translation">two</target></trans-unit>
<trans-unit><source>trois</source><target state="translated" state-qualifier="mt-suggestion">three</target></trans-unit>
<trans-unit><source>quatre</source><target state="final">four</target></trans-unit>
<trans-unit><source>cinq</source><target state="new">cinq</target></trans-unit>
<trans-unit><source>six</source><target/></trans-unit>
</body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="fr" trgLang="en"><file id="f"><unit id="u">
<segment state="translated" subState="jaxsmt:mt"><source>un</source><target>one</target></segment>
<segment state="reviewed"><source>deux</source><target>two</target></segment>
<segment><source>trois</source><target>three</target></segment>
<segment state="initial"><source>quatre</source><target>four</target></segment>
</unit></file></xliff>"""
TMX = """<tmx version="1.4"><header srclang="fr"/><body>
<tu><tuv xml:lang="fr"><seg>un</seg></tuv><tuv xml:lang="en"><seg>one &amp; only</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>deux</seg></tuv><tuv xml:lang="en" creationid="MT!"><seg>two</seg></tuv></tu>
<tu changeid="MT!"><tuv xml:lang="fr"><seg>trois</seg></tuv><tuv xml:lang="en"><seg>three</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>quatre</seg></tuv></tu>
</body></tmx>"""
TSV = "un\tone\ndeux\ttwo\tmachine translation\ntrois\t\nquatre\n\nsix\tsix\tnote"


@pytest.mark.parametrize(
    ("name", "text", "open_fn", "expected"),
    [
        ("c.po", PO, open_po, {"Le train %s": "The train %s", "%d train": "%d train.", "%d trains": "%d trains."}),
        ("c.xlf", XLIFF, open_xliff, {"un": "one", "quatre": "four"}),
        ("d.xlf", XLIFF_2, open_xliff, {"deux": "two", "trois": "three"}),
        ("c.tmx", TMX, lambda path: open_memory(path, "fr", "en"), {"un": "one &amp; only"}),
        ("c.tsv", TSV, lambda path: open_tsv(path, 1, 2), {"un": "one", "six": "six"}),
    ],
)
def test_what_waits_for_no_review_is_finished(tmp_path, name, text, open_fn, expected):
    (tmp_path / name).write_text(text, encoding="utf-8")
    document = open_fn(tmp_path / name)
    assert {part.source.text: part.target for part in document.finished} == expected
    filled = document.filled([part.text.upper() for part in document.segments])
    (tmp_path / name).write_bytes(filled)
    again = open_fn(tmp_path / name)
    assert {part.source.text: part.target for part in again.finished} == expected  # nothing that a machine wrote
    if name == "c.po":
        assert [part.source.is_c for part in document.finished] == [True, False, False]


def pair(source, target, **options):
    return FinishedText(Segment(source, 1, **options), target)


def stood_in(text, *marks):
    """Marks are characters of the private use area, in the order of the source."""
    for number, mark in enumerate(marks):
        text = text.replace(mark, chr(0xE000 + number), 1)
    return text


def test_lines_have_the_same_stand_ins_on_both_sides():
    texts = [
        pair("de %s à %2$d", "from %2$d to %s"),
        pair("_Ouvrir\nla porte", "_Open\nthe door"),
        pair("un <b>gros</b> train", "a <b>big</b> train"),
        pair("A &lt; B &amp; C", "C &amp; B", is_xml=True),
        pair("perdu %s", "lost"),  # a placeholder is missing
        pair("neuf", "new %s"),
        pair("une\nligne", "one line"),
        pair("42", "forty-two"),  # nothing to translate
        pair("{n, plural, one {un}}", "{n, plural, one {one}}"),
        pair("de %s à %2$d", "from %2$d to %s"),  # once is enough
    ]
    assert finished_lines(texts, "_") == [
        (stood_in("de %s à %2$d", "%s", "%2$d"), stood_in("from %2$d to %s", "%s", "%2$d")),
        ("Ouvrir", "Open"),
        ("la porte", "the door"),
        ("un gros train", "a big train"),
        ("A < B & C", "C & B"),
    ]


def test_the_same_text_has_the_translation_it_had():
    known = collect_finished(
        [
            pair("_Oui", "_Yes"), pair("non", "nope"), pair("non", "no"), pair("non", "no"), pair("si", "yes"),
            pair("si", "if"), pair("A &amp; B", "B &amp; A", is_xml=True),
            pair("<g>x</g>", "<g>y</g>", is_xml=True), pair("gras", "<b>bold</b>", is_xml=True),
        ]
    )  # fmt: skip
    expected = {"_Oui": "_Yes", "non": "no", "si": "yes", "A & B": "B & A", "Oui": None, "<g>x</g>": None, "gras": None}
    assert {text: known.find(Segment(text, 1)) for text in expected} == expected
    in_xml = {"A &amp; B": "B &amp; A", "<g>x</g>": "<g>y</g>", "gras": "<b>bold</b>", "non": "no"}
    assert {text: known.find(Segment(text, 1, is_xml=True)) for text in in_xml} == in_xml
