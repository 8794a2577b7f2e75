"""One spelling for what looks the same: Unicode form, white space, invisible characters, quotes, dashes."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from jaxsmt.common.errors import UserError

_SPACES = "\t\x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# soft hyphen, zero-width space, word joiner, byte order mark, marks of writing direction;
# the joiners U+200C and U+200D stay: they carry meaning in Persian and in Indic scripts
_INVISIBLE = "\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# C0 and C1 but tab and next-line, which are white space above
CONTROL_CHARACTERS = "".join(chr(code) for code in (*range(9), *range(10, 32), *range(127, 133), *range(134, 160)))
# single ones that stand in texts on purpose; tabs and ends of lines among the others do not
_NARROW_OR_FIXED = "\u00a0\u2007\u2009\u202f"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033"
_GUILLEMETS = "\u00ab\u00bb"
_HYPHENS = "\u2010\u2011"
_DASHES = "\u2012\u2013\u2014\u2015\u2212"
UNICODE_FORMS = ("NFC", "NFKC", "none")
# what a writer may have put where the plain character stands, itself included
VARIANTS = {
    "'": "'" + _SINGLE_QUOTES,
    '"': '"' + _DOUBLE_QUOTES + _GUILLEMETS,
    "-": "-" + _HYPHENS + _DASHES,
    " ": _NARROW_OR_FIXED,
}


@dataclass(frozen=True)
class NormaliseConfig:
    """What is made equal. Control characters always become spaces.

    unicode: NFC, NFKC or none.
    spaces: no-break, thin and other spaces become plain ones, runs of them one; invisible characters go.
    quotes: typographic apostrophes and quotation marks become ' and ".
    guillemets: « and » become " as well.
    dashes: en and em dashes and the minus sign become -; typographic hyphens do in any case with `quotes`.
    """

    unicode: str = "NFC"
    spaces: bool = True
    quotes: bool = True
    guillemets: bool = False
    dashes: bool = False

    def __post_init__(self) -> None:
        if self.unicode not in UNICODE_FORMS:
            raise UserError(
                f"the Unicode form is '{self.unicode}': set text.normalise.unicode to one of {', '.join(UNICODE_FORMS)}"
            )


@dataclass(frozen=True)
class Normaliser:
    """Normalises lines, and tells what they looked like: plain(visible(line)) is the normalised line."""

    config: NormaliseConfig

    def __call__(self, text: str) -> str:
        """The line as it is matched; applying it twice changes nothing more."""
        text = self._composed(text)
        if self._table and self._any_of_them.search(text):  # translating is slow, and most lines need none
            text = text.translate(self._table)
        return " ".join(text.split()) if self.config.spaces else text.strip(" ")

    def visible(self, text: str) -> str:
        """The line with its own quotes, dashes and no-break spaces; runs of white space are one character."""
        text = self._composed(text)
        if not _UNUSUAL_SPACE.search(text):
            return " ".join(text.split())
        return re.sub(r"\s+", _one_space, text).strip()

    def plain(self, visible: str) -> str:
        """The characters that stand for those of a visible line, one for one, spaces included."""
        return visible.translate(self._one_for_one)

    def _composed(self, text: str) -> str:
        """Without what is invisible, which may stand between a letter and its accent; then the Unicode form."""
        if self._any_removed.search(text):
            text = text.translate(self._removed)
        if self.config.unicode == "none":
            return text
        return unicodedata.normalize(self.config.unicode, text)  # type: ignore[arg-type]

    @cached_property
    def _table(self) -> Mapping[int, str]:
        return self._one_for_one if self.config.spaces else self._marks

    @cached_property
    def _any_of_them(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(''.join(map(chr, self._table)))}]")

    @cached_property
    def _any_removed(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(''.join(map(chr, self._removed)))}]")

    @cached_property
    def _removed(self) -> dict[int, str]:
        invisible = dict.fromkeys(map(ord, _INVISIBLE), "") if self.config.spaces else {}
        return dict.fromkeys(map(ord, CONTROL_CHARACTERS), " ") | invisible

    @cached_property
    def _one_for_one(self) -> dict[int, str]:
        return dict.fromkeys(map(ord, _SPACES), " ") | self._marks

    @cached_property
    def _marks(self) -> dict[int, str]:
        config, table = self.config, dict[str, str]()
        if config.quotes:
            table |= dict.fromkeys(_SINGLE_QUOTES, "'") | dict.fromkeys(_DOUBLE_QUOTES, '"')
            table |= dict.fromkeys(_HYPHENS, "-")
        if config.guillemets:
            table |= dict.fromkeys(_GUILLEMETS, '"')
        if config.dashes:
            table |= dict.fromkeys(_DASHES, "-")
        return {ord(character): replacement for character, replacement in table.items()}


@cache
def make_normaliser(config: NormaliseConfig) -> Normaliser:
    """One normaliser a configuration, so that its tables are shared."""
    return Normaliser(config)


_UNUSUAL_SPACE = re.compile(f"[{_NARROW_OR_FIXED}]")


def _one_space(run: re.Match[str]) -> str:
    unusual = _UNUSUAL_SPACE.search(run[0])
    return unusual[0] if unusual else " "
