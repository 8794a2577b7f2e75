"""The pairs of neighbouring words of a text, counted, and listed for each word: what word classes are found from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.lm.counting import sentence_stream
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary


@dataclass(frozen=True)
class Beside:
    """For every word the different words on one side of it, itself left out, as rows laid end to end.

    words, counts: [E] int64; offsets: [W + 1] int64, row w is offsets[w]:offsets[w + 1].
    """

    words: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class Bigrams:
    """The distinct pairs of neighbours in a text of W different words; number W is a sentence end or an unknown word.

    ids: [W] int32, the words' ids in the vocabulary, ascending.
    first, second, pair_counts: [G] int64, sorted by (first, second).
    """

    ids: np.ndarray
    first: np.ndarray
    second: np.ndarray
    pair_counts: np.ndarray

    @property
    def num_words(self) -> int:
        return len(self.ids)

    @property
    def num_pairs(self) -> int:
        """Of the text: its words and sentence ends."""
        return int(self.pair_counts.sum())

    @cached_property
    def counts(self) -> np.ndarray:
        """[W] int64: how often each word occurs."""
        return np.bincount(self.first, self.pair_counts, minlength=self.num_words + 1)[:-1].astype(np.int64)

    @cached_property
    def repeats(self) -> np.ndarray:
        """[W] int64: how often each word follows itself."""
        same = self.first == self.second
        found = np.bincount(self.first[same], self.pair_counts[same], minlength=self.num_words + 1)
        return found[:-1].astype(np.int64)

    @cached_property
    def by_frequency(self) -> np.ndarray:
        """[W] int64: words by falling frequency; of equally frequent ones the lowest number first."""
        return np.argsort(-self.counts, kind="stable")

    @cached_property
    def after(self) -> Beside:
        """What follows each word."""
        return self._beside(self.first, self.second)

    @cached_property
    def before(self) -> Beside:
        """What precedes each word."""
        return self._beside(self.second, self.first)

    def _beside(self, middle: np.ndarray, other: np.ndarray) -> Beside:
        used = np.flatnonzero((middle != other) & (middle < self.num_words))
        used = used[np.argsort(middle[used], kind="stable")]
        lengths = np.bincount(middle[used], minlength=self.num_words)
        return Beside(other[used], self.pair_counts[used], offsets_of(lengths))


def count_bigrams(sentences: Ragged, vocabulary: Vocabulary) -> Bigrams:
    """Counts the pairs of a text, each sentence with an end on both sides."""
    tokens, distance = sentence_stream(sentences, vocabulary)
    is_word = np.bincount(tokens, minlength=len(vocabulary)) > 0
    is_word[:NUM_RESERVED] = False  # <unk>, <s> and </s>
    ids = np.flatnonzero(is_word)
    numbers = np.full(len(vocabulary), len(ids), np.int64)
    numbers[ids] = np.arange(len(ids))
    ends = np.flatnonzero(distance > 0)
    keys = numbers[tokens[ends - 1]] * (len(ids) + 1) + numbers[tokens[ends]]
    keys.sort()
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct, pair_counts = keys[begins], np.diff(begins, append=len(keys))
    first, second = np.divmod(distinct, len(ids) + 1)
    return Bigrams(ids.astype(np.int32), first, second, pair_counts.astype(np.int64))
