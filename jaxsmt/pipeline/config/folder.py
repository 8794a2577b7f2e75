"""Where configuration files are: our own `conf/`, and the user's in the working folder."""

from pathlib import Path

import jaxsmt

NAME = "conf"


def conf_folder() -> Path:
    """`conf/` as it is installed within the package, or as it stands beside it in the repository."""
    package = Path(jaxsmt.__file__).resolve().parent
    installed = package / NAME
    return installed if installed.is_dir() else package.parent / NAME


def own_folder() -> Path | None:
    """The user's `conf/` in the working folder, where `corpus=mine` finds conf/corpus/mine.yaml; None without."""
    folder = Path.cwd() / NAME
    return folder if folder.is_dir() and folder.resolve() != conf_folder() else None


def choices_of(group: str) -> list[str]:
    """The files of a group, ours and the user's, by name."""
    folders = [folder / group for folder in (conf_folder(), own_folder()) if folder is not None]
    return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
