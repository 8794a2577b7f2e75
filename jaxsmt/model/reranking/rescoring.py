"""Models that see whole translations only: they rank the n-best lists of the search anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.model.model import Profile
from jaxsmt.model.reranking.features import ListRescorer
from jaxsmt.model.reranking.ranking import RankedLists, RankingTranslator
from jaxsmt.model.rescoring import Rescoring
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.tuned_weights import feature_rows
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.moses import output_texts


@dataclass(frozen=True)
class RescoringTranslator(RankingTranslator):
    """The translation e with the highest w·φ(e) + Σ_m v_m log p_m(e), v_m and p_m being those of file or model m."""

    rescoring: Rescoring
    rescorer: ListRescorer

    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The lists of the decoder, rescored."""
        part, size = text.take(rows), self.rescoring.nbest
        request, has_links = self.plain.request(part, profiles), self.rescorer.needs_links
        arrays = nbest_arrays(self.plain.decoder, request, size, keep_trees=True, keep_links=has_links)
        texts = output_texts(arrays, part.tokens, self.plain.words)
        more = self.rescorer.scores(self.plain, part, profiles, arrays)
        scores = arrays.features.score + more @ np.array(self.rescoring.weights)
        every, features = np.arange(len(scores)), feature_rows(arrays.features, self.model.weights)
        return RankedLists(rows, arrays, arrays.offsets, every, np.zeros_like(every), texts, features, scores)
