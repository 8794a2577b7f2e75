"""Edit distances of many pairs at once, a row of the table in the bits of a word (Myers 1999, Hyyrö 2003).

Row i of the table belongs to the first i words of the hypothesis, column j to the first j words of the reference. In a
row neighbours differ by −1, 0 or 1: bit j − 1 of `up` says that column j is one more than column j − 1, of `down` one
less.
References longer than 64 words take several words of bits; arrays are [W, N] for N pairs.
"""

from typing import NamedTuple

import numpy as np

WORD_BITS = 64
_ONE = np.uint64(1)
_TOP = np.uint64(63)


class Rows(NamedTuple):
    """Tables of N pairs with at most H hypothesis words.

    up, down: [H + 1, W, N] uint64, the rows, from the empty hypothesis on.
    is_diagonal: [H, W, N] uint64: the cell has the value of its upper left neighbour.
    is_above: [H, W, N] uint64: the cell is one more than the cell above it.
    """

    up: np.ndarray
    down: np.ndarray
    is_diagonal: np.ndarray
    is_above: np.ndarray


def match_bits(hypotheses: np.ndarray, references: np.ndarray) -> np.ndarray:
    """[H, W, N] uint64: bit j says that hypothesis word i is reference word j; of ids [N, H] and [N, R]."""
    (num, height), width = hypotheses.shape, references.shape[1]
    num_words = max(1, -(-width // WORD_BITS))
    octets = np.zeros((height, num, num_words * 8), np.uint8)
    by_place, goals = np.ascontiguousarray(hypotheses.T), np.ascontiguousarray(references.T)
    for begin in range(0, width, 8):  # eight columns to an octet: small items, little memory to move
        octet = np.zeros((height, num), np.uint8)
        for column in range(begin, min(begin + 8, width)):
            octet |= (by_place == goals[column][None]).view(np.uint8) << np.uint8(column - begin)
        octets[:, :, begin // 8] = octet
    return np.ascontiguousarray(octets.view("<u8").transpose(0, 2, 1))


def packed_bits(cells: np.ndarray) -> np.ndarray:
    """[..., N, R] bool → [..., W, N] uint64."""
    width = cells.shape[-1]
    packed = np.packbits(cells, axis=-1, bitorder="little")
    filled = np.zeros((*cells.shape[:-1], max(1, -(-width // WORD_BITS)) * 8), np.uint8)
    filled[..., : packed.shape[-1]] = packed
    return np.ascontiguousarray(filled.view("<u8").swapaxes(-1, -2))


def common_words(matches: np.ndarray) -> np.ndarray:
    """[N] int64: hypothesis words the reference has too, each at most as often as there; of match_bits [H, W, N]."""
    taken = np.zeros(matches.shape[1:], np.uint64)
    for row in matches:  # each word takes the first of its places in the reference that is still free
        is_free = np.ones(matches.shape[2], bool)
        for word in range(len(taken)):
            free = row[word] & ~taken[word]
            lowest = np.where(is_free, free & (~free + _ONE), np.uint64(0))
            taken[word] |= lowest
            is_free &= lowest == 0
    return np.bitwise_count(taken).sum(0, dtype=np.int64)


def length_bits(lengths: np.ndarray, num_words: int) -> np.ndarray:
    """[W, N] uint64 with the lowest `lengths` [N] bits set."""
    here = np.clip(lengths[None] - WORD_BITS * np.arange(num_words)[:, None], 0, WORD_BITS)
    partial = (_ONE << np.minimum(here, WORD_BITS - 1).astype(np.uint64)) - _ONE
    return np.where(here == WORD_BITS, ~np.uint64(0), partial)


def next_row(matches: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, ...]:
    """One row further: matches, up, down [W, N] → up, down, is_diagonal, is_above (Hyyrö 2003, figure 3)."""
    if len(matches) == 1:
        is_diagonal = (((matches & up) + up) ^ up) | matches | down
        is_above = down | ~(is_diagonal | up)
        is_below = up & is_diagonal
        above = (is_above << _ONE) | _ONE
        return (is_below << _ONE) | ~(is_diagonal | above), above & is_diagonal, is_diagonal, is_above
    both = matches & up
    total = both + up
    carry = np.zeros(matches.shape[1], np.uint64)
    for word in range(len(matches)):  # the carry of one word goes into the next
        overflow = total[word] < both[word]
        total[word] += carry
        carry = (overflow | (total[word] < carry)).astype(np.uint64)
    is_diagonal = (total ^ up) | matches | down
    is_above = down | ~(is_diagonal | up)
    is_below = up & is_diagonal
    above, below = is_above << _ONE, is_below << _ONE
    above[0] |= _ONE
    above[1:] |= is_above[:-1] >> _TOP
    below[1:] |= is_below[:-1] >> _TOP
    return below | ~(is_diagonal | above), above & is_diagonal, is_diagonal, is_above


def all_rows(matches: np.ndarray) -> Rows:
    """The whole tables, of match_bits [H, W, N]."""
    length, num_words, num = matches.shape
    up = np.empty((length + 1, num_words, num), np.uint64)
    down = np.empty_like(up)
    is_diagonal, is_above = np.empty_like(matches), np.empty_like(matches)
    up[0], down[0] = ~np.uint64(0), np.uint64(0)
    for row in range(length):
        up[row + 1], down[row + 1], is_diagonal[row], is_above[row] = next_row(matches[row], up[row], down[row])
    return Rows(up, down, is_diagonal, is_above)


def row_ends(up: np.ndarray, down: np.ndarray, row: np.ndarray, reference_bits: np.ndarray) -> np.ndarray:
    """[N] int64: the last value of row `row` [N], which starts at its own number; all others [W, N]."""
    rises = np.bitwise_count(up & reference_bits).sum(0, dtype=np.int64)
    return row + rises - np.bitwise_count(down & reference_bits).sum(0, dtype=np.int64)


class Alignment(NamedTuple):
    """How hypotheses turn into references.

    partner: [N, R] int64: the last hypothesis word used up when reference word j is reached; −1 if none.
    reference_error, hypothesis_error: [N, R], [N, H] bool: the word is no exact match.
    """

    partner: np.ndarray
    reference_error: np.ndarray
    hypothesis_error: np.ndarray


class WordTables(NamedTuple):
    """Ids of N hypotheses [N, H] and references [N, R]; beyond their lengths [N] they hold −1 and −2: no match."""

    hypotheses: np.ndarray
    lengths: np.ndarray
    references: np.ndarray
    reference_lengths: np.ndarray

    def take(self, rows: np.ndarray) -> "WordTables":
        return WordTables(*(part[rows] for part in self))


class EditOperations(NamedTuple):
    """The last operation of the least edits to each cell, as bits [H, W, N] uint64; none of them: a word is inserted.

    matches: the words are the same; pairs: the words stand for each other; drops: the hypothesis word is left out.
    """

    matches: np.ndarray
    pairs: np.ndarray
    drops: np.ndarray


def operations(matches: np.ndarray, rows: Rows) -> EditOperations:
    """A pair of words is preferred, then leaving a hypothesis word out, then inserting one."""
    pairs = matches | ~rows.is_diagonal
    return EditOperations(matches, pairs, rows.is_above & ~pairs)


def trace_back(chosen: EditOperations, lengths: np.ndarray, reference_lengths: np.ndarray, width: int) -> Alignment:
    """Follows the operations of each table back from its end."""
    height, num_words, num = chosen.matches.shape
    found = np.zeros(num * (width + 1), np.int32)  # 2 · (partner + 1) + is wrong; the last column is a dump
    is_wrong_word = np.zeros(num * (height + 1), bool)
    tables = [table.reshape(-1) for table in chosen]
    pair, row, column = np.arange(num), lengths.astype(np.int64), reference_lengths.astype(np.int64)
    while len(pair):
        bit = np.maximum(column - 1, 0)
        place = (np.maximum(row - 1, 0) * num_words + (bit >> 6)) * num + pair
        mask = _ONE << (bit & 63).astype(np.uint64)
        is_match, is_pair, is_drop = (table[place] & mask != 0 for table in tables)
        inside = (row > 0) & (column > 0)
        is_pair &= inside
        is_drop &= inside
        is_drop |= column == 0
        is_wrong = ~(is_match & is_pair)
        uses_row = is_pair | is_drop
        found[pair * (width + 1) + np.where(is_drop, width, bit)] = 2 * row + is_wrong
        is_wrong_word[pair * (height + 1) + np.where(uses_row, row - 1, height)] = is_wrong
        row = row - uses_row
        column = bit + is_drop * (column - bit)
        goes_on = (row > 0) | (column > 0)
        if not goes_on.all():
            pair, row, column = pair[goes_on], row[goes_on], column[goes_on]
    by_pair = found.reshape(num, width + 1)[:, :width]
    return Alignment(
        (by_pair >> 1).astype(np.int64) - 1, (by_pair & 1).astype(bool), is_wrong_word.reshape(num, -1)[:, :height]
    )
