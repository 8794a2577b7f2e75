"""Do the two sides of a pair translate each other? Told by words that go together elsewhere in the training text.

A word of one side is matched by a line of the other if that line has one of the words it occurs with most (by Dice's
coefficient 2 n(s,t) / (n(s) + n(t)) over a sample of the training text), the same word, or one that begins alike.
The score of two lines is the share of their words that are matched, each counted by −log of the share of lines that
have it. Pairs that do not match score as lines that were put together at random.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from jaxsmt.common.ragged import Ragged, ranks_in_runs
from jaxsmt.text.checking.folding import LinesOfText

MOST_PAIRS = 60_000  # of the training text, taken at equal steps
MOST_WORDS = 60  # longer lines tell little of which words go together
TOO_FREQUENT = 0.1  # words in more than this share of the lines match anything
LEAST_TOGETHER = 2
LEAST_DICE = 0.04
BEST = 4  # words that a word may be matched by
PREFIX = 5  # letters that words which begin alike have in common
BLOCK = 5_000  # lines that are scored at once


@dataclass(frozen=True)
class WordTable:
    """The words of one side of all texts, by folded form."""

    number: dict[str, int]

    @classmethod
    def of(cls, texts: Sequence[LinesOfText]) -> "WordTable":
        """All words of these texts."""
        forms = dict.fromkeys(form for text in texts for form in text.forms if form)
        return cls({form: number for number, form in enumerate(forms)})

    def words_of(self, text: LinesOfText) -> Ragged:
        """The numbers of a text's words, line by line; −1 for what is no word."""
        numbers = np.array([self.number.get(form, -1) for form in text.forms], np.int64)
        return Ragged(numbers[text.rows.values], text.rows.offsets)


def incidence(words: Ragged, rows: np.ndarray, num_words: int) -> sparse.csr_array:
    """[rows, W]: 1 where a line has a word."""
    part = words.take(rows)
    known = part.values >= 0
    places = part.row_index[known], part.values[known]
    return _ones(places, (len(rows), num_words))


