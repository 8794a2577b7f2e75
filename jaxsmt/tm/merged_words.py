"""The words of several components as one vocabulary."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsmt.text.vocabulary import Vocabulary, merge_vocabularies
from jaxsmt.tm.component import Component

NOT_THERE = -1


class MergedWords(NamedTuple):
    """The words of one side of D components.

    vocabulary: of all; maps: [V_d] its ids of each component's words; back: [V] each component's ids, or NOT_THERE.
    """

    vocabulary: Vocabulary
    maps: list[np.ndarray]
    back: list[np.ndarray]


def merged_words(vocabularies: Sequence[Vocabulary]) -> MergedWords:
    """One vocabulary for D components."""
    merged, maps = merge_vocabularies(vocabularies)
    back = [np.full(len(merged), NOT_THERE, np.int32) for _ in maps]
    for own, ids in zip(back, maps, strict=True):
        own[ids] = np.arange(len(ids), dtype=np.int32)
    return MergedWords(merged, maps, back)


def words_of_all(components: Sequence[Component]) -> tuple[MergedWords, MergedWords]:
    """Source and target words."""
    return (
        merged_words([component.source_vocabulary for component in components]),
        merged_words([component.target_vocabulary for component in components]),
    )
