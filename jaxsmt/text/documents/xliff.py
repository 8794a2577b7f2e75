"""XLIFF 1.2 and 2: <target> is filled in and its state says that it waits for a review."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.documents.xml_bytes import Element, XmlBytes, parse_xml

OLD_STATE = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
NEW_STATE = {"state": "translated", "subState": "jaxsmt:mt"}  # 'reviewed' comes next
_UNTRANSLATED = ("new", "needs-translation", "initial")


@dataclass(frozen=True)
class XliffDocument:
    """is_new: version 2, where segments have the state; in 1.2 targets have it."""

    xml: XmlBytes
    is_new: bool

    @property
    def languages(self) -> tuple[str, str]:
        root = self.xml.root
        if self.is_new:
            return root.attributes.get("srcLang", ""), root.attributes.get("trgLang", "")
        return next(iter(_file_languages(root)), ("", ""))

    @cached_property
    def _units(self) -> list[Element]:
        """Elements with a source, and maybe a target, that are to be translated."""
        if self.is_new:
            units = [unit for unit in self.xml.root.all("unit") if unit.attributes.get("translate") != "no"]
            found = [segment for unit in units for segment in unit.all("segment")]
        else:
            found = [unit for unit in self.xml.root.all("trans-unit") if unit.attributes.get("translate") != "no"]
        return [unit for unit in found if unit.child("source") is not None]

    @cached_property
    def _open(self) -> list[Element]:
        return [unit for unit in self._units if self._source(unit).strip() and self._is_open(unit)]

    def _source(self, unit: Element) -> str:
        source = unit.child("source")
        return self.xml.inner(source) if source is not None else ""

    def _is_open(self, unit: Element) -> bool:
        target = unit.child("target")
        if target is None or not self.xml.inner(target).strip():
            return True
        state = (unit if self.is_new else target).attributes.get("state", "")
        return state in _UNTRANSLATED and self.xml.inner(target) == self._source(unit)  # a copy of the source

    @cached_property
    def segments(self) -> list[Segment]:
        return [Segment(self._source(unit), unit.line, is_xml=True) for unit in self._open]

    @property
    def num_translated(self) -> int:
        return len(self._units) - len(self._open)

    @cached_property
    def finished(self) -> list[FinishedText]:
        """Of units that are translated and need no review."""
        waiting = set(map(id, self._open))
        return [
            FinishedText(Segment(self._source(unit), unit.line, is_xml=True), self.xml.inner(target))
            for unit in self._units
            if id(unit) not in waiting and self._source(unit).strip() and self._is_reviewed(unit)
            if (target := unit.child("target")) is not None and self.xml.inner(target).strip()
        ]

    def _is_reviewed(self, unit: Element) -> bool:
        """Whether no state says that somebody has to look at it, or that a machine wrote it."""
        target = unit.child("target")
        attributes = unit.attributes if self.is_new or target is None else target.attributes
        state, new_maker = attributes.get("state", ""), attributes.get("subState", "")
        if attributes.get("state-qualifier", "").endswith("mt-suggestion") or new_maker == NEW_STATE["subState"]:
            return False
        return not state.startswith("needs-") and state not in _UNTRANSLATED

    def filled(self, translations: Sequence[str | None]) -> bytes:
        edits: list[tuple[int, int, bytes]] = []
        for unit, text in zip(self._open, translations, strict=True):
            if text is not None:
                edits += self._edits(unit, text)
        return self.xml.edited(edits)

    def _edits(self, unit: Element, text: str) -> list[tuple[int, int, bytes]]:
        xml, edits = self.xml, []
        source, target = unit.child("source"), unit.child("target")
        assert source is not None
        if self.is_new:
            edits.append((unit.begin, unit.inside, xml.start_tag(unit, NEW_STATE)))
        name = xml.name_of(source).replace("source", "target")
        if target is not None:
            tag = xml.start_tag(target, {} if self.is_new else OLD_STATE)
            edits.append((target.begin, target.end, tag + xml.encoded(f"{text}</{name}>")))
        else:
            state = "" if self.is_new else "".join(f' {key}="{value}"' for key, value in OLD_STATE.items())
            after = (unit.child("seg-source") or source).end
            edits.append((after, after, xml.encoded(f"{xml.indent_of(source)}<{name}{state}>{text}</{name}>")))
        return edits


def open_xliff(path: str | Path) -> XliffDocument:
    """An XLIFF file of version 1.x or 2.x."""
    xml = parse_xml(path)
    if xml.root.name != "xliff":
        raise UserError(f"'{path}' is XML but not XLIFF, its root element is <{xml.root.name}>: give an XLIFF file")
    if len(found := _file_languages(xml.root)) > 1:
        named = ", ".join(f"'{source}' to '{target}'" for source, target in found)
        raise UserError(f"'{path}' has files of several languages ({named}): make one document of each")
    return XliffDocument(xml, xml.root.attributes.get("version", "1.2").startswith("2"))


def _file_languages(root: Element) -> list[tuple[str, str]]:
    """Different source and target languages of the <file> elements of version 1, '' where one is not named."""
    files = [element.attributes for element in root.all("file")]
    return list(dict.fromkeys((item.get("source-language", ""), item.get("target-language", "")) for item in files))
