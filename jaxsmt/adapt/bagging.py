"""Bagging of tuned systems: bootstrap development sets, one MERT each, votes (Song, Mi, Lü & Liu 2012)."""

from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import track
from jaxsmt.common.ragged import numbered_runs
from jaxsmt.common.settings import LARGEST_NUMBER, check_ranges
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.mert.tuner import mert, mert_resampled
from jaxsmt.tune.nbest import NBestLists


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
        check_ranges(self, "adapt", {"members": (1, 10_000), "nbest": (1, 100_000), "seed": (0, LARGEST_NUMBER)})
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


def best_of_lists(lists: NBestLists, weights: np.ndarray, size: int) -> NBestLists:
    """The hypotheses of highest score under weights [F], best first: a member that reranks instead of decoding."""
    totals = lists.features @ np.asarray(weights, np.float64)
    order = np.lexsort((np.arange(len(totals)), -totals, lists.sentences))
    _, place = numbered_runs(np.diff(lists.offsets))
    kept = order[place < size]
    return lists.take(kept, totals[kept])
