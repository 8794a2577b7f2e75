"""Lexical weights as products of few distinct factors.

lex(t|s) multiplies, over the words of one side, the mean of w over the word's links. All links of a word
lie inside its phrase pair, so the same factor (word, linked words) comes back in very many pairs: each is
computed once for a λ, and a pair is a short list of factor ids. Most factors are a single word pair.
"""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.grouping import positions_in, unique_rows
from jaxsmt.text.vocabulary import NONTERMINALS, PAD

_LOWEST_BIT = np.array([0] + [(mask & -mask).bit_length() - 1 for mask in range(1, 1 << 16)], np.uint8)


@dataclass(frozen=True)
class Factors:
    """The lexical factors of P pairs in one direction, over L word pairs and C factors of several links.

    Factor ids: below L the word pair itself; L a word pair that no component has (w = 0); L + 1 nothing
    (padding and gaps, factor 1); L + 2 + c the mean of row c of `links`.
    """

    index: np.ndarray  # [P, length of the explained side] int32 factor ids
    links: np.ndarray  # [C, M] int32 word pairs (L: unknown pair), filled with L + 1


def intern_factors(
    explained: tuple[np.ndarray, np.ndarray],
    given: tuple[np.ndarray, np.ndarray],
    masks: np.ndarray,
    word_pairs: np.ndarray,
    pairs_per_chunk: int = 1 << 19,
) -> Factors:
    """Finds the factor ids of all pairs.

    explained, given: the side whose words are multiplied over and the other one, each as
        (sides [·, length], index of the pair's side [P]).
    masks: [P, length of the explained side] uint16, bit i = linked to symbol i of the given side.
    word_pairs: [L, 2] int32 (explained word, given word) in any order, distinct.
    """
    lookup = _WordPairLookup(word_pairs)
    num_pairs, width = masks.shape
    index = np.full((num_pairs, width), len(word_pairs) + 1, np.int32)
    tables, places, num_rows = [], [], 0
    for start in range(0, num_pairs, pairs_per_chunk):
        chunk = slice(start, start + pairs_per_chunk)
        words, partners = explained[0][explained[1][chunk]], given[0][given[1][chunk]]
        several, table, row = _chunk_factors(words, partners, masks[chunk], lookup, index[chunk])
        tables.append(table)
        places.append((chunk, several, row + num_rows))
        num_rows += len(table)
    links, final = _merge_tables(tables, len(word_pairs) + 1)
    for chunk, several, row in places:
        index[chunk][several] = len(word_pairs) + 2 + final[row]
    return Factors(index, links)


class _WordPairLookup:
    """Finds ids of (explained word, given word); `unknown` where there is none."""

    def __init__(self, word_pairs: np.ndarray):
        self.unknown = len(word_pairs)
        self._base = int(word_pairs[:, 1].max(initial=0)) + 1
        keys = self._key(word_pairs[:, 0], word_pairs[:, 1])
        order = np.argsort(keys)
        self._keys = keys[order]
        self._ids = np.append(order, self.unknown).astype(np.int32)

    def _key(self, words: np.ndarray, partners: np.ndarray) -> np.ndarray:
        return words.astype(np.int64) * self._base + partners

    def __call__(self, words: np.ndarray, partners: np.ndarray) -> np.ndarray:
        known = partners < self._base
        place = positions_in(self._keys, self._key(words, np.where(known, partners, 0)))
        return np.where(known, self._ids[place], np.int32(self.unknown))


def _chunk_factors(
    words: np.ndarray, partners: np.ndarray, masks: np.ndarray, lookup: _WordPairLookup, index: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Fills `index` where a word has at most one link; returns places, distinct rows and row ids of the others."""
    is_word = (words != PAD) & (words != NONTERMINALS[0]) & (words != NONTERMINALS[1])
    several = np.bitwise_count(masks) > 1
    few = np.nonzero(is_word & ~several)
    mask = masks[few]
    partner = np.where(mask > 0, partners[few[0], _LOWEST_BIT[mask]], PAD)
    index[few] = lookup(words[few], partner)
    many = np.nonzero(is_word & several)
    table, row = unique_rows(_link_rows(words[many], partners, many[0], masks[many], lookup))
    return many, table, row


def _link_rows(
    words: np.ndarray, partners: np.ndarray, pair: np.ndarray, mask: np.ndarray, lookup: _WordPairLookup
) -> np.ndarray:
    """[N, M] word pairs of words with several links, ascending, so that equal means are equal rows."""
    num_links = np.bitwise_count(mask)
    rows = np.full((len(words), int(num_links.max(initial=0))), lookup.unknown + 1, np.int32)
    for column in range(rows.shape[1]):
        left = np.nonzero(mask)[0]
        rows[left, column] = lookup(words[left], partners[pair[left], _LOWEST_BIT[mask[left]]])
        mask = mask & (mask - (mask > 0))  # clears the lowest bit
    return np.sort(rows, 1)


def _merge_tables(tables: list[np.ndarray], padding: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of all chunks' tables [C, M], and the place of each chunk row there."""
    width = max((table.shape[1] for table in tables), default=0)
    stacked = np.full((sum(map(len, tables)), width), padding, np.int32)
    start = 0
    for table in tables:
        stacked[start : start + len(table), : table.shape[1]] = table
        start += len(table)
    return unique_rows(stacked)
