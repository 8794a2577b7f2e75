"""What MkDocs asks while it builds: the page of all keys is made from `conf/`; pages that do not exist are left out."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from jaxsmt.pipeline.config.reference import reference
from jaxsmt.pipeline.main import COMMANDS

REFERENCE = "reference.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leaves pages out of the navigation that do not exist, but for the one that is made here."""
    config.nav = _there(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page of all keys."""
    files.append(File.generated(config, REFERENCE, content=reference(COMMANDS)))
    return files


def _there(entries: list, folder: Path) -> list:
    kept = []
    for entry in entries:
        ((title, what),) = entry.items()
        if isinstance(what, list):
            kept.append({title: _there(what, folder)})
        elif what == REFERENCE or (folder / what).is_file():
            kept.append(entry)
    return kept
