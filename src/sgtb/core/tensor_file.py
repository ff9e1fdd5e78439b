"""Tensor file: named arrays and one JSON record in a safetensors file.

Writes are atomic. Reading validates everything; any defect is a ModelFileError.
"""

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save

from sgtb.core.errors import ModelFileError
from sgtb.core.files import write_whole

MAX_BYTES = 1 << 30
MAX_RECORD = 1 << 24
_KEY = "sgtb"
_CHECKSUM = "crc32"
_DTYPES = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F32": np.float32, "F64": np.float64}
Tensors = dict[str, np.ndarray[Any, Any]]


def write_tensors(
    path: str | os.PathLike[str], tensors: Tensors, record: Mapping[str, Any]
) -> None:
    """Write arrays and a record with their checksum; equal contents give equal bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    fields = json.loads(_json(record))  # as it will be read: keys are strings, tuples are lists
    text = _json({**fields, _CHECKSUM: _checksum(arrays, fields)})
    # One entry only: safetensors does not keep the order of several.
    write_whole(path, save(arrays, metadata={_KEY: text}))


def read_tensors(
    path: str | os.PathLike[str], kind: str, version: int, max_bytes: int = MAX_BYTES
) -> tuple[Tensors, dict[str, Any]]:
    """Read a file that `write_tensors` wrote with a record of this kind and version."""
    try:
        size = os.stat(path).st_size
        if not os.path.isfile(path):
            raise ModelFileError(f"{path}: not a file")
        if size > max_bytes:
            raise ModelFileError(
                f"{path}: {size} bytes are more than the limit of {max_bytes}; pass a higher "
                "max_bytes if the file is really yours"
            )
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror}") from None
    try:
        found = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
        record = _record(data)
        tensors = {name: _array(name, entry) for name, entry in found}
        stated = record.pop(_CHECKSUM, None)  # files of earlier versions have none
        if stated is not None and stated != _checksum(tensors, record):
            raise ModelFileError("damaged: wrong checksum; copy the file again, or write it again")
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a whole safetensors file ({error})") from None
    if record.get("kind") != kind:
        raise ModelFileError(f"{path}: this is no {kind} file, its kind is {record.get('kind')!r}")
    stated = record.get("version")
    if isinstance(stated, bool) or not isinstance(stated, int) or stated != version:
        raise ModelFileError(f"{path}: format version {stated!r}; this release reads {version}")
    return tensors, record


def take(tensors: Tensors, expected: Mapping[str, tuple[type, int]], path: object) -> None:
    """Raise unless the tensors are the expected ones, by name, type and dimensions."""
    if set(tensors) != set(expected):
        different = sorted(set(tensors) ^ set(expected))
        raise ModelFileError(f"{path}: missing or foreign tensors: {', '.join(different)}")
    for name, (dtype, ndim) in expected.items():
        array = tensors[name]
        if array.dtype != dtype or array.ndim != ndim:
            raise ModelFileError(
                f"{path}: tensor {name} is {array.dtype} with {array.ndim} dimensions, "
                f"not {np.dtype(dtype)} with {ndim}"
            )


def _checksum(tensors: Tensors, record: Mapping[str, Any]) -> int:
    """Return the checksum of arrays, with names, types and shapes, and of a record."""
    crc = zlib.crc32(_json(record).encode())
    for name in sorted(tensors):
        array = tensors[name]
        crc = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), crc)
        crc = zlib.crc32(array.data if array.size else b"", crc)
    return crc


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _record(data: bytes) -> dict[str, Any]:
    (length,) = struct.unpack("<Q", data[:8])
    if length > MAX_RECORD:
        raise ModelFileError(f"a header of {length} bytes is longer than {MAX_RECORD}")
    header = json.loads(data[8 : 8 + length])
    metadata = header.get("__metadata__") or {}
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ModelFileError("there is no sgtb record in it; was it written by sgtb?")
    record = json.loads(metadata[_KEY], parse_constant=_no_constant)
    if not isinstance(record, dict):
        raise ModelFileError("its sgtb record is not a JSON object")
    return record


def _no_constant(name: str) -> None:
    raise ModelFileError(f"its sgtb record holds {name}")


def _array(name: str, entry: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise ModelFileError(
            f"tensor {name} has the type {entry['dtype']}, which sgtb never writes"
        )
    # A copy: kernels need aligned, writable memory.
    array: np.ndarray[Any, Any] = np.frombuffer(entry["data"], dtype).reshape(entry["shape"]).copy()
    return array
