"""Upper and lower case: lowercasing, truecasing, and capitals for the output.

A truecaser writes each word as it is usually written inside a sentence, so that "The" at the start of a
sentence and "the" elsewhere are one word and "Python" keeps its capital.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.languages.forms import load_forms, most_frequent_forms, save_forms
from jaxsmt.text.tokenising import JOINER, SPACER

CASES = ("none", "lower", "true")
_SENTENCE_ENDS = frozenset(".!?…")


def ends_sentence(token: str) -> bool:
    """Whether the word after this token starts a sentence."""
    bare = token.strip(JOINER + SPACER)
    return bare != "" and set(bare) <= _SENTENCE_ENDS


def is_transparent(token: str) -> bool:
    """Whether the token has no letters or digits and ends no sentence: a quote or a bracket before the first word."""
    return not ends_sentence(token) and not any(character.isalnum() for character in token)


def initial_positions(tokens: Iterable[str]) -> list[bool]:
    """For each token whether a sentence may start there: first, or after . ! ? …, quotes and brackets aside."""
    initial, result = True, []
    for token in tokens:
        result.append(initial)
        if not is_transparent(token):
            initial = ends_sentence(token)
    return result


def has_case(token: str) -> bool:
    return token.lower() != token.upper()


@dataclass(frozen=True)
class Truecaser:
    """How often each form of a word occurs inside sentences (not where one starts)."""

    counts: dict[str, int]

    @cached_property
    def best(self) -> dict[str, str]:
        """For each lowercased word its most frequent form; of equals the last in code-point order: lower case."""
        return most_frequent_forms(self.counts)

    def form(self, token: str, initial: bool) -> str:
        """The token as it is written inside a sentence; tokens never seen there stay as they are."""
        if not initial and token in self.counts:
            return token
        return self.best.get(token.lower(), token)

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """Truecases one line."""
        return [self.form(token, initial) for token, initial in zip(tokens, initial_positions(tokens), strict=True)]

    def save(self, path: str | Path) -> None:
        """One form and its count a line, separated by a tab, in code-point order."""
        save_forms(path, self.counts)


def load_truecaser(path: str | Path) -> Truecaser:
    """Reads what `Truecaser.save` wrote."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"truecaser '{path}' does not exist: the model folder is incomplete, run train.py again")
    return Truecaser(load_forms(path, "truecaser"))


def capitalise(token: str) -> str:
    """Upper case for the first letter, marks and leading punctuation aside; "iPhone" and "x2" like any other word."""
    for place, character in enumerate(token):
        if character.isalpha():
            # ß and some ligatures grow in upper case: only letters with a one-letter capital are changed
            upper = character.upper()
            return token[:place] + upper + token[place + 1 :] if len(upper) == 1 else token
        if unicodedata.category(character)[0] == "N":
            break
    return token


def recase(tokens: Sequence[str], first: bool = True) -> list[str]:
    """Capitals where sentences start: at the first word if `first`, and after . ! ? … inside the line."""
    result, initial = [], first
    for token in tokens:
        result.append(capitalise(token) if initial and not is_transparent(token) else token)
        if not is_transparent(token):
            initial = ends_sentence(token)
    return result


def starts_with_capital(text: str) -> bool:
    """Whether the first letter of a line is a capital."""
    first = next((character for character in text if character.isalpha()), "")
    return first != "" and first == first.upper() and first != first.lower()
