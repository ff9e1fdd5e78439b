"""Digest: SHA-256 of nested values, equal only for equal types and equal bits."""

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class Digest:
    """An incremental digest.

    Arrays enter with dtype, shape and bytes, floats with their eight bytes, so that a difference
    in the last bit or in the sign of a zero changes it. Sequences enter with their length and
    dataclasses with the values of their fields; no two different values give the same bytes.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *values: Any) -> None:
        """Add values, one after the other."""
        for value in values:
            self._add(value)

    def hexdigest(self) -> str:
        """Return the digest of all values so far."""
        return self._hash.hexdigest()

    def _add(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self._tagged(b"a", f"{value.dtype.str}{value.shape}".encode())
            self._hash.update(np.ascontiguousarray(value).tobytes())
        elif value is None or isinstance(value, bool | int):
            self._tagged(b"i", repr(value).encode())
        elif isinstance(value, float):
            self._tagged(b"f", struct.pack("<d", value))
        elif isinstance(value, str):
            self._tagged(b"s", value.encode("utf-8", "surrogatepass"))
        elif isinstance(value, bytes):
            self._tagged(b"b", value)
        elif isinstance(value, tuple | list):
            self._tagged(b"t", str(len(value)).encode())
            self.add(*value)
        elif is_dataclass(value):
            self.add(tuple(getattr(value, field.name) for field in fields(value)))
        else:
            raise TypeError(f"cannot digest {type(value).__name__}")

    def _tagged(self, tag: bytes, data: bytes) -> None:
        self._hash.update(tag + len(data).to_bytes(8, "little") + data)


def digest_of(*values: Any) -> str:
    """Return the digest of some values."""
    digest = Digest()
    digest.add(*values)
    return digest.hexdigest()


def digest_lines(lines: Iterable[str]) -> str:
    """Return the digest of lines that need not be in memory together."""
    digest = Digest()
    for line in lines:
        digest.add(line)
    return digest.hexdigest()
