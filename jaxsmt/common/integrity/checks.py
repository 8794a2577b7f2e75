"""Whether the files of a folder are still those of its manifest.

Every file's sha256 is computed once per process. A large file that any process of this user found whole before is
known again by its stamp (size, time of change, inode), unless all bytes are asked for.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxsmt.common.files import MANIFEST, cache_folder, fingerprint_file, manifest_checksum, write_text

LARGE_BYTES = 1 << 20  # smaller files are always read: that takes less than asking what is known of them
Stamp = tuple[int, int, int]  # size, time of change, inode
_found_whole: dict[tuple[Path, str], Stamp] = {}  # in this process, by path and sha256


def damaged_files(folder: Path, full: bool = False) -> list[str]:
    """Names of the files that are missing or have other bytes than the manifest says; a damaged manifest's own name.

    full: large files are read too, whatever is known of them.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return [MANIFEST]
    known = _Stamps(folder)
    damaged = [name for name, entry in manifest["files"].items() if not _is_whole(folder, name, entry, known, full)]
    known.save()
    return damaged


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's manifest; None if there is none, or a damaged one."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        is_whole = manifest["checksum"] == manifest_checksum(manifest)
        return manifest if is_whole and all(_is_inside(name) for name in manifest["files"]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class _Stamps:
    """Large files of one folder that were found whole, kept in the user's cache; losing them only costs time."""

    def __init__(self, folder: Path):
        place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
        self.path = cache_folder() / "checked" / f"{place}.json"
        try:
            self.stamps: dict[str, list] = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.stamps = {}
        self.is_changed = not isinstance(self.stamps, dict)
        self.stamps = {} if self.is_changed else self.stamps

    def knows(self, name: str, sha256: str, stamp: Stamp) -> bool:
        return self.stamps.get(name) == [sha256, *stamp]

    def add(self, name: str, sha256: str, stamp: Stamp) -> None:
        if not self.knows(name, sha256, stamp):
            self.stamps[name] = [sha256, *stamp]
            self.is_changed = True

    def save(self) -> None:
        if self.is_changed:
            try:
                write_text(self.path, json.dumps(self.stamps, sort_keys=True))
            except OSError:
                return  # a cache that cannot be written is none


def _is_whole(folder: Path, name: str, entry: Mapping[str, Any], known: _Stamps, full: bool) -> bool:
    path = folder / name
    try:
        found = path.stat()
        sha256, stamp = entry["sha256"], (found.st_size, found.st_mtime_ns, found.st_ino)
        if found.st_size != entry["bytes"]:
            return False
        if _found_whole.get((path, sha256)) == stamp:
            return True
        is_large = found.st_size >= LARGE_BYTES
        if not (is_large and not full and known.knows(name, sha256, stamp)) and fingerprint_file(path) != sha256:
            return False
    except (OSError, KeyError, TypeError):
        return False
    _found_whole[path, sha256] = stamp
    if is_large:
        known.add(name, sha256, stamp)
    return True


def _is_inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts
