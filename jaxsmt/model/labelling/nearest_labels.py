"""Labels of text that nobody labelled: the development set that is nearest, neighbouring lines considered."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.clusters.entropies import EntropyModel, load_entropy_model
from jaxsmt.adapt.clusters.nearest import LabelMeans, load_label_means, words_of
from jaxsmt.adapt.clusters.smoothing import smooth_labels


@dataclass(frozen=True)
class NearestLabels:
    """A labeller: a line is of the kind whose development text is nearest; lines of a text are looked at together."""

    entropies: EntropyModel
    means: LabelMeans

    @property
    def names(self) -> tuple[str, ...]:
        return self.means.names

    def labels_of(self, sentences: Sequence[Sequence[str]], start: int = 0) -> list[str | None]:
        """The label of every tokenised sentence; of equally probable ones the first."""
        best = self.posteriors(sentences).argmax(1).tolist()
        return [self.names[place] for place in best]

    def posteriors(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """[B, L]: how probable each label of each of consecutive sentences is."""
        if not sentences:
            return np.zeros((0, len(self.names)))
        vectors, num_words = self.entropies.vectors_of_tokens(sentences), words_of(sentences)
        return smooth_labels(self.means.log_likelihoods(vectors, num_words)).posteriors


def load_nearest_labels(folder: Path) -> NearestLabels:
    """What the stage of labels made."""
    return NearestLabels(load_entropy_model(folder), load_label_means(folder))
