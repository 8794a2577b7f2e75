"""Forms of one word: what they have in common, by Snowball's rules (Porter 2001), of the package snowballstemmer."""

from functools import cache
from typing import Any

from jaxsmt.text.languages.codes import base_code

_RULES = {
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
}
_CAPITALS = frozenset(("de",))
LEAST_LETTERS = 4  # shorter words have little but an ending


def has_stems(language: str) -> bool:
    """Whether there are rules for the language."""
    return base_code(language) in _RULES


def capitalises_nouns(language: str) -> bool:
    """Whether words that are no names begin with capitals inside sentences."""
    return base_code(language) in _CAPITALS


def may_inflect(token: str, language: str) -> bool:
    """Whether a token looks like a word with an ending: letters alone, no name."""
    has_capital = token[:1] != token[:1].lower()
    is_word = len(token) >= LEAST_LETTERS and token.isalpha() and token[1:] == token[1:].lower()
    return is_word and (not has_capital or capitalises_nouns(language))


def stem_of(token: str, language: str) -> str:
    """What the forms of a word have in common, in lower case."""
    return _stemmer(base_code(language)).stemWord(token.lower())


@cache
def _stemmer(code: str) -> Any:
    import snowballstemmer  # only texts with rare words need it

    return snowballstemmer.stemmer(_RULES[code])
