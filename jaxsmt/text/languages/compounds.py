"""Rare compounds of a source language as the words that they are made of (Koehn & Knight 2003).

German writes "Serverzertifikat" where training text has "Server" and "Zertifikat", and a word that it hardly has can
hardly be translated. Such words are cut before they are aligned and searched; those that are frequent stay whole, for
what they mean was seen often enough.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.settings import LARGEST_NUMBER, check_ranges
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
class CompoundConfig:
    """Which words are cut, in languages that write compounds as one word (the keys of `LINKING`).

    rarer_than: those that all training text has less often than this; 0: none.
    part_length: letters of a part at the least; part_count: how often training text has it at the least.
    """

    rarer_than: int = 5
    part_length: int = 4
    part_count: int = 3

    def __post_init__(self) -> None:
        ranges = {"rarer_than": (0, LARGEST_NUMBER), "part_length": (1, 100), "part_count": (1, LARGEST_NUMBER)}
        check_ranges(self, "text.compounds", ranges)

    def applies_to(self, language: str) -> bool:
        """Whether words of the language are cut."""
        return self.rarer_than > 0 and base_code(language) in LINKING


@dataclass(frozen=True)
class CompoundSplitter:
    """Cuts words into others.

    counts: how often training text has each form of a word, as the model knows it.
    """

    language: str
    config: CompoundConfig
    counts: Mapping[str, int]
    _found: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def parts(self, token: str) -> tuple[str, ...]:
        """The words that a token is made of; the token alone if it stays whole.

        Of all ways to cut it the one whose parts have the largest geometric mean of counts; of equals that with fewer
        parts, then the one that comes first in the alphabet. Parts have their most frequent form.
        """
        if not self._may_be_cut(token):
            return (token,)
        if token not in self._found:
            self._found[token] = self._cut(token)
        return self._found[token]

    def cut(self, tokens: Iterable[str]) -> list[str]:
        """The parts of all tokens of a line."""
        return [part for token in tokens for part in self.parts(token)]

    def save(self, path: Path) -> None:
        """One form and its count a line, separated by a tab, in code-point order."""
        write_text(path, "".join(f"{form}\t{self.counts[form]}\n" for form in sorted(self.counts)))

    @cached_property
    def totals(self) -> Counter[str]:
        """Counts of words, whatever their case."""
        totals: Counter[str] = Counter()
        for form, count in self.counts.items():
            totals[form.lower()] += count
        return totals

    @cached_property
    def _best(self) -> dict[str, str]:
        """The most frequent form of each word; of equals the last in code-point order: lower case."""
        best: dict[str, tuple[int, str]] = {}
        for form, count in self.counts.items():
            best[form.lower()] = max(best.get(form.lower(), (0, "")), (count, form))
        return {word: form for word, (_, form) in best.items()}

    def _may_be_cut(self, token: str) -> bool:
        """Letters alone, of which only the first may be a capital: names of programs have others inside."""
        has_length = 2 * self.config.part_length <= len(token) <= MOST_LETTERS
        is_word = has_length and token.isalpha() and token[1:] == token[1:].lower()
        return is_word and self.totals[token.lower()] < self.config.rarer_than

    def _cut(self, token: str) -> tuple[str, ...]:
        word = token.lower()
        best = self._ways(word)
        whole = [(round(-total / number, _DIGITS), number, parts) for (number, (total, parts)) in best.items()]
        if not whole:
            return (token,)
        return tuple(self._best[part] for part in min(whole)[2])

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
                    new = (round(total + math.log(self.totals[part]), _DIGITS), (*parts, part))
                    old = best.get((end, number + 1))
                    if old is None or (-new[0], new[1]) < (-old[0], old[1]):
                        best[end, number + 1] = new
        return {number: best[len(word), number] for number in range(2, MOST_PARTS + 1) if (len(word), number) in best}

    def _parts_from(self, word: str, start: int) -> Iterable[tuple[str, int]]:
        """Known words that begin at a place, each with the places where the next may begin."""
        for end in range(start + self.config.part_length, len(word) + 1):
            part = word[start:end]
            if part == word or self.totals[part] < self.config.part_count:
                continue
            yield part, end
            for letters in LINKING[base_code(self.language)]:
                fits = letters != "n" or part[-1] in _VOWELS
                if fits and word.startswith(letters, end) and end + len(letters) < len(word):
                    yield part, end + len(letters)


def learn_compounds(
    language: str, config: CompoundConfig, texts: Sequence[tuple[Sequence[str], Sequence[int]]]
) -> CompoundSplitter:
    """The splitter of training texts, each given by its words and how often it has them."""
    counts: Counter[str] = Counter()
    for words, numbers in texts:
        for word, number in zip(words, numbers, strict=True):
            if word.isalpha():
                counts[word] += number
    totals = CompoundSplitter(language, config, counts).totals
    least = min(config.rarer_than, config.part_count)  # those that are rarer are no parts, and cut like unknown ones
    return CompoundSplitter(language, config, {form: n for form, n in counts.items() if totals[form.lower()] >= least})


def load_compounds(path: Path, language: str, config: CompoundConfig) -> CompoundSplitter:
    """Reads what `CompoundSplitter.save` wrote."""
    counts = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        form, _, count = line.rpartition("\t")
        if not (form and count.isdecimal()):
            raise UserError(f"compounds '{path}' line {number} is not 'word<tab>count': make it again with train.py")
        counts[form] = int(count)
    return CompoundSplitter(language, config, counts)
