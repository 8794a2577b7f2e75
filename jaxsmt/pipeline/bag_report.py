"""What bags of different sizes make of a text: votes of the first m members, and the best that their lists have."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.adapt.voting import best_rows, vote
from jaxsmt.model.adaptations import Bag
from jaxsmt.model.adapted import Ranking
from jaxsmt.tune.lists import bleu_of_sums
from jaxsmt.tune.scoring import score_lists, smoothed_sentence_bleu


class BagReport:
    """Sums BLEU statistics while a text is translated: the paper's table 1 (Song, Mi, Lü & Liu 2012)."""

    def __init__(self, bag: Bag, references: Sequence[str]):
        """references: of all lines, in the model's tokens."""
        self.bag, self.references = bag, references
        self.sums = np.zeros((len(bag.sizes), 2, 10))  # of the vote, of the oracle
        self.num_hypotheses = np.zeros(len(bag.sizes), np.int64)

    def add(self, ranking: Ranking) -> None:
        """Takes in some lines."""
        merged = ranking.merged
        scored = score_lists(merged.lists, [[self.references[row]] for row in ranking.rows])
        statistics = scored.statistics("bleu")[scored.is_real]  # [K, 10]
        quality = smoothed_sentence_bleu(statistics)
        for place, size in enumerate(self.bag.sizes):
            is_in = merged.members < size
            oracle = best_rows(np.where(is_in, quality, -np.inf), merged.lists.offsets)
            chosen = vote(merged, self.bag.weights[:size]).chosen
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
