"""Lines of text files, plain or compressed, with errors that say where."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from jaxsmt.common.errors import UserError

_GZIP_MAGIC = b"\x1f\x8b"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_BOM = b"\xef\xbb\xbf"


@contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for reading its bytes, unpacking gzip and xz; whatever goes wrong while reading is a UserError."""
    path = Path(path)
    try:
        with open(path, "rb") as raw, _unpacked(raw, path) as stream:
            yield stream
    except FileNotFoundError:
        raise UserError(f"'{path}' does not exist: check the path") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder: give a file") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise UserError(f"'{path}' is broken or truncated ({error}): copy or compress it again") from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror or error}): check the file") from None


def _unpacked(raw: BinaryIO, path: Path) -> BinaryIO:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        return cast(BinaryIO, gzip.open(raw))
    if magic == _XZ_MAGIC:
        return cast(BinaryIO, lzma.open(raw))
    for suffix, name in ((".gz", "gzip"), (".xz", "xz")):
        if path.suffix == suffix and magic:
            raise UserError(f"'{path}' is not a {name} file although its name ends in {suffix}: rename or compress it")
    return raw


def read_lines(path: str | Path, encoding: str = "utf-8", may_be_empty: bool = False) -> Iterator[str]:
    """The lines of a file, without their ends; only \\n and \\r\\n end a line.

    A file without lines is an error, unless it may be empty.
    """
    number = 0
    with open_binary(path) as stream:
        for number, raw in enumerate(stream, 1):
            if number == 1:
                _refuse_utf16(raw, path)
                raw = raw.removeprefix(_BOM)
            yield decode(raw.removesuffix(b"\n").removesuffix(b"\r"), path, number, encoding)
    if number == 0 and not may_be_empty:
        raise UserError(f"'{path}' is empty: give a file with text")


def decode(raw: bytes, path: str | Path, line: int, encoding: str = "utf-8") -> str:
    """The text of one line, or an error that names file, line and byte."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding.lower() in ("utf-8", "utf8") else encoding
        raise UserError(
            f"'{path}' line {line} is not {name} (byte {error.start + 1} of the line is 0x{raw[error.start]:02x}): "
            "convert the file to UTF-8, for instance with iconv"
        ) from None


def _refuse_utf16(raw: bytes, path: str | Path) -> None:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError(f"'{path}' line 1 is UTF-16, not UTF-8: convert the file to UTF-8, for instance with iconv")
