"""Monotone phrase translation: the best segmentation of a sentence into phrases, each in its best translation.

Without a language model and without reordering across phrases the search is exact: one backward pass over the
positions of all sentences of a batch at once. It shows what component weights do to a translation.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.search.matching import NO_MATCH, TrieLevel, build_trie, match_spans
from jaxsmt.text.vocabulary import PAD
from jaxsmt.tm.features import union_features
from jaxsmt.tm.union import UnionView

IMPOSSIBLE = -1e30  # the score of a span without translation; finite, so that sums stay ordered


@dataclass(frozen=True)
class MonotoneConfig:
    """Log-linear weights of the monotone search."""

    feature_weights: tuple[float, ...] = (0.2, 0.2, 0.3, 0.2)  # p(s|t), lex(s|t), p(t|s), lex(t|s)
    phrase_penalty: float = -0.5  # per phrase: fewer, longer phrases
    word_penalty: float = 0.1  # per target word
    unknown_penalty: float = -100.0  # per source word that nobody knows and that is copied

    def __post_init__(self) -> None:
        if len(self.feature_weights) != 4 or not np.isfinite(self.feature_weights).all():
            raise UserError(f"search.feature_weights is {list(self.feature_weights)}: give four finite numbers")


@dataclass(frozen=True)
class Translation:
    """One translated sentence."""

    words: list[int]  # ids of the target words; a copied source word n is −1 − n
    score: float
    segments: list[tuple[int, int, int]]  # source start, source end, number of target words


@dataclass(frozen=True)
class MonotoneTranslator:
    """A union of components made ready for one vector of component weights."""

    union: UnionView
    config: MonotoneConfig
    trie: list[TrieLevel]
    side_score: np.ndarray  # [Ps] float32: the best translation's score
    side_pair: np.ndarray  # [Ps] int64: the best translation

    def translate(self, words: np.ndarray) -> list[Translation]:
        """Translates a padded batch of ids [B, N] int32."""
        matches = match_spans(self.trie, words)  # [B, N, L]
        scores = np.full(matches.shape, IMPOSSIBLE, np.float32)
        scores[matches != NO_MATCH] = self.side_score[matches[matches != NO_MATCH]]
        is_unknown = (words != PAD) & (matches[:, :, 0] == NO_MATCH)
        scores[is_unknown, 0] = self.config.unknown_penalty + self.config.phrase_penalty
        scores[words == PAD, 0] = 0.0  # padding is passed through for nothing
        totals, choices = map(np.asarray, best_segmentations(jnp.asarray(scores)))
        return [self._read_out(*row) for row in zip(words, matches, choices, totals, strict=True)]

    def _read_out(self, words: np.ndarray, matches: np.ndarray, choices: np.ndarray, score: float) -> Translation:
        target: list[int] = []
        segments, start = [], 0
        while start < int((words != PAD).sum()):
            side = matches[start, choices[start]]
            phrase = [-1 - start] if side == NO_MATCH else self._target_words(side)
            end = start + int(choices[start]) + 1
            segments.append((start, end, len(phrase)))
            target += phrase
            start = end
        return Translation(target, float(score), segments)

    def _target_words(self, side: int) -> list[int]:
        row = self.union.target_sides[self.union.statistics.target_index[self.side_pair[side]]]
        return row[row != PAD].tolist()


def make_translator(union: UnionView, weights: object, config: MonotoneConfig) -> MonotoneTranslator:
    """Scores all pairs for the component weights λ [4, D] and keeps the best of each source side."""
    scores = pair_scores(union, weights, config)
    side_score, side_pair = best_pairs(scores, union.statistics.source_index, len(union.source_sides))
    return MonotoneTranslator(union, config, build_trie(union.source_sides), side_score, side_pair)


def pair_scores(union: UnionView, weights: object, config: MonotoneConfig) -> np.ndarray:
    """[P] float32: w·φ of every pair, penalties included."""
    features = np.asarray(union_features(union, weights))  # [P, 4]
    target_lengths = (union.target_sides != PAD).sum(1)[union.statistics.target_index]
    scores = features @ np.asarray(config.feature_weights, np.float32)
    return (scores + config.phrase_penalty + config.word_penalty * target_lengths).astype(np.float32)


def best_pairs(scores: np.ndarray, source_index: np.ndarray, num_sides: int) -> tuple[np.ndarray, np.ndarray]:
    """The best pair of each source side; of equally good pairs the first in the table.

    scores: [P]; source_index: [P] sorted, every side at least once. Returns score and pair, [Ps] each.
    """
    if not num_sides:
        return np.zeros(0, np.float32), np.zeros(0, np.int64)
    first_pair = np.searchsorted(source_index, np.arange(num_sides))
    best = np.maximum.reduceat(scores, first_pair)
    is_best = np.flatnonzero(scores == best[source_index])
    return best, is_best[np.searchsorted(is_best, first_pair)]


@jax.jit
def best_segmentations(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Exact search over segmentations: V[n] = max_l scores[n, l] + V[n + l + 1], V[N] = 0.

    scores: [B, N, L] score of the span that starts at n and has l + 1 words.
    Returns the totals V[0] [B] and choices [B, N] int32, the best l at each start (the shortest of equals).
    """

    def step(following: jax.Array, score: jax.Array) -> tuple[jax.Array, jax.Array]:
        # following: [B, L], V[n + 1], V[n + 2], …
        total = score + following
        return jnp.concatenate([total.max(1)[:, None], following[:, :-1]], 1), total.argmax(1).astype(jnp.int32)

    past_end = jnp.full((scores.shape[0], scores.shape[2]), IMPOSSIBLE).at[:, 0].set(0.0)
    last, choices = jax.lax.scan(step, past_end, scores.transpose(1, 0, 2), reverse=True)
    return last[:, 0], choices.T
