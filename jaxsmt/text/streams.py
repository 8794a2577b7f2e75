"""Lines of text files, plain or compressed, with errors that say where.

Nothing here holds more than a line, or a document that is asked for as a whole, and both have a largest size.
"""

import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.limits import FREE_BYTES, input_limits

_GZIP_MAGIC = b"\x1f\x8b"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_ASCII = bytes(set(range(32, 127)) - set(b"+~\\"))  # but what UTF-7 and Shift JIS have otherwise
_NO_TEXT = ("idna", "punycode", "unicode_escape", "raw-unicode-escape", "unicode-escape", "undefined")
_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 17  # bytes that are unpacked at a time


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
    except BrokenPipeError:
        raise  # of what the lines are written to
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror or error}): check the file") from None
    except ValueError as error:  # a name that no file can have
        if "null" not in str(error):
            raise
        raise UserError(f"{str(path)!r} cannot be the name of a file: check the path") from None


class _Archive(io.RawIOBase):
    """Unpacked bytes, piece by piece; refuses what unpacks to far more than any text does."""

    def __init__(self, unpacking: BinaryIO, path: Path, packed_bytes: int):
        self._unpacking, self._path, self._packed, self._read = unpacking, path, packed_bytes, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._unpacking.read(min(len(buffer), _PIECE))
        buffer[: len(data)] = data
        self._read += len(data)
        if self._read > max(FREE_BYTES, input_limits().unpacked * self._packed):
            raise UserError(
                f"'{self._path}' unpacks to more than {input_limits().unpacked} times its size, which no text does: "
                "check the file, or raise limits.unpacked"
            )
        return len(data)


def _unpacked(raw: io.BufferedReader, path: Path) -> BinaryIO:
    magic = raw.peek(len(_XZ_MAGIC))[: len(_XZ_MAGIC)]
    packed_bytes = os.fstat(raw.fileno()).st_size
    if magic.startswith(_GZIP_MAGIC):
        return io.BufferedReader(_Archive(cast(BinaryIO, gzip.open(raw)), path, packed_bytes), _PIECE)
    if magic == _XZ_MAGIC:
        return io.BufferedReader(_Archive(cast(BinaryIO, lzma.open(raw)), path, packed_bytes), _PIECE)
    for suffix, name in ((".gz", "gzip"), (".xz", "xz")):
        if path.suffix == suffix and magic:
            raise UserError(f"'{path}' is not a {name} file although its name ends in {suffix}: rename or compress it")
    return raw


def read_whole(path: str | Path) -> bytes:
    """All bytes of a document; one that is too large is an error."""
    largest, pieces, size = input_limits().document, [], 0
    with open_binary(path) as stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > largest:
                raise UserError(
                    f"'{path}' has more than {largest} bytes, too many to read as one document: split it, or raise "
                    "limits.document"
                )
    return b"".join(pieces)


def raw_lines(stream: BinaryIO, name: str, first: int = 1) -> Iterator[bytes]:
    """The lines of a stream with their ends; name: for messages, as is the number of the first line."""
    longest, number = input_limits().line, first
    while line := stream.readline(longest + 2):  # and an end, \r\n
        if len(line) > longest and len(line.rstrip(b"\r\n")) > longest:
            raise UserError(f"{name} line {number} has more than {longest} bytes: cut it, or raise limits.line")
        yield line
        number += 1


def read_lines(path: str | Path, encoding: str = "utf-8", may_be_empty: bool = False) -> Iterator[str]:
    """The lines of a file, without their ends; only \\n and \\r\\n end a line.

    A file without lines is an error, unless it may be empty.
    """
    with open_binary(path) as stream:
        yield from text_lines(stream, f"'{path}'", encoding, may_be_empty)


def text_lines(stream: BinaryIO, name: str, encoding: str = "utf-8", may_be_empty: bool = False) -> Iterator[str]:
    """The lines of a stream; name: for messages."""
    number = 0
    for number, raw in enumerate(raw_lines(stream, name), 1):
        if number == 1:
            _refuse_utf16(raw, name)
            raw = raw.removeprefix(_BOM)
        yield _decoded(raw.removesuffix(b"\n").removesuffix(b"\r"), name, number, encoding)
    if number == 0 and not may_be_empty:
        raise UserError(f"{name} is empty: give a file with text")


def count_lines(path: str | Path) -> int:
    """How many lines a file has; their text is not looked at."""
    number, last = 0, b"\n"
    with open_binary(path) as stream:
        while piece := stream.read(_PIECE):
            number += piece.count(b"\n")
            last = piece[-1:]
    return number + (last != b"\n")


def decode(raw: bytes, path: str | Path, line: int, encoding: str = "utf-8") -> str:
    """The text of one line, or an error that names file, line and byte."""
    return _decoded(raw, f"'{path}'", line, encoding)


def _decoded(raw: bytes, name: str, line: int, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        shown = "UTF-8" if encoding.lower() in ("utf-8", "utf8") else encoding
        raise UserError(
            f"{name} line {line} is not {shown} (byte {error.start + 1} of the line is 0x{raw[error.start]:02x}): "
            "convert the file to UTF-8, for instance with iconv"
        ) from None


def text_encoding(name: str) -> str | None:
    """The name that Python has for an encoding; None for what is none of text, or has wide letters for ASCII."""
    try:
        found = codecs.lookup(name).name
        return found if found not in _NO_TEXT and _ASCII.decode(found) == _ASCII.decode("ascii") else None
    except (LookupError, ValueError):
        return None


def _refuse_utf16(raw: bytes, name: str) -> None:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError(f"{name} line 1 is UTF-16, not UTF-8: convert the file to UTF-8, for instance with iconv")
