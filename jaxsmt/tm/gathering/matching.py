"""Which source sides of a component a text has: a walk through the sorted table, from all words at once."""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.arrays import release_pages
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import Ragged, ranges
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD
from jaxsmt.tm.gathering.sorted_rows import narrowed


class _Walk(NamedTuple):
    """Beginnings of sides that the text has: the rows that begin so, and the word that comes next; [n] each."""

    first: np.ndarray
    last: np.ndarray
    position: np.ndarray

    def pick(self, rows: np.ndarray) -> "_Walk":
        return _Walk(*(values[rows] for values in self))


def matching_sides(sides: np.ndarray, sentences: Ragged) -> np.ndarray:
    """[m] int64, ascending: the sides that occur in a sentence, a gap covering one word at least.

    sides: [Ps, Ls] int32 distinct, in lexicographic order.
    """
    words = sentences.values
    end_of_word = np.repeat(sentences.offsets[1:], sentences.lengths)  # [T]: where the sentence of a word ends
    position = np.arange(len(words), dtype=np.int64)
    walk = _Walk(np.zeros_like(position), np.full_like(position, len(sides)), position)
    found = [np.zeros(0, np.int64)]
    for column in range(sides.shape[1]):
        walk = _next_symbol(sides[:, column], walk, words, end_of_word)
        ends = sides[walk.first, column + 1] == PAD if column + 1 < sides.shape[1] else np.ones(len(walk.first), bool)
        found.append(walk.first[ends])  # filled with the lowest number, so the side that ends here comes first
        walk = walk.pick(np.flatnonzero((walk.position >= 0) & (walk.first + ends < walk.last)))
        release_pages(sides)
    return sorted_distinct(np.concatenate(found))


def _next_symbol(column: np.ndarray, walk: _Walk, words: np.ndarray, end_of_word: np.ndarray) -> _Walk:
    """The beginnings one symbol longer; position −1 where the sentence has no more words."""
    word = words[walk.position]
    here = walk.pick(np.flatnonzero(word >= NUM_RESERVED))
    steps = [(here, words[here.position])]
    steps += [(walk, np.full(len(walk.first), symbol, words.dtype)) for symbol in NONTERMINALS]
    longer = []
    for number, (part, symbol) in enumerate(steps):
        first, last = narrowed(column, part.first, part.last, symbol)
        there = np.flatnonzero(first < last)
        end = end_of_word[part.position[there]]
        after = _Walk(first[there], last[there], part.position[there] + 1)
        longer.append(_after_gap(after, end) if number else _ended(after, end))
    return _distinct(_Walk(*map(np.concatenate, zip(*longer, strict=True))))


def _ended(walk: _Walk, end: np.ndarray) -> _Walk:
    """Position −1 at the end [n] of the sentence."""
    return walk._replace(position=np.where(walk.position < end, walk.position, -1))


def _after_gap(walk: _Walk, end: np.ndarray) -> _Walk:
    """What may come after a gap of every length: any word up to the end [n] of the sentence, or nothing."""
    position, row = ranges(walk.position, end - walk.position + 1)
    return _ended(walk.pick(row)._replace(position=position), end[row])


def _distinct(walk: _Walk) -> _Walk:
    """Once each: gaps of different lengths lead to the same place."""
    key = walk.first << 32 | (walk.position + 1)
    order = np.argsort(key, kind="stable")
    is_first = np.ones(len(order), bool)
    is_first[1:] = key[order][1:] != key[order][:-1]
    return walk.pick(order[is_first])
