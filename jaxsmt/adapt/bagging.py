"""Bagging of tuned systems: bootstrap development sets, one MERT each, votes (Song, Mi, Lü & Liu 2012)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.adapt.voting import Combination, MergedLists, best_rows, merge_members, vote
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import track
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import TuningLists, bleu_of_sums
from jaxsmt.tune.mert import mert, mert_resampled
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows
from jaxsmt.tune.scoring import score_lists, smoothed_sentence_bleu

DecodeFn = Callable[[np.ndarray], NBestLists]


@dataclass(frozen=True)
class BaggingConfig:
    """Bagging, as `conf/adapt/bagging.yaml` gives it.

    members: bootstrap sets, and systems tuned on them.
    sizes: numbers of (first) members whose combination is reported.
    nbest: hypotheses of each member for a sentence.
    seed: of the bootstrap sets.
    """

    members: int = 30
    sizes: tuple[int, ...] = (5, 10, 15, 20, 30)
    nbest: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("members", "nbest"):
            if getattr(self, name) < 1:
                raise UserError(f"adapt.{name} is {getattr(self, name)}: give at least 1")
        object.__setattr__(self, "sizes", tuple(self.sizes))
        wrong = [size for size in self.sizes if not 1 <= size <= self.members]
        if wrong or not self.sizes:
            shown = wrong[0] if wrong else "empty"
            raise UserError(f"adapt.sizes has {shown}: give numbers between 1 and adapt.members, {self.members}")


def bootstrap_multiplicities(num_sentences: int, members: int, seed: int = 1) -> np.ndarray:
    """[M, B] int64: how often each of B sentences is drawn for each of M sets, n of n with replacement (section 2)."""
    rng = np.random.default_rng(seed)
    if not num_sentences:
        return np.zeros((members, 0), np.int64)
    return rng.multinomial(num_sentences, np.full(num_sentences, 1.0 / num_sentences), size=members)


def tune_members(
    lists: TuningLists, start: np.ndarray, multiplicities: np.ndarray, config: MertConfig | None = None
) -> np.ndarray:
    """Weights θ [M, F] of M member systems, tuned in one batch on the sets that multiplicities [M, B] describe."""
    return mert_resampled(lists, start, multiplicities, config)[0]


def restarted_members(lists: TuningLists, num_members: int, config: MertConfig | None = None) -> np.ndarray:
    """The control of section 4.3: M runs of MERT on the same set, each from random weights → weights [M, F].

    Each is a whole run with restarts of its own. (Where every single ascent is a member, members are far worse and far
    more different from each other than those of a bag, which is no control.) The seeds are config.seed, + 1, ….
    """
    config = config or MertConfig()
    found = []
    for seed in track(range(config.seed, config.seed + num_members), "members", num_members):
        start = np.random.default_rng(seed).uniform(config.restart_low, config.restart_high, lists.num_features)
        found.append(mert(lists, start, replace(config, seed=seed))[0])
    return np.array(found).reshape(num_members, lists.num_features)


def decode_members(decode_fn: DecodeFn, weights: np.ndarray) -> list[NBestLists]:
    """The n-best lists of every member: decode_fn gives those of the test set for weights [F]."""
    return [decode_fn(theta) for theta in track(weights, "members", len(weights))]


def best_of_lists(lists: NBestLists, weights: np.ndarray, size: int) -> NBestLists:
    """The hypotheses of highest score under weights [F], best first: a member that reranks instead of decoding."""
    totals = lists.features @ np.asarray(weights, np.float64)
    order = np.lexsort((np.arange(len(totals)), -totals, lists.sentences))
    place = np.arange(len(order)) - np.repeat(lists.offsets[:-1], np.diff(lists.offsets))
    kept = order[place < size]
    return nbest_from_rows(
        [lists.texts[k] for k in kept], lists.features[kept], lists.sentences[kept], len(lists), lists.feature_names,
        totals[kept], lists.num_dense, [lists.extras[k] for k in kept],
    )  # fmt: skip


@dataclass(frozen=True)
class BagScore:
    """One line of the paper's table 1: num_members, BLEU of the vote and of the oracle (0..1), hypotheses in all."""

    num_members: int
    bleu: float
    oracle: float
    num_hypotheses: int


@dataclass(frozen=True)
class BaggingResult:
    """rows: a score for each number of members, ascending; merged: all hypotheses; combinations: the votes."""

    rows: tuple[BagScore, ...]
    merged: MergedLists
    combinations: tuple[Combination, ...]


def combine_members(
    member_lists: Sequence[NBestLists], weights: np.ndarray, references: Sequence[Sequence[str]],
    sizes: Sequence[int], feature_names: Sequence[str] | None = None,
) -> BaggingResult:  # fmt: skip
    """Votes of the first m members for each m of sizes, scored against references (one or more a sentence).

    member_lists: one for each row of weights [M, F]. The oracle takes the hypothesis of best smoothed sentence BLEU.
    """
    if len(member_lists) != len(weights) or not sizes or not 1 <= min(sizes) <= max(sizes) <= len(weights):
        raise UserError(
            f"{len(member_lists)} n-best lists and {len(weights)} weight vectors cannot make bags of "
            f"{', '.join(map(str, sizes)) or 'no size'}: give one list and one vector for each member"
        )
    merged = merge_members(member_lists)
    scored = score_lists(merged.lists, references)
    statistics = scored.statistics("bleu")[scored.is_real]  # packed [K, 10], as the merged lists are
    quality = smoothed_sentence_bleu(statistics)
    rows, combinations = [], []
    for size in sorted(set(sizes)):
        combination = vote(merged, weights[:size], feature_names)
        is_in = merged.members < size
        best = best_rows(np.where(is_in, quality, -np.inf), merged.lists.offsets)
        bleu, oracle = (float(bleu_of_sums(_summed(statistics, chosen))) for chosen in (combination.chosen, best))
        rows.append(BagScore(size, bleu, oracle, int(is_in.sum())))
        combinations.append(combination)
    return BaggingResult(tuple(rows), merged, tuple(combinations))


def _summed(statistics: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return statistics[chosen[chosen >= 0]].sum(0)


def bagging_table(results: dict[str, BaggingResult]) -> str:
    """The results as text, one line for each name and number of members; BLEU in per cent."""
    width = max([len(f"{name}-{row.num_members}") for name, result in results.items() for row in result.rows] + [6])
    lines = [f"{'system':<{width}}  1-best  oracle  hypotheses"]
    for name, result in results.items():
        for row in result.rows:
            label = f"{name}-{row.num_members}"
            lines.append(f"{label:<{width}}  {100 * row.bleu:6.2f}  {100 * row.oracle:6.2f}  {row.num_hypotheses:10d}")
    return "\n".join(lines) + "\n"
