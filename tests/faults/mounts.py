"""File systems that are small or read-only, where one may be mounted."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    """A file system in memory; skips the test where none may be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here; files of limited size stand for it")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nothing can be written to, by its modes or, since those mean nothing to root, by a mount."""
    if os.geteuid():
        modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*")) if path.is_dir()}
        for path in modes:
            path.chmod(0o555)
        try:
            yield
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        return
    commands = (["mount", "--bind", str(folder), str(folder)], ["mount", "-o", "remount,ro,bind", str(folder)])
    done = 0
    try:
        for command in commands:
            if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("root may write to every folder, and none may be mounted read-only here")
            done += 1
        yield
    finally:
        if done:
            subprocess.run(["umount", str(folder)], check=True)
