"""What rescores the translations that the search of a model finds.

KenLM files are too large for the device, and for the model's folder; operation sequence models are in it.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import fingerprint_file
from jaxsmt.common.progress import log
from jaxsmt.lm.config import MAX_ORDER
from jaxsmt.lm.rescoring import RescoringConfig, files_by_feature, open_rescorer
from jaxsmt.osm.models import OperationModels
from jaxsmt.osm.operations import COUNTED

if TYPE_CHECKING:
    from jaxsmt.model.reranking.features import ListRescorer
    from jaxsmt.model.reranking.rescoring import RescoringTranslator
    from jaxsmt.model.translation import PlainTranslator

OSM = "osm_0"  # the feature of operation sequence models
OSM_COUNTS = tuple(f"osm-{name}_0" for name in COUNTED)


@dataclass(frozen=True)
class RescoringTraining(RescoringConfig):
    """What rescores the translations of a model that is trained.

    osm: operation sequence models of the components, mixed, become a feature; osm_order: their longest n-grams.
    osm_counts: and so do the numbers of gaps, open gaps, deleted and inserted words.
    """

    osm: bool = False
    osm_counts: bool = False
    osm_order: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.osm_order <= MAX_ORDER:
            raise UserError(f"rescore.osm_order is {self.osm_order}: give an order from 1 to {MAX_ORDER}")
        if self.osm_counts and not self.osm:
            raise UserError("rescore.osm_counts are counts of operations: set rescore.osm=true too")

    @property
    def osm_features(self) -> tuple[str, ...]:
        """Names of the features of operations."""
        return (*((OSM,) if self.osm else ()), *(OSM_COUNTS if self.osm_counts else ()))


@dataclass(frozen=True)
class RescoringFile:
    """A KenLM file: the name of its feature, where it lies, and the sha256 that it had when its weight was tuned."""

    name: str
    path: str
    fingerprint: str


@dataclass(frozen=True)
class Rescoring:
    """Lists of `nbest` translations are ranked anew by their scores and M further features.

    weights: M, those of the files, then those of operations.
    osm: features of operations, for which the model has operation models: none, OSM, or OSM and OSM_COUNTS.
    shares: M rows [F], what the F tuned features of the search say of each feature: see `ListRescorer`.
    """

    files: tuple[RescoringFile, ...]
    weights: tuple[float, ...]
    nbest: int
    osm: tuple[str, ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features."""
        return (*(file.name for file in self.files), *self.osm)

    @property
    def inputs(self) -> dict[str, str]:
        """Fingerprints of the files; features of operations by name, whose models are inputs of their own."""
        found = {f"rescore {file.name}": file.fingerprint for file in self.files}
        return {**found, "rescore residuals": " ".join(self.names)}

    def changed(self, config: RescoringConfig) -> "Rescoring":
        """The same with lists of another length, and with files that lie elsewhere, known by the names of features."""
        paths = {name: str(path) for name, path in files_by_feature(config.kenlm).items()}
        for name, path in paths.items():
            if name not in self.names:
                known = ", ".join(self.names)
                raise UserError(f"rescore.kenlm has '{path}', which is '{name}', and the model has {known}: rename it")
        files = tuple(dataclasses.replace(file, path=paths.get(file.name, file.path)) for file in self.files)
        return dataclasses.replace(self, files=files, nbest=config.nbest)

    def opened(self, operations: OperationModels | None) -> "ListRescorer":
        """The files, opened, and the model's operation models; a file that is not what it was is warned about."""
        from jaxsmt.model.reranking.features import ListRescorer  # it is made of translators, which have models

        for file in self.files:
            if not Path(file.path).is_file():
                raise UserError(
                    f"the model rescores with '{file.path}', which is not there: put it back or set "
                    "rescore.kenlm=[new path]"
                )
            if _fingerprint(file.path) != file.fingerprint:
                log.warning("'%s' has changed since its weight was tuned: better train the model again", file.path)
        if self.osm and operations is None:
            raise UserError("the model rescores with operation models, and its folder has none: train it again")
        files = open_rescorer([file.path for file in self.files])
        return ListRescorer(files, self.osm, operations, self.shares)

    def translator(self, plain: "PlainTranslator") -> "RescoringTranslator":
        """What translates with it; plain: the model without it."""
        from jaxsmt.model.reranking.rescoring import RescoringTranslator

        return RescoringTranslator(plain, self, self.opened(plain.model.operations))


def untuned_rescoring(paths: Sequence[str], nbest: int, osm: tuple[str, ...] = ()) -> Rescoring:
    """Weights of 0; files are opened, so that mistakes show before anything is trained."""
    names = open_rescorer(paths).names
    files = [
        RescoringFile(name, os.path.abspath(path), _fingerprint(path)) for name, path in zip(names, paths, strict=True)
    ]
    return Rescoring(tuple(files), (0.0,) * (len(files) + len(osm)), nbest, osm)


def rescoring_of(settings: Mapping[str, Any]) -> Rescoring:
    """From the values of `dataclasses.asdict`."""
    files = tuple(RescoringFile(**file) for file in settings["files"])
    shares = tuple(tuple(row) for row in settings.get("shares", ()))
    return Rescoring(files, tuple(settings["weights"]), settings["nbest"], tuple(settings.get("osm", ())), shares)


def _fingerprint(path: str | Path) -> str:
    """Of a large file, which is read once as long as its size and time stay."""
    found = os.stat(path)
    return _read_fingerprint(os.path.abspath(path), found.st_size, found.st_mtime_ns)


@lru_cache
def _read_fingerprint(path: str, _size: int, _time: int) -> str:
    return fingerprint_file(path)
