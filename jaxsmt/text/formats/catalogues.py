"""gettext message catalogues: PO text files and MO binary files.

Both give (msgid, msgstr) pairs. The header, fuzzy, obsolete and untranslated entries are passed over; of a
plural entry msgid goes with msgstr[0] and msgid_plural with msgstr[1].

Entries know the lines they stand on, so that a file can be filled in without touching another byte; polib, which
writes files anew and reads none that are compressed, is what tests compare this reader with.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.streams import decode, read_whole, text_encoding

_CHARSET = re.compile(rb'Content-Type:[^"\n]{0,80}charset=([\w.:-]+)', re.IGNORECASE)
_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(".*)$')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*$')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)")
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_BOM = b"\xef\xbb\xbf"
_MO_MAGIC = 0x950412DE


@dataclass
class PoEntry:
    """One entry of a PO file, and where in the file it is; lines are numbered from 1.

    fields: 'msgctxt', 'msgid', 'msgid_plural', 'msgstr', 'msgstr[0]', … → text.
    lines: of each field, the first and the last one.
    first: the line before which flags stand; flags: the line that has them, if there is one.
    """

    fields: dict[str, str] = field(default_factory=dict)
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    is_skipped: bool = False  # fuzzy or obsolete
    first: int | None = None
    flags: int | None = None

    def pairs(self) -> Iterator[tuple[str, str]]:
        """What is translated in it, on one line each."""
        singular, plural = self.fields.get("msgid", ""), self.fields.get("msgid_plural", "")
        if self.is_skipped or not singular:  # the entry with an empty msgid is the header
            return
        yield from _translated(singular, self.fields.get("msgstr", "") or self.fields.get("msgstr[0]", ""))
        if plural:
            yield from _translated(plural, self.fields.get("msgstr[1]", ""))

    @property
    def is_untranslated(self) -> bool:
        """Whether there is a message and nothing of a translation, not even a fuzzy one."""
        texts = [text for name, text in self.fields.items() if name.startswith("msgstr")]
        return bool(self.fields.get("msgid")) and bool(texts) and not self.is_skipped and not any(texts)


@dataclass(frozen=True)
class PoFile:
    """A PO file: its lines as bytes with their ends, what these mean, and its entries, the header included."""

    raw_lines: list[bytes]
    encoding: str
    entries: list[PoEntry]

    @property
    def language(self) -> str:
        """Of the translations, as the header says; empty if it does not."""
        headers = (entry.fields.get("msgstr", "") for entry in self.entries if entry.fields.get("msgid") == "")
        return header_language(next(headers, ""))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The (msgid, msgstr) pairs, in the order of the file."""
        for entry in self.entries:
            yield from entry.pairs()


def parse_po(path: str | Path) -> PoFile:
    """All entries of a PO file."""
    data = read_whole(path)  # catalogues are small, and the header decides how to read the rest
    if not data:
        raise UserError(f"'{path}' is empty: give a PO file")
    encoding, raw_lines = _encoding(data, path), _raw_lines(data)
    return PoFile(raw_lines, encoding, list(_entries(path, raw_lines, encoding)))


def _raw_lines(data: bytes) -> list[bytes]:
    """The lines with their ends; only \\n ends one."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines


def _entries(path: str | Path, raw_lines: list[bytes], encoding: str) -> Iterator[PoEntry]:
    entry, current = PoEntry(), ""
    for number, raw in enumerate(raw_lines, 1):
        line = decode(raw.removeprefix(_BOM if number == 1 else b""), path, number, encoding).strip()
        if line.startswith("#") or not line:
            if "msgid" in entry.fields or line.startswith("#~"):  # "#, fuzzy" before "#~" belongs to what is obsolete
                yield entry
                entry = PoEntry()
            current = ""
            _note_comment(entry, line, number)
            continue
        if line.startswith('"'):
            if not current:
                raise UserError(f"'{path}' line {number} is a string without a keyword: check it with msgfmt -c")
            entry.fields[current] += _string(line, path, number)
            entry.lines[current] = entry.lines[current][0], number
            continue
        keyword, text = _keyword(line, path, number)
        if keyword in ("msgctxt", "msgid") and "msgid" in entry.fields:
            yield entry
            entry = PoEntry()
        entry.fields[keyword], entry.lines[keyword], entry.first = text, (number, number), entry.first or number
        current = keyword
    yield entry


def _note_comment(entry: PoEntry, line: str, number: int) -> None:
    if line.startswith("#,"):
        entry.flags = number
        entry.is_skipped |= "fuzzy" in re.split(r"[,\s]+", line)
    elif line.startswith("#|"):  # the message before it changed: flags stand above it
        entry.first = entry.first or number


def header_language(header: str) -> str:
    """What the field Language of a catalogue's header says, as a tag such as 'pt-BR'; empty if nothing."""
    match = re.search(r"^Language:[ \t]*([\w@.-]*)", header, re.MULTILINE)
    return re.split("[@.]", match[1])[0].replace("_", "-") if match else ""


