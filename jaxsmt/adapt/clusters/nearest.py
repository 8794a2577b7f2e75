"""The label whose development text is nearest to a sentence, by its entropies under source-side models.

Vectors as in `entropies` (Sennrich, Schwenk and Aransa 2013, section 4.1), but the labels are given: each has the mean
of its development sentences, and what sentences scatter around these means by is pooled, so that distances are
log-likelihoods of normal distributions. Long sentences scatter less: by one over their number of words.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.clusters.labels import Labels
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text

FORMAT_VERSION = 1
ARRAYS, MANIFEST = "nearest.safetensors", "nearest.json"
RIDGE = 1e-3  # bits² that keep the scatter invertible


@dataclass(frozen=True)
class LabelMeans:
    """L labels among vectors of D entropies.

    means: [L, D] float64; precision: [D, D], the inverse of the scatter of a sentence with `usual_words` words.
    """

    names: tuple[str, ...]
    means: np.ndarray
    precision: np.ndarray
    usual_words: float

    def log_likelihoods(self, vectors: np.ndarray, num_words: np.ndarray) -> np.ndarray:
        """[B, L] of sentences [B, D] with so many words each [B]; a sentence without words says nothing: zeros."""
        apart = vectors[:, None] - self.means
        distances = np.einsum("bld,de,ble->bl", apart, self.precision, apart)
        return -0.5 * distances * (num_words / self.usual_words)[:, None]

    def save(self, folder: str | Path) -> None:
        """Writes two files into a folder, which may be there."""
        save_arrays(Path(folder) / ARRAYS, {"means": self.means, "precision": self.precision})
        manifest = {"format": FORMAT_VERSION, "names": list(self.names), "usual_words": self.usual_words}
        write_text(Path(folder) / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def fit_label_means(vectors: np.ndarray, num_words: np.ndarray, labels: Labels) -> LabelMeans:
    """From sentences [B, D] with so many words each [B]; every label needs a sentence with words."""
    used = num_words > 0
    vectors, num_words, index = vectors[used], num_words[used].astype(np.float64), labels.index[used]
    counts = np.bincount(index, minlength=len(labels.names))
    for name, count in zip(labels.names, counts.tolist(), strict=True):
        if not count:
            raise UserError(f"development set '{name}' has no words on its source side: give it text, or leave it out")
    means = np.stack([vectors[index == place].mean(0) for place in range(len(counts))])
    usual = float(num_words.mean())
    apart = (vectors - means[index]) * np.sqrt(num_words / usual)[:, None]
    scatter = apart.T @ apart / len(apart) + RIDGE * np.eye(vectors.shape[1])
    return LabelMeans(labels.names, means, np.linalg.inv(scatter), usual)


def load_label_means(folder: str | Path) -> LabelMeans:
    """Opens what `LabelMeans.save` wrote."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        arrays = open_arrays(path.with_name(ARRAYS))
        if manifest["format"] != FORMAT_VERSION:
            raise ValueError
        return LabelMeans(
            tuple(manifest["names"]), np.array(arrays["means"]), np.array(arrays["precision"]), manifest["usual_words"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is missing, damaged or of another version: train the model again") from None


def words_of(sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """[B] float64: numbers of words."""
    return np.array([len(tokens) for tokens in sentences], np.float64)
