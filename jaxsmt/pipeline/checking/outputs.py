"""Where results will go, looked at before there are any."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import LONGEST_NAME, is_special
from jaxsmt.pipeline.standard import STANDARD


def check_outputs(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None] | None = None) -> None:
    """Raises UserError where a file cannot be written, or would be another's; files by the keys that name them.

    inputs: files that are read, which nothing may overwrite.
    """
    taken = {_place(path): key for key, path in (inputs or {}).items() if path not in (None, STANDARD)}
    _check_standard([key for key, path in outputs.items() if path == STANDARD])
    for key, path in outputs.items():
        if path is None or path == STANDARD:
            continue
        if not path:
            raise UserError(f"{key} is empty: give the name of a file")
        _check_names(key, Path(path))
        if Path(path).is_dir():
            raise UserError(f"{key} is '{path}', which is a folder: give the name of a file")
        if is_special(Path(path)):
            continue
        _check_place(key, Path(path))
        if (other := taken.setdefault(_place(path), key)) != key:
            raise UserError(f"{key} and {other} are both '{path}': give each its own file")


def check_folders(folders: Mapping[str, str | None]) -> None:
    """Raises UserError where a folder cannot be made or written to; folders by the keys that name them."""
    for key, path in folders.items():
        if path is None:
            continue
        folder = Path(path)
        _check_names(key, folder)
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{key} is '{path}', which is a file: give the name of a folder")
        _check_place(key, folder / "file")


def _check_standard(keys: Sequence[str]) -> None:
    """keys: of outputs that go to standard output, where lines of two could not be told apart."""
    if len(keys) > 1:
        raise UserError(f"{keys[0]} and {keys[1]} both go to standard output ('-'): give a file, {keys[1]}=…")
    if keys and sys.stdout is None:
        raise UserError(f"standard output is closed: give a file, {keys[0]}=…")


def _place(path: str | None) -> str:
    return os.path.realpath(path or "")


def _check_names(key: str, path: Path) -> None:
    """Before anything else: the system answers no question about a name that is too long."""
    if long := [name for name in path.parts if len(os.fsencode(name)) > LONGEST_NAME]:
        raise UserError(f"{key} has a name of {len(os.fsencode(long[0]))} bytes: use at most {LONGEST_NAME}")


def _check_place(key: str, path: Path) -> None:
    """Whether a file could be made there, by the nearest folder above it that exists."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UserError(f"{key} is '{path}', and '{above}' is a file: give a folder that is one")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UserError(f"{key} is '{path}', and nothing can be written to '{above}': choose another folder")
