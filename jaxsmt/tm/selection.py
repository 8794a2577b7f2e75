"""The statistics of a few pairs of a large union, cut out and numbered anew: small arrays of few shapes."""

from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.sizes import power_of_two
from jaxsmt.tm.union import Statistics

Array = Any  # on the host or on the device
MIN_SIZE = 256  # sizes are powers of two of at least this: few shapes, few compilations
_LEAST_ROWS = 2048  # the same of a selection, which has four sizes: small ones together would be dozens of shapes
_LEAST_LINKS = 4  # of a mean: lines differ in the most links of a word, and share a program all the same


class Selection(NamedTuple):
    """n pairs with s source sides, W word pairs, C and C' means over several links; sizes are padded. A pytree.

    Pairs are the last axis: a kernel that runs over pairs reads along memory.
    Factor ids are those of `jaxsmt.tm.factors.Factors` with L = W.
    """

    joint: Array  # [D, n] float32
    target_totals: Array  # [D, n] float32: c_d(t) of each pair
    source_totals: Array  # [D, s] float32
    source_place: Array  # [n] int32: the pair's place in `source_totals`
    source_factors: Array  # [Ls, n] int32
    target_factors: Array  # [Lt, n] int32
    word_joint: Array  # [D, W] float32
    word_source_totals: Array  # [D, W] float32: c_d of the word pair's source word
    word_target_totals: Array  # [D, W] float32
    source_links: Array  # [C, M] int32
    target_links: Array  # [C', M'] int32


def select_pairs(statistics: Statistics, pair_index: np.ndarray) -> tuple[Selection, np.ndarray]:
    """The selection of the pairs in pair_index [A], and the place [A] int32 of each in it."""
    pairs, place = _distinct(pair_index, len(statistics.source_index))
    sides, side_place = _distinct(statistics.source_index[pairs], statistics.source_counts.shape[1])
    size, num_sides = power_of_two(len(pairs), _LEAST_ROWS), power_of_two(len(sides), _LEAST_ROWS)
    words, factors, links = _select_factors(statistics, pairs, size)
    pair_words, num_words = statistics.word_pairs[words], power_of_two(len(words), _LEAST_ROWS)
    selection = Selection(
        joint=_columns(statistics.joint_counts, pairs, size),
        target_totals=_columns(statistics.target_counts, statistics.target_index[pairs], size),
        source_totals=_columns(statistics.source_counts, sides, num_sides),
        source_place=np.pad(side_place, (0, size - len(pairs))),
        source_factors=factors[0],
        target_factors=factors[1],
        word_joint=_columns(statistics.word_joint_counts, words, num_words),
        word_source_totals=_columns(statistics.source_word_counts, pair_words[:, 0], num_words),
        word_target_totals=_columns(statistics.target_word_counts, pair_words[:, 1], num_words),
        source_links=links[0],
        target_links=links[1],
    )
    return selection, place


def _distinct(index: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers below `size`, ascending, and the place [A] int32 of each; without sorting."""
    used = np.zeros(size, bool)
    used[index] = True
    numbers = np.flatnonzero(used)
    place = np.empty(size, np.int32)
    place[numbers] = np.arange(len(numbers), dtype=np.int32)
    return numbers, place[index]


def _columns(counts: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """[D, size]: columns of [D, ·], then zeros."""
    taken = np.zeros((len(counts), size), np.float32)
    for row, values in zip(taken, counts, strict=True):  # row by row: one gather of D rows takes twice as long
        row[: len(index)] = values[index]
    return taken


def _select_factors(
    statistics: Statistics, pairs: np.ndarray, size: int
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Word pairs in use; factor ids [·, size] and links of lex(s|t) and lex(t|s), numbered anew."""
    num_words = len(statistics.word_pairs)
    ids = [table[pairs] for table in (statistics.source_factors, statistics.target_factors)]
    tables = (statistics.source_factor_links, statistics.target_factor_links)
    is_used = np.zeros(num_words + 2, bool)
    means = []
    for index, links in zip(ids, tables, strict=True):
        used = np.zeros(num_words + 2 + len(links), bool)
        used[index] = True
        means.append(np.flatnonzero(used[num_words + 2 :]))
        is_used |= used[: num_words + 2]
        is_used[links[means[-1]]] = True
    words = np.flatnonzero(is_used[:num_words])
    width = power_of_two(len(words), _LEAST_ROWS)
    new_word = np.empty(num_words + 2, np.int32)
    new_word[words] = np.arange(len(words), dtype=np.int32)
    new_word[num_words:] = width, width + 1  # the unknown pair and nothing
    factors, links_used = [], []
    for index, links, mean in zip(ids, tables, means, strict=True):
        new_id = np.concatenate([new_word, np.empty(len(links), np.int32)])
        new_id[num_words + 2 + mean] = width + 2 + np.arange(len(mean), dtype=np.int32)
        factors.append(np.full((index.shape[1], size), width + 1, np.int32))
        factors[-1][:, : len(pairs)] = new_id[index].T
        shape = power_of_two(len(mean), _LEAST_ROWS), power_of_two(links.shape[1], _LEAST_LINKS)
        links_used.append(np.full(shape, width + 1, np.int32))
        links_used[-1][: len(mean), : links.shape[1]] = new_word[links[mean]]
    return words, factors, links_used
