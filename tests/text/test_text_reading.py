"""Reading bitexts: every format, every compression, and one clear sentence for every broken input."""

import gzip
import lzma
import struct
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.formats.catalogues import strip_accelerators
from jaxsmt.text.formats.tmx import matches_language
from jaxsmt.text.reading import BitextSource, read_bitext

PAIRS = [("Bonjour, l'ami !", "Hello, friend!"), ("a\u2028b\x85c", "d\u00a0e"), ("", "empty")]


def two_files(folder, sources: bytes, targets: bytes) -> BitextSource:
    (folder / "text.fr").write_bytes(sources)
    (folder / "text.en").write_bytes(targets)
    return BitextSource(source=str(folder / "text.fr"), target=str(folder / "text.en"))


def one_file(folder, name: str, data: bytes, **options) -> BitextSource:
    (folder / name).write_bytes(data)
    return BitextSource(path=str(folder / name), **options)


def message_of(spec: BitextSource) -> str:
    with pytest.raises(UserError) as caught:
        list(read_bitext(spec))
    message = str(caught.value)
    assert "\n" not in message
    assert all(name in message for name in [spec.path or spec.source] if "text.en" not in message)
    return message


def tmx(units: list[dict[str, str]], attribute="xml:lang", head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">') -> bytes:
    body = "".join(
        "<tu>" + "".join(f'<tuv {attribute}="{lang}"><seg>{seg}</seg></tuv>' for lang, seg in unit.items()) + "</tu>"
        for unit in units
    )
    xml = f'<?xml version="1.0"?>{head}\n<tmx version="1.4"><header srclang="en"/>\n<body>{body}</body></tmx>'
    return xml.encode()


def mo(entries: list[tuple[bytes, bytes]], order="<") -> bytes:
    ids_at, texts_at = 28, 28 + 8 * len(entries)
    at, tables, strings = texts_at + 8 * len(entries), [b"", b""], b""
    for column in (0, 1):
        for entry in entries:
            tables[column] += struct.pack(order + "2I", len(entry[column]), at)
            strings += entry[column] + b"\0"
            at += len(entry[column]) + 1
    head = struct.pack(order + "7I", 0x950412DE, 0, len(entries), ids_at, texts_at, 0, 0)
    return head + tables[0] + tables[1] + strings


# ── the formats


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_two_files(tmp_path, pack, end):
    columns = ["".join(line + end for line in side).encode() for side in zip(*PAIRS, strict=True)]
    assert list(read_bitext(two_files(tmp_path, pack(columns[0]), pack(columns[1])))) == PAIRS


def test_byte_order_mark_and_missing_last_line_end(tmp_path):
    spec = two_files(tmp_path, b"\xef\xbb\xbfun\ndeux", b"one\ntwo\n")
    assert list(read_bitext(spec)) == [("un", "one"), ("deux", "two")]


@pytest.mark.parametrize(("name", "pack"), [("t.tsv", bytes), ("t.tsv.gz", gzip.compress), ("t.tsv.xz", lzma.compress)])
def test_tsv(tmp_path, name, pack):
    spec = one_file(tmp_path, name, pack(b"1\tone\tun\n2\ttwo\tdeux\n"), source_column=3, target_column=2)
    assert list(read_bitext(spec)) == [("un", "one"), ("deux", "two")]


@pytest.mark.parametrize("attribute", ["xml:lang", "lang"])
def test_tmx(tmp_path, attribute):
    units = [
        {"en-GB": "A &amp; <hi>bold</hi>\n move", "FR-fr": "Un <bpt i='1'>&lt;b&gt;</bpt>coup<ept>&lt;/b&gt;</ept>"},
        {"en-GB": "only English", "de": "nur Englisch"},
        {"fr": "premier", "fr-CA": "second", "en": "first"},
    ]
    spec = one_file(tmp_path, "m.tmx", tmx(units, attribute), source_language="fr", target_language="en")
    assert list(read_bitext(spec)) == [("Un coup", "A & bold move"), ("premier", "first")]


def test_tmx_longer_than_a_block_and_in_utf16(tmp_path):
    units = [{"fr": f"é{i}", "en": f"e{i}"} for i in range(3000)]
    data = tmx(units).decode().encode("utf-16")
    spec = one_file(tmp_path, "m.tmx.gz", gzip.compress(data), source_language="fr", target_language="en")
    assert list(read_bitext(spec)) == [(unit["fr"], unit["en"]) for unit in units]


plain_text = st.text(st.characters(exclude_categories=["C", "Z"])).map(str.strip)


@given(st.lists(st.tuples(plain_text, plain_text), min_size=1, max_size=5))
def test_tmx_round_trip(tmp_path_factory, pairs):
    data = tmx([{"fr": escape(a), "en": escape(b)} for a, b in pairs])
    spec = one_file(tmp_path_factory.mktemp("t"), "m.tmx", data, source_language="fr", target_language="en")
    assert list(read_bitext(spec)) == pairs


def test_language_tags():
    assert matches_language("fr", "fr-FR")
    assert matches_language("FR", "fr_CA")
    assert matches_language("fr-CA", "fr-ca")
    assert not matches_language("fr", "fro")
    assert not matches_language("fr-CA", "fr-FR")


CATALOGUE = r"""# Header
msgid ""
msgstr ""
"Content-Type: text/plain; charset=ISO-8859-1\n"

#. a comment
#: file.c:1
msgctxt "menu"
msgid "_Open\tfile"
msgstr "_Ouvrir"

#, c-format
#| msgid "old"
msgid "%d summer"
msgid_plural "%d summers"
msgstr[0] "%d été"
msgstr[1] "%d étés"

#, fuzzy, c-format
msgid "fuzzy"
msgstr "flou"

msgid "untranslated"
msgstr ""

msgid ""
"two \"quoted\" "
"lines\n"
msgstr "deux lignes \303\200\\"
msgid "close"
msgstr "fermer"

#, fuzzy
#~ msgid "obsolete"
#~ msgstr "obsolète"

msgid "last"
msgstr "dernier"
""".replace("\\303\\200", "\\x41")
EXPECTED = [
    ("_Open file", "_Ouvrir"),
    ("%d summer", "%d été"),
    ("%d summers", "%d étés"),
    ('two "quoted" lines', "deux lignes A\\"),
    ("close", "fermer"),
    ("last", "dernier"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_po(tmp_path, end):
    spec = one_file(tmp_path, "c.po", CATALOGUE.replace("\n", end).encode("iso-8859-1"))
    assert list(read_bitext(spec)) == EXPECTED
    turned = one_file(tmp_path, "c.po", CATALOGUE.encode("iso-8859-1"), msgid_is="target", accelerators="_")
    assert list(read_bitext(turned))[:2] == [("Ouvrir", "Open file"), ("%d été", "%d summer")]


@pytest.mark.parametrize(
    ("header", "languages", "expected"),
    [
        ("Language: fr_CA", ("en", "fr"), ("close", "fermer")),
        ("Language: fr", ("fr-FR", "en"), ("fermer", "close")),
        ("Language: ", ("en", "fr"), ("close", "fermer")),  # messages are English where nobody says
        ("X: y", ("fr", "en"), ("fermer", "close")),
    ],
)
def test_the_header_of_a_catalogue_decides_the_direction(tmp_path, header, languages, expected):
    text = (
        f'msgid ""\nmsgstr "{header}\\nContent-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "close"\nmsgstr "fermer"\n'
    )
    codes = dict(zip(("source_language", "target_language"), languages, strict=True))
    assert list(read_bitext(one_file(tmp_path, "c.po", text.encode(), **codes))) == [expected]
    entries = [(b"", header.encode() + b"\n"), (b"close", b"fermer")]
    assert list(read_bitext(one_file(tmp_path, "c.mo", mo(entries, "<"), **codes))) == [expected]


@pytest.mark.parametrize(
    ("header", "options", "sentence"),
    [
        ("Language: fr", ("fr", "en", "source"), "so that its messages are the target side: set msgid_is to auto"),
        ("Language: de", ("fr", "en", "auto"), "has translations into 'de', as its header says"),
        ("X: y", ("fr", "de", "auto"), "does not say which language its translations are in: set msgid_is"),
    ],
)
def test_a_catalogue_that_goes_another_way_stops(tmp_path, header, options, sentence):
    text = f'msgid ""\nmsgstr "{header}\\n"\n\nmsgid "close"\nmsgstr "fermer"\n'
    codes = dict(zip(("source_language", "target_language", "msgid_is"), options, strict=True))
    with pytest.raises(UserError, match=sentence):
        list(read_bitext(one_file(tmp_path, "c.po", text.encode(), **codes)))


@pytest.mark.parametrize("order", ["<", ">"])
def test_mo(tmp_path, order):
    entries = [
        (b"", b"Content-Type: text/plain; charset=ISO-8859-1\n"),
        (b"%d summer\0%d summers", "%d été\0%d étés".encode("iso-8859-1")),
        (b"empty", b""),
        (b"menu\x04Open", b"Ouvrir\n"),
    ]
    spec = one_file(tmp_path, "c.mo", mo(entries, order))
    assert list(read_bitext(spec)) == [("%d summer", "%d été"), ("%d summers", "%d étés"), ("Open", "Ouvrir")]


@given(st.lists(st.tuples(plain_text.filter(bool), plain_text.filter(bool)), min_size=1, max_size=5))
def test_po_and_mo_round_trip(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("c")
    quote = [[side.replace("\\", "\\\\").replace('"', '\\"') for side in pair] for pair in pairs]
    po = "\n".join(f'msgid "{a}"\nmsgstr "{b}"\n' for a, b in quote).encode()
    assert list(read_bitext(one_file(folder, "c.po", po))) == pairs
    assert list(read_bitext(one_file(folder, "c.mo", mo([(a.encode(), b.encode()) for a, b in pairs])))) == pairs


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("E_xit", "_Quitter"), ("Exit", "Quitter")),
        (("_File", "檔案 (_F)"), ("File", "檔案")),
        (("S&ave", "&Enregistrer"), ("Save", "Enregistrer")),
        (("set max_size", "fixer max_size"), ("set max_size", "fixer max_size")),
        (("a_b c_d", "_x"), ("a_b c_d", "x")),
        (("R & D &amp;", "x &amp; y"), ("R & D &amp;", "x &amp; y")),
        (("_Options", "_Options"), ("Options", "Options")),
    ],
)
def test_accelerators(pair, expected):
    assert strip_accelerators(pair, "_&") == expected
    assert strip_accelerators(pair, "") == pair


# ── what can be wrong


def test_missing_file(tmp_path):
    spec = BitextSource(source=str(tmp_path / "no.fr"), target=str(tmp_path / "no.en"))
    assert "no.fr' does not exist" in message_of(spec)
    for name in ("no.tsv", "no.tmx", "no.po", "no.mo"):
        spec = BitextSource(path=str(tmp_path / name), source_language="fr", target_language="en")
        assert "does not exist" in message_of(spec)


def test_folder_instead_of_a_file(tmp_path):
    assert "is a folder" in message_of(BitextSource(source=str(tmp_path), target=str(tmp_path / "text.en")))


@pytest.mark.parametrize(("sources", "targets"), [(5, 3), (3, 5)])
def test_unequal_line_counts(tmp_path, sources, targets):
    message = message_of(two_files(tmp_path, b"a\n" * sources, b"b\n" * targets))
    assert f"text.fr' has {sources} lines" in message
    assert f"text.en' has {targets}" in message


def test_bad_utf8(tmp_path):
    message = message_of(two_files(tmp_path, b"un\nd\xe9j\xe0\n", b"one\ntwo\n"))
    assert "text.fr' line 2 is not UTF-8 (byte 2 of the line is 0xe9)" in message
    assert "line 1 is UTF-16" in message_of(two_files(tmp_path, "un\n".encode("utf-16"), b"one\n"))
    assert "line 2 is not UTF-8" in message_of(one_file(tmp_path, "t.tsv", b"a\tb\nc\t\xff\n"))
    assert "line 2 is not UTF-8" in message_of(one_file(tmp_path, "t.po", b'msgid "a"\nmsgstr "\xe9"\n'))
    assert "entry 1 is not utf-8" in message_of(one_file(tmp_path, "t.mo", mo([(b"a", b"\xe9")])))


@pytest.mark.parametrize("name", ["e.tsv", "e.tsv.gz", "e.tsv.xz", "e.tmx", "e.po", "e.mo"])
def test_empty_file(tmp_path, name):
    assert "is empty" in message_of(one_file(tmp_path, name, b"", source_language="fr", target_language="en"))


def test_empty_plain_file(tmp_path):
    assert "text.fr' is empty" in message_of(two_files(tmp_path, b"", b"a\n"))
    assert "text.en' is empty" in message_of(two_files(tmp_path, b"a\n", b""))
    assert "text.fr' is empty" in message_of(two_files(tmp_path, b"", b""))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_broken_compression(tmp_path, pack):
    packed = pack(b"".join(b"%d\tx%d\n" % (i, i * i) for i in range(5000)))
    assert "is broken or truncated" in message_of(one_file(tmp_path, "t.tsv", packed[: len(packed) // 2]))
    damaged = packed[:60] + bytes(200) + packed[260:]
    assert "is broken or truncated" in message_of(one_file(tmp_path, "t.tsv", damaged))


@pytest.mark.parametrize("suffix", ["gz", "xz"])
def test_name_without_compression(tmp_path, suffix):
    message = message_of(one_file(tmp_path, f"t.tsv.{suffix}", b"a\tb\n"))
    assert f"although its name ends in .{suffix}" in message


def test_too_few_columns(tmp_path):
    assert "line 2 has 1 tab-separated columns and column 2" in message_of(one_file(tmp_path, "t.tsv", b"a\tb\nc\n"))


def test_tmx_without_the_languages(tmp_path):
    data = tmx([{"en-GB": "a", "fr-FR": "b"}, {"en-GB": "c"}, {"it": "d"}])
    message = message_of(one_file(tmp_path, "m.tmx", data, source_language="de", target_language="en"))
    assert "no text in 'de', its languages are 'en-GB', 'fr-FR', 'it'" in message
    message = message_of(one_file(tmp_path, "m.tmx", data, source_language="it", target_language="en"))
    assert "no unit with both 'it' and 'en'" in message
    assert "set source_language" in message_of(one_file(tmp_path, "m.tmx", data))
    message = message_of(one_file(tmp_path, "m.tmx", tmx([]), source_language="it", target_language="en"))
    assert "its languages are none" in message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"<tmx>\n<body>\n</tmx>", "not well-formed XML at line 3"),
        (b"<tmx>\n<body>", "not well-formed XML at line 2"),
        (b"plain text", "not well-formed XML at line 1"),
        (b"<html/>", "not TMX, its root element is <html>"),
        (b'<?xml version="1.0" encoding="x-none"?><tmx/>', "in an encoding that is not known"),
        (b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx>&a;</tmx>', "declares the XML entity 'a'"),
        (b'<!DOCTYPE tmx [<!ENTITY a SYSTEM "/etc/passwd">]><tmx>&a;</tmx>', "declares the XML entity 'a'"),
    ],
)
def test_malformed_tmx(tmp_path, data, expected):
    assert expected in message_of(one_file(tmp_path, "m.tmx", data, source_language="fr", target_language="en"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'msgid "a"\nmsgstr "b\n', "line 2 has a string that does not end"),
        (b'"a"\n', "line 1 is a string without a keyword"),
        (b'msgid "a"\nnonsense\n', "line 2 is not PO syntax"),
        (b'msgid "a"\nmsgstr ""\n', "has no translated entry"),
        (b'msgid ""\nmsgstr "Content-Type: text/plain; charset=klingon\\n"\n', "charset is 'klingon'"),
    ],
)
def test_malformed_po(tmp_path, data, expected):
    assert expected in message_of(one_file(tmp_path, "c.po", data))


def test_malformed_mo(tmp_path):
    assert "is not an MO file (it starts with 61 62 63 64)" in message_of(one_file(tmp_path, "c.mo", b"abcdefgh"))
    good = mo([(b"a", b"b")])
    for end in (10, 30, len(good) - 3):
        assert "is truncated" in message_of(one_file(tmp_path, "c.mo", good[:end]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "either two files"),
        ({"source": "a"}, "either two files"),
        ({"source": "a", "path": "b"}, "either two files"),
        ({"source": "a", "target": "b", "path": "c"}, "either two files"),
        ({"path": "a.tsv", "source_column": 0}, "columns count from 1"),
        ({"path": "a", "format": "tmz"}, "format is 'tmz': set it to one of auto"),
        ({"path": "a.po", "msgid_is": "left"}, "msgid_is is 'left'"),
    ],
)
def test_bad_specifications(options, expected):
    with pytest.raises(UserError, match=expected):
        BitextSource(**options)


def test_format_that_cannot_be_told(tmp_path):
    assert "set format to one of tsv, tmx, po, mo" in message_of(one_file(tmp_path, "a.dat", b"a\tb\n"))
    assert list(read_bitext(one_file(tmp_path, "a.dat", b"a\tb\n", format="tsv"))) == [("a", "b")]
