"""Some sentences of a request, as a batch is planned from them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.search.plan.forest import Layout
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.plan.planning import BatchSentences
from jaxsmt.search.plan.profiles import Profiles, distinct_profiles
from jaxsmt.search.request import Request, mixture_rows


class RequestPart(NamedTuple):
    """Consecutive sentences of a complete request, numbered from 0.

    copy_ids: [T, N] their words as each language model knows them; forced: as in `Request`.
    """

    lengths: np.ndarray
    matches: Matches
    profiles: Profiles
    copy_ids: Ragged
    forced: dict[tuple[int, int, int], Sequence[int]]

    def batch(self, lm_ids: Sequence[np.ndarray], longest: int) -> BatchSentences:
        """As rules are planned for them; lm_ids: of target words, by model; longest: span that anything covers."""
        forced_lm = {
            key: [own[list(ids)].tolist() if len(ids) else [] for own in lm_ids] for key, ids in self.forced.items()
        }
        return BatchSentences(Layout(self.lengths, longest), self.profiles, self.copy_ids, self.forced, forced_lm)


def part_of(request: Request, matches: Matches, rows: np.ndarray) -> RequestPart:
    """Sentences `rows` of a complete request with their matches."""
    assert request.copy_ids is not None
    first = int(rows[0])
    begin, end = np.searchsorted(matches.sentence, [first, rows[-1] + 1])
    own = matches.take(np.arange(begin, end))
    profiles = distinct_profiles(
        request.weights.rows(rows),
        None if request.mixture is None else request.mixture[rows],
        mixture_rows(request.lm_mixture, rows),
    )
    return RequestPart(
        request.sentences.lengths[rows],
        replace(own, sentence=own.sentence - first),
        profiles,
        Ragged(request.copy_ids, request.sentences.offsets).take(rows),
        {(row - first, start, stop): ids for (row, start, stop), ids in request.forced.items() if row in rows},
    )
