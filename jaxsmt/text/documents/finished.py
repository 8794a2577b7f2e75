"""Finished translations: as text to adapt a model to, and as they are where the same text comes once more."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import unescape

from jaxsmt.text.documents.document import FinishedText, Segment
from jaxsmt.text.documents.messages import MessageLine, make_message
from jaxsmt.text.documents.units import ALONE, FIRST_STAND_IN, escaped

_ENTITIES = {"&quot;": '"', "&apos;": "'"}


def finished_lines(texts: Iterable[FinishedText], accelerators: str = "") -> list[tuple[str, str]]:
    """Different pairs of a line as a model gets it and its translation, in which the same characters stand for units.

    Texts whose lines or placeholders do not correspond are left out; tags around words are left out of either side.
    """
    found: dict[tuple[str, str], None] = {}
    for text in texts:
        segment = text.source
        source, target = (
            make_message(part, accelerators, segment.is_xml, segment.is_c) for part in (segment.text, text.target)
        )
        if source.is_refused or target.is_refused or len(source.lines) != len(target.lines):
            continue
        for line, other in zip(source.lines, target.lines, strict=True):
            translation = _with_units_of(line, other)
            if translation is not None and line.has_words and other.has_words:
                found[line.source(), translation] = None
    return list(found)


def _with_units_of(line: MessageLine, other: MessageLine) -> str | None:
    """The other line with the characters that stand for units of the first; None where it has other units."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, unit in enumerate(line.units):
        if unit.kind == ALONE:
            numbers[unit.raw].append(number)
    pieces = []
    for part in other.parts:
        if isinstance(part, str):
            pieces.append(part)
        elif part.kind == ALONE:
            if not numbers[part.raw]:
                return None
            pieces.append(chr(FIRST_STAND_IN + numbers[part.raw].pop(0)))
    return None if any(numbers.values()) else "".join(pieces)


@dataclass(frozen=True)
class FinishedTexts:
    """The translation of every text that has one; of several the most frequent, of equally frequent ones the first.

    by_text: (text, whether it is XML) → (translation, likewise); XML without elements is unescaped.
    """

    by_text: dict[tuple[str, bool], tuple[str, bool]]

    def find(self, segment: Segment) -> str | None:
        """The finished translation of the same text, written as the segment is."""
        text, is_xml = self.by_text.get(_plain(segment.text, segment.is_xml), ("", False))
        if not text or (is_xml and not segment.is_xml):
            return None
        return escaped(text) if segment.is_xml and not is_xml else text


def collect_finished(texts: Iterable[FinishedText]) -> FinishedTexts:
    """All texts with their translations."""
    counts: defaultdict[tuple[str, bool], Counter[tuple[str, bool]]] = defaultdict(Counter)
    for text in texts:
        counts[_plain(text.source.text, text.source.is_xml)][_plain(text.target, text.source.is_xml)] += 1
    return FinishedTexts({source: targets.most_common(1)[0][0] for source, targets in counts.items()})


def _plain(text: str, is_xml: bool) -> tuple[str, bool]:
    """Text that is not XML, if it can be written so."""
    return (text, True) if is_xml and "<" in text else (unescape(text, _ENTITIES) if is_xml else text, False)
