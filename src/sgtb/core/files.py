"""Files written whole or not at all, and read packed or not."""

import bz2
import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

_GZIP = b"\x1f\x8b\x08"
_BZIP2 = b"BZh91AY&SY"


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place, flush it, and rename it.

    A reader, or the next run after a crash, finds the old file or the new one.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write, which takes its place when all is written; `write_whole` in pieces."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent} to write it to")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename durable; not every system lets one open a folder."""
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
    """Open a file that may be packed with gzip or bzip2, which its first bytes tell.

    With it comes a function that tells how much of the file on disk has been read.
    """
    with open(path, "rb") as disk:
        head = disk.peek(len(_BZIP2))[: len(_BZIP2)]
        if head.startswith(_GZIP):
            unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=disk))
        elif head[:3] == _BZIP2[:3] and head[4:] == _BZIP2[4:]:  # between them stands a level
            unpacked = cast(BinaryIO, bz2.BZ2File(disk))
        else:
            unpacked = disk
        try:
            yield unpacked, disk.tell
        finally:
            unpacked.close()
