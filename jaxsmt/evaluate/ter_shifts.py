"""One round of TER's greedy search: the shift of each hypothesis that lowers its edit distance most.

Which shifts are tried and how ties are broken follows Tercom as sacrebleu has it (its lib_ter module): a block of at
most 10 words that also stands in the reference, at most 50 places away, wrong at its present place, moved to a place
next to where the reference has it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import numbered_runs
from jaxsmt.evaluate import edit_beam
from jaxsmt.evaluate.edit_bits import (
    Alignment,
    EditOperations,
    Rows,
    WordTables,
    all_rows,
    common_words,
    length_bits,
    match_bits,
    next_row,
    operations,
    packed_bits,
    row_ends,
    trace_back,
)

MAX_BLOCK = 10
MAX_DISTANCE = 50
_FIELD = 20  # bits of a field in the key that ranks shifts


class Shifts(NamedTuple):
    """C shifts that are tried; [start, middle) and [middle, end) change places.

    pair: [C] int64, the hypothesis; start, middle, end: [C] int64; rank: [C] int64, larger wins among equal gains.
    """

    pair: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    end: np.ndarray
    rank: np.ndarray


class ShiftRound(NamedTuple):
    """What a round found.

    distances: [N] int64, edit distance before the shift.
    num_tried: [N] int64, shifts tried; 0 where none can help.
    gains: [N] int64, by how much the best shift lowers the distance; 0 if none does.
    shifted: [N, H] the words after the best shift; as before where there is no gain.
    """

    distances: np.ndarray
    num_tried: np.ndarray
    gains: np.ndarray
    shifted: np.ndarray


def shift_round(pairs: WordTables) -> ShiftRound:
    """One round for N pairs."""
    hypotheses, lengths, references, reference_lengths = pairs
    matches = match_bits(hypotheses, references)
    rows = all_rows(matches)
    everyone = np.arange(len(lengths))
    reference_bits = length_bits(reference_lengths, matches.shape[1])
    distances = row_ends(rows.up[lengths, :, everyone].T, rows.down[lengths, :, everyone].T, lengths, reference_bits)
    floor = np.maximum(lengths, reference_lengths) - common_words(matches)
    open_pairs = np.flatnonzero(distances > floor)  # no order of the words has less edits than the words in no order
    chosen = operations(matches[:, :, open_pairs], Rows(*(table[:, :, open_pairs] for table in rows)))

    def after(tried: Shifts) -> np.ndarray:
        return _shifted_distances(tried, matches, rows, lengths, reference_bits)

    found = ShiftRound(distances, np.zeros_like(distances), np.zeros_like(distances), hypotheses.copy())
    return _with_best_shifts(pairs, found, open_pairs, chosen, after)


def beam_shift_round(pairs: WordTables) -> ShiftRound:
    """The same with distances inside sacrebleu's beam; slower."""
    hypotheses, lengths, references, reference_lengths = pairs
    begin, end = edit_beam.beams(lengths, reference_lengths, hypotheses.shape[1])
    table = edit_beam.beam_rows(hypotheses, references, begin, end)
    everyone = np.arange(len(lengths))
    distances = table[lengths, everyone, reference_lengths].astype(np.int64)
    chosen = edit_beam.beam_operations(hypotheses, references, table)
    rows, reference_bits = all_rows(chosen.matches), length_bits(reference_lengths, chosen.matches.shape[1])

    def after(tried: Shifts) -> np.ndarray:
        found = _shifted_distances(tried, chosen.matches, rows, lengths, reference_bits)
        close = np.flatnonzero(found < distances[tried.pair])  # inside the beam there are never less edits
        pair = tried.pair[close]
        words = _rotated(hypotheses[pair], *(field[close] for field in tried[1:4]))
        start, shifted = tried.start[close], pairs.take(pair)._replace(hypotheses=words)
        found[close] = edit_beam.beam_distances(shifted, start, table[start, pair], begin[pair], end[pair])
        return found

    found = ShiftRound(distances, np.zeros_like(distances), np.zeros_like(distances), hypotheses.copy())
    return _with_best_shifts(pairs, found, everyone, chosen, after)


