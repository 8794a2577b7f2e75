"""XML documents as bytes with elements in them, so that an edit leaves every other byte alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.limits import BYTES_AN_ELEMENT, input_limits
from jaxsmt.text.streams import read_whole, text_encoding

LONGEST_INDENT = 200  # bytes of white space before an element that are looked at
DEEPEST = 200  # elements within each other; no format here has a tenth


@dataclass(eq=False)
class Element:
    """An element and the bytes that it takes: its start tag is begin..inside, its end tag after..end."""

    name: str  # without a prefix
    attributes: dict[str, str]
    line: int
    begin: int
    inside: int = 0
    after: int = 0
    end: int = 0
    children: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> Iterator["Element"]:
        """Elements of a name below it, in the order of the file."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)

    def child(self, name: str) -> "Element | None":
        """Its first child of a name."""
        return next((child for child in self.children if child.name == name), None)

    @property
    def is_closed_at_once(self) -> bool:
        """Whether it is written as <name/>."""
        return self.inside == self.end


@dataclass(frozen=True)
class XmlBytes:
    """A parsed document."""

    data: bytes
    encoding: str
    root: Element

    def inner(self, element: Element) -> str:
        """The XML inside an element."""
        return self.data[element.inside : element.after].decode(self.encoding)

    def start_tag(self, element: Element, changes: dict[str, str]) -> bytes:
        """The start tag with attributes changed or added; what else it has stays as it is. It does not close itself."""
        tag = self.data[element.begin : element.inside].decode(self.encoding)
        tag = tag.removesuffix("/>").removesuffix(">").rstrip() + ">"
        for name, value in changes.items():
            new, pattern = f"{name}={quoteattr(value)}", rf"(?<=\s){re.escape(name)}\s*=\s*(\"[^\"]*\"|'[^']*')"
            if re.search(pattern, tag):
                tag = re.sub(pattern, lambda _, new=new: new, tag, count=1)  # type: ignore[misc]
            else:
                tag = f"{tag[:-1]} {new}>"
        return self.encoded(tag)

    def name_of(self, element: Element) -> str:
        """The element's name with its prefix."""
        match = re.match(r"<([^\s/>]+)", self.data[element.begin : element.inside].decode(self.encoding))
        assert match is not None
        return match[1]

    def indent_of(self, element: Element) -> str:
        """The white space before it, if it begins a line."""
        before = self.data[max(element.begin - LONGEST_INDENT, 0) : element.begin].decode(self.encoding, "ignore")
        match = re.search(r"(\r?\n[ \t]*)$", before)
        return match[1] if match else ""

    def encoded(self, text: str) -> bytes:
        """As the document has it; characters that its encoding lacks become references."""
        return text.encode(self.encoding, "xmlcharrefreplace")

    def edited(self, edits: list[tuple[int, int, bytes]]) -> bytes:
        """The bytes with (begin, end, new) put in; edits do not overlap."""
        parts, done = [], 0
        for begin, end, new in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.data[done:begin], new]
            done = end
        return b"".join([*parts, self.data[done:]])


def parse_xml(path: str | Path) -> XmlBytes:
    """Parses a file; entities of its own are refused, so that a file cannot blow up or fetch anything.

    As in defusedxml, which has no byte positions.
    """
    data = read_whole(path)
    if not data.strip():
        raise UserError(f"'{path}' is empty: give a document")
    encoding = _encoding(data, path)
    parser, root = expat.ParserCreate(), Element("", {}, 0, 0)
    open_elements, num_elements = [root], 0

    def refuse(name: str, *_: object) -> None:
        raise UserError(f"'{path}' declares the XML entity '{name}': write the text out, entities are refused")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal num_elements
        at, num_elements = parser.CurrentByteIndex, num_elements + 1
        _check_size(path, num_elements, len(open_elements))
        element = Element(name.rsplit(":", 1)[-1], attributes, parser.CurrentLineNumber, at, _tag_end(data, at))
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        element, at = open_elements.pop(), parser.CurrentByteIndex
        closed_at_once = data[element.inside - 2 : element.inside] == b"/>"
        element.after = element.inside if closed_at_once else at
        element.end = element.inside if closed_at_once else _tag_end(data, at)

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = start, end, refuse
    try:
        parser.Parse(data, True)
    except (LookupError, ValueError) as error:
        raise UserError(f"'{path}' is XML in the encoding '{encoding}' ({error}): convert it to UTF-8") from None
    except expat.ExpatError as error:
        raise UserError(
            f"'{path}' is not well-formed XML at line {error.lineno}, column {error.offset + 1} "
            f"({expat.ErrorString(error.code)}): mend the file or export it again"
        ) from None
    return XmlBytes(data, encoding, root.children[0])


def _check_size(path: str | Path, num_elements: int, depth: int) -> None:
    """An element takes far more memory than its tags, and one within another is visited by a call within a call."""
    most = max(input_limits().document // BYTES_AN_ELEMENT, 1)
    if num_elements > most:
        raise UserError(f"'{path}' has more than {most} XML elements: split it, or raise limits.document")
    if depth > DEEPEST:
        raise UserError(f"'{path}' has XML elements more than {DEEPEST} deep in each other: give a document of text")


def _tag_end(data: bytes, at: int) -> int:
    """The byte behind a tag that begins at a byte; a '>' in the value of an attribute does not end it."""
    quote = b""
    place = at
    while place < len(data):
        char = data[place : place + 1]
        if quote:
            quote = b"" if char == quote else quote
        elif char in (b'"', b"'"):
            quote = char
        elif char == b">":
            return place + 1
        place += 1
    return place


def _encoding(data: bytes, path: str | Path) -> str:
    """The declared encoding; only those are taken in which ASCII characters are single bytes."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError(f"'{path}' is XML in UTF-16: convert it to UTF-8, for instance with iconv, and its declaration")
    match = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*encoding\s*=\s*[\"']([\w.:-]+)", data)
    name = match[1].decode("ascii") if match else "utf-8"
    if text_encoding(name) is not None:
        return name
    raise UserError(f"'{path}' is XML in the encoding '{name}', which is not known: convert it to UTF-8")
