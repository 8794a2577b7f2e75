"""The scale of scores by which a consensus makes the best of development lists."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.adapt.consensus.config import ConsensusTraining
from jaxsmt.adapt.consensus.risk import choose, posteriors
from jaxsmt.evaluate.bleu import corpus_bleu
from jaxsmt.tune.nbest import NBestLists
from jaxsmt.tune.scoring import score_lists


@dataclass(frozen=True)
class ConsensusInfo:
    """gamma: the best of `gammas`; bleu: what each made of the lists, in per cent; before: of their first ones."""

    gamma: float
    gammas: tuple[float, ...]
    bleu: tuple[float, ...]
    before: float

    def table(self) -> str:
        """One line for each γ."""
        lines = [f"{'gamma':>7}  {'BLEU':>6}", f"{'1-best':>7}  {self.before:6.2f}"]
        lines += [f"{gamma:7g}  {bleu:6.2f}" for gamma, bleu in zip(self.gammas, self.bleu, strict=True)]
        return "\n".join(lines) + "\n"


def tune_gamma(
    lists: NBestLists, references: Sequence[Sequence[str]], config: ConsensusTraining, systems: np.ndarray | None = None
) -> ConsensusInfo:
    """The γ of highest corpus BLEU, of equal ones the largest, which is nearest to the scores' own choice.

    lists: the best translation of each sentence first; references: of each sentence, tokenised as lists are.
    systems: as in `posteriors`.
    """
    scored = score_lists(lists, references)
    statistics = scored.statistics("bleu")[scored.is_real]  # [K, 10]
    gammas = tuple(sorted(config.gammas)) if config.gamma is None else (config.gamma,)
    probabilities = posteriors(lists.scores, lists.offsets, gammas, systems)
    chosen = choose(lists.texts, lists.offsets, probabilities, config.utility)
    bleu = [_bleu(statistics, rows) for rows in chosen]
    best = max(range(len(gammas)), key=lambda place: (bleu[place], gammas[place]))
    first = np.where(np.diff(lists.offsets) > 0, lists.offsets[:-1], -1)
    return ConsensusInfo(gammas[best], gammas, tuple(bleu), _bleu(statistics, first))


def _bleu(statistics: np.ndarray, rows: np.ndarray) -> float:
    return round(float(corpus_bleu(statistics[rows[rows >= 0]].sum(0))), 6)
