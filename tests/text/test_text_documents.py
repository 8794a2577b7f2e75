"""Documents that are filled in: what was there stays, placeholders and markup come through or nothing is written."""

import random
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.text.documents.memory import open_memory
from jaxsmt.text.documents.messages import Rendering, make_message
from jaxsmt.text.documents.po import open_po
from jaxsmt.text.documents.tsv import MARK, open_tsv
from jaxsmt.text.documents.units import MarkedUnit, split_units
from jaxsmt.text.documents.xliff import open_xliff
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.vocabulary import Vocabulary

SIDES = tuple(TextSide(code, TextConfig(case="none"), Vocabulary(())) for code in ("fr", "en"))


def upper(line, careful=False, order=None):
    """A translator that writes words in capitals, in another order if one is given; units stay."""
    source, target = SIDES
    tokens = source.preprocess(line.source(careful))
    places = [order[place] for place in range(len(tokens))] if order else list(range(len(tokens)))
    words = [tokens[place].upper() for place in places]
    links = [(source_place, place) for place, source_place in enumerate(places)]
    return Rendering(target.postprocess(words), words, links)


def translated(text, **options):
    """A message through `upper`, carefully where it must be."""
    message = make_message(text, **options)
    lines = []
    for line in message.lines:
        found = line.restored(upper(line), SIDES) if line.has_words else line.untranslated
        lines.append(found if found is not None else line.restored(upper(line, True), SIDES, careful=True))
    return message.joined(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("le fichier %s", "LE FICHIER %s"),
        ("%(nom)s de %1$d {0} ${var} %-5.2f {name!r:>5} %%", "%(nom)s DE %1$d {0} ${var} %-5.2f {name!r:>5} %%"),
        ("le %dth %<PRIu64> %pB %*.*s %5$-*6$ld de %1 %s%s", "LE %dTH %<PRIu64> %pB %*.*s %5$-*6$ld DE %1 %s%s"),
        ("Click <b>ici</b>.", "CLICK <b>ICI</b>."),
        ('<a href="x>y">tout <i>cela</i> va</a>', '<a href="x>y">TOUT <i>CELA</i> VA</a>'),
        ("un<br/>deux", "UN<br/>DEUX"),
        ("de l'H<sub>2</sub>O pure", "DE L'H<sub>2</sub>O PURE"),
        ("  avec\n\n\tdes lignes \n", "  AVEC\n\n\tDES LIGNES \n"),
        ("des lignes\\navec des codes", "DES LIGNES\\nAVEC DES CODES"),
        ("&amp; voici l&eacute;gume", "&amp; VOICI L&eacute;GUME"),
        ("a < b et c > d", "A < B ET C > D"),
        ("<%s>", "<%s>"),
        ("42 %", "42 %"),
        ("", ""),
    ],
)
def test_units_come_through(text, expected):
    assert translated(text) == expected


def test_a_space_is_a_flag_in_c():
    assert translated("% déjà % d", is_c=True) == "% dÉJÀ % d"
    assert translated("% déjà") == "% DÉJÀ"


def test_accelerators_go_to_a_fitting_letter():
    assert translated("&Fermer le fichier", accelerators="&") == "&FERMER LE FICHIER"
    assert translated("fer_mer", accelerators="_&") == "FER_MER"
    assert translated("A && B", accelerators="&") == "A && B"
    assert translated("&eacute;t&eacute;", accelerators="&") == "&eacute;T&eacute;"
    line = make_message("&Quitter", "&").lines[0]
    assert line.restored(Rendering("Exit", ["Exit"], [(0, 0)]), SIDES) == "&Exit"


def test_tags_move_with_their_words():
    line = make_message("un <b>chat noir</b> dort").lines[0]
    rendering = Rendering("Black cat one sleeps", ["Black", "cat", "one", "sleeps"], [(0, 2), (1, 1), (2, 0), (3, 3)])
    assert line.restored(rendering, SIDES) == "<b>Black cat</b> one sleeps"
    apart = Rendering("Black one cat", ["Black", "one", "cat"], [(2, 0), (0, 1), (1, 2)])
    assert line.restored(apart, SIDES) is None  # a foreign word is between
    lost = Rendering("One sleeps", ["One", "sleeps"], [(0, 0), (3, 1)])
    assert line.restored(lost, SIDES) is None


def test_what_does_not_check_is_refused():
    line = make_message("%s de %d pour {0}").lines[0]
    one, two, three = line.source().split()[::2]
    good = f"{three} for {one} {two}"
    for text, is_right in ((good, True), (f"{three} {two} {one}", False), (f"{one} {two}", False),
                           (f"{one} {one} {two} {three}", False), (f"{one} {two} {three} %x", False)):  # fmt: skip
        found = line.restored(Rendering(text, text.split(), []), SIDES)
        assert (found is not None) == is_right, text
    assert make_message("{n, plural, one {un} other {#}}").is_refused
    assert make_message("\ue000").is_refused
    assert translated("{n, plural, one {un} other {#}}") is None
    nested = make_message("a <b>c</b> <i>d</i>").lines[0]
    crossed = nested.source(True).split()
    text = " ".join(crossed[place] for place in (0, 1, 2, 4, 3, 5, 6))
    assert nested.restored(Rendering(text, text.split(), []), SIDES, careful=True) is None


