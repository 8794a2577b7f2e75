"""What apostrophes do in a language: where they cut words, and how the pieces sit.

suffix    English and German: "it's" is `it 's`, "geht's" is `geht 's`; what begins with one clings to the left
elision   French, Italian and Portuguese: "l'ami" is `l' ami`, "dell'arte" is `dell' arte`; what ends in one clings to
          the right, but for words that have lost their end, such as Italian "po'"
inner     Dutch, Polish, Czech, Russian, Spanish the Nordic languages: "foto's", "Kennedy'ego", "vaa'an" are words
cut       all others: an apostrophe is a mark of its own between two words
"""

from dataclasses import dataclass

APOSTROPHES = "'’"
SUFFIX, ELISION, INNER, CUT = "suffix", "elision", "inner", "cut"
_MARK = f"[{APOSTROPHES}]"
_ALPHABETIC = r"[^\W\d_]"
_BEFORE_HYPHENS = f"(?:{_ALPHABETIC}+-)*"
_KINDS = {"en": SUFFIX, "de": SUFFIX, "fr": ELISION, "it": ELISION, "pt": ELISION} | dict.fromkeys(
    ("nl", "pl", "cs", "ru", "es", "sv", "da", "nb", "fi"), INNER
)
_WITHOUT_END = {"it": "po mo be di fa va da sta to"}  # words that lost their last syllable: "un po' di tempo"
_WITHOUT_BEGINNING = {"nl": "s t n m k r"}  # words that lost their first one: "'s avonds", "'t huis"
_ELIDED = {
    "fr": f"aujourd{_MARK}hui|c\\.-[àa]-d\\.|"
    f"{_BEFORE_HYPHENS}{_ALPHABETIC}*(?:[bcdfgjklmnqrstvz]{_MARK}(?=\\w)|qu{_MARK})",
    "it": f"{_ALPHABETIC}+{_MARK}(?=\\w)",
    "pt": f"{_BEFORE_HYPHENS}[dlmnst]{_MARK}(?={_ALPHABETIC})",
}


@dataclass(frozen=True)
class ApostropheRules:
    """kind: as above; patterns: of tokens that a word pattern would not find, in the order they are tried.

    whole: words that end in an apostrophe and cling to nothing, in lower case, with each kind of apostrophe.
    """

    kind: str
    patterns: tuple[str, ...]
    whole: frozenset[str]


def apostrophe_rules(language: str, letter: str) -> ApostropheRules:
    """The rules of a language (a base code); letter: the pattern of what words are made of."""
    kind = _KINDS.get(language, CUT)
    patterns = []
    ends = "|".join(_WITHOUT_END.get(language, "").split())
    if ends:
        patterns.append(f"(?i:(?:{ends}){_MARK}(?![\\w{APOSTROPHES}]))")
    if language in _ELIDED:
        patterns.append(f"(?i:{_ELIDED[language]})")
    if kind == SUFFIX:
        patterns.append(f"(?<={letter}){_MARK}{letter}+")
    beginnings = "|".join(_WITHOUT_BEGINNING.get(language, "").split())
    if beginnings:
        patterns.append(f"(?i:(?<!{letter}){_MARK}(?:{beginnings})(?![\\w{APOSTROPHES}])(?:-{letter}+)*)")
    whole = frozenset(word + mark for word in _WITHOUT_END.get(language, "").split() for mark in APOSTROPHES)
    return ApostropheRules(kind, tuple(patterns), whole)
