"""Files named on the command line of a command that trains no model, opened before any is worked on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import is_special
from jaxsmt.pipeline.standard import STANDARD
from jaxsmt.text.streams import count_lines, open_binary


def check_readable(files: Mapping[str, Any]) -> None:
    """Raises UserError, with the key, for a file that cannot be opened; values are names, lists of names, or None."""
    for key, value in files.items():
        for path in [value] if isinstance(value, str) else value or []:
            if is_read_once(path):
                continue
            try:
                with open_binary(path) as stream:
                    stream.read(1)
            except UserError as error:
                raise UserError(f"{key}: {error}") from None


def check_given(config: DictConfig, further: Sequence[str] = ()) -> None:
    """The parallel text of a command: both files are there, and all of them have as many lines."""
    keys = [key for key in ("source", "target", *further) if config[key] is not None and not is_read_once(config[key])]
    check_readable({key: config[key] for key in keys})
    if config.source is not None and config.source == config.target:
        raise UserError(f"source and target are both '{config.source}': give two files, each in its language")
    numbers = {key: count_lines(config[key]) for key in keys}
    if len(set(numbers.values())) > 1:
        listed = ", ".join(f"'{config[key]}' {number}" for key, number in numbers.items())
        raise UserError(f"{' and '.join(keys)} have different numbers of lines ({listed}): give one a pair in each")


def is_read_once(path: str) -> bool:
    """Whether what is read of a path is gone then: standard input, a pipe."""
    return path == STANDARD or is_special(Path(path))
