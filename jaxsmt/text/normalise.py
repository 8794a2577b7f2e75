"""One spelling for what looks the same: Unicode form, white space, invisible characters, quotes, dashes."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jaxsmt.common.errors import UserError

_SPACES = "\t\x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# soft hyphen, zero-width space, word joiner, byte order mark, marks of writing direction;
# the joiners U+200C and U+200D stay: they carry meaning in Persian and in Indic scripts
_INVISIBLE = "\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# C0 and C1 but tab and next-line, which are white space above
CONTROL_CHARACTERS = "".join(chr(code) for code in (*range(9), *range(10, 32), *range(127, 133), *range(134, 160)))
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033"
_GUILLEMETS = "\u00ab\u00bb"
_HYPHENS = "\u2010\u2011"
_DASHES = "\u2012\u2013\u2014\u2015\u2212"
UNICODE_FORMS = ("NFC", "NFKC", "none")


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


def make_normaliser(config: NormaliseConfig) -> Callable[[str], str]:
    """The function that normalises one line; applying it twice changes nothing more."""
    table = _table(config)
    any_of_them = re.compile(f"[{re.escape(''.join(map(chr, table)))}]")

    def normalise(text: str) -> str:
        if config.unicode != "none":
            text = unicodedata.normalize(config.unicode, text)  # type: ignore[arg-type]
        if any_of_them.search(text):  # translating is slow and most lines have nothing to translate
            text = text.translate(table)
        return " ".join(text.split()) if config.spaces else text.strip()

    return normalise


def _table(config: NormaliseConfig) -> Mapping[int, str]:
    table = dict.fromkeys(CONTROL_CHARACTERS, " ")
    if config.spaces:
        table |= dict.fromkeys(_SPACES, " ") | dict.fromkeys(_INVISIBLE, "")
    if config.quotes:
        table |= dict.fromkeys(_SINGLE_QUOTES, "'") | dict.fromkeys(_DOUBLE_QUOTES, '"') | dict.fromkeys(_HYPHENS, "-")
    if config.guillemets:
        table |= dict.fromkeys(_GUILLEMETS, '"')
    if config.dashes:
        table |= dict.fromkeys(_DASHES, "-")
    return {ord(character): replacement for character, replacement in table.items()}
