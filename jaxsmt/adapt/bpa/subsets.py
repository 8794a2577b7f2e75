"""Parts and unions of n-best lists."""

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.tune.lists import TuningLists


def rows_of(lists: TuningLists, rows: np.ndarray) -> TuningLists:
    """The lists of the given sentences [A], in the given order (a sentence may come more than once)."""
    rows = np.asarray(rows, np.int64)
    return _cut(lists, (rows, slice(int(lists.sizes[rows].max(initial=0)))))


def first_hypotheses(lists: TuningLists, size: int) -> TuningLists:
    """The first `size` hypotheses of every list: shorter n-best lists of the same decoder."""
    return _cut(lists, (slice(None), slice(size)))


def _cut(lists: TuningLists, kept: tuple) -> TuningLists:
    bleu, ter = (None if found is None else found[kept] for found in (lists.bleu, lists.ter))
    return TuningLists(lists.features[kept], lists.is_real[kept], bleu, ter, lists.feature_names)


def joined_lists(first: TuningLists, second: TuningLists) -> TuningLists:
    """The sentences of one set followed by those of another with the same features."""
    if first.feature_names != second.feature_names:
        raise UserError(
            f"n-best lists with the features {' '.join(first.feature_names)} and {' '.join(second.feature_names)} "
            "cannot be joined: make them with one configuration"
        )
    size = max(first.is_real.shape[1], second.is_real.shape[1])

    def both(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
        if one is None or other is None:
            return None
        pad = [np.pad(part, [(0, 0), (0, size - part.shape[1])] + [(0, 0)] * (part.ndim - 2)) for part in (one, other)]
        return np.concatenate(pad)

    features, is_real = both(first.features, second.features), both(first.is_real, second.is_real)
    assert features is not None
    assert is_real is not None
    return TuningLists(
        features, is_real, both(first.bleu, second.bleu), both(first.ter, second.ter), first.feature_names
    )
