"""What bags of different sizes make of a text: votes of the first m members, and the best that their lists have."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.adapt.voting import best_rows, summed_votes
from jaxsmt.model.reranking.bagging import Bag
from jaxsmt.model.reranking.ranking import RankedLists
from jaxsmt.tune.lists import bleu_of_sums
from jaxsmt.tune.nbest import NBestLists
from jaxsmt.tune.scoring import score_lists, smoothed_sentence_bleu


class BagReport:
    """Sums BLEU statistics while a text is translated: the paper's table 1 (Song, Mi, Lü & Liu 2012)."""

    def __init__(self, bag: Bag, references: Sequence[str]):
        """references: of all lines, in the model's tokens."""
        self.bag, self.references = bag, references
        self.sums = np.zeros((len(bag.sizes), 2, 10))  # of the vote, of the oracle
        self.num_hypotheses = np.zeros(len(bag.sizes), np.int64)

    def add(self, ranking: RankedLists) -> None:
        """Takes in some lines."""
        lists = _as_nbest_lists(ranking, self.bag.feature_names)
        scored = score_lists(lists, [[self.references[row]] for row in ranking.rows])
        statistics = scored.statistics("bleu")[scored.is_real]  # [K, 10]
        quality = smoothed_sentence_bleu(statistics)
        for place, size in enumerate(self.bag.sizes):
            is_in = ranking.members < size
            oracle = best_rows(np.where(is_in, quality, -np.inf), ranking.offsets)
            scores = summed_votes(ranking.features, ranking.members, self.bag.weights[:size])
            chosen = best_rows(scores, ranking.offsets)
            self.sums[place] += [statistics[chosen].sum(0), statistics[oracle].sum(0)]
            self.num_hypotheses[place] += is_in.sum()

    def table(self) -> str:
        """One line for each number of members; BLEU of tokens in per cent, without lines that are cut."""
        lines = ["members  1-best  oracle  hypotheses"]
        for size, sums, count in zip(self.bag.sizes, self.sums, self.num_hypotheses, strict=True):
            bleu, oracle = (100 * float(bleu_of_sums(part)) for part in sums)
            lines.append(f"{size:7d}  {bleu:6.2f}  {oracle:6.2f}  {count:10d}")
        return "\n".join(lines) + "\n"


def joined(reports: Sequence[BagReport]) -> BagReport:
    """The report on several texts as if they were one."""
    total = BagReport(reports[0].bag, [line for report in reports for line in report.references])
    total.sums = np.sum([report.sums for report in reports], 0)
    total.num_hypotheses = np.sum([report.num_hypotheses for report in reports], 0)
    return total


def _as_nbest_lists(ranking: RankedLists, names: tuple[str, ...]) -> NBestLists:
    extras = ((),) * len(ranking.texts)
    return NBestLists(
        tuple(ranking.texts), ranking.features, ranking.scores, ranking.offsets, names, len(names), extras
    )
