"""Rare compounds of a source language as the words that they are made of (Koehn & Knight 2003).

German writes "Serverzertifikat" where training text has "Server" and "Zertifikat". Which words are rare is said in
`rare_words`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxsmt.text.languages.codes import base_code

# what may stand between two parts, besides nothing
LINKING = {
    "de": ("s", "es", "n"),
    "nl": ("s", "en", "e"),
    "sv": ("s",),
    "da": ("s", "e"),
    "nb": ("s", "e"),
    "fi": ("n",),
}
_VOWELS = "aeiouyäöü"  # which a linking n follows
MOST_PARTS = 4
MOST_LETTERS = 100  # what is longer is no word, and would take long
_DIGITS = 9  # of a mean that are compared, so that the last bits of logarithms decide nothing


@dataclass(frozen=True)
class CompoundCutter:
    """Cuts words into others.

    counts: how often training text has each word, in lower case; form_of: the form of each that it has most often.
    part_length: letters of a part at the least; part_count: how often training text has it at the least.
    """

    language: str
    counts: Mapping[str, int]
    form_of: Mapping[str, str]
    part_length: int
    part_count: int

    def parts(self, token: str) -> tuple[str, ...]:
        """The words that a token is made of; the token alone if it cannot be cut.

        Of all ways to cut it the one whose parts have the largest geometric mean of counts; of equals that with fewer
        parts, then the one that comes first in the alphabet. Parts have their most frequent form.
        """
        if not self._may_be_cut(token):
            return (token,)
        best = self._ways(token.lower())
        whole = [(round(-total / number, _DIGITS), number, parts) for (number, (total, parts)) in best.items()]
        if not whole:
            return (token,)
        return tuple(self.form_of[part] for part in min(whole)[2])

    def _may_be_cut(self, token: str) -> bool:
        """Letters alone, of which only the first may be a capital: names of programs have others inside."""
        has_length = 2 * self.part_length <= len(token) <= MOST_LETTERS
        return has_length and token.isalpha() and token[1:] == token[1:].lower()

    def _ways(self, word: str) -> dict[int, tuple[float, tuple[str, ...]]]:
        """The best way to cut a word into each number of parts, with the sum of the logarithms of their counts."""
        # by what is cut already and the number of parts
        best: dict[tuple[int, int], tuple[float, tuple[str, ...]]] = {(0, 0): (0.0, ())}
        for start in range(len(word)):
            for number in range(MOST_PARTS):
                if (start, number) not in best:
                    continue
                total, parts = best[start, number]
                for part, end in self._parts_from(word, start):
                    new = (round(total + math.log(self.counts[part]), _DIGITS), (*parts, part))
                    old = best.get((end, number + 1))
                    if old is None or (-new[0], new[1]) < (-old[0], old[1]):
                        best[end, number + 1] = new
        return {number: best[len(word), number] for number in range(2, MOST_PARTS + 1) if (len(word), number) in best}

    def _parts_from(self, word: str, start: int) -> Iterable[tuple[str, int]]:
        """Known words that begin at a place, each with the places where the next may begin."""
        for end in range(start + self.part_length, len(word) + 1):
            part = word[start:end]
            if part == word or self.counts.get(part, 0) < self.part_count:
                continue
            yield part, end
            for letters in LINKING[base_code(self.language)]:
                fits = letters != "n" or part[-1] in _VOWELS
                if fits and word.startswith(letters, end) and end + len(letters) < len(word):
                    yield part, end + len(letters)


def writes_compounds(language: str) -> bool:
    """Whether the language writes them as one word."""
    return base_code(language) in LINKING
