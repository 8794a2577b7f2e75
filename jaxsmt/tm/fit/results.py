"""What a fit of mixture weights gives, whichever method found them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from jaxsmt.common.devices.spreading import spread
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.weights import FEATURE_NAMES, ORIENTATION

SETS_AT_ONCE = 8  # in one program, where they share evaluations: any number of devices is given the same pieces
Begun = TypeVar("Begun")


@dataclass(frozen=True)
class FeatureFit:
    """The weights of one feature, or of orientations, for S sets; the fields as in `MixtureFit`."""

    weights: np.ndarray  # [S, D]
    cross_entropy: np.ndarray  # [S]
    start_cross_entropy: np.ndarray  # [S]
    iterations: np.ndarray  # [S]
    is_converged: np.ndarray  # [S]
    used: np.ndarray  # [S]


@dataclass(frozen=True)
class MixtureFit:
    """Mixture weights of S development sets, four features and D components.

    set_names: [S]; component_names: [D].
    weights: [S, 4, D] float64; ones (or equal shares) where a set has no pair that counts.
    cross_entropy: [S, 4] float64, bits per used occurrence at these weights; NaN where there is none.
    start_cross_entropy: [S, 4] likewise at equal weights.
    iterations: [S, 4] int; is_converged: [S, 4] bool.
    used: [S, 4] float64, occurrences of the pairs that count: a lexical weight can be 0 for every λ.
    skipped: [S] float64, occurrences of pairs that no component has.
    reordering: the weights [S, D] of orientations, with what belongs to them; None where they were not fitted.
    """

    set_names: tuple[str, ...]
    component_names: tuple[str, ...]
    weights: np.ndarray
    cross_entropy: np.ndarray
    start_cross_entropy: np.ndarray
    iterations: np.ndarray
    is_converged: np.ndarray
    used: np.ndarray
    skipped: np.ndarray
    reordering: FeatureFit | None = None

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of a table for people: a row for each set and feature."""
        head = ["set", "feature", *self.component_names, "bits at equal weights", "bits", "pairs used", "pairs skipped"]
        rows = []
        for s, name in enumerate(self.set_names):
            for feature, fit in self._by_feature():
                weights = [f"{weight:.4g}" for weight in fit.weights[s]]
                bits = [f"{values[s]:.4f}" for values in (fit.start_cross_entropy, fit.cross_entropy)]
                rows.append([name, feature, *weights, *bits, f"{fit.used[s]:g}", f"{self.skipped[s]:g}"])
        return head, rows

    def _by_feature(self) -> list[tuple[str, FeatureFit]]:
        fields = (
            self.weights, self.cross_entropy, self.start_cross_entropy, self.iterations, self.is_converged, self.used
        )  # fmt: skip
        fits = [(name, FeatureFit(*(values[:, f] for values in fields))) for f, name in enumerate(FEATURE_NAMES)]
        return fits if self.reordering is None else [*fits, (ORIENTATION, self.reordering)]


def check_development(development: DevelopmentPairs) -> None:
    """Raises if no set has a pair of a component; warns of single sets without any."""
    empty = [name for name, found in zip(development.set_names, development.found, strict=True) if not found]
    if len(empty) == len(development.set_names):
        names = ", ".join(development.component_names)
        raise UserError(
            f"no phrase pair or rule of the development data is in a component ({names}): "
            "give development text of the same languages, tokenised and lowercased like the training text"
        )
    for name in empty:
        log.warning("no pair of development set '%s' is in a component: its weights stay equal", name)


def fit_pieces(
    num_sets: int, num_features: int, begin_fn: Callable[[int, int, slice], Begun],
    end_fn: Callable[[Begun], FeatureFit],
) -> list[FeatureFit]:  # fmt: skip
    """The fits of all features; some sets of one feature are a piece, and pieces go to the devices in turn.

    begin_fn: number of the piece, feature and sets; it returns before the device is done. end_fn: what it found.
    """
    cut = [slice(start, start + SETS_AT_ONCE) for start in range(0, num_sets, SETS_AT_ONCE)]
    pieces = [(feature, rows) for feature in range(num_features) for rows in cut]
    fits = [end_fn(begun) for begun in spread(lambda number, piece: [begin_fn(number, *piece)], pieces)]
    return [_join_sets(fits[start : start + len(cut)]) for start in range(0, len(fits), len(cut))]


def _join_sets(fits: Sequence[FeatureFit]) -> FeatureFit:
    columns = zip(*(vars(fit).values() for fit in fits), strict=True)
    return FeatureFit(*(np.concatenate(column) for column in columns))


def join_features(development: DevelopmentPairs, fits: Sequence[FeatureFit]) -> MixtureFit:
    """The fits of the four features as one."""
    used = np.stack([fit.used for fit in fits], 1)
    log_unfinished(development, fits)
    return MixtureFit(
        set_names=development.set_names,
        component_names=development.component_names,
        weights=np.stack([fit.weights for fit in fits], 1),
        cross_entropy=np.where(used > 0, np.stack([fit.cross_entropy for fit in fits], 1), np.nan),
        start_cross_entropy=np.where(used > 0, np.stack([fit.start_cross_entropy for fit in fits], 1), np.nan),
        iterations=np.stack([fit.iterations for fit in fits], 1),
        is_converged=np.stack([fit.is_converged for fit in fits], 1),
        used=used,
        skipped=development.skipped,
    )


def log_unfinished(development: DevelopmentPairs, fits: Sequence[FeatureFit]) -> None:
    """Says which fits stopped at their limit of iterations."""
    for feature, fit in zip(FEATURE_NAMES, fits, strict=True):
        for name, is_converged in zip(development.set_names, fit.is_converged, strict=True):
            if not is_converged:
                log.info("the weights of %s for set '%s' still moved at the last iteration", feature, name)
