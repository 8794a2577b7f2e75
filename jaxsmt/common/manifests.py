"""What a folder is made of: `manifest.json` with the size and sha256 of every file in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxsmt.common.files import fingerprint_file, write_text

MANIFEST = "manifest.json"


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
