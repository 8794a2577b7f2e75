"""A picture of clusters: sentences in two dimensions, coloured by cluster and shaped by gold label."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.clusters.clustering import Clusters, centre
from jaxsmt.adapt.clusters.labels import Labels
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file

_MARKERS = "o^sDvPX*<>ph"
_MAX_POINTS = 5000  # more than that is a blot


def project(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components of the directions of vectors.

    Args:
      vectors: [B, D], D ≥ 1.

    Returns: coordinates [B, 2], and the share of the variance that each explains [2]. Zero vectors are where the mean
    is. The sign of an axis is that which makes its largest loading positive.
    """
    norm = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    is_real = norm[:, 0] > 0
    unit = vectors[is_real] / norm[is_real]
    offsets = unit - unit.mean(axis=0) if len(unit) else unit
    _, singular, axes = np.linalg.svd(offsets, full_matrices=False)
    axes = axes[:2]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    points, shares = np.zeros((len(vectors), 2)), np.zeros(2)
    points[is_real, : len(axes)] = offsets @ (axes * np.sign(np.where(largest == 0, 1, largest))).T
    total = (singular**2).sum()
    shares[: len(axes)] = singular[:2] ** 2 / total if total > 0 else 0
    return points, shares


def plot_clusters(path: str | Path, clusters: Clusters, vectors: np.ndarray, gold: Labels | None = None) -> None:
    """Writes a PNG of the development set's sentences; of a large set a sample at equal steps.

    Args:
      vectors: [B, D] of the sentences that the clusters were made of.
      gold: their gold labels, shown as shapes.
    """
    figure_type = _figure_type()
    if len(vectors) != len(clusters.assignment) or (gold is not None and len(gold) != len(vectors)):
        counts = f"{len(clusters.assignment)} assigned sentences, {len(vectors)} vectors"
        raise UserError(f"cannot plot {counts}{f', {len(gold)} gold labels' if gold else ''}: give those of one text")
    points, shares = project(centre(vectors, clusters.centring))
    rows = np.arange(0, len(points), max(1, -(-len(points) // _MAX_POINTS)))
    figure = figure_type(figsize=(8, 6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    _scatter(axes, points[rows], clusters.labels.take(rows), gold.take(rows) if gold else None)
    axes.set_xlabel(f"first principal component ({shares[0]:.0%} of the variance)")
    axes.set_ylabel(f"second principal component ({shares[1]:.0%})")
    axes.set_title(f"{len(clusters.names)} clusters of {len(points):,} sentences")
    figure.legend(loc="outside right upper", frameon=False, markerscale=2)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})  # same input, same bytes


def _scatter(axes: Any, points: np.ndarray, labels: Labels, gold: Labels | None) -> None:
    """One colour per cluster, one shape per gold label; the legend has both."""
    from matplotlib import colormaps

    colour_map: Any = colormaps["tab10" if len(labels.names) <= 10 else "tab20"]
    colours = colour_map.colors
    for c, name in enumerate(labels.names):
        colour = colours[c % len(colours)]
        for g in range(len(gold.names) if gold else 1):
            is_here = (labels.index == c) & (gold.index == g if gold else True)
            axes.scatter(*points[is_here].T, s=7, color=colour, marker=_MARKERS[g % len(_MARKERS)], linewidths=0)
        axes.scatter([], [], s=12, color=colour, label=name)
    for g, name in enumerate(gold.names if gold else ()):
        axes.scatter([], [], s=12, color="0.3", marker=_MARKERS[g % len(_MARKERS)], label=name)


def _figure_type() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("plots need matplotlib, which is not installed: run `pip install matplotlib`") from None
    return Figure