def _with_best_shifts(
    pairs: WordTables, found: ShiftRound, open_pairs: np.ndarray, chosen: EditOperations,
    distances_after_fn: Callable[[Shifts], np.ndarray],
) -> ShiftRound:  # fmt: skip
    """Fills in the best shifts of the open pairs, whose operations are given."""
    if not len(open_pairs):
        return found
    words = found.shifted[open_pairs]
    lengths, reference_lengths = pairs.lengths[open_pairs], pairs.reference_lengths[open_pairs]
    alignment = trace_back(chosen, lengths, reference_lengths, pairs.references.shape[1])
    tried, found.num_tried[open_pairs] = _shifts(words, chosen.matches, alignment)
    tried = tried._replace(pair=open_pairs[tried.pair])
    gains = found.distances[tried.pair] - distances_after_fn(tried)
    best = _best_of_each(tried, gains)
    pair = tried.pair[best]
    found.gains[pair] = gains[best]
    found.shifted[pair] = _rotated(found.shifted[pair], *(field[best] for field in tried[1:4]))
    return found


def _shifts(hypotheses: np.ndarray, matches: np.ndarray, alignment: Alignment) -> tuple[Shifts, np.ndarray]:
    """All shifts to try, and how many there are for each pair [N] (those that change nothing are counted, not kept)."""
    pair, start, goal, size = _blocks(matches, alignment)
    # a block is tried behind the partner of the reference word before it and of each of its words, once per place
    width = alignment.partner.shape[1]
    owner, number = numbered_runs(size + 1)
    offset = number - 1
    places = np.concatenate([np.full((len(hypotheses), 1), -1), alignment.partner], 1).reshape(-1) + 1
    at = pair[owner] * (width + 1) + goal[owner] + offset + 1
    target = places[at]
    is_new = np.ones(len(owner), bool)
    is_new[1:] = (offset[1:] < 0) | (target[1:] != target[:-1])
    owner, target = owner[is_new], target[is_new]
    counts = np.bincount(pair[owner], minlength=len(hypotheses))
    pair, start, size = pair[owner], start[owner], size[owner]
    rank = (size << (2 * _FIELD)) + (((1 << _FIELD) - 1 - start) << _FIELD) + ((1 << _FIELD) - 1 - target)
    to_left = target < start
    lengths = (hypotheses >= 0).sum(1)[pair]
    right_end = np.where(target > start + size, target, np.minimum(target + size, lengths))
    shifts = Shifts(
        pair, np.where(to_left, target, start), np.where(to_left, start, start + size),
        np.where(to_left, start + size, right_end), rank,
    )  # fmt: skip
    moves = (shifts.start < shifts.middle) & (shifts.middle < shifts.end)
    return Shifts(*(field[moves] for field in shifts)), counts


