"""How likely weight vectors make the best translations of an adaptation set (the paper's sections 3 and 4)."""

import numpy as np

from jaxsmt.adapt.bpa.blocks import list_blocks
from jaxsmt.adapt.bpa.kernels import log_partitions, sample_set, tiling
from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import TuningLists, model_scores, rows_of
from jaxsmt.tune.scoring import smoothed_sentence_bleu

_BYTES_AT_ONCE = 1 << 27  # of samples × sentences


def oracle_hypotheses(lists: TuningLists, weights: np.ndarray, metric: str = "ter") -> np.ndarray:
    """[B] int64: e*, the best hypothesis of each list (section 3); −1 where a list is empty.

    The best has the lowest sentence TER ('ter') or the highest smoothed sentence BLEU ('bleu'); of equally good ones
    the one of highest score under weights [F] counts, of equal ones of these the first.
    """
    statistics = lists.statistics(metric)
    quality = smoothed_sentence_bleu(statistics) if metric == "bleu" else -statistics[..., 0].astype(np.float64)
    quality = np.where(lists.is_real, quality, -np.inf)
    if not lists.is_real.size:
        return np.full(len(lists), -1)
    is_best = lists.is_real & (quality == quality.max(1, keepdims=True))
    scores = np.where(is_best, model_scores(lists, np.asarray(weights, np.float64)), -np.inf)
    return np.where(lists.sizes > 0, scores.argmax(1), -1)


def sentence_log_probs(lists: TuningLists, oracle: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """log p(e*_b | f_b, λ_s) = λ_s·h(e*) − log Σ_e' exp λ_s·h(e'): oracle [B], samples [S, F] → [B, S] float32.

    0 where a list is empty. The logarithms of any adaptation set drawn from these sentences are sums of rows.
    """
    columns, num_samples = sample_set(_checked(samples, lists))
    found = np.zeros((len(lists), num_samples), np.float32)
    running = []
    for block in list_blocks(lists, np.maximum(oracle, 0)):
        tiles = tiling(block.features.shape, columns.shape[1])
        running.append((block.sentences, log_partitions(block.features, columns, np.int32(num_samples), tiles)))
    for sentences, values in running:
        found[sentences] = -np.asarray(values)[: len(sentences), :num_samples]  # e* is the origin of its block
    return found


def log_likelihood(
    lists: TuningLists, oracle: np.ndarray, samples: np.ndarray, multiplicities: np.ndarray | None = None
) -> np.ndarray:
    """log p(A | λ_s) = Σ_a log p(e*_a | f_a, λ_s) (equation 6): oracle [A], samples [S, F] → [S] float64.

    multiplicities: [A] how often each sentence counts, or [R, A] for R sets of them at once, which gives [R, S].
    """
    counts = np.ones(len(lists)) if multiplicities is None else np.asarray(multiplicities, np.float64)
    total = np.zeros((*counts.shape[:-1], len(samples)))
    step = max(64, _BYTES_AT_ONCE // (4 * max(len(samples), 1)))
    for start in range(0, len(lists), step):
        rows = np.arange(start, min(start + step, len(lists)))
        some = lists if len(rows) == len(lists) else rows_of(lists, rows)
        part = sentence_log_probs(some, oracle[rows], samples)
        total += counts[..., rows] @ part.astype(np.float64)
    return total


def _checked(samples: np.ndarray, lists: TuningLists) -> np.ndarray:
    samples = np.asarray(samples, np.float64)
    if samples.ndim != 2 or samples.shape[1] != lists.num_features:
        raise UserError(f"the samples have {samples.shape[-1]} weights and the lists {lists.num_features} features")
    if not np.isfinite(samples).all():
        raise UserError("a sampled weight is not finite: check the weights that the adaptation starts from")
    return samples
