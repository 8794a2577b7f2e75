"""Scripts: those written without spaces between words, and which one a language is written in."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

_HAN = ((0x3005, 0x3007), (0x303B, 0x303B), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_KANA = ((0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
_BOPOMOFO = ((0x3105, 0x312F), (0x31A0, 0x31BF))
_THAI, _LAO, _MYANMAR, _KHMER = (0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)
_UNSPACED = (*_HAN, *_KANA, *_BOPOMOFO, _THAI, _LAO, _MYANMAR, _KHMER)
_WIDE_PUNCTUATION = "\u3001-\u3004\u3008-\u303a\u303c-\u303f\u30a0\u30fb\uff01-\uff65\uffe0-\uffee"
WITHOUT_SPACES = frozenset(("zh", "ja", "th", "lo", "km", "my"))
_LAST = 0x40000  # characters above are for private use, or choose among glyphs


@cache
def letters_without_spaces() -> str:
    """The inside of a character class: letters of all scripts that have no spaces between words."""
    return character_class(lambda character: unicodedata.category(character)[0] == "L" or character == "〇", _UNSPACED)


@cache
def combining_marks() -> str:
    """The inside of a character class: accents, vowel signs, joiners and selectors, which belong to a letter."""
    return character_class(lambda character: unicodedata.category(character)[0] == "M") + "\u200c\u200d"


@cache
def sits_without_space() -> re.Pattern[str]:
    """Matches what has no space on either side in such scripts: their letters, marks and wide punctuation."""
    return re.compile(f"[{letters_without_spaces()}{combining_marks()}{_WIDE_PUNCTUATION}]")


@cache
def punctuation() -> str:
    """The inside of a character class of all punctuation and symbols (categories P and S) but the underscore."""
    return character_class(
        lambda character: unicodedata.category(character)[0] in "PS" and character != "_", ((0, 0x2FFFF),)
    )


def character_class(
    belongs: Callable[[str], bool], places: tuple[tuple[int, int], ...] = ((0, _LAST - 1), (0xE0100, 0xE01EF))
) -> str:
    """The inside of a character class of all characters of these ranges that belong to it."""
    ranges: list[list[int]] = []
    for code in (code for first, last in places for code in range(first, last + 1) if belongs(chr(code))):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


_SCRIPTS = {  # letters by which a script is recognised
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Devanagari": "\u0900-\u097f",
    "Hangul": "\u1100-\u11ff\uac00-\ud7af",
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Myanmar": "\u1000-\u109f",
    "Khmer": "\u1780-\u17ff",
    "Kana": "\u3041-\u30ff",
    "Han": "\u3400-\u4dbf\u4e00-\u9fff",
}
_SCRIPT_OF = {
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "kk", "ky", "mn"), "Cyrillic"),
    **dict.fromkeys(("ar", "fa", "ur", "ps"), "Arabic"),
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    **dict.fromkeys(("he", "yi"), "Hebrew"),
    "el": "Greek",
    "ko": "Hangul",
    "th": "Thai",
    "lo": "Lao",
    "my": "Myanmar",
    "km": "Khmer",
    "ja": "Kana",
    "zh": "Han",
}


def script_of(language: str) -> str | None:
    """The script that shows a language (a base code), kana for Japanese; None for Latin and what is not known."""
    return _SCRIPT_OF.get(language)


@cache
def letters_of(script: str) -> re.Pattern[str]:
    """Matches a run of letters of a script."""
    return re.compile(f"[{_SCRIPTS[script]}]+")