def test_any_order_of_words_keeps_all_units_or_gives_up():
    rng, num_kept = random.Random(0), 0
    pieces = ["un", "deux", "%s", "<b>", "</b>", "<i>", "</i>", "{0}", "trois", "%(x)s", "<br/>"]
    for _ in range(300):
        text = " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 9)))
        line = make_message(text).lines[0]
        num = len(SIDES[0].preprocess(line.source()))
        order = rng.sample(range(num), num)
        found = line.restored(upper(line, order=order), SIDES)
        if found is None:
            continue
        num_kept += 1
        raws = [sorted(p.raw for p in split_units(part) if isinstance(p, MarkedUnit)) for part in (text, found)]
        assert raws[0] == raws[1]
        kinds = [[p.kind for p in split_units(part) if isinstance(p, MarkedUnit)] for part in (text, found)]
        num_alone = text.count("<br/>") + sum(text.count(part) for part in ("%s", "{0}", "%(x)s"))
        if kinds[0].count("alone") == num_alone:  # all other tags have partners: they still have
            assert sorted(kinds[0]) == sorted(kinds[1])
    assert num_kept > 100


CATALOGUE = """# Un catalogue
msgid ""
msgstr ""
"Language: en_GB\\n"
"Content-Type: text/plain; charset=ISO-8859-1\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: a.c:1
#, c-format
msgid "Le été %s"
msgstr ""

#| msgid "avant"
msgid ""
"Deux \\"lignes\\"\\n"
"ici\\n"
msgstr ""

msgctxt "menu"
msgid "%d fichier"
msgid_plural "%d fichiers"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "flou"
msgstr ""

msgid "fini"
msgstr "done"

#~ msgid "vieux"
#~ msgstr ""
"""
FILLED = (
    CATALOGUE.replace("#, c-format", "#, fuzzy, c-format")
    .replace('"Le été %s"\nmsgstr ""', '"Le été %s"\nmsgstr "LE ÉTÉ %s"')
    .replace("#| msgid", "#, fuzzy\n#| msgid")
    .replace('ici\\n"\nmsgstr ""', 'ici\\n"\nmsgstr ""\n"DEUX \\"LIGNES\\"\\n"\n"ICI\\n"')
    .replace("msgctxt", "#, fuzzy\nmsgctxt")
    .replace('msgstr[0] ""', 'msgstr[0] "%d FICHIER"')
    .replace('msgstr[1] ""', 'msgstr[1] "%d FICHIERS"')
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_po_differs_only_in_what_was_filled_in(tmp_path, end):
    data = CATALOGUE.replace("\n", end).encode("iso-8859-1")
    (tmp_path / "c.po").write_bytes(data)
    document = open_po(tmp_path / "c.po")
    assert document.languages == ("", "en-GB")
    assert document.num_translated == 1
    assert [part.line for part in document.segments] == [10, 14, 20, 21]
    texts = [translated(part.text) for part in document.segments]
    assert document.filled(texts) == FILLED.replace("\n", end).encode("iso-8859-1")
    assert document.filled([None] * len(texts)) == data
    half = document.filled([None, None, texts[2], None])  # one form of an entry is not enough
    assert half == data


def test_forms_with_other_placeholders_are_all_of_the_plural(tmp_path):
    (tmp_path / "c.po").write_text('msgid "un de %s"\nmsgid_plural "%d de %s"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    document = open_po(tmp_path / "c.po")
    assert [part.text for part in document.segments] == ["%d de %s"]
    assert document.filled(["%d OF %s"]).count(b'"%d OF %s"') == 2


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
def test_msgfmt_takes_what_was_filled_in(tmp_path):
    (tmp_path / "c.po").write_text(CATALOGUE.replace("ISO-8859-1", "UTF-8"), encoding="utf-8")
    document = open_po(tmp_path / "c.po")
    (tmp_path / "d.po").write_bytes(document.filled([translated(part.text) for part in document.segments]))
    command = ["msgfmt", "--check-format", "--check-header", "--use-fuzzy", "-o", "d.mo", "d.po"]
    assert subprocess.run(command, capture_output=True, check=False, cwd=tmp_path).returncode == 0


XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="fr" target-language="en-GB">
 <body><!-- <source>non</source> -->
  <trans-unit id="1" resname="a &gt; b">
    <source>Le <g id="1">train</g> &amp; <x id="2"/>midi</source>
  </trans-unit>
  <trans-unit id="2"><source>été</source><target state="new"/></trans-unit>
  <trans-unit id="3"><source>non</source><target  state='final' >no</target></trans-unit>
  <trans-unit id="4" translate="no"><source>jamais</source></trans-unit>
  <trans-unit id="5"><source>copie</source><target xml:lang="en" state="new">copie</target></trans-unit>
 </body></file></xliff>
"""
MARKS = 'state="needs-review-translation" state-qualifier="mt-suggestion"'


def test_xliff_1(tmp_path):
    (tmp_path / "a.xlf").write_text(XLIFF, encoding="utf-8")
    document = open_xliff(tmp_path / "a.xlf")
    assert (document.languages, document.num_translated, len(document.segments)) == (("fr", "en-GB"), 1, 3)
    filled = document.filled([translated(part.text, is_xml=True) for part in document.segments]).decode("utf-8")
    first = f'<target {MARKS}>LE <g id="1">TRAIN</g> &amp; <x id="2"/>MIDI</target>'
    expected = (
        XLIFF.replace("</source>\n  </t", f"</source>\n    {first}\n  </t")
        .replace('<target state="new"/>', f"<target {MARKS}>ÉTÉ</target>")
        .replace('<target xml:lang="en" state="new">copie<', f'<target xml:lang="en" {MARKS}>COPIE<')
    )
    assert filled == expected
    ElementTree.fromstring(filled)


def test_an_xliff_document_has_one_pair_of_languages(tmp_path):
    more = '<file source-language="de" target-language="en"/></xliff>'
    (tmp_path / "a.xlf").write_text(XLIFF.replace("</xliff>", more), encoding="utf-8")
    with pytest.raises(UserError, match=r"several languages \('fr' to 'en-GB', 'de' to 'en'\)"):
        open_xliff(tmp_path / "a.xlf")


XLIFF_2 = """<xliff version="2.0" srcLang="fr" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="u">
  <segment id="s"><source>Le <pc id="1">train</pc> {0}</source></segment>
  <segment state="final"><source>non</source><target>no</target></segment>
</unit></file></xliff>"""


def test_xliff_2(tmp_path):
    (tmp_path / "a.xliff").write_text(XLIFF_2, encoding="utf-8")
    document = open_xliff(tmp_path / "a.xliff")
    assert (document.languages, document.num_translated) == (("fr", "en"), 1)
    filled = document.filled([translated(part.text, is_xml=True) for part in document.segments]).decode("utf-8")
    target = '<target>LE <pc id="1">TRAIN</pc> {0}</target>'
    expected = XLIFF_2.replace('<segment id="s">', '<segment id="s" state="translated" subState="jaxsmt:mt">')
    assert filled == expected.replace("{0}</source>", "{0}</source>" + target)


MEMORY = """<?xml version="1.0" encoding="ISO-8859-1"?>
<tmx version="1.4"><header srclang="fr"/><body>
<tu>
  <tuv xml:lang="FR-fr"><seg>Le <ph x="1">&lt;br&gt;</ph>train</seg></tuv>
</tu>
<tu><tuv xml:lang="fr"><seg>vide</seg></tuv><tuv xml:lang="en"><seg/></tuv></tu>
<tu><tuv xml:lang="fr"><seg>non</seg></tuv><tuv xml:lang="en"><seg>no</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>nein</seg></tuv></tu>
</body></tmx>"""


def test_tmx(tmp_path):
    (tmp_path / "a.tmx").write_text(MEMORY, encoding="iso-8859-1")
    document = open_memory(tmp_path / "a.tmx", "fr", "en")
    assert document.num_translated == 1
    texts = [translated(part.text, is_xml=True) for part in document.segments]
    new = '\n  <tuv xml:lang="en" creationid="MT!"><seg>LE <ph x="1">&lt;br&gt;</ph>TRAIN</seg></tuv>'
    expected = MEMORY.replace("train</seg></tuv>", "train</seg></tuv>" + new).replace(
        '<tuv xml:lang="en"><seg/>', '<tuv xml:lang="en" changeid="MT!"><seg>VIDE</seg>'
    )
    assert document.filled(texts).decode("iso-8859-1") == expected
    assert "&#9731;" in document.filled(["\u2603", None]).decode("iso-8859-1")
    with pytest.raises(UserError, match="no text in 'pl', its languages are 'FR-fr', 'fr', 'en', 'de'"):
        open_memory(tmp_path / "a.tmx", "pl", "en")


def test_tsv(tmp_path):
    (tmp_path / "a.tsv").write_text("été\t\r\nnon\tno\nseul\n\n\tx", encoding="utf-8", newline="")
    document = open_tsv(tmp_path / "a.tsv", 1, 2)
    filled = document.filled([translated(part.text) for part in document.segments]).decode("utf-8")
    assert filled == f"été\tÉTÉ\t{MARK}\r\nnon\tno\nseul\tSEUL\t{MARK}\n\n\tx"
    assert document.num_translated == 2
    with pytest.raises(UserError, match="give two, from 1 on"):
        open_tsv(tmp_path / "a.tsv", 1, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("<xliff>", "not well-formed XML at line 1"),
        ("<html/>", "its root element is <html>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><xliff/>', "declares the XML entity 'a'"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>', "declares the XML entity 'a'"),
        ('<?xml version="1.0" encoding="klingon"?><xliff/>', "klingon"),
    ],
)
def test_broken_documents_are_named(tmp_path, text, sentence):
    (tmp_path / "a.xlf").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        open_xliff(tmp_path / "a.xlf")
