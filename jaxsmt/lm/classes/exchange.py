"""The exchange algorithm: words in classes such that a bigram model of classes gives the text a high likelihood.

Martin, Liermann and Ney (1998): all words, by falling frequency, move one after the other to the class that gains most,
until hardly anything is gained. Here a batch of words that are no large part of the text is judged at once on the
device; the moves of a batch are made together if they gain at least half of what each was promised alone, and otherwise
the first half of them, again under that condition, before the rest is judged anew. A single word keeps its promise, so
that likelihood never falls, and batches of one word are the algorithm of the paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.progress import log
from jaxsmt.common.ragged import numbered_runs, ranges
from jaxsmt.common.settings import LARGEST_NUMBER, check_positive, check_ranges
from jaxsmt.common.sizes import power_of_two
from jaxsmt.lm.classes.bigrams import Beside, Bigrams
from jaxsmt.lm.classes.gains import ClassCounts, Neighbours, WordBatch, best_moves

MOST_CLASSES = 10_000  # their bigrams are a square of counts
_BATCH_SIZES, _SHORT_LIST = (8, 64, 512), 64  # what batches and lists are padded to: few compilations


@dataclass(frozen=True)
class ExchangeConfig:
    """How words are put into classes.

    num_classes: C.
    iterations: at most so many times all words are looked at,
    min_gain: or until one such pass gains less than this, in nats a word of the text.
    batch_words: at most so many words are judged at once,
    batch_share: that together are at most this part of the text.
    """

    num_classes: int = 160
    iterations: int = 20
    min_gain: float = 1e-3
    batch_words: int = 512
    batch_share: float = 5e-3

    def __post_init__(self) -> None:
        check_ranges(self, "", {"num_classes": (1, MOST_CLASSES), "batch_words": (1, LARGEST_NUMBER)})
        check_ranges(self, "", {"iterations": (0, LARGEST_NUMBER), "min_gain": (0.0, 1e6)})
        check_positive(self, "", ["batch_share"])


@dataclass(frozen=True)
class Exchange:
    """What the algorithm found.

    classes: [W] int32, the class of every word of the bigrams.
    log_likelihoods: [passes + 1] float64, of the text before the first pass and after each.
    """

    classes: np.ndarray
    log_likelihoods: np.ndarray


def exchange_classes(bigrams: Bigrams, config: ExchangeConfig) -> Exchange:
    """Puts the words of a text into classes.

    The C − 1 most frequent words start in classes of their own, all others in the last one.
    """
    state = ExchangeState(bigrams, first_classes(bigrams, config.num_classes), config.num_classes)
    found = [state.log_likelihood()]
    for number in range(1, config.iterations + 1):
        moved = sum(state.improve(batch) for batch in batches(bigrams, config))
        found.append(state.log_likelihood())
        gain = (found[-1] - found[-2]) / max(bigrams.num_pairs, 1)
        log.info("word classes, pass %d: %d words moved, %.4f nats a word gained", number, moved, gain)
        if gain < config.min_gain:
            break
    return Exchange(state.classes[:-1].astype(np.int32), np.array(found))


def first_classes(bigrams: Bigrams, num_classes: int) -> np.ndarray:
    """[W] int64: the most frequent words alone, the rest together."""
    classes = np.empty(bigrams.num_words, np.int64)
    classes[bigrams.by_frequency] = np.minimum(np.arange(bigrams.num_words), num_classes - 1)
    return classes


def batches(bigrams: Bigrams, config: ExchangeConfig) -> Iterator[np.ndarray]:
    """The words by falling frequency, a batch at a time: one word, or as many as the limits allow."""
    order = bigrams.by_frequency
    tokens = np.concatenate([[0], np.cumsum(bigrams.counts[order])])
    limit, begin = config.batch_share * tokens[-1], 0
    while begin < len(order):
        end = int(np.searchsorted(tokens, tokens[begin] + limit, side="right")) - 1
        end = min(max(end, begin + 1), begin + config.batch_words, len(order))
        yield order[begin:end]
        begin = end


class ExchangeState:
    """Words in classes and the counts of these, which moves change.

    classes: [W + 1] int64; the last entry is for what is no word and has class C.
    following, preceding: [C + 1, C + 1] int32, and total: [C] int32, as in `ClassCounts`.
    """

    def __init__(self, bigrams: Bigrams, classes: np.ndarray, num_classes: int) -> None:
        self.bigrams, self.num_classes = bigrams, num_classes
        self.classes = np.append(classes, num_classes)
        width = num_classes + 1
        cells = self.classes[bigrams.first] * width + self.classes[bigrams.second]
        following = np.bincount(cells, bigrams.pair_counts, minlength=width * width)
        self.following = following.reshape(width, width).astype(np.int32)
        self.preceding = np.ascontiguousarray(self.following.T)
        self.total = np.bincount(classes, bigrams.counts, minlength=num_classes).astype(np.int32)

    def log_likelihood(self) -> float:
        """Σ_gh φ(N(g, h)) − Σ_g φ(N(g, ·)) + Σ_w φ(N(w)) − Σ_c φ(N(c)): log p of the text as a class bigram model."""
        pairs = phi(self.following).sum() - phi(self.following.sum(axis=1)).sum()
        return float(pairs + phi(self.bigrams.counts).sum() - phi(self.total).sum())

    def improve(self, batch: np.ndarray) -> int:
        """Moves words of a batch to better classes; how many moved."""
        num_moved = 0
        while len(batch):
            target, promised = self._judge(batch)
            movers = np.flatnonzero(target != self.classes[batch])
            num_made = self._make_moves(batch[movers], target[movers], promised[movers])
            num_moved += num_made
            if num_made == len(movers):
                break
            batch = batch[movers[max(num_made, 1) - 1] + 1 :]  # a single word that gains nothing stays as it is
        return num_moved

    def _judge(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[B] the best class of every word, and what it gains by moving there alone."""
        choice = best_moves(ClassCounts(self.following, self.preceding, self.total), self.word_batch(batch))
        return np.asarray(choice.target)[: len(batch)], np.asarray(choice.gain)[: len(batch)]

    def word_batch(self, batch: np.ndarray) -> WordBatch:
        """Words with the classes beside them, for the device; padded with words that never occur."""
        size = _smallest_of(_BATCH_SIZES, len(batch))
        sides = [self._classes_beside(batch, side, size) for side in (self.bigrams.after, self.bigrams.before)]
        longest = max(int(np.count_nonzero(dense, axis=1).max()) for dense in sides)
        right, left = (_listed(dense, _smallest_of((_SHORT_LIST, dense.shape[1]), longest)) for dense in sides)
        own, count, repeats = np.zeros((3, size), np.int32)
        own[: len(batch)] = self.classes[batch]
        count[: len(batch)], repeats[: len(batch)] = self.bigrams.counts[batch], self.bigrams.repeats[batch]
        return WordBatch(own, count, repeats, right, left, np.int32(longest))

    def _classes_beside(self, batch: np.ndarray, side: Beside, size: int) -> np.ndarray:
        """[size, C + 1] int32: how often the classes stand on one side of the words; rows beyond them are 0."""
        begins = side.offsets[batch]
        places, row = ranges(begins, side.offsets[batch + 1] - begins)
        width = self.num_classes + 1
        cells = row * width + self.classes[side.words[places]]
        dense = np.bincount(cells, side.counts[places], minlength=size * width)
        return dense.reshape(size, width).astype(np.int32)

    def _make_moves(self, words: np.ndarray, target: np.ndarray, promised: np.ndarray) -> int:
        """Makes as many of the moves, from the first, as keep half of their promise together; how many."""
        num_moves = len(words)
        while num_moves:
            changes = self._changes(words[:num_moves], target[:num_moves])
            gain = self._gain(changes)
            if gain > 0 and gain >= promised[:num_moves].sum(dtype=np.float64) / 2:
                self._apply(words[:num_moves], target[:num_moves], changes)
                break
            num_moves //= 2
        return num_moves

    def _changes(self, words: np.ndarray, target: np.ndarray) -> "_Changes":
        """What moving words, all at once, changes in the counts."""
        first, second, counts = self._pairs_with(words)
        own, width = self.classes[words], self.num_classes + 1
        old_cells = self.classes[first] * width + self.classes[second]
        self.classes[words] = target
        new_cells = self.classes[first] * width + self.classes[second]
        self.classes[words] = own
        cells, place = np.unique(np.concatenate([old_cells, new_cells]), return_inverse=True)
        change = np.bincount(place, np.concatenate([-counts, counts]), minlength=len(cells))
        counted = self.bigrams.counts[words]
        joined, left = (np.bincount(classes, counted, minlength=self.num_classes) for classes in (target, own))
        return _Changes(cells, change.astype(np.int32), (joined - left).astype(np.int32))

    def _pairs_with(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bigrams that have one of the words, each once: first words, second words, counts."""
        after, before = self.bigrams.after, self.bigrams.before
        right, row = ranges(after.offsets[words], after.offsets[words + 1] - after.offsets[words])
        left, left_row = ranges(before.offsets[words], before.offsets[words + 1] - before.offsets[words])
        is_given = np.zeros(len(self.classes), bool)
        is_given[words] = True
        is_other = ~is_given[before.words[left]]  # pairs of two of the words are those after the first of them
        left, left_row = left[is_other], left_row[is_other]
        return (
            np.concatenate([words[row], words, before.words[left]]),
            np.concatenate([after.words[right], words, words[left_row]]),
            np.concatenate([after.counts[right], self.bigrams.repeats[words], before.counts[left]]),
        )

    def _gain(self, changes: "_Changes") -> float:
        """Of log-likelihood."""
        old = self.following.reshape(-1)[changes.cells]
        pairs = phi(old + changes.change) - phi(old)
        return float(pairs.sum() - 2 * (phi(self.total + changes.total) - phi(self.total)).sum())

    def _apply(self, words: np.ndarray, target: np.ndarray, changes: "_Changes") -> None:
        first, second = np.divmod(changes.cells, self.num_classes + 1)
        self.following[first, second] += changes.change
        self.preceding[second, first] += changes.change
        self.total += changes.total
        self.classes[words] = target


class _Changes(NamedTuple):
    """Cells of `following`, each once [U] int64, what is added to them [U] int32, and to the totals [C] int32."""

    cells: np.ndarray
    change: np.ndarray
    total: np.ndarray


def _listed(dense: np.ndarray, width: int) -> Neighbours:
    """Counts [B, C + 1] also as lists of at most `width` classes."""
    row, found = np.nonzero(dense)
    _, column = numbered_runs(np.bincount(row, minlength=len(dense)))
    classes, counts = np.zeros((2, len(dense), width), np.int32)
    classes[row, column], counts[row, column] = found, dense[row, found]
    return Neighbours(classes, counts, dense)


def _smallest_of(sizes: Sequence[int], wanted: int) -> int:
    """The first of the sizes that is large enough, or the next power of two."""
    return next((size for size in sizes if size >= wanted), power_of_two(wanted))


def phi(count: np.ndarray) -> np.ndarray:
    """n log n, 0 for 0."""
    count = count.astype(np.float64)
    return count * np.log(np.maximum(count, 1))
