"""Reranking of n-best lists by the predictive distribution: weight vectors vote (the paper's equations 11 and 13)."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from jaxsmt.adapt.bpa.blocks import FAR_BELOW, BlockedLists, ListBlock, blocked
from jaxsmt.adapt.bpa.kernels import SampleMixture, integer_power, mixture_logs, mixture_sums, sample_set, tiling
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import TuningLists, padded_lists, rows_of

_SMALLEST_SUM = 1e-30  # below this terms that underflowed may be missing
_BLOCKS_AHEAD = 8  # that may run or wait while one is read
_FORMAT = 1  # of votes on disk


@dataclass(frozen=True)
class Votes:
    """What scores hypotheses: score(e) = Σ_s w_s p(e | f, λ_s)^{1/δ}.

    samples: [S, F] float64, weight vectors λ_s.
    log_weights: [S] float64, log w_s.
    delta: δ.
    viterbi: the largest term instead of the sum.
    """

    samples: np.ndarray
    log_weights: np.ndarray
    delta: float = 1.0
    viterbi: bool = False

def save_votes(path: str | Path, votes: Votes, feature_names: tuple[str, ...]) -> None:
    """Writes votes and the names of the features that they weight."""
    arrays = {
        "samples": votes.samples, "log_weights": votes.log_weights,
        "settings": np.array([_FORMAT, votes.delta, votes.viterbi], np.float64),
        "feature_names": np.frombuffer("\n".join(feature_names).encode(), np.uint8),
    }  # fmt: skip
    save_arrays(path, arrays)


def load_votes(path: str | Path) -> tuple[Votes, tuple[str, ...]]:
    """Votes and feature names as `save_votes` wrote them."""
    arrays = open_arrays(path)
    if set(arrays) != {"samples", "log_weights", "settings", "feature_names"} or arrays["settings"][0] != _FORMAT:
        raise UserError(f"'{path}' holds no votes of this version: make it again")
    _, delta, viterbi = arrays["settings"].tolist()
    names = tuple(arrays["feature_names"].tobytes().decode().split("\n"))
    return Votes(np.array(arrays["samples"]), np.array(arrays["log_weights"]), delta, bool(viterbi)), names


@dataclass(frozen=True)
class Reranking:
    """index: [B] int64, the best hypothesis of each list, −1 where it is empty; of equal ones the first.
    scores: [B, H] float64, log scores (up to a constant for each set of votes), −inf where there is no hypothesis.
    """

    index: np.ndarray
    scores: np.ndarray


def rerank(lists: TuningLists, votes: Votes) -> Reranking:
    """Scores all hypotheses and finds the best of each list."""
    whole = blocked(lists)
    index = np.full(len(whole.lists), -1)
    scores: np.ndarray = np.full(whole.lists.is_real.shape, -np.inf)
    for sentences, found in _block_scores(whole, votes, votes.log_weights[None]):
        index[sentences] = _first_of_best(whole.lists, sentences, found)[0]
        size = min(found.shape[-1], scores.shape[1])
        scores[sentences, :size] = np.where(whole.lists.is_real[sentences, :size], found[0, :, :size], -np.inf)
    return Reranking(index, scores)


def scores_by_label(
    features: np.ndarray, offsets: np.ndarray, votes: Mapping[str | None, Votes], labels: Sequence[str | None]
) -> np.ndarray:
    """[K] float64: log scores of all hypotheses under the votes of their sentence's label.

    features: [K, F], those of sentence b at offsets[b]:offsets[b + 1]; labels: of the B sentences.
    """
    padded = padded_lists(features, offsets)
    scores = np.full(padded.is_real.shape, -np.inf)
    for label in dict.fromkeys(labels):
        rows = np.array([row for row, own in enumerate(labels) if own == label])
        found = rerank(rows_of(padded, rows), votes[label])
        part = found.scores.copy()
        # hypotheses with equal features differ by rounding: the first of them is the one that wins
        part[np.arange(len(rows)), found.index] = part.max(1)
        scores[rows, : part.shape[1]] = part
    return scores[padded.is_real]


def best_by_votes(whole: BlockedLists, votes: Votes, log_weights: np.ndarray) -> np.ndarray:
    """The best hypotheses for R sets of weights of the same samples, log_weights [R, S] → [R, B] int64.

    Costs little more than one set: the probabilities, which are the work, are computed once.
    """
    index = np.full((len(log_weights), len(whole.lists)), -1)
    for sentences, found in _block_scores(whole, votes, log_weights):
        index[:, sentences] = _first_of_best(whole.lists, sentences, found)
    return index


def _first_of_best(lists: TuningLists, sentences: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """[R, G'] of scores [R, G', H]: the first hypothesis that has the features of the one of highest score.

    Equal features mean equal scores, but for rounding, which depends on the place in a tile.
    """
    best = scores.argmax(2)
    features = lists.features[sentences]
    found = np.empty_like(best)
    for number, sentence in enumerate(features):
        distinct, place = np.unique(best[:, number], return_inverse=True)
        first = [(sentence == sentence[hypothesis]).all(1).argmax() for hypothesis in distinct]
        found[:, number] = np.array(first)[place]
    return found


@dataclass(frozen=True)
class _Job:
    """Votes as kernels want them, for R sets of weights.

    mixture: its log weights are relative to the highest of their set, and far below where there is no sample.
    highest: [R] float64.
    delta, viterbi: as in Votes.
    """

    mixture: SampleMixture
    highest: np.ndarray
    delta: float
    viterbi: bool


def _make_job(lists: TuningLists, votes: Votes, log_weights: np.ndarray) -> _Job:
    if votes.samples.shape != (log_weights.shape[1], lists.num_features):
        raise UserError(
            f"votes of {len(votes.samples)} samples with {votes.samples.shape[1]} weights do not fit "
            f"{log_weights.shape[1]} sample weights and {lists.num_features} features of the lists"
        )
    columns, num_samples = sample_set(votes.samples)
    highest = log_weights.max(1)
    relative = np.full((len(log_weights), columns.shape[1]), FAR_BELOW, np.float32)
    relative[:, :num_samples] = np.maximum(log_weights - highest[:, None], FAR_BELOW)
    mixture = SampleMixture(columns, np.int32(num_samples), relative, np.float32(votes.delta))
    return _Job(mixture, highest, votes.delta, votes.viterbi)


def _block_scores(
    whole: BlockedLists, votes: Votes, log_weights: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(sentences [G'], log scores [R, G', H] float64) of each block; the next ones are computed while one is used."""
    job = _make_job(whole.lists, votes, log_weights)
    start_fn = _logs if votes.viterbi else _sums
    waiting: deque[tuple[ListBlock, jax.Array]] = deque()
    for block in whole.blocks:
        waiting.append((block, start_fn(block, job)))
        if len(waiting) > _BLOCKS_AHEAD:
            yield _collected(*waiting.popleft(), job)
    while waiting:
        yield _collected(*waiting.popleft(), job)


def _sums(block: ListBlock, job: _Job) -> jax.Array:
    tiles = tiling(block.features.shape, job.mixture.columns.shape[1])
    return mixture_sums(block.features, job.mixture, integer_power(job.delta), tiles)


def _logs(block: ListBlock, job: _Job) -> jax.Array:
    tiles = tiling(block.features.shape, job.mixture.columns.shape[1])
    return mixture_logs(block.features, job.mixture, job.viterbi, tiles)


def _collected(block: ListBlock, found: jax.Array, job: _Job) -> tuple[np.ndarray, np.ndarray]:
    """Log scores of a block; where sums came close to underflowing, those of the slower kernel."""
    is_real = np.asarray(block.features[..., -1]) == 0.0
    if job.viterbi:
        logs = np.array(found, np.float64)
    elif (np.asarray(found)[is_real] < _SMALLEST_SUM).any():
        logs = np.array(_logs(block, job), np.float64)
    else:
        sums = np.maximum(np.asarray(found, np.float64), _SMALLEST_SUM)
        logs = np.log(sums).transpose(2, 0, 1)
    logs = np.where(is_real, logs, -np.inf) + job.highest[:, None, None]
    return block.sentences, logs[:, : len(block.sentences)]
