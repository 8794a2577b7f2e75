"""A perfect hash of (state, word) pairs: one small table of seeds, then one look at the slot.

Compress, hash and displace (Belazzougui, Botelho and Dietzfelbinger 2009): keys fall into small buckets, and for every
bucket a seed is sought that sends all its keys to free slots. The largest buckets choose first.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.sizes import rounded_size

KEYS_PER_BUCKET = 3.0
LOAD = 0.93  # keys per slot
SMALLEST_TABLE = 4096
_LARGE_TABLE = 1 << 20
_NUM_SEEDS = 1 << 16
_EMPTY = -1
Array = Any  # numpy or JAX: the same arithmetic runs on both


def find_slots(state: Array, word: Array, seeds: Array, salt: Array, num_slots: int, take: Any) -> Array:
    """[N] uint32: the only slot where each pair can be.

    Args:
      state, word: [N] uint32.
      seeds: [buckets] uint16, from `build_perfect_hash`.
      salt: [] or [1] uint32.
      take: function (table, index) → table[index].
    """
    first, second = _hashes(state, word, salt)
    seed = take(seeds, _reduce(first, len(seeds))).astype(np.uint32)
    return _slot(first, second, seed, num_slots)


def build_perfect_hash(state: np.ndarray, word: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A hash without collisions for distinct pairs.

    Returns: seeds [buckets] uint16, salt [1] uint32, and owners [slots] int64: which pair is in a slot, -1 for none.
    """
    state, word = state.astype(np.uint32), word.astype(np.uint32)
    for attempt in range(20):
        salt = np.array([attempt * 0x9E3779B9 & 0xFFFFFFFF], np.uint32)
        num_slots = _common_size(int(len(state) / LOAD * 1.02**attempt) + 1)
        found = _try_build(state, word, salt, num_slots, _common_size(int(len(state) / KEYS_PER_BUCKET) + 1))
        if found is not None:
            return found[0], salt, found[1]
    raise AssertionError("no perfect hash in 20 attempts: are the pairs distinct?")


def _common_size(at_least: int) -> int:
    """A size that other small tables are likely to have too; large ones are kept tight."""
    return table_size(rounded_size(at_least, SMALLEST_TABLE) if at_least < _LARGE_TABLE else at_least)


def table_size(at_least: int) -> int:
    """The next size q · 2^s with q of at most 16 bits, onto which 32-bit hashes reduce without division."""
    shift = max(0, at_least.bit_length() - 16)
    quotient = -((-at_least) >> shift)
    if quotient == 1 << 16:
        shift, quotient = shift + 1, 1 << 15
    return quotient << shift


def _reduce(number: Array, size: int) -> Array:
    """32 random bits to 0..size-1, for sizes of `table_size`: low bits choose a group, high ones a place in it."""
    shift = max(0, size.bit_length() - 16)
    group = ((number & np.uint32(0xFFFF)) * np.uint32(size >> shift)) >> np.uint32(16)
    if not shift:
        return group
    return (group << np.uint32(shift)) | (number >> np.uint32(32 - shift))


def _mix(number: Array) -> Array:
    """A bijection of 32-bit numbers that spreads every input bit (two multiply-xorshift rounds)."""
    number = (number ^ (number >> np.uint32(16))) * np.uint32(0x7FEB352D)
    number = (number ^ (number >> np.uint32(15))) * np.uint32(0x846CA68B)
    return number ^ (number >> np.uint32(16))


def _hashes(state: Array, word: Array, salt: Array) -> tuple[Array, Array]:
    first = _mix(state * np.uint32(0x9E3779B1) + word + salt)
    second = _mix(word * np.uint32(0x85EBCA77) ^ state)
    return first, second


def _slot(first: Array, second: Array, seed: Array, num_slots: int) -> Array:
    # the odd step makes keys part whose second hashes agree
    return _reduce(_mix(second + seed * (first | np.uint32(1))), num_slots)


def _try_build(
    state: np.ndarray, word: np.ndarray, salt: np.ndarray, num_slots: int, num_buckets: int
) -> tuple[np.ndarray, np.ndarray] | None:
    hashes = _hashes(state, word, salt)
    bucket = _reduce(hashes[0], num_buckets)
    by_bucket = np.argsort(bucket, kind="stable")
    sizes = np.bincount(bucket, minlength=num_buckets)
    begins = np.cumsum(sizes) - sizes
    table = _Table(
        np.zeros(num_buckets, np.uint16),
        np.full(num_slots, _EMPTY, np.int64),
        np.zeros(num_slots, bool),
        np.zeros(num_slots, np.int32),
    )
    for size in range(int(sizes.max(initial=0)), 0, -1):
        buckets = np.flatnonzero(sizes == size)
        members = by_bucket[begins[buckets][:, None] + np.arange(size)]
        if not _place(table, hashes, buckets, members):
            return None
    return table.seeds, table.owners


class _Table(NamedTuple):
    """A table in the making: seeds by bucket; by slot its key, whether it is taken, and room for claims on it."""

    seeds: np.ndarray
    owners: np.ndarray
    taken: np.ndarray
    claims: np.ndarray


def _place(table: _Table, hashes: tuple[Array, Array], buckets: np.ndarray, members: np.ndarray) -> bool:
    """Finds seeds for all buckets [Q] of one size, members [Q, size], and fills the table. False: none found."""
    first, second = hashes
    seeds, owners, taken, claims = table
    pending, is_pending = np.arange(len(buckets)), np.ones(len(buckets), bool)
    for seed in range(_NUM_SEEDS):
        if not len(pending):
            return True
        alive = pending
        columns: list[np.ndarray] = []
        for column in range(members.shape[1]):  # most buckets fail at their first key: look at one key at a time
            keys = members[alive, column]
            slots = _slot(first[keys], second[keys], np.uint32(seed), len(taken))
            free = ~taken[slots]
            for earlier in columns:
                free &= earlier != slots
            alive, slots = alive[free], slots[free]
            columns = [earlier[free] for earlier in columns] + [slots]
        slots = np.stack(columns, 1)
        claims[slots[::-1]] = alive[::-1, None]  # of several claims on a slot the first bucket's is written last
        won = (claims[slots] == alive[:, None]).all(axis=1)
        winners, slots = alive[won], slots[won]
        taken[slots] = True
        owners[slots] = members[winners]
        seeds[buckets[winners]] = seed
        is_pending[winners] = False
        pending = pending[is_pending[pending]]
    return not len(pending)
