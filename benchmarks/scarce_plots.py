"""Plots of comparisons like the figures of Sanchis-Trilles & Casacuberta (2015): quality, intervals, time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file

if TYPE_CHECKING:
    from jaxsmt.adapt.bpa.comparison import Comparison

_MARKERS = "os^vDPX*<>hd"


def plot_comparison(comparison: Comparison, path: str | Path, metric: str = "ter", bars: bool = False) -> None:
    """Figures 3 to 5: quality and 2σ of each method against |A|; with bars the intervals are drawn on the lines too."""
    series = {
        method: (comparison.means(metric)[number], comparison.intervals(metric)[number])
        for number, method in enumerate(comparison.methods)
    }
    _quality_and_intervals(series, comparison.sizes, path, metric, bars)


def plot_sweep(
    results: Mapping[str, Comparison], parameter: str, path: str | Path, metric: str = "ter", bars: bool = False
) -> None:
    """Figures 1, 2 and 7: quality and 2σ against |A|, a line for each value of a setting and each method."""
    series, sizes = {}, next(iter(results.values())).sizes
    for value, comparison in results.items():
        for number, method in enumerate(comparison.methods):
            means, intervals = comparison.means(metric)[number], comparison.intervals(metric)[number]
            series[f"{method}, {parameter} {value}"] = (means, intervals)
    _quality_and_intervals(series, sizes, path, metric, bars)


def plot_times(comparison: Comparison, path: str | Path) -> None:
    """Figure 6: CPU seconds of one adaptation against |A|, both axes logarithmic."""
    figure = _figure()(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, method in enumerate(comparison.methods):
        spent = np.maximum(comparison.seconds[number], 1e-4)
        axes.plot(comparison.sizes, spent, marker=_MARKERS[number % len(_MARKERS)], label=method)
    axes.set(xscale="log", yscale="log", xlabel="sentences in the adaptation set", ylabel="CPU seconds")
    axes.legend()
    _save(figure, path)


def _quality_and_intervals(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]], sizes: tuple[int, ...], path: str | Path, metric: str,
    bars: bool,
) -> None:  # fmt: skip
    figure = _figure()(figsize=(12, 4.5), layout="constrained")
    quality, spread = figure.subplots(1, 2)
    for number, (label, (means, intervals)) in enumerate(series.items()):
        marker = _MARKERS[number % len(_MARKERS)]
        quality.errorbar(sizes, means, yerr=intervals if bars else None, marker=marker, label=label, capsize=3)
        # what does not vary has no place on a logarithmic axis
        spread.plot(sizes, np.where(intervals > 0, intervals, np.nan), marker=marker, label=label)
    quality.set(xscale="log", xlabel="sentences in the adaptation set", ylabel=metric.upper())
    scale = "log" if any((intervals > 0).any() for _, intervals in series.values()) else "linear"
    spread.set(xscale="log", yscale=scale, xlabel="sentences in the adaptation set", ylabel=f"2σ, {metric.upper()}")
    quality.legend(fontsize="small")
    _save(figure, path)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure  # a figure of its own: no display, no state left behind
    except ImportError:
        raise UserError("plots need matplotlib, which is not installed: run `pip install matplotlib`") from None
    return Figure


def _save(figure: Any, path: str | Path) -> None:
    """Writes the figure in the format of the path's ending, without the date, so that equal plots are equal bytes."""
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in ("png", "pdf", "svg"):
        raise UserError(f"plot '{path}' has an unknown ending: use .png, .pdf or .svg")
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=metadata)
