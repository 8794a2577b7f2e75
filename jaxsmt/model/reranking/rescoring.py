"""Language models that only the host can ask, in a model: they rank the n-best lists of the search anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.lm.rescoring import Rescorer
from jaxsmt.model.profiles import Profile
from jaxsmt.model.reranking.ranking import ROWS_AT_ONCE, RankedLists, RankingTranslator
from jaxsmt.model.rescoring import Rescoring
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.tuned_weights import feature_rows
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.moses import output_texts


@dataclass(frozen=True)
class RescoringTranslator(RankingTranslator):
    """The translation e with the highest w·φ(e) + Σ_m v_m log p_m(e), v_m and p_m being those of file m."""

    rescoring: Rescoring
    rescorer: Rescorer

    @property
    def lines_at_once(self) -> int:
        return ROWS_AT_ONCE

    def is_for(self, label: str | None) -> bool:
        """All text is."""
        return True

    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The lists of the decoder, rescored."""
        part = text.take(rows)
        request = self.plain.request(part, profiles)
        arrays = nbest_arrays(self.plain.decoder, request, self.rescoring.nbest, keep_trees=True)
        texts = output_texts(arrays, part.tokens, self.plain.words)
        scores = arrays.features.score + self.rescorer.log_probs(texts) @ np.array(self.rescoring.weights)
        every, features = np.arange(len(scores)), feature_rows(arrays.features, self.model.weights)
        return RankedLists(rows, arrays, arrays.offsets, every, np.zeros_like(every), texts, features, scores)
