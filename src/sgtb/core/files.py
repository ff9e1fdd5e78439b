"""Files: atomic writes, temporary files, and reading with decompression and limits."""

import bz2
import errno
import gzip
import io
import lzma
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from sgtb.core.limits import FileLimits

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writes to a full disk, or beyond a limit."""
_GZIP = b"\x1f\x8b\x08"
_BZIP2 = b"BZh91AY&SY"
_XZ = b"\xfd7zXZ\0"
_FREE = 1 << 24  # unpacked bytes of any file that the limit of the ratio does not apply to
_BUFFER = 1 << 17
_PART = 1 << 20
_HERE, _EXCHANGE = -100, 2
"""Arguments of system calls: relative to the working folder; exchange two paths."""


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: readers find the old content or the new one, even after a crash."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` at the end; delete those of killed processes."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent} to write it to")
    delete_leftovers(target)
    temporary = beside(target)
    try:
        with naming(target), _locked_file(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # which cannot replace an open file
                os.replace(temporary, target)  # still locked: no other process deletes it
        if os.name == "nt":
            os.replace(temporary, target)
    except BaseException as error:
        if isinstance(error, OSError) and str(error.filename) == str(temporary):
            error.filename = os.fspath(target)
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder beside a target, deleted unless moved; also those of killed processes."""
    delete_leftovers(target)
    folder = beside(target)
    folder.mkdir()
    with _folder_lock(folder):
        try:
            yield folder
        finally:
            if folder.is_symlink():  # exchanged with a target that was one
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """Yield a temporary folder of the system; those of killed processes are deleted first."""
    prefix = f"sgtb-{kind}-"
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        _delete_unlocked(path)
    temporary = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    with temporary as name, _folder_lock(Path(name)):
        yield Path(name)


def beside(target: Path) -> Path:
    """Return the name of a temporary file or folder in the folder of its target."""
    return target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")


def delete_leftovers(target: Path) -> None:
    """Delete temporary files and folders of a target whose process was killed."""
    own = re.compile(re.escape(f".{target.name}.") + "[0-9]+-[0-9]+")
    with suppress(OSError):  # a folder may be written to without the right to list it
        for name in filter(own.fullmatch, os.listdir(target.parent)):
            _delete_unlocked(target.with_name(name))


def lock(handle: int) -> bool:
    """Lock an open file or folder until it is closed; return whether no other process holds it."""
    if os.name == "nt":  # where open files cannot be deleted
        return True
    import fcntl  # not on Windows

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def still_there(path: Path, handle: int) -> bool:
    """Return whether an open file still has its path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False where the system cannot."""
    import ctypes

    library: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):  # Linux
        return bool(library.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)
    if hasattr(library, "renamex_np"):  # macOS
        return bool(library.renamex_np(*names, _EXCHANGE) == 0)
    return False


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
def _locked_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file that `_delete_unlocked` of other processes keeps."""
    while True:
        with open(path, "wb") as file:
            # Between creation and lock, another process may have taken it for a leftover.
            if lock(file.fileno()) and still_there(path, file.fileno()):
                yield file
                return


@contextmanager
def _folder_lock(path: Path) -> Iterator[None]:
    if os.name == "nt":  # which opens no folders
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)


def _delete_unlocked(path: Path) -> None:
    """Delete a temporary file or folder that no process has locked."""
    with suppress(OSError):
        if os.name == "nt":
            path.unlink()  # fails for open files, and for folders
            return
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if lock(handle):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(handle)


class _Unpacked(io.RawIOBase):
    """A decompressed file that ends with an OSError where it grows beyond the limit."""

    def __init__(self, unpacked: Any, disk: BinaryIO) -> None:
        self._unpacked, self._limits = unpacked, FileLimits.current()
        self._position = disk.tell if disk.seekable() else None  # pipes have none

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._unpacked.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._unpacked.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        count = int(self._unpacked.readinto(buffer))
        size = self._unpacked.tell()
        if size <= _FREE or self._position is None:
            return count
        read = self._position()
        if size > self._limits.ratio * read:
            raise OSError(
                errno.EFBIG,
                f"it unpacks to more than {self._limits.ratio:,} times its bytes, {size:,} from "
                f"{read:,} so far; {self._limits.advice('ratio')}",
            )
        return count

    def close(self) -> None:
        self._unpacked.close()
        super().close()


@contextmanager
def open_unpacked(
    path: str | os.PathLike[str],
) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """Open a file that may be compressed with gzip, bzip2 or xz, by its first bytes.

    Yield it with a function that returns the number of bytes read from disk.
    Damaged data raise an OSError, EOFError or zlib.error; those beyond `FileLimits` an OSError.
    """
    with open(path, "rb") as disk:
        head = disk.peek(len(_BZIP2))[: len(_BZIP2)]
        packed: Any = None
        if head.startswith(_GZIP):
            packed = gzip.GzipFile(fileobj=disk)
        elif head[:3] == _BZIP2[:3] and head[4:] == _BZIP2[4:]:  # byte 3 is the level
            packed = bz2.BZ2File(disk)
        elif head.startswith(_XZ):
            packed = lzma.LZMAFile(disk)  # noqa: SIM115
        unpacked: Any = io.BufferedReader(_Unpacked(packed, disk), _BUFFER) if packed else disk
        try:
            yield cast(BinaryIO, unpacked), disk.tell
        except lzma.LZMAError as error:
            raise OSError(str(error)) from None  # as of bzip2
        finally:
            unpacked.close()


def is_unpacked(file: BinaryIO) -> bool:
    """Return whether a file of `open_unpacked` is compressed on disk."""
    return isinstance(file, io.BufferedReader) and isinstance(file.raw, _Unpacked)


def read_limited(file: BinaryIO) -> bytes:
    """Read a whole file; an OSError if it is longer than `FileLimits.whole`."""
    limits = FileLimits.current()
    data = io.BytesIO()  # in parts: a read of the limit would allocate it
    while part := file.read(_PART):
        data.write(part)
        if data.tell() > limits.whole:
            raise OSError(errno.EFBIG, f"longer than can be read whole; {limits.advice('whole')}")
    return data.getvalue()
