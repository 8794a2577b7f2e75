"""Placeholders and markup in messages: what must come through translation as it is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import unescape

OPEN, CLOSE, ALONE, TEXT = "open", "close", "alone", "text"
FIRST_STAND_IN, NUM_STAND_INS = 0xE000, 6400  # the private use area: no text has meanings for them
BREAK = re.compile(r"(\r?\n|\\n)")

_TAG = r"(?!<PRI\w+>)</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))?)*\s*/?>"
_CODE = r"<(?P<code>bpt|ept|ph|it|ut|x)\b[^>]*(?:/>|>.*?</(?P=code)\s*>)"  # codes of other formats in XLIFF and TMX
# of C and of languages that took it over: flags, width, precision, size and conversion
_AFTER_FLAGS = (
    r"(?:\*(?:\d+\$)?|\d+)?(?:\.(?:\*(?:\d+\$)?|\d+)?)?(?:<PRI\w+>|(?:hh?|ll?|[zZjtLq])?(?:p[A-Z]?|[A-Za-z]))"
)
_DIRECTIVE = rf"%(?:\d+\$|\([^()\s]+\))?[-+#0'I]*{_AFTER_FLAGS}"
_PLACEHOLDERS = [
    r"%%",
    r"%[A-Z][A-Z0-9_]+%",
    _DIRECTIVE,
    r"%L?\d{1,2}",  # Qt
    r"\$\{[^{}\s]+\}|\$\([A-Za-z_]\w*\)|\$[A-Za-z_]\w*",
    r"\{\{[^{}]*\}\}|\{[^{}]*\}",
    r"@[A-Za-z_]\w*@",
    r"&(?:\w{1,31}|\#\d{1,7}|\#x[0-9A-Fa-f]{1,6});",
    r"\\[tr\"\\]",
]
_PLACEHOLDER = re.compile("|".join(_PLACEHOLDERS))
_MARKUP = re.compile(f"{_CODE}|{_TAG}", re.DOTALL)
_SPACED = re.compile(rf"{_PLACEHOLDER.pattern}|%[-+#0'I]* [-+#0'I ]*{_AFTER_FLAGS}")  # a space is a flag of C, too
_IN_ORDER = re.compile(rf"%(?!\d+\$|\()[-+#0'I ]*{_AFTER_FLAGS}")


@dataclass(frozen=True)
class MarkedUnit:
    """Something to keep: as it is written, and whether it opens, closes or stands alone."""

    raw: str
    kind: str = ALONE
    is_tag: bool = False

    @property
    def name(self) -> str:
        """Of a tag's element."""
        match = re.match(r"</?([\w:.-]+)", self.raw)
        return match[1] if match else ""


def split_units(text: str, is_xml: bool = False, is_c: bool = False) -> list[str | MarkedUnit]:
    """Text and units in their order; tags that have no partner stand alone.

    is_xml: text is unescaped in what is returned, but entities that hide markup stay units.
    is_c: '% d' is a directive as well; elsewhere it ends '50 % de'.
    """
    parts: list[str | MarkedUnit] = []
    done = 0
    for match in _MARKUP.finditer(text):
        parts += _with_placeholders(text[done : match.start()], is_xml, is_c)
        parts.append(_tag(match[0]))
        done = match.end()
    parts += _with_placeholders(text[done:], is_xml, is_c)
    return _paired(parts)


def _with_placeholders(text: str, is_xml: bool, is_c: bool) -> list[str | MarkedUnit]:
    text = unescape(text, {"&quot;": '"', "&apos;": "'"}) if is_xml else text
    parts: list[str | MarkedUnit] = []
    done = 0
    pattern = _SPACED if is_c else _PLACEHOLDER
    pattern = re.compile(f"{pattern.pattern}|{_TAG}") if is_xml else pattern  # tags that were escaped
    for match in pattern.finditer(text):
        raw = match[0]
        # unescaped text is escaped again, units are not
        parts += [text[done : match.start()], MarkedUnit(escaped(raw) if is_xml else raw)]
        done = match.end()
    return [part for part in (*parts, text[done:]) if part]


def is_stand_in(word: str) -> bool:
    """Whether a word is a character that stands for a unit."""
    return len(word) == 1 and FIRST_STAND_IN <= ord(word) < FIRST_STAND_IN + NUM_STAND_INS


def escaped(text: str) -> str:
    """As text of XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _tag(raw: str) -> MarkedUnit:
    name = re.match(r"</?([\w:.-]+)", raw)
    if raw.endswith("/>") or (name and name[1] in ("ph", "it", "ut", "x", "br", "img", "hr")):
        return MarkedUnit(raw, ALONE, True)
    if name and name[1] in ("bpt", "ept"):
        return MarkedUnit(raw, OPEN if name[1] == "bpt" else CLOSE, True)
    return MarkedUnit(raw, CLOSE if raw.startswith("</") else OPEN, True)


def units_of(parts: Sequence[str | MarkedUnit]) -> list[tuple[int, MarkedUnit]]:
    """The units among parts with their places; the others are text."""
    return [(place, part) for place, part in enumerate(parts) if not isinstance(part, str)]


def kind_of(part: str | MarkedUnit) -> str:
    """OPEN, CLOSE or ALONE of a unit, TEXT of text."""
    return TEXT if isinstance(part, str) else part.kind


def _paired(parts: Sequence[str | MarkedUnit]) -> list[str | MarkedUnit]:
    """Tags without a partner stand alone."""
    found, units, waiting = list(parts), units_of(parts), list[tuple[int, MarkedUnit]]()
    partners = set()
    for place, unit in units:
        if unit.kind == OPEN:
            waiting.append((place, unit))
        elif unit.kind == CLOSE and waiting and _match(waiting[-1][1], unit):
            partners |= {waiting.pop()[0], place}
    for place, unit in units:
        if unit.kind != ALONE and place not in partners:
            found[place] = MarkedUnit(unit.raw, ALONE, True)
    return found


def _match(one: MarkedUnit, other: MarkedUnit) -> bool:
    return one.name == other.name or (one.name, other.name) == ("bpt", "ept")


def is_nested(kinds: Sequence[tuple[int, str]]) -> bool:
    """Whether tags (number of their pair, kind), in the order of a text, open and close properly."""
    waiting = []
    for pair, kind in kinds:
        if kind == OPEN:
            waiting.append(pair)
        elif not waiting or waiting.pop() != pair:
            return False
    return not waiting


def in_order(raw: str) -> bool:
    """Whether a placeholder gets its value by its place among others."""
    return bool(_IN_ORDER.fullmatch(raw))
