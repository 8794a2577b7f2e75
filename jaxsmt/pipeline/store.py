"""The artefact store: results of stages in folders that are found again by what they were made from.

An artefact is a folder of files plus `manifest.json` (format version, stage, configuration, fingerprints of
its inputs, counts, sha256 of its files). The folder's name contains a hash of stage, configuration and inputs,
so a stage with the same inputs and configuration is never run twice, and several experiments can share a store.
How long a stage took is logged but not stored: the same inputs give the same bytes, whenever and wherever they run.

Processes of several hosts can share a store: who needs what another one is building waits for it, a finished artefact
is never replaced, and one whose bytes are not those of its manifest is set aside and built again.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.device import release_kernels
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import (
    MANIFEST,
    REPLACED_PREFIX,
    TEMPORARY_PREFIX,
    fingerprint_file,
    marked_name,
    owner_of,
    remove,
    unfinished_folder,
    write_manifest,
)
from jaxsmt.common.integrity.checks import damaged_files, read_manifest
from jaxsmt.common.integrity.owners import heartbeat, is_dead, read_mark, seconds_silent, this_owner
from jaxsmt.common.memory import PeakMemory
from jaxsmt.common.progress import log

FORMAT_VERSION = 2
# of stages whose result changed with the same configuration; 1 for all others
STAGE_VERSIONS: dict[str, int] = {"tune": 2, "trained": 2}
BUILDING_PREFIX, DAMAGED_PREFIX = ".building-", ".damaged-"
WAIT_SECONDS = 0.2  # between two looks at what another process builds
Counts = Mapping[str, Any]


@dataclass(frozen=True)
class StoreConfig:
    """verify: 'stamps' reads large files only if they changed since they were found whole, 'full' reads all bytes."""

    verify: str = "stamps"

    def __post_init__(self) -> None:
        if self.verify not in ("stamps", "full"):
            raise UserError(f"store.verify is '{self.verify}': choose stamps or full")


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
class StageRun:
    """A stage in this process.

    folder: its artefact, None where it keeps none; seconds, peak_bytes: what it took, None where it was found.
    """

    stage: str
    folder: Path | None
    seconds: float | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Store:
    """Artefacts below one folder; runs: the stages of this process, in their order.

    tasks: who does those tasks that stages are cut into; None: this process, without cutting.
    """

    folder: Path
    config: StoreConfig = StoreConfig()
    runs: list[StageRun] = field(default_factory=list, compare=False)
    tasks: TaskRunner | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(self.folder)

    def folder_of(self, stage: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> Path:
        """Where the stage's artefact is, or will be."""
        return self.folder_in(self.folder, stage, config, inputs)

    @staticmethod
    def folder_in(store: Path, stage: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> Path:
        """The same without a store, whose folder need not be there."""
        return store / f"{stage}-{_hash(_identity(stage, config, inputs))[:16]}"

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
        told = ""
        while not self._is_there(folder, identity):
            with claimed(folder) as other:
                if other is None:
                    if self._is_there(folder, identity):
                        continue  # who had the claim has ended between our two looks
                    self._build(folder, identity, build)
                    return Artefact(folder)
            if told != other:
                log.info("%s: waiting for process %s, which is building %s", stage, other, folder.name)
                told = other
            time.sleep(WAIT_SECONDS)
        log.info("%s: found %s", stage, folder.name)
        self.runs.append(StageRun(stage, folder))
        return Artefact(folder)

    @contextmanager
    def watched(self, stage: str, folder: Path | None = None) -> Iterator[None]:
        """Notes what a block took."""
        started = time.perf_counter()
        with PeakMemory() as memory:
            yield
        self.runs.append(StageRun(stage, folder, time.perf_counter() - started, memory.peak))

    def _is_there(self, folder: Path, identity: Mapping[str, Any]) -> bool:
        """Whether the artefact is there and whole; a damaged one is named and set aside."""
        if not folder.is_dir():
            return False
        damaged = damaged_files(folder, self.config.verify == "full")
        if not damaged and not _says(folder, identity):
            damaged = [MANIFEST]
        if not damaged:
            return True
        aside = folder.with_name(marked_name(DAMAGED_PREFIX, folder.name))
        try:
            os.rename(folder, aside)
        except OSError:  # another process did so first
            return False
        log.warning("'%s' is damaged: it is set aside as %s and built again", folder / damaged[0], aside.name)
        return False

    def _build(self, folder: Path, identity: Mapping[str, Any], build: Callable[[Path], Counts]) -> None:
        release_kernels()
        started, stage = time.perf_counter(), identity["stage"]
        with unfinished_folder(folder) as temporary, heartbeat(temporary, claim_file(folder)):
            with self.watched(stage, folder):
                counts = build(temporary)
            write_manifest(temporary, {**identity, "counts": dict(counts)})
            try:
                os.rename(temporary, folder)
            except OSError:
                if not folder.is_dir():
                    raise
                # another process was first: the same inputs give the same bytes, so ours goes
        log.info("%s: %.1f s%s", stage, time.perf_counter() - started, _listed(counts))


def remove_unfinished(folder: Path) -> None:
    """Deletes what processes that no longer run left unfinished, set aside or claimed."""
    for prefix in (TEMPORARY_PREFIX, REPLACED_PREFIX, DAMAGED_PREFIX):
        for path in folder.glob(f"{prefix}*"):
            if is_dead(owner_of(path, prefix), seconds_silent(path)):
                remove(path)
    for claim in folder.glob(f"{BUILDING_PREFIX}*"):  # of who was killed between its artefact's rename and the end
        _builder(claim)


@contextmanager
def claimed(folder: Path) -> Iterator[str | None]:
    """Gives None if the artefact, or any folder, is ours to build in the block, or else the mark of who is building it.

    That two processes build one artefact is not impossible where a third one died, and does no harm: the first wins.
    """
    claim = claim_file(folder)
    try:
        with open(claim, "x", encoding="utf-8") as stream:
            stream.write(this_owner().mark())
    except FileExistsError:
        yield _builder(claim)
        return
    try:
        yield None
    finally:
        claim.unlink(missing_ok=True)


def claim_file(folder: Path) -> Path:
    return folder.with_name(f"{BUILDING_PREFIX}{folder.name}")


def _builder(claim: Path) -> str:
    """Who has the claim; it is taken away from the dead, so that the next look finds it free."""
    try:
        mark = claim.read_text(encoding="utf-8")
    except OSError:
        return "that has just ended"
    if is_dead(read_mark(mark), seconds_silent(claim)):
        claim.unlink(missing_ok=True)
    return mark


def _says(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Whether the manifest is that of this stage, configuration and inputs."""
    manifest = read_manifest(folder)
    return manifest is not None and _hash({name: manifest.get(name) for name in identity}) == _hash(identity)


def _identity(stage: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> dict[str, Any]:
    version = {"format": FORMAT_VERSION, "version": STAGE_VERSIONS.get(stage.split("-")[0], 1)}
    return {**version, "stage": stage, "config": dict(config), "inputs": dict(inputs)}


def _hash(identity: Mapping[str, Any]) -> str:
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(counts: Counts) -> str:
    shown = [f"{value:,} {name.replace('_', ' ')}" for name, value in counts.items() if isinstance(value, int)]
    return ": " + ", ".join(shown) if shown else ""
