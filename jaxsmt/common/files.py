"""Files and folders that appear whole or not at all, and manifests that say what a folder is made of."""

import ctypes
import errno
import glob
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jaxsmt.common.integrity.owners import Owner, is_dead, read_mark, this_owner

TEMPORARY_PREFIX, REPLACED_PREFIX = ".unfinished-", ".replaced-"
MANIFEST = "manifest.json"  # the size and sha256 of every file of a folder, and a checksum of itself
LONGEST_NAME = 255  # bytes, of a file on most systems
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # <fcntl.h>, <linux/fs.h>


def temporary_name(path: Path) -> Path:
    """A sibling of `path` to write to before the rename; the owner's mark keeps two processes apart."""
    return path.with_name(marked_name(TEMPORARY_PREFIX, path.name))


def marked_name(prefix: str, name: str) -> str:
    """prefix, the mark of this process, a hyphen and the name, which is cut where it would be too long."""
    start = f"{prefix}{this_owner().mark()}-"
    return start + os.fsdecode(os.fsencode(name)[: LONGEST_NAME - len(start)])


def cache_folder() -> Path:
    """Where this user's caches of jaxsmt lie: $JAXSMT_CACHE, or else in $XDG_CACHE_HOME or ~/.cache."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxsmt"
    return Path(os.environ.get("JAXSMT_CACHE", default))


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Gives a temporary path to write to and renames it to `path` when the block succeeds.

    What is no file, such as /dev/null or a named pipe, is written to as it is.
    """
    path = Path(path)
    if is_special(path):
        yield path
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = temporary_name(path)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or the like, which nothing may take the place of."""
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)) and path.parts[2:3] != ("shm",):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Gives a temporary folder to fill, which replaces `path` on success: a reader sees the old one or the new."""
    with unfinished_folder(Path(path)) as temporary:
        yield temporary
        _replace_folder(temporary, Path(path))


@contextmanager
def unfinished_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`; what is left of it at the end of the block is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = temporary_name(path)
    temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """A folder for the time of the block, among the system's temporary ones; those of killed processes are removed."""
    with unfinished_folder(Path(tempfile.gettempdir()) / f"jaxsmt-{name}-{secrets.token_hex(4)}") as folder:
        folder.chmod(0o700)
        yield folder


def remove(path: Path) -> None:
    """Removes a file or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def owner_of(path: Path, prefix: str) -> Owner | None:
    """Who made a path whose name `marked_name` gave."""
    return read_mark(path.name.removeprefix(prefix).split("-")[0])


def _remove_leftovers(path: Path) -> None:
    """What killed processes left of their attempts to write `path`, or to write anything else beside it."""
    name = temporary_name(path).name.split("-", 2)[2]  # as far as a temporary name has room for it
    for leftover in path.parent.glob(f"{REPLACED_PREFIX}*-{glob.escape(name)}"):
        if _is_left(leftover, REPLACED_PREFIX):
            if path.exists():
                _try_to_remove(leftover)
            else:
                os.rename(leftover, path)  # it was killed between two renames
    for leftover in path.parent.glob(f"{TEMPORARY_PREFIX}*"):
        is_of_path = leftover.name.split("-", 2)[-1] == name
        if _is_left(leftover, TEMPORARY_PREFIX, is_of_path):
            _try_to_remove(leftover)


def _is_left(leftover: Path, prefix: str, or_ours: bool = True) -> bool:
    """Whether who made it is gone; or_ours: or this process, which then begins anew."""
    owner = owner_of(leftover, prefix)
    return (or_ours and owner == this_owner()) or is_dead(owner, 0.0)


def _try_to_remove(leftover: Path) -> None:
    with suppress(OSError):  # another user's, in a folder that many write to
        remove(leftover)


def _replace_folder(new: Path, path: Path) -> None:
    """Puts a folder in another's place, in one step where the system can exchange names; the old is then at `new`."""
    if not path.exists():
        os.rename(new, path)
    elif not _exchange(new, path):
        old = path.with_name(marked_name(REPLACED_PREFIX, path.name))
        os.rename(path, old)
        os.rename(new, path)
        os.rename(old, new)


def _exchange(first: Path, second: Path) -> bool:
    """Linux' renameat2(RENAME_EXCHANGE); False where the system or the file system has no such thing."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0


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
    manifest = {**identity, "files": files}
    manifest["checksum"] = manifest_checksum(manifest)
    text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False)
    write_text(folder / MANIFEST, text + "\n")


def manifest_checksum(manifest: Mapping[str, Any]) -> str:
    """The sha256 of all that a manifest says but this."""
    said = {name: value for name, value in manifest.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
