"""n-best lists as padded arrays: what every tuner works on."""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.bleu import LENGTH, MATCHES, REFERENCE_LENGTH, TOTALS
from jaxsmt.tune.config import METRICS


@dataclass(frozen=True)
class TuningLists:
    """n-best lists of B sentences with at most H hypotheses each; rows are filled with zeros where `is_real` is False.

    features: [B, H, F] float64.
    is_real: [B, H] bool; the hypotheses of a sentence come first.
    bleu: [B, H, 10] int32 or None: hypothesis length, reference length, matches of n = 1..4, n-grams of n = 1..4.
    ter: [B, H, 2] float64 or None: edits, reference length.
    feature_names: F names.
    """

    features: np.ndarray
    is_real: np.ndarray
    bleu: np.ndarray | None
    ter: np.ndarray | None
    feature_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.features)

    @property
    def num_features(self) -> int:
        return self.features.shape[2]

    @cached_property
    def sizes(self) -> np.ndarray:
        """[B] int64: hypotheses of each sentence."""
        return self.is_real.sum(1)

    def statistics(self, metric: str) -> np.ndarray:
        """[B, H, C]: the statistics that `metric` ('bleu' or 'ter') is computed from."""
        if metric not in METRICS:
            raise UserError(f"metric '{metric}' is unknown: choose one of {', '.join(METRICS)}")
        found = self.bleu if metric == "bleu" else self.ter
        if found is None:
            raise UserError(f"the n-best lists carry no {metric.upper()} statistics: give references to compute them")
        return found


def padded_lists(
    features: np.ndarray,
    offsets: np.ndarray,
    bleu: np.ndarray | None = None,
    ter: np.ndarray | None = None,
    feature_names: tuple[str, ...] = (),
) -> TuningLists:
    """Pads packed lists: hypotheses [K, ...] of all sentences end to end, those of b at offsets[b]:offsets[b + 1]."""
    sizes = np.diff(offsets)
    is_real = np.arange(sizes.max(initial=1)) < sizes[:, None]  # a column at least, to choose from

    def pad(packed: np.ndarray | None) -> np.ndarray | None:
        if packed is None:
            return None
        rows = np.zeros((*is_real.shape, packed.shape[1]), packed.dtype)
        rows[is_real] = packed
        return rows

    names = feature_names or tuple(f"F{i}" for i in range(features.shape[1]))
    filled = pad(features.astype(np.float64))
    assert filled is not None
    return TuningLists(filled, is_real, pad(bleu), pad(ter), names)


def rows_of(lists: TuningLists, rows: np.ndarray) -> TuningLists:
    """The lists of the given sentences [A], in the given order (a sentence may come more than once)."""
    rows = np.asarray(rows, np.int64)
    kept = rows, slice(int(lists.sizes[rows].max(initial=1)))
    bleu, ter = (None if found is None else found[kept] for found in (lists.bleu, lists.ter))
    return TuningLists(lists.features[kept], lists.is_real[kept], bleu, ter, lists.feature_names)


def model_scores(lists: TuningLists, weights: np.ndarray) -> np.ndarray:
    """w·φ of every hypothesis: weights [..., F] → [..., B, H] float64, −inf where there is none."""
    size = lists.is_real.shape
    flat = weights @ lists.features.reshape(-1, lists.num_features).T
    return np.where(lists.is_real, flat.reshape(*weights.shape[:-1], *size), -np.inf)


def best_hypotheses(lists: TuningLists, weights: np.ndarray) -> np.ndarray:
    """The first hypothesis of highest score: weights [..., F] → [..., B] int64."""
    return model_scores(lists, weights).argmax(-1)


def summed_statistics(
    lists: TuningLists, weights: np.ndarray, metric: str, multiplicities: np.ndarray | None = None
) -> np.ndarray:
    """Corpus statistics of the 1-best: weights [F] and multiplicities [B] → [C] float64."""
    statistics = lists.statistics(metric)
    chosen = statistics[np.arange(len(lists)), best_hypotheses(lists, weights)].astype(np.float64)
    return chosen.sum(0) if multiplicities is None else multiplicities @ chosen


def objective(statistics: np.ndarray, metric: str) -> np.ndarray:
    """What tuners maximise, of summed statistics [..., C]: BLEU in 0..1 without smoothing, or −TER."""
    return bleu_of_sums(statistics) if metric == "bleu" else -ter_of_sums(statistics)


def bleu_of_sums(statistics: np.ndarray) -> np.ndarray:
    """Corpus BLEU in 0..1 without smoothing (Papineni et al. 2002) of summed statistics [..., 10]; 0 if undefined."""
    column = [np.asarray(statistics[..., i], np.float64) for i in range(10)]  # by column: quick also for [10, T].T
    matches, ngrams = (reduce(np.multiply, column[part]) for part in (MATCHES, TOTALS))
    is_defined = (matches > 0) & (ngrams > 0)
    precision = np.sqrt(np.sqrt(np.where(is_defined, matches, 0.0) / np.where(is_defined, ngrams, 1.0)))
    shortness = column[REFERENCE_LENGTH] / np.where(column[LENGTH] > 0, column[LENGTH], 1.0) - 1.0
    return precision * np.exp(-np.maximum(shortness, 0.0))


def ter_of_sums(statistics: np.ndarray) -> np.ndarray:
    """TER (1.0 = as many edits as reference words) of summed statistics [..., 2], as sacrebleu for empty references."""
    edits, length = np.asarray(statistics, np.float64)[..., 0], np.asarray(statistics, np.float64)[..., 1]
    return np.where(length > 0, edits / np.where(length > 0, length, 1.0), np.where(edits > 0, 1.0, 0.0))


def list_score(
    lists: TuningLists, weights: np.ndarray, metric: str, multiplicities: np.ndarray | None = None
) -> float:
    """The objective of the 1-best translations under weights [F]."""
    return float(objective(summed_statistics(lists, weights, metric, multiplicities), metric))
