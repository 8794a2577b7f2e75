"""TMX: units that lack the target language get a variant whose author is MT!, as translation tools mark machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.documents.xml_bytes import Element, XmlBytes, parse_xml
from jaxsmt.text.formats.tmx import same_language

AUTHOR = "MT!"


@dataclass(frozen=True)
class MemoryDocument:
    """A translation memory; source, target: the languages that are asked for."""

    xml: XmlBytes
    source: str
    target: str

    @property
    def languages(self) -> tuple[str, str]:
        """The languages are chosen among those that it has."""
        return self.source, self.target

    @cached_property
    def _units(self) -> list[tuple[Element, Element, Element | None]]:
        """Units with a segment in the source language: the unit, that segment, and that of the target language."""
        found = []
        for unit in self.xml.root.all("tu"):
            source, target = self._segment(unit, self.source), self._segment(unit, self.target)
            if source is not None and self.xml.inner(source).strip():
                found.append((unit, source, target))
        return found

    def _segment(self, unit: Element, language: str) -> Element | None:
        for variant in unit.children:
            tag = variant.attributes.get("xml:lang") or variant.attributes.get("lang") or ""
            if variant.name == "tuv" and same_language(tag, language):
                return variant.child("seg")
        return None

    @cached_property
    def _open(self) -> list[tuple[Element, Element, Element | None]]:
        return [item for item in self._units if item[2] is None or not self.xml.inner(item[2]).strip()]

    @cached_property
    def segments(self) -> list[Segment]:
        return [Segment(self.xml.inner(source), source.line, is_xml=True) for _, source, _ in self._open]

    @property
    def num_translated(self) -> int:
        return len(self._units) - len(self._open)

    @cached_property
    def finished(self) -> list[FinishedText]:
        """Of units with both languages whose author is no machine."""
        found = []
        for unit, source, target in self._units:
            if target is None or not self.xml.inner(target).strip() or self._is_machine(unit, target):
                continue
            segment = Segment(self.xml.inner(source), source.line, is_xml=True)
            found.append(FinishedText(segment, self.xml.inner(target)))
        return found

    def _is_machine(self, unit: Element, segment: Element) -> bool:
        owners = (unit, *(variant for variant in unit.children if segment in variant.children))
        return any(owner.attributes.get(key) == AUTHOR for owner in owners for key in ("creationid", "changeid"))

    def filled(self, translations: Sequence[str | None]) -> bytes:
        xml, edits = self.xml, []
        for (unit, _, segment), text in zip(self._open, translations, strict=True):
            if text is None:
                continue
            variants = [child for child in unit.children if child.name == "tuv"]
            if segment is None:
                indent, after = xml.indent_of(variants[-1]), variants[-1].end
                language = "xml:lang" if "xml:lang" in variants[0].attributes else "lang"
                new = f'{indent}<tuv {language}="{self.target}" creationid="{AUTHOR}"><seg>{text}</seg></tuv>'
                edits.append((after, after, xml.encoded(new)))
            else:
                variant = next(child for child in variants if segment in child.children)
                edits.append((variant.begin, variant.inside, xml.start_tag(variant, {"changeid": AUTHOR})))
                edits.append((segment.begin, segment.end, xml.start_tag(segment, {}) + xml.encoded(f"{text}</seg>")))
        return xml.edited(edits)


def open_memory(path: str | Path, source: str, target: str) -> MemoryDocument:
    """A TMX file with text in the source language."""
    xml = parse_xml(path)
    if xml.root.name != "tmx":
        raise UserError(f"'{path}' is XML but not TMX, its root element is <{xml.root.name}>: give a TMX file")
    document = MemoryDocument(xml, source, target)
    if not document._units:
        tags = (v.attributes.get("xml:lang") or v.attributes.get("lang") or "" for v in xml.root.all("tuv"))
        found = ", ".join(f"'{tag}'" for tag in dict.fromkeys(tags)) or "none"
        raise UserError(f"'{path}' has no text in '{source}', its languages are {found}: give a file that has it")
    return document
