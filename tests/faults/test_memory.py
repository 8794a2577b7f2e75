"""Files made to fill the memory are refused with a sentence, and little is taken before."""

import gzip
import io
import lzma
import tracemalloc
from functools import partial

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity import limits
from jaxsmt.common.integrity.limits import InputLimits, setup_limits
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.pipeline.standard import input_lines
from jaxsmt.text.documents.memory import open_memory
from jaxsmt.text.documents.tsv import open_tsv
from jaxsmt.text.documents.xliff import open_xliff
from jaxsmt.text.formats.catalogues import parse_po, read_mo
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.streams import count_lines, read_lines
from jaxsmt.tm.moses.tables import read_scored_table
from jaxsmt.tune.nbest import read_nbest

BOMB_BYTES = 48 << 20  # unpacked; 50 kB packed
LIMITS = InputLimits(line=100_000, document=1_000_000, unpacked=100)
MOST_MEMORY = 12 << 20  # 64 times less than unpacking the whole and decoding it takes
ARPA = b"\\data\\\nngram 1=3\n\n\\1-grams:\n"
TMX = b'<tmx><body><tu><tuv xml:lang="fr"><seg>'
XLIFF = b'<xliff version="1.2"><file><body><trans-unit id="1"><source>'


@pytest.fixture(autouse=True)
def _small_limits():
    setup_limits(LIMITS)
    yield
    setup_limits()


def consumed(lines):
    for _ in lines:
        pass


def tmx_pairs(path):
    consumed(read_bitext(BitextSource(path=str(path), format="tmx", source_language="fr", target_language="en")))


READERS = {
    "lines": (lambda path: consumed(read_lines(path)), b"", b"a", "line 1 has more than 100000 bytes"),
    "a later line": (lambda path: consumed(read_lines(path)), b"one\ntwo\n", b"a", "line 3 has more than 100000 bytes"),
    "n-best lists": (read_nbest, b"0 ||| ", b"a", "line 1 has more than"),
    "ARPA": (read_arpa, ARPA, b"-1 a", "line 5 has more than"),
    "phrase table": (read_scored_table, b"a ||| b ||| ", b"1 ", "line 1 has more than"),
    "TSV": (
        lambda path: consumed(read_bitext(BitextSource(path=str(path), format="tsv"))), b"a\t", b"b", "line 1 has more",
    ),
    "TMX, a text": (tmx_pairs, TMX, b"a", "a text or tag of more than 100000 bytes"),
    "TMX, a tag": (tmx_pairs, TMX[:-5] + b"<seg a='", b"a", "a text or tag of more than 100000 bytes"),
    "PO": (lambda path: consumed(parse_po(path).pairs()), b'msgid "', b"a", "more than 1000000 bytes"),
    "MO": (lambda path: consumed(read_mo(path)), b"\xde\x12\x04\x95", b"\0", "more than 1000000 bytes"),
    "XLIFF to fill in": (open_xliff, XLIFF, b"a", "more than 1000000 bytes"),
    "TMX to fill in": (partial(open_memory, source="fr", target="en"), TMX, b"a", "more than 1000000 bytes"),
    "TSV to fill in": (partial(open_tsv, source_column=1, target_column=2), b"a\t", b"b", "more than 1000000 bytes"),
    "blank lines": (
        lambda path: consumed(read_lines(path)), b"", b" " * 511 + b"\n", "unpacks to more than 100 times its size",
    ),
}  # fmt: skip


@pytest.mark.parametrize("pack", [gzip.compress, partial(lzma.compress, preset=0)], ids=["gz", "xz"])
@pytest.mark.parametrize("kind", READERS)
def test_a_bomb_is_refused_within_little_memory(tmp_path, monkeypatch, kind, pack):
    reader, start, filling, sentence = READERS[kind]
    monkeypatch.setattr("jaxsmt.text.streams.FREE_BYTES", BOMB_BYTES // 2)
    path = tmp_path / "bomb"
    path.write_bytes(pack(start + filling * (BOMB_BYTES // len(filling))))
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=sentence):
            reader(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_standard_input_has_the_same_limit(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"one\n" + b"a" * 200_000), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)
    lines = input_lines("-")
    assert next(lines) == "one"
    with pytest.raises(UserError, match="standard input line 2 has more than 100000 bytes"):
        next(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_line_may_be_as_long_as_the_limit(tmp_path, end):
    path = tmp_path / "text"
    path.write_bytes(("a" * LIMITS.line + end).encode())
    assert [len(line) for line in read_lines(path)] == [LIMITS.line]
    path.write_bytes(("a" * (LIMITS.line + 1) + end).encode())
    with pytest.raises(UserError, match=f"more than {LIMITS.line} bytes: cut it, or raise limits.line"):
        list(read_lines(path))


def test_counts_in_a_header_take_no_memory(tmp_path):
    path = tmp_path / "lm.arpa"
    for count, sentence in (("9" * 17, "truncated"), ("9" * 5000, "expected 'ngram 1=COUNT'")):
        path.write_text(f"\\data\\\nngram 1={count}\n\n\\1-grams:\n-1\t<s>\t0\n")
        with pytest.raises(UserError, match=sentence):
            read_arpa(path)


def test_elements_within_elements_are_refused(tmp_path):
    path = tmp_path / "deep.xlf"
    for text, sentence in (("<a>" * 5000 + "</a>" * 5000, "deep in each other"), ("<a/>" * 200_000, "XML elements")):
        path.write_text(f"<xliff>{text}</xliff>")
        with pytest.raises(UserError, match=sentence):
            open_xliff(path)


@pytest.mark.parametrize("text", ["", "one", "one\n", "one\ntwo", "one\r\n\ntwo\n", "\n\n"])
def test_counted_lines_are_those_that_are_read(tmp_path, text):
    path = tmp_path / "text"
    for data in (text.encode(), gzip.compress(text.encode())):
        path.write_bytes(data)
        assert count_lines(path) == len(list(read_lines(path, may_be_empty=True)))


def test_limits_have_ranges():
    assert limits.input_limits() == LIMITS
    with pytest.raises(UserError, match=r"limits\.line is 0: give a number from 100"):
        InputLimits(line=0)
