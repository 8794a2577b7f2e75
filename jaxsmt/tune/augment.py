"""Feature augmentation (Daumé III 2007; Clark, Lavie & Dyer 2012): weights of a label are common ones plus its own.

Every hypothesis has its features h twice: once for all text, and once, times σ, for its label; those of other labels
are 0. A tuner that knows nothing of labels then finds w and v of each label, and text with label l is translated with
w + σ v_l. The smaller σ, the more a deviation costs, whatever a tuner does to keep weights small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.tune.nbest import NBestLists

MARK = "@"  # between the name of a feature and a label


@dataclass(frozen=True)
class Augmentation:
    """Labels [L] of text, the label of each of B sentences (L for none), and σ."""

    labels: tuple[str, ...]
    of_sentence: np.ndarray
    deviation: float

    def lists(self, given: NBestLists) -> NBestLists:
        """Lists of F dense features with F·(1 + L) of them, the common ones first, then those of the first label."""
        own = self.of_sentence[given.sentences]
        scales = [self.deviation * (own == number)[:, None] for number in range(len(self.labels))]
        parts = [given.features, *(given.features * scale for scale in scales)]
        names = (*given.feature_names, *(f"{n}{MARK}{label}" for label in self.labels for n in given.feature_names))
        return replace(given, features=np.concatenate(parts, 1), feature_names=names, num_dense=len(names))

    def start(self, common: np.ndarray) -> np.ndarray:
        """[F·(1 + L)]: common weights [F], and no deviations."""
        return np.concatenate([common, np.zeros(len(common) * len(self.labels))])

    def split(self, vector: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Common weights [F], and the weights [F] of each label, from what a tuner found."""
        common, *own = np.split(np.asarray(vector, np.float64), 1 + len(self.labels))
        return common, {label: common + self.deviation * part for label, part in zip(self.labels, own, strict=True)}


def augmentation(labels: Sequence[str | None], deviation: float) -> Augmentation:
    """For sentences with labels [B]."""
    known = tuple(sorted({label for label in labels if label is not None}))
    number = {label: place for place, label in enumerate(known)}
    return Augmentation(known, np.array([number.get(label or "", len(known)) for label in labels]), deviation)


def plain_columns(names: Sequence[str]) -> np.ndarray:
    """[F]: for each feature the one that it is a deviation from, or itself."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([place.get(name.rsplit(MARK, 1)[0], number) for number, name in enumerate(names)], np.int64)
