"""PO catalogues: msgstr is filled in, and the entry flagged fuzzy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.documents.units import split_units, units_of
from jaxsmt.text.formats.catalogues import PoEntry, PoFile, parse_po

_ESCAPED = {"\\": "\\", '"': '"', "\n": "n", "\t": "t", "\r": "r", "\a": "a", "\b": "b", "\f": "f", "\v": "v"}
_ESCAPES = str.maketrans({character: "\\" + code for character, code in _ESCAPED.items()})


@dataclass(frozen=True)
class PoDocument:
    """A PO file; of a plural entry msgid is translated for msgstr[0], and msgid_plural for all others."""

    file: PoFile

    @property
    def languages(self) -> tuple[str, str]:
        return "", self.file.language

    @cached_property
    def _places(self) -> list[tuple[PoEntry, list[str]]]:
        """Untranslated entries, each with the field to translate for every msgstr."""
        found = []
        for entry in self.file.entries:
            if entry.is_untranslated:
                names = [name for name in entry.fields if name.startswith("msgstr")]
                found.append((entry, [self._translates(name, entry) for name in names]))
        return found

    def _translates(self, name: str, entry: PoEntry) -> str:
        """The field whose translation a msgstr is; all are of the plural where that has other placeholders."""
        if "msgid_plural" not in entry.fields:
            return "msgid"
        singular, plural = (_units(entry.fields[side]) for side in ("msgid", "msgid_plural"))
        return "msgid" if name == "msgstr[0]" and singular == plural else "msgid_plural"

    @cached_property
    def segments(self) -> list[Segment]:
        return [
            Segment(entry.fields[name], entry.lines[name][0], is_c=self._is_c(entry))
            for entry, names in self._places
            for name in dict.fromkeys(names)
        ]

    def _is_c(self, entry: PoEntry) -> bool:
        return entry.flags is not None and b" c-format" in self.file.raw_lines[entry.flags - 1]

    @property
    def num_translated(self) -> int:
        return sum(1 for entry in self.file.entries if any(True for _ in entry.pairs()))

    @cached_property
    def finished(self) -> list[FinishedText]:
        """Of entries that are not fuzzy; msgid_plural goes with msgstr[1]."""
        return [
            FinishedText(Segment(entry.fields[source], entry.lines[source][0], is_c=self._is_c(entry)), target)
            for entry in self.file.entries
            if not entry.is_skipped
            for source, name in (("msgid", "msgstr"), ("msgid", "msgstr[0]"), ("msgid_plural", "msgstr[1]"))
            if entry.fields.get(source, "").strip() and (target := entry.fields.get(name, "")).strip()
        ]

    def filled(self, translations: Sequence[str | None]) -> bytes:
        """An entry is filled where all its segments have a translation."""
        lines: list[bytes] = list(self.file.raw_lines)
        left = iter(translations)
        for entry, names in self._places:
            found = {name: next(left) for name in dict.fromkeys(names)}
            if None in found.values():
                continue
            fields = [name for name in entry.fields if name.startswith("msgstr")]
            for name, source in zip(fields, names, strict=True):
                first, last = entry.lines[name]
                end = _line_end(lines[first - 1])
                lines[first - 1] = self._encoded(_field(name, found[source] or "", end))
                lines[first:last] = [b""] * (last - first)
            self._flag(lines, entry)
        return b"".join(lines)

    def _flag(self, lines: list[bytes], entry: PoEntry) -> None:
        if entry.flags is not None:
            lines[entry.flags - 1] = lines[entry.flags - 1].replace(b"#,", b"#, fuzzy,", 1)
        elif entry.first is not None:
            end = _line_end(lines[entry.first - 1])
            lines[entry.first - 1] = b"#, fuzzy" + end + lines[entry.first - 1]

    def _encoded(self, text: str) -> bytes:
        return text.encode(self.file.encoding, "replace")


def open_po(path: str | Path) -> PoDocument:
    """A PO file."""
    return PoDocument(parse_po(path))


def _field(name: str, text: str, end: bytes) -> str:
    """A field as gettext writes it: a text of several lines begins on a line of its own."""
    pieces = text.split("\n")
    pieces = [piece + "\n" for piece in pieces[:-1]] + pieces[-1:] * bool(pieces[-1])
    pieces = ["", *pieces] if len(pieces) > 1 else pieces or [""]
    quoted = [f'"{piece.translate(_ESCAPES)}"' for piece in pieces]
    return f"{name} " + "".join(piece + end.decode() for piece in quoted)


def _units(text: str) -> list[str]:
    return sorted(unit.raw for _, unit in units_of(split_units(text, is_c=True)))


def _line_end(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n"
