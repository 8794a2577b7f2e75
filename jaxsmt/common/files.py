"""Files and folders that appear whole or not at all, and manifests that say what a folder is made of."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEMPORARY_PREFIX = ".unfinished-"
MANIFEST = "manifest.json"  # the size and sha256 of every file of a folder


def temporary_name(path: Path) -> Path:
    """A sibling of `path` to write to before the rename; the process id keeps two runs apart."""
    return path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Gives a temporary path to write to and renames it to `path` when the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Gives a temporary folder to fill and renames it to `path` (replacing it) on success."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: str | Path, text: str) -> None:
    """Writes UTF-8 text atomically, with the line ends as given."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def fingerprint_file(path: str | Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_manifest(folder: Path, identity: Mapping[str, Any]) -> None:
    """Adds `manifest.json` with size and sha256 of every file below the folder; identity: what else it says."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": fingerprint_file(path)}
        for path in paths
    }
    text = json.dumps({**identity, "files": files}, indent=1, sort_keys=True, ensure_ascii=False)
    write_text(folder / MANIFEST, text + "\n")


def is_complete(folder: Path) -> bool:
    """Whether the folder has a manifest and every file it names, at its size."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return all((folder / name).stat().st_size == entry["bytes"] for name, entry in files.items())
    except (OSError, ValueError, KeyError):
        return False
