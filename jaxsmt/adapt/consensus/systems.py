"""n-best lists of several systems, which need not have the same features, as one."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.tune.nbest import NBestLists, nbest_from_rows
from jaxsmt.tune.rescoring import ranked_anew


def joined_systems(parts: Sequence[NBestLists], size: int) -> tuple[NBestLists, np.ndarray]:
    """The best `size` translations of each sentence and system, those of the first system first, without features.

    Returns the K translations, and [K] int64 the system of each.
    """
    if len({len(part) for part in parts}) != 1:
        sizes = ", ".join(str(len(part)) for part in parts)
        raise UserError(f"the n-best lists are of {sizes} sentences: give those of the same sentences")
    best = [_best(part, size) for part in parts]
    texts = [text for part in best for text in part.texts]
    scores = np.concatenate([part.scores for part in best])
    sentences = np.concatenate([part.sentences for part in best])
    joined = nbest_from_rows(texts, np.zeros((len(texts), 0)), sentences, len(parts[0]), (), scores)
    systems = np.repeat(np.arange(len(best)), [len(part.texts) for part in best])
    return joined, systems[np.argsort(sentences, kind="stable")]


def _best(lists: NBestLists, size: int) -> NBestLists:
    ranked = ranked_anew(lists, lists.scores)
    place = np.arange(len(ranked.texts)) - np.repeat(ranked.offsets[:-1], np.diff(ranked.offsets))
    return ranked.take(np.flatnonzero(place < size))
