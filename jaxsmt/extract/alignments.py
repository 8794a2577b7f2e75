"""The links inside a phrase pair or rule as one integer that compares as Moses compares alignments.

An alignment is laid out as a list over the target symbols of the sorted source places each is linked to. Lists
compare lexicographically, so every set of places is replaced by its rank among all sets, and the ranks of the
target symbols are the digits of the integer, the first symbol highest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.text.bitext import Bitext

MASK_BITS = 16


@dataclass(frozen=True)
class WordLinks:
    """The links of each target word of a corpus, T' words in all.

    first: [T'] int64, the first source word linked, as a place in the whole source text; -1 if none.
    mask: [T'] uint16, bit k = the source word k places after the first is linked.
    num_linked: [T' + 1] int64, linked target words before each place.
    """

    first: np.ndarray
    mask: np.ndarray
    num_linked: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.mask.nbytes + self.num_linked.nbytes


def index_links(bitext: Bitext, links: Ragged) -> WordLinks:
    """Links by target word. Those further than 15 words after the first are in no phrase and are left out."""
    row = links.row_index
    source = bitext.source.offsets[row] + links.values[:, 0]
    target = bitext.target.offsets[row] + links.values[:, 1]
    first = np.full(len(bitext.target.values), np.iinfo(np.int64).max)
    np.minimum.at(first, target, source)
    distance = source - first[target]
    near = distance < MASK_BITS
    mask = np.zeros(len(first), np.uint16)
    np.bitwise_or.at(mask, target[near], np.left_shift(1, distance[near]).astype(np.uint16))
    num_linked = np.concatenate([[0], np.cumsum(mask > 0)])
    return WordLinks(np.where(mask > 0, first, -1), mask, num_linked)


@lru_cache(maxsize=8)
def mask_ranks(num_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The rank of every set of places in the order of sorted lists, and the set of every rank: [2^bits] each."""
    places = [tuple(bit for bit in range(num_bits) if mask >> bit & 1) for mask in range(1 << num_bits)]
    mask_of = np.array(sorted(range(1 << num_bits), key=places.__getitem__), np.uint16)
    rank_of = np.empty(1 << num_bits, np.uint64)
    rank_of[mask_of] = np.arange(1 << num_bits, dtype=np.uint64)
    return rank_of, mask_of


def pack_alignments(masks: np.ndarray, num_bits: int) -> np.ndarray:
    """[R] uint64 of masks [R, J]: the integer over J symbols with places of `num_bits` bits."""
    rank_of, _ = mask_ranks(num_bits)
    key = np.zeros(len(masks), np.uint64)
    for column in range(masks.shape[1]):
        key |= rank_of[masks[:, column]] << symbol_shift(column, masks.shape[1], num_bits)
    return key


def unpack_alignments(keys: np.ndarray, num_symbols: int, num_bits: int) -> np.ndarray:
    """[R, J] uint16: the masks that `pack_alignments` packed."""
    masks = np.empty((len(keys), num_symbols), np.uint16)
    for column, straight, _ in _digit_tables(num_symbols, num_bits):
        digits = _digits(keys, column + straight.shape[1], num_symbols, num_bits, len(straight))
        masks[:, column : column + straight.shape[1]] = straight.take(digits, axis=0)
    return masks


def turn_alignments(keys: np.ndarray, num_symbols: int, num_bits: int) -> np.ndarray:
    """[R, I] uint16, I = num_bits: the same links as masks over target symbols, one for each source symbol."""
    turned = np.zeros(len(keys), np.uint64)
    for column, straight, crosswise in _digit_tables(num_symbols, num_bits):
        turned |= crosswise[_digits(keys, column + straight.shape[1], num_symbols, num_bits, len(straight))]
    masks = np.empty((len(keys), num_bits), np.uint16)
    for place in range(num_bits):
        masks[:, place] = turned >> np.uint64(place * num_symbols) & np.uint64((1 << num_symbols) - 1)
    return masks


def _digits(keys: np.ndarray, end: int, num_symbols: int, num_bits: int, size: int) -> np.ndarray:
    """[R] int64: the last digits before symbol `end` as one number below `size`."""
    return (keys >> symbol_shift(end - 1, num_symbols, num_bits) & np.uint64(size - 1)).astype(np.int64)


@lru_cache(maxsize=8)
def _digit_tables(num_symbols: int, num_bits: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """What every number means that neighbouring digits make; two of them, or one where tables over two would be large.

    For each group of symbols: the first one; their masks [·, 1 or 2] uint16; the links crosswise [·] uint64, I masks
    of J bits, the first lowest.
    """
    _, mask_of = mask_ranks(num_bits)
    step, source, tables = 2 if num_bits <= 8 else 1, np.arange(num_bits), []
    for column in range(0, num_symbols, step):
        target = np.arange(column, min(column + step, num_symbols))
        number = np.arange(1 << len(target) * num_bits)[:, None]
        straight = mask_of[number >> num_bits * (target[-1] - target) & ((1 << num_bits) - 1)]
        bits = (straight[:, :, None] >> source & 1).astype(np.uint64)  # [·, 2, I]
        place = (source * num_symbols + target[:, None]).astype(np.uint64)
        tables.append((column, straight, np.bitwise_or.reduce(bits << place, axis=(1, 2))))
    return tables


def symbol_shift(column: int, num_symbols: int, num_bits: int) -> np.uint64:
    """Where the digit of a symbol stands in the integer."""
    return np.uint64((num_symbols - 1 - column) * num_bits)


def transpose_alignments(keys: np.ndarray, source_width: int, target_width: int) -> np.ndarray:
    """[R] uint64: the same links laid out over the source symbols."""
    return pack_alignments(turn_alignments(keys, target_width, source_width), target_width)
