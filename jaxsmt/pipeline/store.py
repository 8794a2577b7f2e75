"""The artefact store: results of stages in folders that are found again by what they were made from.

An artefact is a folder of files plus `manifest.json` (format version, stage, configuration, fingerprints of
its inputs, counts, sha256 of its files). The folder's name contains a hash of stage, configuration and inputs,
so a stage with the same inputs and configuration is never run twice, and several experiments can share a store.
How long a stage took is logged but not stored: the same inputs give the same bytes, whenever and wherever they run.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxsmt.common.device import release_kernels
from jaxsmt.common.files import (
    MANIFEST,
    TEMPORARY_PREFIX,
    atomic_folder,
    fingerprint_file,
    is_complete,
    write_manifest,
)
from jaxsmt.common.progress import log

FORMAT_VERSION = 1
Counts = Mapping[str, Any]


@dataclass(frozen=True)
class Artefact:
    """A finished folder of the store."""

    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))

    @property
    def counts(self) -> dict[str, Any]:
        return self.manifest["counts"]

    @cached_property
    def fingerprint(self) -> str:
        """Stands for every byte of the artefact, since the manifest names its files' sha256."""
        return fingerprint_file(self.folder / MANIFEST)


@dataclass(frozen=True)
class Store:
    """Artefacts below one folder."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(self.folder)

    def folder_of(self, stage: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> Path:
        """Where the stage's artefact is, or will be."""
        return self.folder / f"{stage}-{_hash(_identity(stage, config, inputs))[:16]}"

    def run(
        self, stage: str, config: Mapping[str, Any], inputs: Mapping[str, str], build: Callable[[Path], Counts]
    ) -> Artefact:
        """Returns the stage's artefact, building it only if it is not there.

        stage: its name, the start of the folder's name.
        config: what the result depends on besides the inputs; must be JSON.
        inputs: fingerprints by name.
        build: fills the folder it is given and returns counts for the manifest.
        """
        identity = _identity(stage, config, inputs)
        folder = self.folder_of(stage, config, inputs)
        if is_complete(folder):
            log.info("%s: found %s", stage, folder.name)
            return Artefact(folder)
        release_kernels()
        started = time.perf_counter()
        with atomic_folder(folder) as temporary:
            counts = build(temporary)
            write_manifest(temporary, {**identity, "counts": dict(counts)})
        log.info("%s: %.1f s%s", stage, time.perf_counter() - started, _listed(counts))
        return Artefact(folder)


def remove_unfinished(folder: Path) -> None:
    """Deletes what processes that no longer run left unfinished."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        process = path.name.removeprefix(TEMPORARY_PREFIX).split("-")[0]
        if process.isdigit() and _is_running(int(process)):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()  # a leftover of an earlier process that had our number


def _identity(stage: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> dict[str, Any]:
    return {"format": FORMAT_VERSION, "stage": stage, "config": dict(config), "inputs": dict(inputs)}


def _hash(identity: Mapping[str, Any]) -> str:
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(counts: Counts) -> str:
    shown = [f"{value:,} {name.replace('_', ' ')}" for name, value in counts.items() if isinstance(value, int)]
    return ": " + ", ".join(shown) if shown else ""
