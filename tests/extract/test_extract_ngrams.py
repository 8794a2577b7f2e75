"""Numbered n-grams against sorted tuples, and packed alignments against lists."""

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.extract.alignments import mask_ranks, pack_alignments, turn_alignments, unpack_alignments
from jaxsmt.extract.ngrams import index_ngrams


@pytest.mark.parametrize(
    ("seed", "num_rows", "num_words", "max_length"),
    [(0, 0, 2, 3), (1, 1, 2, 7), (2, 40, 2, 7), (3, 30, 1 << 20, 10), (4, 30, 3, 1)],
)
def test_numbers_follow_the_order_of_tuples(seed, num_rows, num_words, max_length):
    rng = np.random.default_rng(seed)
    rows = [(rng.integers(0, num_words, rng.integers(0, 12)) * 977 + 6).tolist() for _ in range(num_rows)]
    text = ragged_from_rows(rows)
    index = index_ngrams(text, max_length)
    spans = [
        (r, i, n)
        for r, row in enumerate(rows)
        for i in range(len(row))
        for n in range(1, min(max_length, len(row) - i) + 1)
    ]
    grams = [tuple(rows[r][i : i + n]) for r, i, n in spans]
    number = {gram: place for place, gram in enumerate(sorted(set(grams)), 1)}
    position = np.array([text.offsets[r] + i for r, i, _ in spans], np.int64)
    length = np.array([n for _, _, n in spans], np.int64)
    assert index.lookup(position, length).tolist() == [number[gram] for gram in grams]
    assert index.num_ngrams == len(number)

    where, size = index.words_of(np.arange(len(number) + 1))
    found = [tuple(text.values[p : p + n].tolist()) for p, n in zip(where, size, strict=True)]
    assert found == [(), *sorted(set(grams))]


def test_empty_ngrams_have_the_number_zero():
    index = index_ngrams(ragged_from_rows([[7, 8]]), 2)
    assert index.lookup(np.array([0, 1, 2]), np.array([0, 1, 0])).tolist() == [0, index.num_ngrams, 0]


def test_ranks_of_masks_follow_sorted_lists():
    rank_of, mask_of = mask_ranks(5)
    lists = [[bit for bit in range(5) if mask >> bit & 1] for mask in range(32)]
    assert [lists[mask] for mask in mask_of.tolist()] == sorted(lists)
    assert mask_of[rank_of.astype(int)].tolist() == list(range(32))


def test_alignments_pack_and_unpack_in_order():
    masks = np.random.default_rng(0).integers(0, 1 << 6, (200, 4)).astype(np.uint16)
    keys = pack_alignments(masks, 6)
    assert np.array_equal(unpack_alignments(keys, 4, 6), masks)
    layouts = [[[bit for bit in range(6) if mask >> bit & 1] for mask in row] for row in masks.tolist()]
    by_key = [layouts[place] for place in np.argsort(keys, kind="stable")]
    assert by_key == sorted(layouts)


@pytest.mark.parametrize(("num_symbols", "num_bits"), [(4, 6), (10, 5), (3, 8), (2, 12)])
def test_turned_masks_hold_the_same_links(num_symbols, num_bits):
    masks = np.random.default_rng(1).integers(0, 1 << num_bits, (50, num_symbols)).astype(np.uint16)
    keys = pack_alignments(masks, num_bits)
    assert np.array_equal(unpack_alignments(keys, num_symbols, num_bits), masks)
    turned = turn_alignments(keys, num_symbols, num_bits)
    links = [{(i, j) for j in range(num_symbols) for i in range(num_bits) if row[j] >> i & 1} for row in masks]
    assert [{(i, j) for i in range(num_bits) for j in range(num_symbols) if row[i] >> j & 1} for row in turned] == links
