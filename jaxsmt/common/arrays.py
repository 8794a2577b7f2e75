"""Arrays on disk in the safetensors format: written in one stream, opened memory-mapped.

The format is eight bytes of header length, a JSON header, and the raw arrays end to end; reading it
needs no unpickling and no copy. The bytes depend on names, dtypes, shapes and values only.
"""

import json
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file

_TAG_OF_DTYPE = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16",
    "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64",
    "float16": "F16", "float32": "F32", "float64": "F64",
}  # fmt: skip
_DTYPE_OF_TAG = {tag: np.dtype(name) for name, tag in _TAG_OF_DTYPE.items()}
LARGE_BYTES = 1 << 26  # an array of fewer may be resident as a whole
ROWS_AT_ONCE = 4096
_ALIGNMENT = 64  # bytes; arrays that start on a cache line map straight to the device


def save_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes named arrays to one safetensors file, atomically. Memory-mapped inputs are streamed."""
    header, end = _layout(arrays)
    with atomic_file(path) as temporary, open(temporary, "wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        for name in _largest_items_first(arrays):
            stream.write(np.ascontiguousarray(arrays[name]).data.cast("B") if arrays[name].size else b"")
        assert stream.tell() == 8 + len(header) + end


def open_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Opens a safetensors file as read-only memory-mapped arrays, by name."""
    path = Path(path)
    data, header, start = _read_header(path)
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if start + end > data.size:
            raise UserError(
                f"'{path}' is truncated: it has {data.size} bytes and its header promises {start + end}; "
                "delete it and make it again"
            )
        flat = data[start + begin : start + end].view(_DTYPE_OF_TAG[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


def take_rows(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """array[rows] in memory; of a large memory-mapped array little is resident on the way."""
    if array.nbytes < LARGE_BYTES:
        return np.asarray(array[rows])
    taken = np.empty((len(rows), *array.shape[1:]), array.dtype)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        taken[part] = array[rows[part]]
        release_pages(array)
    return taken


def release_pages(array: np.ndarray) -> None:
    """Takes what was read of a large memory-mapped array out of the process; the system still has it at hand.

    For each row that is read Linux maps sixteen pages: of scattered rows a process would soon have the whole file.
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and array.nbytes >= LARGE_BYTES and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def _largest_items_first(arrays: Mapping[str, np.ndarray]) -> list[str]:
    # with item sizes descending every array starts at a multiple of its own item size
    return sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))


def _layout(arrays: Mapping[str, np.ndarray]) -> tuple[bytes, int]:
    entries, end = {}, 0
    for name in _largest_items_first(arrays):
        array = arrays[name]
        begin, end = end, end + array.nbytes
        entries[name] = {
            "dtype": _TAG_OF_DTYPE[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    header = json.dumps(entries, separators=(",", ":")).encode()
    padding = -(8 + len(header)) % _ALIGNMENT
    return header + b" " * padding, end


def _read_header(path: Path) -> tuple[np.ndarray, dict, int]:
    if not path.is_file():
        raise UserError(f"'{path}' does not exist: check the path, or run train.py to make it")
    try:
        data = np.memmap(path, np.uint8, "r")
        length = struct.unpack("<Q", data[:8].tobytes())[0]
        header = json.loads(data[8 : 8 + length].tobytes())
    except (ValueError, struct.error, UnicodeDecodeError, OverflowError):
        raise UserError(f"'{path}' is not a safetensors file or is truncated: delete it and make it again") from None
    return data, header, 8 + length
