"""Reference translations on disk."""

from collections.abc import Sequence
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.streams import read_lines


def read_references(paths: Sequence[str | Path]) -> list[tuple[str, ...]]:
    """For each sentence its references, one from each file; files have a sentence a line, see `read_lines`."""
    columns = [list(read_lines(path)) for path in paths]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise UserError(
            f"the reference files have {lengths or 'no'} lines: give at least one, and as many lines in each"
        )
    return list(zip(*columns, strict=True))
