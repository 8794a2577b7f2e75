"""Translation memories (TMX 1.1 to 1.4b), read as a stream."""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.limits import input_limits
from jaxsmt.text.streams import open_binary

_BLOCK = 1 << 16  # bytes given to the parser at a time
_MOST_LANGUAGES = 1000  # that messages name
_NATIVE_CODE = frozenset(("bpt", "ept", "it", "ph", "ut"))  # elements that hold a format's codes, not words


def matches_language(wanted: str, found: str) -> bool:
    """Whether a language tag falls under a wanted one: 'fr' covers 'fr', 'FR' and 'fr-CA', 'fr-CA' only 'fr-CA'."""
    wanted, found = (tag.lower().replace("_", "-") for tag in (wanted, found))
    return found == wanted or found.startswith(wanted + "-")


def same_language(one: str, other: str) -> bool:
    """Whether two tags name the same language, wherever it is spoken."""
    return one.lower().replace("_", "-").split("-")[0] == other.lower().replace("_", "-").split("-")[0]


class _Handler:
    """Collects the finished pairs of the translation units seen so far."""

    def __init__(self, path: Path, source_language: str, target_language: str):
        self.path = path
        self.wanted = (source_language, target_language)
        self.pairs: list[tuple[str, str]] = []
        self.languages: dict[str, None] = {}  # in the order found
        self.root = ""
        self._unit: list[str | None] = [None, None]
        self._language = ""
        self._text: list[str] | None = None  # of the segment that is open
        self._length = 0  # of its text
        self._code_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.lower()
        if not self.root:
            self.root = name
            if name != "tmx":
                raise UserError(f"'{self.path}' is XML but not TMX, its root element is <{name}>: give a TMX file")
        if name == "tu":
            self._unit = [None, None]
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
            if len(self.languages) < _MOST_LANGUAGES:
                self.languages[self._language] = None
        elif name == "seg":
            self._text, self._length, self._code_depth = [], 0, 0
        elif name in _NATIVE_CODE:
            self._code_depth += 1

    def text(self, data: str) -> None:
        if self._text is not None and not self._code_depth:
            self._text.append(data)
            self._length += len(data)
            check_token(self.path, self._length)

    def end(self, name: str) -> None:
        name = name.lower()
        if name in _NATIVE_CODE:
            self._code_depth -= 1
        elif name == "seg" and self._text is not None:
            for side, wanted in enumerate(self.wanted):
                # the first variant of a language counts
                if self._unit[side] is None and matches_language(wanted, self._language):
                    self._unit[side] = " ".join("".join(self._text).split())
            self._text = None
        elif name == "tu":
            source, target = self._unit
            if source is not None and target is not None:
                self.pairs.append((source, target))

    def refuse_entity(self, name: str, *_: object) -> None:
        raise UserError(f"'{self.path}' declares the XML entity '{name}': write the text out, entities are refused")


def read_tmx(path: str | Path, source_language: str, target_language: str) -> Iterator[tuple[str, str]]:
    """The segment pairs of two languages, in the order of the file.

    Units that lack one of the languages are passed over; inline tags go, with the codes inside <bpt>, <ept>, <it>,
    <ph> and <ut>; white space is collapsed. Entity declarations are refused, so a file cannot blow up.
    """
    path = Path(path)
    if not (source_language and target_language):
        raise UserError(f"TMX file '{path}' needs to know which two languages: set source_language and target_language")
    handler = _Handler(path, source_language, target_language)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = handler.start, handler.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = handler.text, handler.refuse_entity
    num_pairs, num_bytes = 0, 0
    with open_binary(path) as stream:
        while True:
            block = stream.read(_BLOCK)
            _feed(parser, block, path)
            num_bytes += len(block)
            check_token(path, num_bytes - parser.CurrentByteIndex - 2 * _BLOCK)  # a tag that does not end
            num_pairs += len(handler.pairs)
            yield from handler.pairs
            handler.pairs.clear()
            if not block:
                break
    if not num_pairs:
        _explain_nothing(handler)


def check_token(path: Path, size: int) -> None:
    """Raises UserError where one tag or text of an XML file is larger than any can be."""
    longest = input_limits().line
    if size > longest:
        raise UserError(f"'{path}' has a text or tag of more than {longest} bytes: cut it, or raise limits.line")


def _feed(parser: expat.XMLParserType, block: bytes, path: Path) -> None:
    try:
        parser.Parse(block, not block)
    except (LookupError, ValueError) as error:  # of the encoding that the file declares
        raise UserError(f"'{path}' is XML in an encoding that is not known ({error}): convert it to UTF-8") from None
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS] and parser.CurrentByteIndex <= 0:
            raise UserError(f"'{path}' is empty: give a TMX file") from None
        raise UserError(
            f"'{path}' is not well-formed XML at line {error.lineno}, column {error.offset + 1} "
            f"({expat.ErrorString(error.code)}): mend the file or export it again"
        ) from None


def _explain_nothing(handler: _Handler) -> None:
    found = ", ".join(f"'{language}'" for language in handler.languages) or "none"
    missing = [w for w in handler.wanted if not any(matches_language(w, f) for f in handler.languages)]
    if missing:
        names = " and ".join(f"'{language}'" for language in missing)
        raise UserError(f"'{handler.path}' has no text in {names}, its languages are {found}: change the codes")
    source, target = handler.wanted
    raise UserError(
        f"'{handler.path}' has no unit with both '{source}' and '{target}', its languages are {found}: "
        "give a file that pairs them"
    )
