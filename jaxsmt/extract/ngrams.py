"""Every n-gram of a text as one number, in lexicographic order.

The positions of the text are sorted by the words that follow, as in a suffix array (Manber & Myers 1993) but
only as deep as the longest n-gram. An n-gram is then a run of neighbours in this order; it is numbered by
the first position of the run, shorter ones first, so that numbers compare as the sequences of word ids do.
"""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged
from jaxsmt.text.vocabulary import PAD

EMPTY_NGRAM = 0  # the number of the n-gram without words; it comes before all others
MAX_NGRAMS = 1 << 29  # numbers of two n-grams and the gaps between them fit in 63 bits


@dataclass(frozen=True)
class NgramIndex:
    """The n-grams of up to L words in a text of T words, numbered from 1 in lexicographic order.

    ids: [L, T] int32; ids[n - 1, p] is the n-gram of n words that starts at p, 0 where the row ends before.
    words: [T] int32, the text.
    order: [T] int32, positions sorted by the words that follow.
    num_shared: [T] int32, the words that the n-gram at order[r] shares with that at order[r - 1].
    first_id: [T] int32, the number of the shortest n-gram that starts at order[r] and at no place before r.
    num_ngrams: how many distinct n-grams there are.
    """

    ids: np.ndarray
    words: np.ndarray
    order: np.ndarray
    num_shared: np.ndarray
    first_id: np.ndarray
    num_ngrams: int

    @property
    def num_bits(self) -> int:
        """Bits that hold every number."""
        return max(self.num_ngrams.bit_length(), 1)

    @property
    def nbytes(self) -> int:
        arrays = (self.ids, self.words, self.order, self.num_shared, self.first_id)
        return sum(array.nbytes for array in arrays)

    def lookup(self, position: np.ndarray, length: np.ndarray) -> np.ndarray:
        """[R] int64: the numbers of the n-grams at the given positions [R]; EMPTY_NGRAM where length is 0."""
        num_words = self.ids.shape[1]
        flat = (length.astype(np.int64) - 1) * num_words + position
        return np.where(length > 0, self.ids.reshape(-1)[np.where(length > 0, flat, 0)], EMPTY_NGRAM).astype(np.int64)

    def words_of(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where n-grams [R] stand in the text and how long they are: positions [R], lengths [R] (0 for the empty)."""
        if not len(self.order):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        place = np.maximum(np.searchsorted(self.first_id, ids, side="right") - 1, 0)
        length = ids - self.first_id[place] + self.num_shared[place] + 1
        return self.order[place].astype(np.int64), np.where(ids > 0, length, 0).astype(np.int64)


def index_ngrams(text: Ragged, max_length: int) -> NgramIndex:
    """Numbers the n-grams of up to `max_length` words."""
    words = np.ascontiguousarray(text.values, np.int32)
    to_end = np.repeat(text.offsets[1:], text.lengths) - np.arange(len(words))
    length = np.minimum(to_end, max_length).astype(np.int32)
    rank = _sort_positions(words, to_end, max_length)
    order = np.argsort(rank, kind="stable").astype(np.int32)
    num_shared = _shared_words(words, length, order, max_length)
    num_new = (length[order] - num_shared).astype(np.int64)
    num_ngrams = int(num_new.sum())
    if num_ngrams >= MAX_NGRAMS:
        raise UserError(
            f"the corpus has {num_ngrams} distinct n-grams of up to {max_length} words, more than {MAX_NGRAMS}: "
            "split it into several components"
        )
    first_id = (1 + np.cumsum(num_new) - num_new).astype(np.int32)
    ids = _number(length, order, num_shared, first_id, max_length)
    return NgramIndex(ids, words, order, num_shared, first_id, num_ngrams)


def _sort_positions(words: np.ndarray, to_end: np.ndarray, max_length: int) -> np.ndarray:
    """[T]: a rank of every position by the words that follow it in its row, at least `max_length` of them."""
    rank, depth = words.astype(np.int64), 1
    while depth < max_length:  # what is sorted by d words gives the order by 2d words, and by 3d where bits suffice
        bits = int(rank.max(initial=0)).bit_length()
        parts = max(min(63 // max(bits, 1), -(-max_length // depth)), 2)
        key = rank
        for part in range(1, parts):
            key = key << bits | _ahead(rank, to_end, part * depth)
        rank = dense_rank(key) + 1
        depth *= parts
    return rank


def _ahead(rank: np.ndarray, to_end: np.ndarray, distance: int) -> np.ndarray:
    """[T]: the rank `distance` words on; 0, below all ranks, where the row ends before."""
    shifted = np.zeros_like(rank)
    shifted[: max(len(rank) - distance, 0)] = rank[distance:]
    return np.where(to_end > distance, shifted, PAD)


def dense_rank(keys: np.ndarray) -> np.ndarray:
    """[R] int64: the place of each key among the distinct keys in ascending order."""
    order = np.argsort(keys)
    ordered = keys[order]
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.cumsum(np.concatenate([np.zeros(min(len(keys), 1), bool), ordered[1:] != ordered[:-1]]))
    return rank


def _shared_words(words: np.ndarray, length: np.ndarray, order: np.ndarray, max_length: int) -> np.ndarray:
    """[T] int32: how many first words each position has in common with the one before it in `order`."""
    num_shared = np.zeros(len(order), np.int32)
    before, here = order[:-1], order[1:]
    same = np.flatnonzero(words[before] == words[here]) if len(order) > 1 else np.zeros(0, np.int64)
    for depth in range(1, max_length + 1):
        num_shared[same + 1] = depth
        longer = (length[before[same]] > depth) & (length[here[same]] > depth)
        same = same[longer]
        same = same[words[before[same] + depth] == words[here[same] + depth]]
    return num_shared


def _number(
    length: np.ndarray, order: np.ndarray, num_shared: np.ndarray, first_id: np.ndarray, max_length: int
) -> np.ndarray:
    """[L, T] int32: the number of each n-gram, from the first place in `order` where it stands."""
    ids = np.zeros((max_length, len(order)), np.int32)
    places = np.arange(len(order))
    for size in range(1, max_length + 1):
        start = np.maximum.accumulate(np.where(num_shared < size, places, 0)) if len(order) else places
        ids[size - 1, order] = first_id[start] + size - num_shared[start] - 1
        ids[size - 1, length < size] = EMPTY_NGRAM
    return ids
