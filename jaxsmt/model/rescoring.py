"""KenLM files that rescore what the search of a model finds: they are too large for the device, and for its folder."""

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
from jaxsmt.lm.rescoring import Rescorer, RescoringConfig, files_by_feature, open_rescorer

if TYPE_CHECKING:
    from jaxsmt.model.reranking.rescoring import RescoringTranslator
    from jaxsmt.model.translation import PlainTranslator


@dataclass(frozen=True)
class RescoringFile:
    """A KenLM file: the name of its feature, where it lies, and the sha256 that it had when its weight was tuned."""

    name: str
    path: str
    fingerprint: str


@dataclass(frozen=True)
class Rescoring:
    """Lists of `nbest` translations are ranked anew by their scores and the log-probabilities of M files.

    weights: M, those of the files.
    """

    files: tuple[RescoringFile, ...]
    weights: tuple[float, ...]
    nbest: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features."""
        return tuple(file.name for file in self.files)

    @property
    def inputs(self) -> dict[str, str]:
        """Fingerprints of the files."""
        return {f"rescore {file.name}": file.fingerprint for file in self.files}

    def changed(self, config: RescoringConfig) -> "Rescoring":
        """The same with lists of another length, and with files that lie elsewhere, known by the names of features."""
        paths = {name: str(path) for name, path in files_by_feature(config.kenlm).items()}
        for name, path in paths.items():
            if name not in self.names:
                known = ", ".join(self.names)
                raise UserError(f"rescore.kenlm has '{path}', which is '{name}', and the model has {known}: rename it")
        files = tuple(dataclasses.replace(file, path=paths.get(file.name, file.path)) for file in self.files)
        return dataclasses.replace(self, files=files, nbest=config.nbest)

    def opened(self) -> Rescorer:
        """The files, opened; one that is not what it was is warned about."""
        for file in self.files:
            if not Path(file.path).is_file():
                raise UserError(
                    f"the model rescores with '{file.path}', which is not there: put it back or set "
                    "rescore.kenlm=[new path]"
                )
            if _fingerprint(file.path) != file.fingerprint:
                log.warning("'%s' has changed since its weight was tuned: better train the model again", file.path)
        return open_rescorer([file.path for file in self.files])

    def translator(self, plain: "PlainTranslator") -> "RescoringTranslator":
        """What translates with it; plain: the model without it."""
        from jaxsmt.model.reranking.rescoring import RescoringTranslator  # it is made of translators, which have models

        return RescoringTranslator(plain, self, self.opened())


def untuned_rescoring(paths: Sequence[str], nbest: int) -> Rescoring:
    """Files, at least one, with weights of 0; they are opened, so that mistakes show before anything is trained."""
    names = open_rescorer(paths).names
    files = [
        RescoringFile(name, os.path.abspath(path), _fingerprint(path)) for name, path in zip(names, paths, strict=True)
    ]
    return Rescoring(tuple(files), (0.0,) * len(files), nbest)


def rescoring_of(settings: Mapping[str, Any] | None) -> Rescoring | None:
    """From the values of `dataclasses.asdict`; None stays."""
    if settings is None:
        return None
    files = tuple(RescoringFile(**file) for file in settings["files"])
    return Rescoring(files, tuple(settings["weights"]), settings["nbest"])


def _fingerprint(path: str | Path) -> str:
    """Of a large file, which is read once as long as its size and time stay."""
    found = os.stat(path)
    return _read_fingerprint(os.path.abspath(path), found.st_size, found.st_mtime_ns)


@lru_cache
def _read_fingerprint(path: str, _size: int, _time: int) -> str:
    return fingerprint_file(path)
