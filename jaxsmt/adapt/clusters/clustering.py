"""Clusters of a development set, to whose centroids any sentence can be assigned (Sennrich et al. 2013, section 4).

The vectors are entropies (see `entropies`), the clusters those of `kmeans`; or gold labels, whose centroids then stand
for the domains where a sentence to be translated has no label.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.clusters.kmeans import assign, fit_kmeans
from jaxsmt.adapt.clusters.labels import Labels, contingency
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log

FORMAT_VERSION = 1
ARRAYS, MANIFEST = "clusters.safetensors", "clusters.json"
CENTRINGS = ("none", "sentence")
_NUM_NEAREST = 3


@dataclass(frozen=True)
class ClusterConfig:
    """How a development set is clustered.

    num_clusters: k; 1 is adaptation to the whole set.
    restarts, seed, max_iterations: see `fit_kmeans`.
    centring: 'none' is the paper's plain cosine. 'sentence' takes the mean of a sentence's D entropies off each of them
        first, so that the cosine becomes their correlation: how hard a sentence is for all models no longer counts.
        (Taking off the mean of all sentences instead would set hard sentences against easy ones: on sets of IT and
        legal text two clusters then have a purity of 0.70, against 0.98 with either of these.)
    """

    num_clusters: int = 4
    restarts: int = 16
    seed: int = 0
    max_iterations: int = 100
    centring: str = "none"

    def __post_init__(self) -> None:
        _check_centring(self.centring)
        for name in ("num_clusters", "restarts", "max_iterations"):
            if getattr(self, name) < 1:
                raise UserError(f"mixture.{name} is {getattr(self, name)}: give 1 or more")


@dataclass(frozen=True)
class Clusters:
    """k clusters of a development set.

    names: k names.
    components: D names, of what the coordinates are.
    centring: what was done to the vectors (see `ClusterConfig`).
    centroids: [k, D] float64, unit vectors.
    assignment: [B] int32, the cluster of every sentence of the development set.
    objective: [iterations] float64, the mean of 1 − cos(sentence, centroid) at every iteration; it never rises.
    """

    names: tuple[str, ...]
    components: tuple[str, ...]
    centring: str
    centroids: np.ndarray
    assignment: np.ndarray
    objective: np.ndarray

    @property
    def labels(self) -> Labels:
        """The clusters of the development set's sentences."""
        return Labels(self.names, self.assignment)

    def assign(self, vectors: np.ndarray) -> Labels:
        """The nearest cluster of any sentences, by their vectors [B, D]; a sentence's depends on no other sentence."""
        if vectors.shape[1:] != (len(self.components),):
            raise UserError(
                f"the clusters are of {len(self.components)} components ({', '.join(self.components)}) and the "
                f"sentences have {vectors.shape[1]} entropies: use the entropy model that the clusters were made with"
            )
        return Labels(self.names, assign(self.centroids, centre(vectors, self.centring)))

    def save(self, folder: str | Path) -> None:
        """Writes `clusters.safetensors` and `clusters.json` into a folder, which may be there."""
        arrays = {"centroids": self.centroids, "assignment": self.assignment, "objective": self.objective}
        save_arrays(Path(folder) / ARRAYS, arrays)
        manifest = {
            "format": FORMAT_VERSION,
            "names": list(self.names),
            "components": list(self.components),
            "centring": self.centring,
        }
        write_text(Path(folder) / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def load_clusters(folder: str | Path) -> Clusters:
    """Opens what `Clusters.save` wrote."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise UserError(f"'{path}' does not exist: give a folder with clusters, or run train.py to make them")
    arrays = open_arrays(path.with_name(ARRAYS))
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        names, components = tuple(manifest["names"]), tuple(manifest["components"])
        fits = manifest["format"] == FORMAT_VERSION and arrays["centroids"].shape == (len(names), len(components))
        if not fits or manifest["centring"] not in CENTRINGS:
            raise ValueError
        columns = (arrays[name] for name in ("centroids", "assignment", "objective"))
        return Clusters(names, components, manifest["centring"], *columns)
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' has no clusters of this version: delete its folder and run train.py again") from None


def centre(vectors: np.ndarray, centring: str) -> np.ndarray:
    """[B, D] float64: the vectors as they are clustered; zero vectors stay zero."""
    _check_centring(centring)
    vectors = np.asarray(vectors, np.float64)
    return vectors - vectors.mean(axis=1, keepdims=True) if centring == "sentence" else vectors


def _check_centring(centring: str) -> None:
    if centring not in CENTRINGS:
        raise UserError(f"mixture.cluster_centring is '{centring}': set it to one of {', '.join(CENTRINGS)}")


def fit_clusters(vectors: np.ndarray, components: Sequence[str], config: ClusterConfig | None = None) -> Clusters:
    """Clusters a development set; the largest cluster is cluster0, which also takes empty sentences.

    Args:
      vectors: [B, D] entropies.
      components: D names.
    """
    config = config or ClusterConfig()
    _check_components(vectors, components)
    if config.centring == "sentence" and len(components) < 2:
        raise UserError("mixture.cluster_centring is 'sentence' and there is one component only: set it to none")
    points = centre(vectors, config.centring)
    fit = fit_kmeans(points, config.num_clusters, config.restarts, config.seed, config.max_iterations)
    sizes = np.bincount(fit.assignment, minlength=len(fit.centroids))
    log.info(
        "%d clusters of %d sentences (%s): mean cosine distance %.5f after %d iterations",
        len(sizes), len(points), ", ".join(map(str, sizes)), fit.objective[-1], len(fit.objective),
    )  # fmt: skip
    names = tuple(f"cluster{number}" for number in range(len(fit.centroids)))
    return Clusters(names, tuple(components), config.centring, fit.centroids, fit.assignment, fit.objective)


def _check_components(vectors: np.ndarray, components: Sequence[str]) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != len(components):
        raise ValueError(f"vectors of shape {vectors.shape} for {len(components)} components")


@dataclass(frozen=True)
class ClusterRow:
    """One cluster in a table.

    size: sentences of the development set.
    shares: the share of each gold label in the cluster; empty without gold labels.
    nearest: the components with the lowest entropies, the lowest first.
    """

    name: str
    size: int
    shares: dict[str, float]
    nearest: tuple[str, ...]


def cluster_table(clusters: Clusters, gold: Labels | None = None) -> list[ClusterRow]:
    """What is in each cluster of the development set."""
    sizes = clusters.labels.counts
    table = contingency(clusters.labels, gold) if gold else np.zeros((len(sizes), 0))
    shares = table / np.maximum(sizes, 1)[:, None]
    nearest = np.argsort(clusters.centroids, axis=1, kind="stable")[:, :_NUM_NEAREST]
    gold_names = gold.names if gold else ()
    return [
        ClusterRow(
            name,
            int(sizes[c]),
            dict(zip(gold_names, shares[c].tolist(), strict=True)),
            tuple(clusters.components[d] for d in nearest[c]),
        )
        for c, name in enumerate(clusters.names)
    ]


def format_table(rows: Sequence[ClusterRow]) -> str:
    """The table as lines of text, columns under each other."""
    gold = list(rows[0].shares) if rows else []
    cells = [["cluster", "sentences", *gold, "nearest components"]]
    for row in rows:
        cells.append([row.name, str(row.size), *(f"{row.shares[name]:.1%}" for name in gold), ", ".join(row.nearest)])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    last = len(widths) - 1
    lines = [
        "  ".join(cell.ljust(width) if at in (0, last) else cell.rjust(width)
                  for at, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in cells
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
