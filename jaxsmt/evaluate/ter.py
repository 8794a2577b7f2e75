"""TER on arrays (Snover et al. 2006): edits with shifts as sacrebleu counts them, for whole n-best lists at once."""

from collections.abc import Callable

import numpy as np

from jaxsmt.common.memory import keep_freed_memory
from jaxsmt.common.ragged import Ragged, numbered_runs
from jaxsmt.evaluate.edit_beam import beam_matters
from jaxsmt.evaluate.edit_bits import WORD_BITS, WordTables
from jaxsmt.evaluate.ter_shifts import ShiftRound, beam_shift_round, shift_round

_MAX_TRIED = 1000  # shifts tried for a hypothesis before the search gives up
RoundFn = Callable[[WordTables], ShiftRound]
_CELLS_AT_ONCE = 1 << 21  # of edit tables
_PAIRS_AT_ONCE = 1 << 16
_ALL_TOGETHER = 512  # so few pairs make one chunk, whatever their sizes


def ter_statistics(
    hypotheses: Ragged, references: Ragged, sentence_of_hypothesis: np.ndarray, sentence_of_reference: np.ndarray
) -> np.ndarray:
    """[K, 2] float64: the fewest edits to any reference of the sentence, and the mean length of its references.

    hypotheses, references: K and R segments of ids; sentence_of_…: [K], [R], which belong together.
    """
    keep_freed_memory()
    order = np.argsort(sentence_of_reference, kind="stable")
    num_sentences = int(max(sentence_of_hypothesis.max(initial=-1), sentence_of_reference.max(initial=-1))) + 1
    counts = np.bincount(sentence_of_reference, minlength=num_sentences)
    length_sums = np.bincount(sentence_of_reference, references.lengths, minlength=num_sentences)
    pair_h, number = numbered_runs(counts[sentence_of_hypothesis])
    pair_r = order[(np.cumsum(counts) - counts)[sentence_of_hypothesis[pair_h]] + number]
    edits = edit_counts(hypotheses, references, pair_h, pair_r)
    fewest = np.full(len(hypotheses), np.iinfo(np.int64).max)
    np.minimum.at(fewest, pair_h, edits)
    lengths = (length_sums / np.maximum(counts, 1))[sentence_of_hypothesis]
    return np.stack([fewest.astype(np.float64), lengths], 1)


def edit_counts(hypotheses: Ragged, references: Ragged, pair_h: np.ndarray, pair_r: np.ndarray) -> np.ndarray:
    """[N] int64: edits of hypothesis pair_h[n] against reference pair_r[n], shifts counting one each."""
    lengths, reference_lengths = hypotheses.lengths[pair_h], references.lengths[pair_r]
    edits = np.where(reference_lengths == 0, lengths, reference_lengths)  # right where one side is empty
    todo = np.flatnonzero((lengths > 0) & (reference_lengths > 0))
    for start in range(0, len(todo), _PAIRS_AT_ONCE):
        rows = todo[start : start + _PAIRS_AT_ONCE]
        edits[rows] = _search(hypotheses.take(pair_h[rows]), references, pair_r[rows])
    return edits


def _search(words: Ragged, references: Ragged, pair_r: np.ndarray) -> np.ndarray:
    """Edits [N] of the pairs (words[n], references[pair_r[n]]); `words` is the caller's to change."""
    original = words.values.copy()
    first = _one_round(shift_round, words, references, pair_r, np.arange(len(pair_r)))
    in_beam = np.flatnonzero(beam_matters(first.distances, words.lengths, references.lengths[pair_r]))
    edits = _shift_while_it_helps(shift_round, words, references, pair_r, first, np.arange(len(pair_r)))
    if len(in_beam):
        again = Ragged(original, words.offsets).take(in_beam)
        rows = np.arange(len(in_beam))
        first = _one_round(beam_shift_round, again, references, pair_r[in_beam], rows)
        edits[in_beam] = _shift_while_it_helps(beam_shift_round, again, references, pair_r[in_beam], first, rows)
    return edits


def _shift_while_it_helps(
    round_fn: RoundFn, words: Ragged, references: Ragged, pair_r: np.ndarray, found: ShiftRound,
    active: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Repeats rounds with the pairs that still gain; `found` is the first round of all pairs `active` [N]."""
    edits, tried = np.zeros(len(pair_r), np.int64), np.zeros(len(pair_r), np.int64)
    while len(active):
        tried[active] += found.num_tried
        goes_on = (found.gains > 0) & (tried[active] < _MAX_TRIED)
        edits[active] += np.where(goes_on, 1, found.distances)
        active = active[goes_on]
        found = _one_round(round_fn, words, references, pair_r, active)
    return edits


def _one_round(
    round_fn: RoundFn, words: Ragged, references: Ragged, pair_r: np.ndarray, active: np.ndarray
) -> ShiftRound:
    """One round of the active pairs in chunks of similar size; best shifts are carried out in `words`."""
    lengths, reference_lengths = words.lengths, references.lengths[pair_r]
    distances, num_tried, gains = (np.zeros(len(active), np.int64) for _ in range(3))
    for chunk in _chunks(lengths[active], reference_lengths[active]):
        rows = active[chunk]
        own = words.padded(rows, int(lengths[rows].max()), -1)
        other = references.padded(pair_r[rows], int(reference_lengths[rows].max()), -2)
        found = round_fn(WordTables(own, lengths[rows], other, reference_lengths[rows]))
        distances[chunk], num_tried[chunk], gains[chunk] = found[:3]
        is_moved = found.gains > 0
        moved = found.shifted[is_moved]
        place = words.offsets[rows[is_moved], None] + np.arange(moved.shape[1])
        words.values[place[moved >= 0]] = moved[moved >= 0]
    return ShiftRound(distances, num_tried, gains, np.zeros((len(active), 0), np.int32))


def _chunks(lengths: np.ndarray, reference_lengths: np.ndarray) -> list[np.ndarray]:
    """Splits pairs [N] so that the sizes within a chunk are alike and its tables fit the cache."""
    if len(lengths) <= _ALL_TOGETHER:
        return [np.arange(len(lengths))] if len(lengths) else []
    words = np.maximum(reference_lengths - 1, 0) // WORD_BITS
    order = np.lexsort((reference_lengths, lengths, words))
    chunks, begin = [], 0
    while begin < len(order):
        cells = int(lengths[order[begin]]) * WORD_BITS * (int(words[order[begin]]) + 1)
        end = min(len(order), begin + max(256, _CELLS_AT_ONCE // cells))
        end = begin + int((words[order[begin:end]] == words[order[begin]]).sum())
        chunks.append(order[begin:end])
        begin = end
    return chunks


def ter_score(sums: np.ndarray) -> np.ndarray:
    """TER in per cent of summed statistics [..., 2]; as sacrebleu where references are empty."""
    sums = np.asarray(sums, np.float64)
    edits, length = sums[..., 0], sums[..., 1]
    rate = np.where(length > 0, edits / np.where(length > 0, length, 1.0), (edits > 0) * 1.0)
    return 100.0 * rate
