"""Minimum Bayes risk in a model: of each list the translation that is most like all others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from jaxsmt.adapt.consensus.config import ConsensusConfig
from jaxsmt.adapt.consensus.risk import expected_utilities, posteriors
from jaxsmt.common.ragged import offsets_of
from jaxsmt.model.model import Profile
from jaxsmt.model.reranking.ranking import RankedLists, RankingTranslator
from jaxsmt.model.source_text import SourceText


@dataclass(frozen=True)
class ConsensusTranslator(RankingTranslator):
    """The translation of highest mean utility in the lists of another translator, of equal ones that of highest score.

    ranker: what makes the lists; text that it does not rank is translated plainly.
    """

    ranker: RankingTranslator
    config: ConsensusConfig

    def for_text(self, text: SourceText) -> Self:
        """Itself if it has the rules for a text, or the same with these."""
        ranker = self.ranker.for_text(text)
        return replace(self, plain=ranker.plain, ranker=ranker)

    @property
    def lines_at_once(self) -> int:
        return self.ranker.lines_at_once

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label has lists."""
        return self.ranker.is_for(label)

    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The ranker's lists, scored by mean utility."""
        found = self.lists(text, rows, profiles)
        probabilities = posteriors(found.scores, found.offsets, [self.config.gamma])
        return replace(
            found, scores=expected_utilities(found.texts, found.offsets, probabilities, self.config.utility)[0]
        )

    def lists(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The best translations of the ranker's lists, best first, with the mean score of those who vote."""
        found = self.ranker.ranked(text, rows, profiles)
        orders = [found.order(line, self.config.nbest) for line in range(len(rows))]
        places = np.concatenate([np.zeros(0, np.int64), *orders])
        return RankedLists(
            found.rows,
            found.arrays,
            offsets_of(np.array([len(order) for order in orders], np.int64)),
            found.hypotheses[places],
            found.members[places],
            [found.texts[place] for place in places.tolist()],
            found.features[places],
            found.scores[places] / self.ranker.num_votes,
        )