def _blocks(matches: np.ndarray, alignment: Alignment) -> tuple[np.ndarray, ...]:
    """Blocks that may move: pair, place in the hypothesis, place in the reference, size; [K] int64 each.

    matches: match_bits [H, W, N].
    """
    height, width = matches.shape[0], alignment.partner.shape[1]
    is_wrong_h = np.pad(alignment.hypothesis_error, ((0, 0), (0, MAX_BLOCK)))
    is_wrong_r = np.pad(alignment.reference_error, ((0, 0), (0, MAX_BLOCK)))
    pair, start, goal = _common_places(matches, _any_ahead(is_wrong_h), _any_ahead(is_wrong_r))
    near = np.abs(start - goal) <= MAX_DISTANCE
    pair, start, goal = pair[near], start[near], goal[near]
    partner = alignment.partner[pair, goal]
    wrong_h, wrong_r = np.zeros(len(pair), bool), np.zeros(len(pair), bool)
    found = []
    for size in range(1, MAX_BLOCK + 1):
        wrong_h = wrong_h | is_wrong_h[pair, start + size - 1]
        wrong_r = wrong_r | is_wrong_r[pair, goal + size - 1]
        inside = (start <= partner) & (partner < start + size)
        valid = wrong_h & wrong_r & ~inside
        found.append((pair[valid], start[valid], goal[valid], np.full(int(valid.sum()), size)))
        longer = np.flatnonzero((start + size < height) & (goal + size < width))
        ahead = goal[longer] + size
        bits = matches[start[longer] + size, ahead >> 6, pair[longer]] >> (ahead & 63).astype(np.uint64)
        longer = longer[bits & np.uint64(1) != 0]
        pair, start, goal, partner = pair[longer], start[longer], goal[longer], partner[longer]
        wrong_h, wrong_r = wrong_h[longer], wrong_r[longer]
        if not len(pair):
            break
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def _common_places(matches: np.ndarray, may_start: np.ndarray, may_aim: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pair, place in the hypothesis and in the reference of equal words, where may_start [N, H], may_aim [N, R]."""
    _, num_words, num = matches.shape
    masked = (matches & packed_bits(may_aim)[None]) * may_start.T[:, None, :]
    place = np.flatnonzero(masked)
    bits = masked.reshape(-1)[place]
    places, goals = [], []
    while len(place):  # one reference place of each word at a time, the lowest first
        lowest = bits & (~bits + np.uint64(1))
        places.append(place)
        goals.append(np.bitwise_count(lowest - np.uint64(1)).astype(np.int64))
        bits = bits ^ lowest
        more = bits != 0
        place, bits = place[more], bits[more]
    if not places:
        return (np.zeros(0, np.int64),) * 3
    at, pair = np.divmod(np.concatenate(places), num)
    start, word = np.divmod(at, num_words) if num_words > 1 else (at, np.zeros_like(at))
    return pair, start, np.concatenate(goals) + 64 * word


def _any_ahead(padded: np.ndarray) -> np.ndarray:
    """[N, H + 10] bool → [N, H]: whether one of the ten places from here on is set."""
    sums = np.zeros((len(padded), padded.shape[1] + 1), np.int32)
    np.cumsum(padded, 1, out=sums[:, 1:])
    return sums[:, MAX_BLOCK : -1] > sums[:, : -MAX_BLOCK - 1]


def _shifted_distances(
    tried: Shifts, matches: np.ndarray, rows: Rows, lengths: np.ndarray, reference_bits: np.ndarray
) -> np.ndarray:
    """[C] int64: edit distances after each shift; the rows before the shift are those of the hypothesis as it is."""
    remaining = lengths[tried.pair] - tried.start
    order = np.argsort(-remaining, kind="stable")  # those with rows left to do are always the first ones
    pair, start, middle, end = (field[order] for field in tried[:4])
    up = np.ascontiguousarray(rows.up[start, :, pair].T)
    down = np.ascontiguousarray(rows.down[start, :, pair].T)
    counts = np.bincount(remaining, minlength=1)
    still = len(order) - np.cumsum(counts)  # [step]: how many have more than `step` rows to do
    turn = start + end - middle
    for step in range(len(still) - 1):
        now = slice(int(still[step]))
        place = start[now] + step
        ahead = np.where(place < turn[now], middle[now] - start[now], middle[now] - end[now])
        source = np.where(place < end[now], place + ahead, place)
        up[:, now], down[:, now], _, _ = next_row(matches[source, :, pair[now]].T, up[:, now], down[:, now])
    distances = np.empty(len(order), np.int64)
    distances[order] = row_ends(up, down, lengths[pair], reference_bits[:, pair])
    return distances


def _best_of_each(tried: Shifts, gains: np.ndarray) -> np.ndarray:
    """The best shift of each pair that has one with a gain, as places in `tried`."""
    helps = np.flatnonzero(gains > 0)
    order = helps[np.lexsort((tried.rank[helps], gains[helps], tried.pair[helps]))]
    is_last = np.append(tried.pair[order][1:] != tried.pair[order][:-1], True)[: len(order)]
    return order[is_last]


def _rotated(words: np.ndarray, start: np.ndarray, middle: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Words [C, H] with [start, middle) and [middle, end) changed over."""
    place = np.arange(words.shape[1])[None]
    start, middle, end = start[:, None], middle[:, None], end[:, None]
    ahead = np.where(place < start + end - middle, middle - start, middle - end)
    source = np.where((place >= start) & (place < end), place + ahead, place)
    return np.take_along_axis(words, source, 1)
