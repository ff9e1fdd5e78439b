"""Folder of a knowledge base: its write lock, and which of its data are valid."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeGuard

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import lock, still_there, sync_folder, write_whole
from sgtb.kb.block_sums import write_sums
from sgtb.kb.columns import unusable
from sgtb.kb.environment import write_error
from sgtb.kb.layout import FORMAT, LOCK, POINTER

WAIT = 10.0  # seconds to wait for the write lock
_ATTEMPTS = 10
_MAX_POINTER = 1 << 16
_DATA = re.compile(r"data-(\d{6})")
_UNFINISHED = re.compile(rf"\.{re.escape(POINTER)}\.")
_OF_BUILDS = re.compile(rf"{LOCK}$|{_DATA.pattern}$|{_UNFINISHED.pattern}")


def data_folder(path: Path) -> Path:
    """Return the folder of the valid data."""
    pointer = path / POINTER
    try:
        with open(pointer, "rb") as file:
            fields = json.loads(file.read(_MAX_POINTER))
        version, name = fields["format"], str(fields.get("data"))
        if type(version) is not int or version < 1:
            raise ValueError("format")
        if version == FORMAT and not _DATA.fullmatch(name):
            raise ValueError("data")
    except FileNotFoundError:
        problem = "no knowledge base" if path.is_dir() else "no such folder"
        raise KnowledgeBaseError(
            f"{path}: {problem} (no {POINTER}); `sgtb kb build` makes one"
        ) from None
    except NotADirectoryError:
        raise KnowledgeBaseError(f"{path}: a knowledge base is a folder, not a file") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{pointer}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise unusable(pointer, "damaged") from None
    if version != FORMAT:
        newer = version > FORMAT
        advice = "pip install --upgrade sgtb" if newer else "build the knowledge base again"
        raise KnowledgeBaseError(
            f"{path}: format {version}, {'newer' if newer else 'older'} than this sgtb reads "
            f"({FORMAT}); {advice}"
        )
    return path / name


def with_data(path: Path, action: Callable[[Path], None]) -> None:
    """Call an action with the folder of the valid data; again if a build has replaced it."""
    for attempt in range(1, _ATTEMPTS + 1):
        folder = data_folder(path)
        try:
            action(folder)
            return
        except (KnowledgeBaseError, OSError):
            if attempt == _ATTEMPTS or data_folder(path) == folder:
                raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the write lock of a knowledge base."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            file = open(path / LOCK, "ab")  # noqa: SIM115
        except OSError as error:
            raise write_error(path, error) from None
        with file:
            if lock(file.fileno()) and still_there(path / LOCK, file.fileno()):
                yield
                return
        if time.monotonic() > deadline:
            raise KnowledgeBaseError(
                f"{path}: another process is writing this knowledge base; try again later"
            )
        time.sleep(0.05)


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """Create a data folder, valid from the end on; before it, or after an error, the old one is."""
    created = not path.exists()
    if not created and not path.is_dir():
        raise KnowledgeBaseError(f"{path}: is a file; a knowledge base is a folder")
    if (
        not created
        and not (path / POINTER).exists()
        and not all(_OF_BUILDS.match(file.name) for file in path.iterdir())
    ):
        raise KnowledgeBaseError(
            f"{path}: has other files and no knowledge base; name a new folder"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    with writing(path):
        _delete_invalid(path)
        numbers = [int(m[1]) for p in path.iterdir() if (m := _DATA.fullmatch(p.name))]
        folder = path / f"data-{max(numbers, default=0) + 1:06d}"
        try:
            folder.mkdir()
            yield folder
            write_sums(folder)
            sync_folder(folder)
            pointer = {"format": FORMAT, "data": folder.name}
            write_whole(path / POINTER, (json.dumps(pointer) + "\n").encode())
        except BaseException as error:
            if _valid_name(path) != folder.name:  # else the new data are already valid
                shutil.rmtree(folder, ignore_errors=True)
            if not (path / POINTER).exists():
                (path / LOCK).unlink(missing_ok=True)
            if created:
                with suppress(OSError):  # not empty
                    path.rmdir()
            if isinstance(error, lmdb.Error) or _is_within(error, path):
                raise write_error(path, error) from None
            raise
        _delete_invalid(path)


def _valid_name(path: Path) -> str | None:
    """Return the name of the valid data folder; "": none; None: unknown."""
    try:
        folder = data_folder(path)
        return folder.name if folder.is_dir() else None
    except KnowledgeBaseError:
        return None if (path / POINTER).exists() else ""


def _delete_invalid(path: Path) -> None:
    """Delete older data and leftovers of killed builds."""
    valid = _valid_name(path)
    if valid is None:
        return
    for file in path.iterdir():
        if _DATA.fullmatch(file.name) and file.name != valid:
            shutil.rmtree(file, ignore_errors=True)
        elif _UNFINISHED.match(file.name):
            file.unlink(missing_ok=True)


def _is_within(error: BaseException, path: Path) -> TypeGuard[OSError]:
    """Return whether an error is of a file of the knowledge base, not of its sources."""
    if not isinstance(error, OSError):
        return False
    return error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(path)
