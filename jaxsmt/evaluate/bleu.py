"""BLEU on arrays: statistics as sacrebleu counts them, scores of sums."""

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.evaluate.ngrams import clipped_matches, ngram_totals

ORDER = 4
NUM_STATISTICS = 2 + 2 * ORDER
LENGTH, REFERENCE_LENGTH, MATCHES, TOTALS = 0, 1, slice(2, 2 + ORDER), slice(2 + ORDER, None)  # columns of statistics


def bleu_statistics(
    hypotheses: Ragged, references: Ragged, sentence_of_hypothesis: np.ndarray, sentence_of_reference: np.ndarray
) -> np.ndarray:
    """[K, 10] int64: length, closest reference length, matches of n = 1..4, n-grams of n = 1..4.

    hypotheses, references: K and R segments of ids; sentence_of_…: [K], [R], which belong together. Every sentence
    has a reference; of two reference lengths that are equally close the shorter counts.
    """
    matches = clipped_matches(hypotheses, references, sentence_of_hypothesis, sentence_of_reference, ORDER)
    closest = closest_lengths(
        hypotheses.lengths, references.lengths, sentence_of_hypothesis, sentence_of_reference
    )
    totals = ngram_totals(hypotheses.lengths, ORDER)
    return np.concatenate([hypotheses.lengths[:, None], closest[:, None], matches, totals], 1)


def closest_lengths(
    lengths: np.ndarray, reference_lengths: np.ndarray, sentence: np.ndarray, reference_sentence: np.ndarray
) -> np.ndarray:
    """[K] int64: the reference length of the same sentence that is closest to each hypothesis length."""
    order = np.lexsort((reference_lengths, reference_sentence))
    counts = np.bincount(reference_sentence, minlength=int(sentence.max(initial=-1)) + 1)
    starts = np.cumsum(counts) - counts
    closest = np.full(len(lengths), -1)
    for number in range(int(counts.max(initial=0))):
        has = number < counts[sentence]
        candidate = reference_lengths[order[np.where(has, starts[sentence] + number, 0)]]
        is_closer = has & ((closest < 0) | (np.abs(candidate - lengths) < np.abs(closest - lengths)))
        closest = np.where(is_closer, candidate, closest)  # lengths ascend, so the shorter one wins a tie
    return closest


def corpus_bleu(sums: np.ndarray) -> np.ndarray:
    """BLEU in 0..100 of summed statistics [..., 10], smoothed as sacrebleu does by default ('exp')."""
    sums = np.asarray(sums, np.float64)
    length, reference_length = sums[..., LENGTH], sums[..., REFERENCE_LENGTH]
    matches, totals = sums[..., MATCHES], sums[..., TOTALS]
    is_zero = (matches == 0) & (totals > 0)
    halvings = 0.5 ** np.cumsum(is_zero, -1)  # the k-th order without a match counts as 1 / 2^k of a match
    precision = np.where(is_zero, halvings, matches) / np.where(totals > 0, totals, 1.0)
    used = totals > 0
    log_precision = np.where(used, np.log(np.where(precision > 0, precision, 1.0)), 0.0).sum(-1) / ORDER
    is_defined = (matches > 0).any(-1) & used.all(-1) & (length > 0)
    log_brevity = np.minimum(0.0, 1.0 - reference_length / np.where(length > 0, length, 1.0))
    return np.where(is_defined, 100.0 * np.exp(log_precision + log_brevity), 0.0)
