"""How punctuation sits in ordinary text of a language: which marks cling to the word on their left or right.

Quotation marks are "such" nearly everywhere; here are those that differ: French « so », German and Danish »so«, and
“ ‘, which close a quotation in German, Czech, Danish and Russian and open one elsewhere.
"""

from dataclasses import dataclass

_LEFT = frozenset(",.;:!?)]}%…‰°”’»›")
_RIGHT = frozenset("([{$£€#¿¡“‘„«‹")
_ALONE = {  # set apart with a space on either side
    "fr": ";:!?%«»‹›$€£‰",
    **dict.fromkeys(("de", "es", "it", "pt", "pl", "ru"), "€"),
    **dict.fromkeys(("cs", "sv", "da", "nb", "fi"), "%‰€"),
}
_OPENING = {"de": "»›‚", "da": "»›‚", "cs": "‚"}  # where others close
_CLOSING = {"de": "«‹“‘", "da": "«‹“‘", "cs": "“‘", "ru": "“‘"}  # where others open
_POINTED_INWARDS = ("de-ch", "de-li")  # «so»


@dataclass(frozen=True)
class SpacingHabits:
    """left, right: marks that cling to what is on their left, on their right; those of neither set stand alone."""

    left: frozenset[str]
    right: frozenset[str]


def spacing_of(language: str, tag: str = "") -> SpacingHabits:
    """Habits of a language (a base code); tag: with its country, where habits differ from land to land."""
    alone = set(_ALONE.get(language, ""))
    opening, closing = set(_OPENING.get(language, "")), set(_CLOSING.get(language, ""))
    if tag.lower().replace("_", "-") in _POINTED_INWARDS:
        opening, closing = {"‚"}, closing - set("«‹")
    left = (_LEFT - opening) | closing
    right = (_RIGHT - closing) | opening
    return SpacingHabits(frozenset(left - alone), frozenset(right - alone))
