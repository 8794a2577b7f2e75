"""Tokenising and detokenising that lose nothing but the width of white space.

Text is cut at white space and then, within each piece, at punctuation. Every token has a way it sits
in ordinary text of its language: a comma clings to the word on its left, an opening bracket to the one on
its right, French "l'" to its right, English "'s" to its left, a word to nothing, French "!" to nothing.
A token that sits that way is written plainly; one that does not carries marks that say how it sits:

    ￭x  clings to the left    x￭  clings to the right    ￭x￭  to both    ␣x  to neither

so "print(x)" is `print ￭(￭ x )` and "Bonjour, l'ami !" is `Bonjour , l' ami !`. Two neighbours are written
together if either clings to the other. Detokenising is therefore exact for text, and follows the
language's habits for the plain tokens a decoder puts in a new order.

What is known of single languages is in `languages/`: abbreviations, apostrophes, how punctuation sits. Chinese,
Japanese, Thai, Lao, Khmer and Burmese are cut into characters (with their vowel signs and accents), or into words by a
segmenter that a person names; there a letter clings to both its neighbours, so that it is the spaces that are marked.
All other languages are cut at white space and punctuation, apostrophes included, and have no abbreviations.

Chosen by measurement: lines per CPU-second on 12,000 lines of twelve domains (cold) and on 20,000 long lines of law
(40 tokens a line), medians of three runs on a busy machine; lines that come back exactly, of text in NFC with single
spaces and straight apostrophes; agreement with Moses' tokens on 4,000 lines of Python manuals (F1 of tokens, marks
aside; most of the difference here is names like `max_size`, kept whole on purpose):

                              French                                     English
                              cold     law    exact   agreement         cold     exact   agreement
    this one                31,000  31,000   1.0000   0.979           36,000    1.0000   0.977
    pyonmttok conservative  66,000  44,000   1.0000   0.913           74,000    1.0000   0.961
    pyonmttok aggressive    61,000  34,000   1.0000   0.898           67,000    1.0000   0.946
    sacremoses               6,500   4,500   0.841    1.000            6,100    0.862    1.000

sacremoses loses spacing; pyonmttok is faster but cuts "l'ami" in three and marks one token in seven, this one in a
hundred. At these rates 900,000 lines take half a minute of CPU time.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from jaxsmt.text.languages.abbreviations import abbreviations_of
from jaxsmt.text.languages.apostrophes import APOSTROPHES, CUT, ELISION, INNER, SUFFIX, apostrophe_rules
from jaxsmt.text.languages.codes import base_code
from jaxsmt.text.languages.scripts import (
    WITHOUT_SPACES,
    combining_marks,
    letters_without_spaces,
    punctuation,
    sits_without_space,
)
from jaxsmt.text.languages.segmenters import load_segmenter
from jaxsmt.text.languages.spacing import spacing_of

JOINER = "￭"
SPACER = "␣"
_NEVER_IN_TEXT = str.maketrans({JOINER: "■", SPACER: "_"})  # the marks themselves, should a text have them
_CLING_BOTH = frozenset("/")
_ORDINALS_WITH_PERIOD = frozenset(("de", "pl", "cs", "da", "nb", "fi"))  # "am 3. Oktober"
_ENDINGS_AFTER_COLON = frozenset(("sv", "fi"))  # "EU:s", "USA:ssa", "3:e"


class Tokeniser:
    """Tokenises and detokenises one language.

    language: a code; 'fr-CA' has the rules of 'fr'. Languages without rules of their own get those for punctuation.
    segmenter: what cuts text without spaces into words, see `languages.segmenters`; None cuts it into characters.
    """

    def __init__(self, language: str, segmenter: str | None = None):
        self.language = base_code(language)
        self._abbreviations = abbreviations_of(language)
        self._apostrophes = apostrophe_rules(self.language, f"[^{punctuation()}\\s]")
        self._spacing = spacing_of(self.language, language)
        self._has_spaces = self.language not in WITHOUT_SPACES
        self._segment = load_segmenter(segmenter) if segmenter and not self._has_spaces else None
        self._pattern = _token_pattern(self.language, self._segment is not None)
        self._has_ordinals = self.language in _ORDINALS_WITH_PERIOD
        # text repeats its words: most pieces are found in the cache
        self._cut = lru_cache(1 << 17)(self._cut_piece)
        self._cling = lru_cache(1 << 17)(self._cling_of_marked)

    def tokenise(self, text: str) -> list[str]:
        """The tokens of a line; none of them is empty or contains white space."""
        tokens: list[str] = []
        pieces = text.split()
        if self._has_spaces and not self._has_ordinals:
            for piece in pieces:
                tokens += self._cut(piece)
            return tokens
        last = len(pieces) - 1
        for number, piece in enumerate(pieces):
            tokens += self._cut(piece, number == 0, number == last)
        return tokens

    def detokenise(self, tokens: Iterable[str]) -> str:
        """The line that has these tokens, with single spaces."""
        return self.lay_out(tokens)[0]

    def lay_out(self, tokens: Iterable[str]) -> tuple[str, list[int]]:
        """The line that has these tokens, with single spaces, and where in it each of them starts."""
        parts: list[str] = []
        starts: list[int] = []
        glued, length = True, 0
        for token in tokens:
            form, clings_left, clings_right = self._cling(token)
            if not (glued or clings_left):
                parts.append(" ")
                length += 1
            parts.append(form)
            starts.append(length)
            length += len(form)
            glued = clings_right
        return "".join(parts), starts

    def plain(self, token: str) -> str:
        """The token without its marks."""
        return self._cling(token)[0]

    def with_form(self, token: str, form: str) -> str:
        """Another form that sits as the token does."""
        cling = self._cling(token)[1:]
        return form if cling == self._default_cling(form) else _marked(form, *cling)

    def without_marks(self, text: str) -> str:
        """Raw text as its tokens spell it: characters that are marks here are others there."""
        return text.translate(_NEVER_IN_TEXT)

    def _default_cling(self, form: str) -> tuple[bool, bool]:
        """How the token sits in ordinary text: clings to the left, clings to the right."""
        last = form[-1]
        if not self._has_spaces:
            tight = sits_without_space()
            sides = tight.match(form[0]) is not None, tight.match(last) is not None
            if any(sides):
                return sides
        if form.isalnum():
            return False, False
        if len(form) == 1 or form.strip(last) == "":  # one punctuation mark, or a run such as "..." or "!!"
            both = last in _CLING_BOTH
            return both or last in self._spacing.left, both or last in self._spacing.right
        return self._cling_by_apostrophe(form)

    def _cling_by_apostrophe(self, form: str) -> tuple[bool, bool]:
        kind = self._apostrophes.kind
        if kind == SUFFIX:
            return form[0] in APOSTROPHES and form[1:].isalpha(), False
        may_cling = kind in (ELISION, CUT) and form[-1] in APOSTROPHES and form[-2].isalpha()
        return False, may_cling and form.lower() not in self._apostrophes.whole

    def _cut_piece(self, piece: str, is_first: bool = False, is_last: bool = False) -> tuple[str, ...]:
        """Tokens of a piece of text without white space, marked where they do not sit as usual.

        is_first, is_last: whether it begins or ends its line, where that makes a difference.
        """
        forms = self._split_period(self._forms(piece.translate(_NEVER_IN_TEXT)), is_last)
        usual = [self._default_cling(form) for form in forms]
        sits = [list(cling) for cling in usual]
        if self._has_spaces or not is_first:
            sits[0][0] = False  # there is white space, or nothing, around a piece
        if self._has_spaces or not is_last:
            sits[-1][1] = False
        for i in range(len(forms) - 1):
            if not (sits[i][1] or sits[i + 1][0]):
                # a punctuation mark takes the mark, rather than a word; the right one of two
                on_left = _is_word(forms[i + 1]) and not _is_word(forms[i])
                sits[i + (not on_left)][1 if on_left else 0] = True
        return tuple(
            form if tuple(cling) == default else _marked(form, *cling)
            for form, cling, default in zip(forms, sits, usual, strict=True)
        )

    def _forms(self, piece: str) -> list[str]:
        forms = self._pattern.findall(piece)
        if self._segment is None:
            return forms
        tight = sits_without_space()
        cut = [self._segment(form) if len(form) > 1 and tight.match(form[0]) else [form] for form in forms]
        return [word for words in cut for word in words]

    def _split_period(self, forms: list[str], ends_line: bool) -> list[str]:
        """Cuts the period off the word that ends the piece, unless it is an abbreviation or makes an ordinal number."""
        for i in range(len(forms) - 1, -1, -1):
            form = forms[i]
            if not _is_word(form):
                continue
            stem = form[:-1]
            is_ordinal = self._has_ordinals and not ends_line and len(stem) <= 2 and stem.isdecimal()
            if form[-1] == "." and len(form) > 1 and not (is_ordinal or self._is_abbreviation(stem)):
                return [*forms[:i], stem, ".", *forms[i + 1 :]]
            break
        return forms

    def _is_abbreviation(self, stem: str) -> bool:
        parts = stem.split(".")
        is_initials = all(len(part) == 1 for part in parts) and (len(parts) > 1 or stem.isupper())
        return is_initials or stem.lower() in self._abbreviations

    def _cling_of_marked(self, token: str) -> tuple[str, bool, bool]:
        """The form of a token and how it sits, by its marks or else by habit."""
        if len(token) == 1:
            return token, *self._default_cling(token)
        if token[0] == SPACER:
            return token[1:], False, False
        left, right = token[0] == JOINER, token[-1] == JOINER and len(token) > 2 - (token[0] != JOINER)
        form = token[left : len(token) - right]
        return (form, left, right) if left or right else (form, *self._default_cling(form))


@cache
def tokeniser_for(language: str, segmenter: str | None = None) -> Tokeniser:
    """One tokeniser a language and segmenter, so that its cache is shared."""
    return Tokeniser(language, segmenter)


def _is_word(form: str) -> bool:
    return any(character.isalnum() for character in form)


def _marked(form: str, clings_left: bool, clings_right: bool) -> str:
    if not (clings_left or clings_right):
        return SPACER + form
    return JOINER * clings_left + form + JOINER * clings_right


@cache
def _token_pattern(language: str, whole_runs: bool) -> re.Pattern[str]:
    """Matches one token of a piece without white space; together the matches cover the piece.

    Look-ahead is bounded or covers only what the word pattern takes anyway, so that the time stays linear in the
    length of the piece. whole_runs: letters of scripts without spaces are matched as runs, not one by one.
    """
    is_tight = language in WITHOUT_SPACES
    own = letters_without_spaces() if is_tight else ""
    letter = f"[^{punctuation()}\\s{own}]"  # letters, digits, combining marks, underscore
    rules = apostrophe_rules(language, letter)
    alphabetic = r"[^\W\d_]"
    joint = r"[-‐‑.]|(?<=\d),(?=\d)"
    if rules.kind == INNER:
        joint += f"|[{APOSTROPHES}]"
    if language in _ENDINGS_AFTER_COLON:
        joint += rf"|:(?={alphabetic}{{1,4}}(?!\w))"
    word = rf"(?:-{{1,2}}(?={letter})|\.(?={letter}))?{letter}+(?:(?:{joint}){letter}+)*"
    alternatives = [
        r"(?:https?|ftp|file)://[^\s<>\"'’“”«»(){}\[\]]*[\w/]|www\.[\w.-]+\.\w+",
        r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]+)+",
        r"%(?:\d+\$|\(\w+\))?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|z)?[diouxXeEfgGcsrp](?!\w)|%\w+",  # format directives
        r"&\#?\w{1,31};|\$[^\W\d]\w*|\\[ntr](?!\w)",
    ]
    if is_tight:  # they end where such a script begins
        alternatives = [f"(?a:{one})".replace(r"[^\s<", r"[^\s\x80-\U0010ffff<") for one in alternatives]
        following = combining_marks() + (own if whole_runs else "")
        alternatives.append(f"[{own}][{following}]*")
    alternatives += rules.patterns
    alternatives += [rf"{word}(?:\.(?!\.|{letter}))?", r"\.{2,}|!{2,}|\?{2,}|\*{2,}|={2,}|#{2,}|~{2,}|-{2,}|…+", "."]
    return re.compile("|".join(alternatives), re.DOTALL)
