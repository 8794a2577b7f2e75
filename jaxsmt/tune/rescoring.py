"""n-best lists with features that are computed from the translations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.tune.nbest import NBestLists


class TextScorer(Protocol):
    """M features of texts, such as `jaxsmt.lm.rescoring.Rescorer`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features."""

    def log_probs(self, texts: Sequence[str]) -> np.ndarray:
        """[K, M] float64 of K texts."""


def rescored(lists: NBestLists, scorer: TextScorer) -> NBestLists:
    """The lists with more dense features, which stand behind the dense ones there are."""
    doubled = sorted(set(scorer.names) & set(lists.feature_names))
    if doubled:
        raise UserError(f"the n-best lists have a feature '{doubled[0]}' already: leave its file out of rescore.kenlm")
    if not scorer.names:
        return lists
    dense, sparse = np.split(lists.features, [lists.num_dense], axis=1)
    names = lists.feature_names
    return replace(
        lists,
        features=np.concatenate([dense, scorer.log_probs(lists.texts), sparse], axis=1),
        feature_names=(*names[: lists.num_dense], *scorer.names, *names[lists.num_dense :]),
        num_dense=lists.num_dense + len(scorer.names),
    )


def ranked_anew(lists: NBestLists, scores: np.ndarray) -> NBestLists:
    """The lists with other totals [K], the best first; equal ones keep their order."""
    order = np.lexsort((-scores, lists.sentences))
    return lists.take(order, scores[order])
