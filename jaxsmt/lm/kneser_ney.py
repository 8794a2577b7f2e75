"""Interpolated modified Kneser–Ney estimation (Chen and Goodman 1998, section 3; Heafield et al. 2013) in arrays."""

import numpy as np

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.counting import CountedLevel, count_ngrams
from jaxsmt.lm.model import Level, Lm
from jaxsmt.text.vocabulary import SENTENCE_END, SENTENCE_START, UNKNOWN, Vocabulary


def estimate_lm(
    sentences: Ragged, vocabulary: Vocabulary, config: LmConfig | None = None, tasks: TaskRunner | None = None
) -> Lm:
    """Estimates a model of the given sentences; the same model as KenLM's `lmplz` gives.

    p(w | h) = (a(h w) − D(a(h w))) / Σ_v a(h v) + γ(h) p(w | h′), with a the count in the highest order and after <s>,
    else the number of different words seen to the left; D the discount of the count (1, 2, 3 or more), γ(h) the mass
    that discounts and pruning leave, h′ the context without its first word; below the unigrams all words are equal.

    Args:
      sentences: token ids, without <s> and </s>.
      vocabulary: what the ids mean. Words that do not occur in the sentences are not in the model.
      config: order, pruning and the rest.
      tasks: who counts shards of a large text; None: this process.
    """
    config = config or LmConfig()
    if not len(sentences):
        raise UserError("there are no sentences to estimate a language model from: check the corpus paths")
    counted = count_ngrams(sentences, vocabulary, config.order, config.memory_budget_gb, tasks)
    is_word = counted[0].count > 0
    is_word[[UNKNOWN, SENTENCE_START, SENTENCE_END]] = True
    num_predicted = max(int(is_word.sum()) - 1, config.pad_vocabulary)  # all but <s>
    # below the unigrams: one uniform "order 0" entry that every unigram's suffix points to
    lower_p = np.array([1.0 / num_predicted])
    estimates, backoffs = [], []
    for k in range(config.order):
        adjusted = _adjusted_counts(counted, k)
        p, kept, gamma = _estimate_order(counted[k], adjusted, lower_p, config, k)
        rest = p
        if config.rest_costs and k < config.order - 1:
            raw = counted[k].count * (counted[k].word != SENTENCE_START)
            rest, _, _ = _estimate_order(counted[k], raw, lower_p, config, k, is_rest=True)
        if k == 0:
            p[SENTENCE_START] = rest[SENTENCE_START] = 1.0  # as lmplz writes it; <s> is never predicted
        estimates.append((p, rest, kept))
        backoffs.append(gamma)
        lower_p = p
    return Lm(vocabulary, is_word, _levels(counted, estimates, backoffs))


def _adjusted_counts(counted: list[CountedLevel], k: int) -> np.ndarray:
    """[G] int64: a(w_1..w_k): counts in the highest order and after <s>, else the number of different left words."""
    level = counted[k]
    if k == len(counted) - 1:
        adjusted = level.count
    else:
        num_left_words = np.bincount(counted[k + 1].suffix, minlength=len(level.word))
        adjusted = np.where(level.starts, level.count, num_left_words)
    return adjusted * (level.word != SENTENCE_START)


def _estimate_order(
    level: CountedLevel, counts: np.ndarray, lower_p: np.ndarray, config: LmConfig, k: int, is_rest: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One order: probabilities [G] float64, which entries pruning keeps [G], γ of every context (1 where unseen)."""
    discounts = estimate_discounts(counts, k + 1, config.discount_fallback, quiet=is_rest)
    discount = discounts[np.minimum(counts, 3)]
    kept = level.count > config.thresholds[k] if k else np.ones(len(counts), bool)
    total = np.bincount(level.prefix, counts, minlength=len(lower_p))
    left_over = np.bincount(level.prefix, np.where(kept, discount, counts), minlength=len(lower_p))
    some = np.maximum(total, 1)
    gamma = np.where(total > 0, left_over / some, 1.0)
    p = (counts - discount) / some[level.prefix] + gamma[level.prefix] * lower_p[level.suffix]
    return p, kept, gamma


def estimate_discounts(counts: np.ndarray, order: int, fallback: tuple[float, ...], quiet: bool = False) -> np.ndarray:
    """[4]: 0, D1, D2, D3+ of one order (Chen and Goodman 1998, equation 26).

    Y = n_1 / (n_1 + 2 n_2), D_j = j − (j + 1) Y n_{j+1} / n_j, with n_j the number of n-grams of count j.
    Where a needed n_j is 0 or a discount is not between 0 and j, the fall-back holds.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(np.float64)
    j = np.arange(1, 4)
    if (n[1:4] > 0).all():
        discounts = j - (j + 1) * (n[1] / (n[1] + 2 * n[2])) * n[2:5] / n[1:4]
        if ((discounts > 0) & (discounts <= j)).all():
            return np.concatenate([[0.0], discounts])
    if not len(fallback):
        raise UserError(
            f"the counts of the {order}-grams are too few or too even for Kneser–Ney discounts "
            f"(n1..n4 = {n[1:].astype(int).tolist()}): give more text, or set lm.discount_fallback to [0.5, 1, 1.5]"
        )
    if not quiet and n[1:].any():  # where all counts are high, discounts change next to nothing
        log.warning("%d-grams: too few or too even counts for Kneser–Ney discounts, using %s", order, list(fallback))
    return np.array([0.0, *fallback])


def _levels(
    counted: list[CountedLevel], estimates: list[tuple[np.ndarray, np.ndarray, np.ndarray]], gammas: list[np.ndarray]
) -> tuple[Level, ...]:
    """The tables without pruned entries.

    Pruning goes by raw counts and thresholds do not fall, so prefixes and suffixes of what is kept are kept.
    """
    levels = []
    renumbered = np.zeros(1, np.int32)
    for k, (level, (p, rest, kept)) in enumerate(zip(counted, estimates, strict=True)):
        is_top = k == len(counted) - 1
        log_backoff = np.zeros(len(p)) if is_top else np.log(gammas[k + 1])
        columns = (np.log(p), log_backoff, np.log(rest))
        levels.append(
            Level(
                renumbered[level.prefix[kept]],
                level.word[kept],
                renumbered[level.suffix[kept]],
                *(column[kept].astype(np.float32) for column in columns),
            )
        )
        renumbered = np.cumsum(kept, dtype=np.int32) - 1
    return tuple(levels)