def _ones(places: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> sparse.csr_array:
    found = sparse.csr_array((np.ones(len(places[0]), np.float32), places), shape=shape)
    found.data[:] = 1
    return found


@dataclass(frozen=True)
class Matcher:
    """Word tables of both sides, what each word counts for [W], and which words match [Ws, Wt]."""

    tables: tuple[WordTable, WordTable]
    weights: tuple[np.ndarray, np.ndarray]
    matches: sparse.csr_array

    @cached_property
    def both_ways(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The matches of source words, and of target words."""
        return self.matches, self.matches.T.tocsr()

    def of(self, source: LinesOfText, target: LinesOfText) -> "MatchedText":
        """Ready to score the lines of a text."""
        return MatchedText(self, (self.tables[0].words_of(source), self.tables[1].words_of(target)))


@dataclass(frozen=True)
class MatchedText:
    """The words of both sides of a text, in the numbers of a matcher."""

    matcher: Matcher
    words: tuple[Ragged, Ragged]

    def __len__(self) -> int:
        return len(self.words[0])

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """[R] float32 scores of all pairs, and [R] the number of words that could be matched on the poorer side."""
        scores, told = np.zeros(len(self), np.float32), np.zeros(len(self), np.int64)
        for first in range(0, len(self), BLOCK):
            rows = np.arange(first, min(first + BLOCK, len(self)))
            sides = self._incidences(rows)
            found, possible = np.zeros(len(rows)), np.zeros(len(rows))
            for here, (weighted, has_match) in enumerate(self._matched(sides)):
                found += np.asarray(weighted.multiply(has_match.T).sum(axis=1)).ravel()
                possible += np.asarray(weighted.sum(axis=1)).ravel()
                number = np.asarray((weighted > 0).sum(axis=1)).ravel()
                told[rows] = number if here == 0 else np.minimum(told[rows], number)
            scores[rows] = found / np.maximum(possible, 1e-9)
        return scores, told

    def square(self, rows: np.ndarray) -> np.ndarray:
        """[rows, rows] float32: the score of every one of these source lines with every one of the target lines."""
        sides = self._incidences(rows)
        found, possible = np.zeros((len(rows), len(rows))), np.zeros((len(rows), len(rows)))
        for here, (weighted, has_match) in enumerate(self._matched(sides)):
            part, total = (weighted @ has_match).toarray(), np.asarray(weighted.sum(axis=1)).ravel()
            found += part.T if here else part
            possible += total[None, :] if here else total[:, None]
        return np.asarray(found / np.maximum(possible, 1e-9), np.float32)

    def _incidences(self, rows: np.ndarray) -> list[sparse.csr_array]:
        tables = self.matcher.tables
        return [incidence(words, rows, len(table.number)) for words, table in zip(self.words, tables, strict=True)]

    def _matched(self, sides: Sequence[sparse.csr_array]) -> Iterator[tuple[sparse.csr_array, sparse.csr_array]]:
        """For each side what its lines' words count for [rows, W], and which the other side's lines match [W, rows]."""
        for here, there, matches, weights in zip(
            sides, sides[::-1], self.matcher.both_ways, self.matcher.weights, strict=True
        ):
            has_match = (matches @ there.T).tocsr()
            has_match.data[:] = 1
            weighted = (here * weights[None, :]).tocsr()
            weighted.eliminate_zeros()
            yield weighted, has_match


TextPair = tuple[LinesOfText, LinesOfText]


def make_matcher(pairs: Sequence[TextPair], others: Sequence[TextPair]) -> Matcher:
    """From training texts, for these and other texts."""
    tables = [WordTable.of([text[side] for text in (*pairs, *others)]) for side in (0, 1)]
    source, target = (sparse.vstack(parts) for parts in zip(*_samples(pairs, tables), strict=True))
    lines = source.shape[0]
    counts = [np.asarray(side.sum(axis=0)).ravel() for side in (source, target)]
    weights = [np.where(n > TOO_FREQUENT * lines, 0, np.log((lines + 1) / (n + 1))).astype(np.float32) for n in counts]
    together = _together(source, target, [weight > 0 for weight in weights])
    dice = 2 * together.data / (counts[0][together.row] + counts[1][together.col])
    good = (together.data >= LEAST_TOGETHER) & (dice >= LEAST_DICE)
    row, col, dice = together.row[good], together.col[good], dice[good]
    best = _best_of(row, dice) | _best_of(col, dice)
    alike = _alike(tables)
    row, col = np.concatenate([row[best], alike[0]]), np.concatenate([col[best], alike[1]])
    shape = len(tables[0].number), len(tables[1].number)
    matches = _ones((row, col), shape)
    for side, weight in enumerate(weights):  # words that nothing matches say nothing
        weight[np.asarray(matches.sum(axis=1 - side)).ravel() == 0] = 0
    return Matcher((tables[0], tables[1]), (weights[0], weights[1]), matches)


def _samples(
    pairs: Sequence[TextPair], tables: Sequence[WordTable]
) -> Iterator[tuple[sparse.csr_array, sparse.csr_array]]:
    """Lines of all texts at equal steps, as incidences of both sides."""
    total = sum(len(source) for source, _ in pairs)
    for source, target in pairs:
        number = min(len(source), -(-len(source) * MOST_PAIRS // max(total, 1)))
        rows = np.linspace(0, len(source) - 1, number).astype(np.int64)
        rows = rows[(source.rows.lengths[rows] <= MOST_WORDS) & (target.rows.lengths[rows] <= MOST_WORDS)]
        words = [table.words_of(side) for table, side in zip(tables, (source, target), strict=True)]
        yield incidence(words[0], rows, len(tables[0].number)), incidence(words[1], rows, len(tables[1].number))


def _together(source: sparse.csr_array, target: sparse.csr_array, told: Sequence[np.ndarray]) -> sparse.coo_array:
    """In how many lines two words occur together; only words that tell something."""
    keep = [sparse.dia_array((mask[None].astype(np.float32), [0]), shape=(len(mask), len(mask))) for mask in told]
    return ((source @ keep[0].tocsr()).T.tocsr() @ (target @ keep[1].tocsr())).tocoo()


def _best_of(group: np.ndarray, score: np.ndarray) -> np.ndarray:
    """[T] bool: the BEST highest scores of each group."""
    order = np.lexsort((-score, group))
    best = np.zeros(len(group), bool)
    best[order[ranks_in_runs(group[order]) < BEST]] = True
    return best


def _alike(tables: Sequence[WordTable]) -> tuple[np.ndarray, np.ndarray]:
    """Words of both sides that are the same or have the first PREFIX letters in common, as (source, target) numbers."""
    by_start: dict[str, list[int]] = {}
    for form, number in tables[1].number.items():
        by_start.setdefault(form if len(form) < PREFIX or form.isdigit() else form[:PREFIX], []).append(number)
    found: list[tuple[int, int]] = []
    for form, number in tables[0].number.items():
        start = form if len(form) < PREFIX or form.isdigit() else form[:PREFIX]
        found += [(number, other) for other in by_start.get(start, ())[:50]]
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
