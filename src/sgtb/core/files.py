"""Files: atomic writes, and reading with decompression."""

import bz2
import errno
import gzip
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writes to a full disk, or beyond a limit."""
_GZIP = b"\x1f\x8b\x08"
_BZIP2 = b"BZh91AY&SY"
_XZ = b"\xfd7zXZ\0"


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: readers find the old content or the new one, even after a crash."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` at the end; `write_whole` in pieces."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent} to write it to")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with naming(target), open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file in errors of a full disk, which do not name it themselves."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = os.fspath(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename durable, where the system can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def open_unpacked(
    path: str | os.PathLike[str],
) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """Open a file that may be compressed with gzip, bzip2 or xz, by its first bytes.

    Yield it with a function that returns the number of bytes read from disk.
    Damaged data raise an OSError, EOFError or zlib.error.
    """
    with open(path, "rb") as disk:
        head = disk.peek(len(_BZIP2))[: len(_BZIP2)]
        if head.startswith(_GZIP):
            unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=disk))
        elif head[:3] == _BZIP2[:3] and head[4:] == _BZIP2[4:]:  # byte 3 is the level
            unpacked = cast(BinaryIO, bz2.BZ2File(disk))
        elif head.startswith(_XZ):
            unpacked = cast(BinaryIO, lzma.LZMAFile(disk))  # noqa: SIM115
        else:
            unpacked = disk
        try:
            yield unpacked, disk.tell
        except lzma.LZMAError as error:
            raise OSError(str(error)) from None  # as of bzip2
        finally:
            unpacked.close()
