"""chrF on arrays (Popović 2015): statistics as sacrebleu counts them, scores of sums."""

import numpy as np

from jaxsmt.common.ragged import Ragged, numbered_runs
from jaxsmt.evaluate.ngrams import clipped_matches, ngram_totals

ORDER = 6
NUM_STATISTICS = 3 * ORDER
_BETA_SQUARED = 4.0


def chrf_statistics(
    hypotheses: Ragged, references: Ragged, sentence_of_hypothesis: np.ndarray, sentence_of_reference: np.ndarray
) -> np.ndarray:
    """[K, 18] int64: for n = 1..6 the n-grams of the hypothesis, those of the reference, and those they share.

    hypotheses, references: segments of character ids without white space; of several references of a sentence the first
    with the highest score counts.
    """
    num_sentences = int(max(sentence_of_hypothesis.max(initial=-1), sentence_of_reference.max(initial=-1))) + 1
    best = np.zeros((len(hypotheses), NUM_STATISTICS), np.int64)
    best_score = np.full(len(hypotheses), -1.0)
    for rows in _nth_references(sentence_of_reference, num_sentences):
        counted = _one_reference(hypotheses, references.take(rows), sentence_of_hypothesis, sentence_of_reference[rows])
        has = np.bincount(sentence_of_reference[rows], minlength=num_sentences)[sentence_of_hypothesis] > 0
        score = np.where(has, chrf_score(counted), -1.0)
        is_better = score > best_score
        best, best_score = np.where(is_better[:, None], counted, best), np.maximum(score, best_score)
    return best


def _nth_references(sentence_of_reference: np.ndarray, num_sentences: int) -> list[np.ndarray]:
    """The rows of the first references of all sentences, of the second ones, and so on."""
    order = np.argsort(sentence_of_reference, kind="stable")
    counts = np.bincount(sentence_of_reference, minlength=num_sentences)
    _, number = numbered_runs(counts)
    return [order[number == n] for n in range(int(counts.max(initial=0)))]


def _one_reference(
    hypotheses: Ragged, references: Ragged, sentence_of_hypothesis: np.ndarray, sentence_of_reference: np.ndarray
) -> np.ndarray:
    matches = clipped_matches(hypotheses, references, sentence_of_hypothesis, sentence_of_reference, ORDER)
    last = max(sentence_of_hypothesis.max(initial=0), sentence_of_reference.max(initial=0))
    row_of_sentence = np.zeros(int(last) + 1, np.int64)
    row_of_sentence[sentence_of_reference] = np.arange(len(references))
    in_reference = ngram_totals(references.lengths, ORDER)[row_of_sentence[sentence_of_hypothesis]]
    in_hypothesis = np.where(in_reference > 0, ngram_totals(hypotheses.lengths, ORDER), 0)
    return np.stack([in_hypothesis, in_reference, matches], 2).reshape(len(hypotheses), NUM_STATISTICS)


def chrf_score(sums: np.ndarray) -> np.ndarray:
    """chrF2 in 0..100 of summed statistics [..., 18]: precision and recall averaged over the orders both sides have."""
    sums = np.asarray(sums, np.float64)
    in_hypothesis, in_reference, matches = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
    counts = (in_hypothesis > 0) & (in_reference > 0)
    orders = np.maximum(counts.sum(-1), 1)
    precision = np.where(counts, matches / np.where(counts, in_hypothesis, 1.0), 0.0).sum(-1) / orders
    recall = np.where(counts, matches / np.where(counts, in_reference, 1.0), 0.0).sum(-1) / orders
    weighted = _BETA_SQUARED * precision + recall
    return 100.0 * (1 + _BETA_SQUARED) * precision * recall / np.where(weighted > 0, weighted, 1.0)
