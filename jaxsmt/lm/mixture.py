"""Mixtures of language models: weights by EM on development text, and one static model for fixed weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged
from jaxsmt.common.settings import LARGEST_NUMBER, check_ranges
from jaxsmt.lm.automaton import UNIGRAM_WORD, Automaton
from jaxsmt.lm.model import Level, Lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import union_levels
from jaxsmt.text.vocabulary import SENTENCE_START, UNKNOWN


@dataclass(frozen=True)
class MixtureConfig:
    """How weights are fitted: EM from equal weights until no weight moves by `tolerance`, or `max_iterations`.

    prior: Dirichlet prior counts of every model, added to its expected word counts (0: maximum likelihood).
    """

    tolerance: float = 1e-3
    max_iterations: int = 100
    prior: float = 0.0

    def __post_init__(self) -> None:
        ranges = {"tolerance": (0.0, 1.0), "max_iterations": (1, LARGEST_NUMBER), "prior": (0.0, 1e9)}
        check_ranges(self, "lm.mixture", ranges)


@dataclass(frozen=True)
class LmMixtureFit:
    """Fitted weights of Q groups of text.

    weights: [Q, D] float64, rows sum to 1.
    entropies: [iterations + 1] float64, bits per word of all text before each iteration and at the end.
    """

    weights: np.ndarray
    entropies: np.ndarray


def fit_mixture(
    union: Automaton, sentences: Ragged, config: MixtureConfig | None = None, groups: np.ndarray | None = None
) -> LmMixtureFit:
    """Weights λ of Σ_d λ_d p_d(w | h) that maximise the likelihood of development text.

    Args:
      union: the automaton of the D models; estimate them with one `pad_vocabulary`, or a model that knows few words
        and so gives much to each unknown one gets too much weight.
      sentences: development text; words that no model knows are left out.
      config: when to stop.
      groups: [R] int, the group (cluster, domain) of every sentence, if each is to have its own weights.
    """
    words = word_log_probs(union, sentences)
    known = np.asarray(union.unigrams)[:, UNIGRAM_WORD] != UNKNOWN
    is_used = np.ones(len(words.values), bool)
    is_used[np.arange(len(sentences.values)) + sentences.row_index] = known[sentences.values]
    group = np.zeros(len(sentences), np.int64) if groups is None else np.asarray(groups)
    return fit_weights(words.values[is_used], group[words.row_index[is_used]], int(group.max(initial=0)) + 1, config)


def fit_weights(
    log_p: np.ndarray, group: np.ndarray, num_groups: int, config: MixtureConfig | None = None
) -> LmMixtureFit:
    """EM for the weights of fixed component probabilities: λ_d ∝ Σ_t λ_d p_d(t) / Σ_e λ_e p_e(t) (+ prior).

    Args:
      log_p: [T, D] the models' log-probabilities of every word.
      group: [T] the group of every word; num_groups: Q. A group without words keeps equal weights.
    """
    config = config or MixtureConfig()
    if not len(log_p):
        raise UserError("no language model knows a word of the development text: fit the weights on other text")
    top = log_p.max(axis=1, keepdims=True).astype(np.float64)
    p = np.exp(log_p - top)
    weights = np.full((num_groups, log_p.shape[1]), 1.0 / log_p.shape[1])
    entropies = []
    for _ in range(config.max_iterations):
        new_weights, log_likelihood = _em_step(p, group, weights, config.prior)
        entropies.append(log_likelihood)
        change = np.abs(new_weights - weights).max()
        weights = new_weights
        if change < config.tolerance:
            break
    entropies.append(_em_step(p, group, weights, config.prior)[1])
    bits = -(np.array(entropies) + top.sum()) / len(p) / np.log(2)
    return LmMixtureFit(weights, bits)


def _em_step(p: np.ndarray, group: np.ndarray, weights: np.ndarray, prior: float) -> tuple[np.ndarray, float]:
    """New weights [Q, D], and the log-likelihood of the old ones."""
    joint = weights[group] * p
    total = joint.sum(axis=1, keepdims=True)
    share = joint / total
    expected = np.stack([np.bincount(group, column, minlength=len(weights)) for column in share.T], axis=1) + prior
    sums = expected.sum(axis=1, keepdims=True)
    return np.where(sums > 0, expected / np.where(sums > 0, sums, 1), weights), float(np.log(total).sum())


def interpolate(lms: Sequence[Lm], weights: Sequence[float]) -> Lm:
    """One model with p(w | h) = Σ_d λ_d p_d(w | h) for all n-grams of the union; back-offs make every context sum to 1.

    A model gives what it leaves to unknown words in equal shares to <unk> and to the words that only other models know
    (see `share_unknown_mass`). Contexts outside the union back off, as in any ARPA model; the union automaton
    with weights has the exact mixture there too.
    """
    mixture = np.asarray(weights, np.float64)
    if mixture.shape != (len(lms),) or (mixture < 0).any() or abs(mixture.sum() - 1) > 1e-4:
        raise UserError(f"{len(lms)} language models with weights {list(weights)}: give one per model, ≥ 0, sum 1")
    mixture /= mixture.sum()  # weights that were written with a few digits
    vocabulary, is_word, _ = union_levels([replace(lm, levels=lm.levels[:1]) for lm in lms])
    num_words = int(is_word.any(axis=1).sum())
    vocabulary, is_word, levels = union_levels([share_unknown_mass(lm, num_words) for lm in lms])
    mixed = tuple(_mix_level(level, mixture) for level in levels)
    return Lm(vocabulary, np.logical_or.reduce(is_word, axis=1), _normalised(mixed))


def share_unknown_mass(lm: Lm, num_words: int) -> Lm:
    """The model with p(<unk>) such that the probabilities of `num_words` words (<s>, </s>, <unk> among them) sum to 1.

    What known words leave is shared equally by <unk> and the num_words − |known| others. A model that was estimated
    with `pad_vocabulary` = num_words − 1 is like that already and stays as it is.
    """
    log_p, log_rest = lm.levels[0].log_p.copy(), lm.levels[0].log_rest.copy()
    is_known = lm.is_word.copy()
    is_known[[UNKNOWN, SENTENCE_START]] = False
    num_unknown = num_words - 1 - int(is_known.sum())
    left = 1.0 - np.exp(log_p[is_known].astype(np.float64)).sum()
    if abs(left - num_unknown * np.exp(float(log_p[UNKNOWN]))) > 1e-6 and left > 1e-7:
        log_p[UNKNOWN] = np.log(left / num_unknown)
        log_rest[UNKNOWN] += log_p[UNKNOWN] - lm.levels[0].log_p[UNKNOWN]
    unigrams = replace(lm.levels[0], log_p=log_p, log_rest=log_rest)
    return replace(lm, levels=(unigrams, *lm.levels[1:]))


def _mix_level(level: Level, weights: np.ndarray) -> Level:
    """[G] probabilities from [G, D]; the back-offs are still to be found."""
    log_p, log_rest = (
        np.log(np.exp(values.astype(np.float64)) @ weights).astype(np.float32)
        for values in (level.log_p, level.log_rest)
    )
    return replace(level, log_p=log_p, log_rest=log_rest, log_backoff=np.zeros(len(level), np.float32))


def _normalised(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Back-offs b(h) = (1 − Σ_w p(w | h)) / (1 − Σ_w p(w | h′)), with w the continuations of h, h′ the shorter h."""
    done = []
    for k, level in enumerate(levels):
        log_backoff = np.zeros(len(level))
        if k + 1 < len(levels):
            above = levels[k + 1]
            shorter_p = np.exp(level.log_p.astype(np.float64))[above.suffix]
            left = 1.0 - np.bincount(above.prefix, np.exp(above.log_p.astype(np.float64)), minlength=len(level))
            left_shorter = 1.0 - np.bincount(above.prefix, shorter_p, minlength=len(level))
            has_both = (left > 1e-12) & (left_shorter > 1e-12)
            has_arcs = np.bincount(above.prefix, minlength=len(level)) > 0
            ratio = np.where(has_both, left, 1.0) / np.where(has_both, left_shorter, 1.0)
            # nothing left over: no word can back off from here, or only at a price that stands for never
            log_backoff = np.where(has_arcs & ~has_both & (left_shorter > 1e-12), -100.0, np.log(ratio))
        done.append(replace(level, log_backoff=log_backoff.astype(np.float32)))
    return tuple(done)
