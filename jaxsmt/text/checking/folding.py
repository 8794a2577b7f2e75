"""Lines as numbers that are equal where only case, digits or punctuation differ; runs of words as such numbers."""

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary

SHINGLE = 3  # words in a row
_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers differ for every place in a line


def folded(word: str, keep_digits: bool = False) -> str:
    """The letters and digits of a word without case and accents; every digit is 0 unless they are kept."""
    letters = (c for c in unicodedata.normalize("NFKD", word.casefold()) if c.isalnum())
    return "".join(c if keep_digits or not c.isdigit() else "0" for c in letters)


@dataclass(frozen=True)
class LinesOfText:
    """R lines of one language.

    rows: ids of tokens; vocabulary: what they spell, marks included.
    """

    rows: Ragged
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def forms(self) -> list[str]:
        """For every id its folded form, digits kept; '' for punctuation and reserved ids."""
        return [""] * NUM_RESERVED + [folded(word, keep_digits=True) for word in self.vocabulary.words]

    @cached_property
    def exact(self) -> np.ndarray:
        """[R] uint64: a number for every line, the same for lines of the same tokens."""
        keys = np.array([0] * NUM_RESERVED + [number_of(word) for word in self.vocabulary.words], np.uint64)
        return _line_numbers(Ragged(keys[self.rows.values], self.rows.offsets))

    @cached_property
    def folded_words(self) -> Ragged:
        """Numbers of the lines' words, the same for words that differ in case, accents and digits; no punctuation."""
        spelt = [folded(form) for form in self.forms]
        keys = np.array([number_of(form) if form else 0 for form in spelt], np.uint64)
        values = keys[self.rows.values]
        kept = values != 0
        lengths = np.bincount(self.rows.row_index[kept], minlength=len(self.rows))
        return Ragged(values[kept], offsets_of(lengths))

    @cached_property
    def folded(self) -> np.ndarray:
        """[R] uint64: a number for every line, the same for lines of the same folded words; 0 for no word."""
        return _line_numbers(self.folded_words)

    @cached_property
    def shingles(self) -> Ragged:
        """Numbers of all runs of SHINGLE folded words, line by line; shorter lines have none."""
        words = self.folded_words
        number = np.maximum(words.lengths - SHINGLE + 1, 0)
        first, _ = ranges(words.offsets[:-1], number)
        total = np.zeros(len(first), np.uint64)
        for place in range(SHINGLE):
            total = total * _STEP + words.values[first + place]
        return Ragged(total, offsets_of(number))


def number_of(text: str) -> int:
    """64 bits of a text, the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _line_numbers(words: Ragged) -> np.ndarray:
    """[R] uint64: Σ word · step^place, 0 for lines without words."""
    longest = int(words.lengths.max(initial=0))
    powers = np.cumprod(np.full(longest + 1, _STEP, np.uint64))
    place = np.arange(len(words.values)) - np.repeat(words.offsets[:-1], words.lengths)
    sums = np.concatenate([[np.uint64(0)], np.cumsum(words.values * powers[place], dtype=np.uint64)])
    return sums[words.offsets[1:]] - sums[words.offsets[:-1]]
