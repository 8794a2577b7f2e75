"""Damage to files, one at a time, and whether it is noticed: a model's when it is opened, a store's when it is used."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import MANIFEST
from jaxsmt.model.folder import open_model
from jaxsmt.pipeline.store import Store
from tests.pipeline.small_corpus import files_below


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ (1 << position % 8)]) + data[position + 1 :]


DAMAGE: dict[str, Callable[[bytes, np.random.Generator], bytes | None]] = {
    "flipped": lambda data, rng: flipped(data, int(rng.integers(len(data)))),
    "truncated": lambda data, rng: data[: int(rng.integers(len(data)))],
    "emptied": lambda data, rng: b"",
    "longer": lambda data, rng: data + b" ",
    "removed": lambda data, rng: None,
}


@dataclass
class Noticed:
    """What became of damage: silent and tracebacks are what must not happen, by file and kind."""

    number: int = 0
    silent: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)


@contextmanager
def damaged(path: Path, data: bytes, kind: str, rng: np.random.Generator) -> Iterator[None]:
    """A file with one damage, which is as it was after the block."""
    changed = DAMAGE[kind](data, rng)
    path.unlink() if changed is None else path.write_bytes(changed)
    try:
        yield
    finally:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def damage_model(folder: Path, kinds: dict[str, int], rng: np.random.Generator) -> Noticed:
    """Damages every file of a model so many times in each kind, and opens it; refused with a sentence is noticed."""
    found = Noticed()
    for name, data, kind in _cases(folder, kinds):
        found.number += 1
        with damaged(folder / name, data, kind, rng):
            try:
                open_model(folder)
                found.silent.append(f"{name} {kind}")
            except UserError:
                continue
            except Exception as error:
                found.tracebacks.append(f"{name} {kind}: {error!r}")
    open_model(folder)
    return found


def damage_store(folder: Path, kinds: dict[str, int], rng: np.random.Generator) -> Noticed:
    """Damages every file of a store's artefacts and asks for the artefact: named and built again is noticed."""
    found = Noticed()
    for artefact in sorted(path for path in folder.iterdir() if path.is_dir()):
        pristine = folder.parent / f"{folder.name}-pristine" / artefact.name
        shutil.copytree(artefact, pristine)
        for name, data, kind in _cases(artefact, kinds):
            found.number += 1
            try:
                if not _is_healed(artefact, pristine, name, data, kind, rng):
                    found.silent.append(f"{artefact.name}/{name} {kind}")
            except Exception as error:
                found.tracebacks.append(f"{artefact.name}/{name} {kind}: {error!r}")
    return found


def _is_healed(artefact: Path, pristine: Path, name: str, data: bytes, kind: str, rng: np.random.Generator) -> bool:
    """Whether the store names the damage and builds the artefact again, as it was."""
    said = json.loads((pristine / MANIFEST).read_text(encoding="utf-8"))
    changed = DAMAGE[kind](data, rng)
    (artefact / name).unlink() if changed is None else (artefact / name).write_bytes(changed)

    def build(target: Path) -> dict:
        shutil.copytree(pristine, target, dirs_exist_ok=True)
        (target / MANIFEST).unlink()
        return said["counts"]

    with _warnings() as warnings:
        Store(artefact.parent).run(said["stage"], said["config"], said["inputs"], build)
    for aside in artefact.parent.glob(".damaged-*"):
        shutil.rmtree(aside)
    return any(artefact.name in text for text in warnings) and files_below(artefact) == files_below(pristine)


def _cases(folder: Path, kinds: dict[str, int]) -> Iterator[tuple[str, bytes, str]]:
    for name, data in sorted(files_below(folder).items()):
        for kind, times in kinds.items():
            if kind == "longer" and name == MANIFEST:
                continue  # white space behind JSON says nothing
            for _ in range(times if data else 0):
                yield name, data, kind


@contextmanager
def _warnings() -> Iterator[list[str]]:
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("jaxsmt")
    log.addHandler(handler)
    try:
        yield found
    finally:
        log.removeHandler(handler)
