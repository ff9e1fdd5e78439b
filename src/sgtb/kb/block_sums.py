"""Block sums: checksums of the files of a data folder, compared when it is opened.

LMDB trusts its pages and readers trust the columns, so files are compared before they are used.
Writers remove the sums first and write them last. A folder without sums, as of earlier versions
or after a killed writer, is opened unchecked until the next change or build.
"""

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import write_whole
from sgtb.kb.columns import column_path, truncated, unusable
from sgtb.kb.layout import COLUMNS, NAMES, SUMS

BLOCK = 1 << 16  # bytes of a block
WHOLE = 1 << 24  # bytes of a folder whose blocks are all compared
SAMPLES = 32
"""Compared blocks per file of a larger folder, evenly spaced, with the first and the last."""
_MOST = 1 << 28  # limit of the file of sums in bytes: sums of 2 TB
_LARGE = 1 << 28
"""Bytes of names.mdb beyond which an update leaves it without sums, instead of reading it."""
Sums = Mapping[str, tuple[int, bytes]]  # per file its size, and four bytes for each block
_FILES = (NAMES, *(column_path(Path(), column).name for column in COLUMNS))


def write_sums(folder: Path) -> None:
    """Write the sums of all files of a new data folder."""
    with open(folder / SUMS, "wb") as file:  # read when the folder is valid, not before
        file.write(_packed({name: _file_sums(folder / name) for name in _FILES}))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def renewed_sums(folder: Path) -> Iterator[None]:
    """Move the sums of a data folder away, and write them after its change.

    A change that fails leaves the columns as they were, perhaps with more bytes after their end.
    """
    before: Sums = _read(folder) or {}
    old, sums = folder / f".{SUMS}.old", {}
    done = False
    old.unlink(missing_ok=True)  # of a killed writer
    with suppress(FileNotFoundError):
        os.rename(folder / SUMS, old)
    try:
        yield
        done = True
    finally:
        with suppress(OSError):  # without sums, the folder is opened unchecked
            for name in _FILES:
                if name in before and name != NAMES and not done:
                    sums[name] = before[name]
                elif name != NAMES:
                    sums[name] = _file_sums(folder / name, before.get(name))
                elif (folder / name).stat().st_size <= _LARGE:
                    sums[name] = _file_sums(folder / name)
            if sums == before:  # nothing was changed; a full disk has no room to write them
                os.rename(old, folder / SUMS)
            else:
                write_whole(folder / SUMS, _packed(sums))
                old.unlink(missing_ok=True)


def check_sums(folder: Path) -> None:
    """Raise a KnowledgeBaseError if a file was damaged; compares samples of large files."""
    while (sums := _read(folder)) is not None:
        found = _first_difference(folder, sums)
        if found is None:
            return
        # A writer may have begun meanwhile.
        if _read(folder) == sums:
            raise found


def _first_difference(folder: Path, sums: Sums) -> KnowledgeBaseError | None:
    total = sum(size for size, _ in sums.values())
    for name, (size, expected) in sums.items():
        path = folder / name
        try:
            with open(path, "rb") as file:
                length = os.fstat(file.fileno()).st_size
                if length < size:
                    return truncated(path, length, size)
                for block in _compared(size, total):
                    if _sum(file, block, size) != expected[4 * block : 4 * block + 4]:
                        place = f"its bytes from {block * BLOCK:,} on"
                        return unusable(path, f"damaged: {place} have another checksum")
        except OSError:
            return None  # reported by what opens it
    return None


def _compared(size: int, total: int) -> Iterator[int]:
    """Yield the blocks of a file to compare."""
    count = -(-size // BLOCK)
    if total <= WHOLE or count <= SAMPLES:
        yield from range(count)
    else:
        yield from ((count - 1) * i // (SAMPLES - 1) for i in range(SAMPLES))


def _file_sums(path: Path, before: tuple[int, bytes] | None = None) -> tuple[int, bytes]:
    """Return size and sums of a file; whole blocks of an earlier state are not read again."""
    before = before or (0, b"")
    size, known = path.stat().st_size, before[0] // BLOCK
    with open(path, "rb") as file:
        new = (_sum(file, block, size) for block in range(known, -(-size // BLOCK)))
        return size, before[1][: 4 * known] + b"".join(new)


def _sum(file: BinaryIO, block: int, size: int) -> bytes:
    file.seek(block * BLOCK)
    return zlib.crc32(file.read(min(BLOCK, size - block * BLOCK))).to_bytes(4, "little")


def _packed(sums: Sums) -> bytes:
    record = {name: [size, data.hex()] for name, (size, data) in sums.items()}
    text = json.dumps({"block": BLOCK, "files": record}, sort_keys=True)
    return f"{text}\n{zlib.crc32(text.encode()):08x}\n".encode()


def _read(folder: Path) -> Sums | None:
    """Return the sums of a folder; None: it has none."""
    path = folder / SUMS
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            text, check, *_ = file.read(min(size, _MOST)).split(b"\n")
        if int(check, 16) != zlib.crc32(text):
            raise ValueError("checksum")
        record = json.loads(text)
        if record["block"] != BLOCK or not set(record["files"]) <= set(_FILES):
            raise ValueError("block or files")
        files = record["files"].items()
        return {name: (int(size), bytes.fromhex(data)) for name, (size, data) in files}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KnowledgeBaseError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise KnowledgeBaseError(
            f"{path}: damaged; `sgtb kb check` without this file shows whether the others are"
        ) from None