def _keyword(line: str, path: str | Path, number: int) -> tuple[str, str]:
    match = _KEYWORD.match(line)
    if not match:
        raise UserError(f"'{path}' line {number} is not PO syntax ('{line[:40]}'): check it with msgfmt -c")
    return match[1], _string(match[3], path, number)


def _string(quoted: str, path: str | Path, number: int) -> str:
    match = _STRING.match(quoted)
    if not match:
        raise UserError(f"'{path}' line {number} has a string that does not end: close the quotation mark")
    return _ESCAPE.sub(_unescape, match[1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _PLAIN_ESCAPES.get(code, code)


def read_mo(path: str | Path) -> Iterator[tuple[str, str]]:
    """The (msgid, msgstr) pairs of an MO file, in the order of the file."""
    messages, encoding = _mo_messages(path)
    for place, (raw_id, raw_text) in enumerate(messages):
        if raw_id:
            message, text = (_mo_decode(raw, path, place, encoding) for raw in (raw_id, raw_text))
            forms = zip(message.rpartition("\x04")[2].split("\0"), text.split("\0"), strict=False)
            for pair in forms:
                yield from _translated(*pair)


def mo_language(path: str | Path) -> str:
    """The language of the translations of an MO file, as its header says; empty if it does not."""
    messages, encoding = _mo_messages(path)
    return header_language(next((text.decode(encoding, "replace") for name, text in messages if not name), ""))


def _mo_messages(path: str | Path) -> tuple[list[tuple[bytes, bytes]], str]:
    """(msgid, msgstr) as bytes, the header included, and their encoding."""
    data = read_whole(path)
    if not data:
        raise UserError(f"'{path}' is empty: give an MO file")
    order = next((o for o in "<>" if data[:4] == struct.pack(o + "I", _MO_MAGIC)), None)
    if order is None:
        raise UserError(f"'{path}' is not an MO file (it starts with {data[:4].hex(' ')}): compile it with msgfmt")
    try:
        revision, number, ids_at, texts_at = struct.unpack_from(order + "4I", data, 4)
        if revision >> 16 > 1:
            raise UserError(f"'{path}' has MO version {revision >> 16}, not known: compile it again with msgfmt")
        ids = [_mo_string(data, order, ids_at + 8 * i) for i in range(number)]
        texts = [_mo_string(data, order, texts_at + 8 * i) for i in range(number)]
        if sum(map(len, ids)) + sum(map(len, texts)) > 2 * len(data):  # strings within strings, again and again
            raise IndexError
    except (struct.error, IndexError):
        raise UserError(f"'{path}' is truncated: compile the catalogue again with msgfmt") from None
    messages = list(zip(ids, texts, strict=True))
    return messages, _encoding(next((text for name, text in messages if not name), b""), path)


def _mo_string(data: bytes, order: str, at: int) -> bytes:
    length, start = struct.unpack_from(order + "2I", data, at)
    if start + length > len(data):
        raise IndexError
    return data[start : start + length]


def _mo_decode(raw: bytes, path: str | Path, place: int, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        raise UserError(f"'{path}' entry {place + 1} is not {encoding}: correct the charset in its header") from None


def _encoding(header: bytes, path: str | Path) -> str:
    match = _CHARSET.search(header)
    if not match or match[1] == b"CHARSET":  # the placeholder of a template
        return "utf-8"
    name = match[1].decode("ascii", "replace")
    found = text_encoding(name)
    if found is None:
        raise UserError(f"'{path}' says its charset is '{name}', which is not known: correct the header")
    return found


def _translated(message: str, translation: str) -> Iterator[tuple[str, str]]:
    """One pair on one line each, nothing where there is no translation."""
    message, translation = " ".join(message.split()), " ".join(translation.split())
    if message and translation:
        yield message, translation


def strip_accelerators(pair: tuple[str, str], marks: str) -> tuple[str, str]:
    """Takes keyboard accelerators out of a pair: "_File", "E&xit", "檔案(_F)".

    A mark is an accelerator if it is the only one on its side and a letter or digit follows. Words like
    "max_size" that have the mark inside and stand on both sides, and entities like "&amp;", are left alone.
    """
    for mark in marks:
        source, target = pair
        common = {word for word in set(source.split()) & set(target.split()) if mark in word[1:]}
        pair = _strip_mark(source, mark, common), _strip_mark(target, mark, common)
    return pair


def _strip_mark(text: str, mark: str, common: set[str]) -> str:
    if text.count(mark) != 1 or any(mark in word for word in common):
        return text
    quoted = re.escape(mark)
    text = re.sub(rf"\s*\({quoted}\w\)", "", text)
    return re.sub(rf"{quoted}(?!\w+;)(?=\w)", "", text)
