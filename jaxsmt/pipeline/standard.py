"""Files and standard streams of commands: '-' is standard input or output."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.text.streams import read_lines, text_lines

STANDARD = "-"


def input_lines(path: str, may_be_empty: bool = False) -> Iterator[str]:
    """The lines of a file, plain or compressed, or of standard input."""
    return read_lines(path, may_be_empty=may_be_empty) if path != STANDARD else _standard_input()


def _standard_input() -> Iterator[str]:
    if sys.stdin is None:
        raise UserError("standard input is closed: name a file, or let text come in")
    return text_lines(sys.stdin.buffer, "standard input", may_be_empty=True)


@contextmanager
def output_stream(path: str) -> Iterator[TextIO]:
    """A stream whose file appears when all went well; standard output for '-'."""
    if path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            yield stream


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Writes lines to a file or to standard output."""
    with output_stream(path) as stream:
        stream.writelines(line + "\n" for line in lines)


@contextmanager
def output_path(path: str, scratch: Path) -> Iterator[Path]:
    """A path for writers of files: the one given, or one below `scratch` that then goes to standard output."""
    if path != STANDARD:
        yield Path(path)
        return
    written = scratch / "standard-output"
    yield written
    with open(written, encoding="utf-8", newline="") as stream:
        sys.stdout.writelines(stream)
    sys.stdout.flush()


def unknown_lines(unknown: Counter[str]) -> str:
    """Unknown words with their counts, by falling count, then in code-point order."""
    rows = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count}\t{word}\n" for word, count in rows)
