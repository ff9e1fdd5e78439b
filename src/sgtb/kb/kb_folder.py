"""Place: the folder of a knowledge base; who may write it, and which data in it are valid."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeGuard

import lmdb

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import sync_folder, write_whole
from sgtb.kb.environment import write_error
from sgtb.kb.layout import FORMAT, LOCK, POINTER

WAIT = 10.0
"""Seconds to wait for another writer."""
_DATA = re.compile(r"data-(\d{6})")


def data_folder(place: Path) -> Path:
    """Return the folder of the valid data; an error says what is there instead."""
    pointer = place / POINTER
    try:
        fields = json.loads(pointer.read_bytes())
        version = fields["format"]
        if type(version) is not int:
            raise ValueError("format")
        if version > FORMAT:
            raise KnowledgeBaseError(
                f"{place}: format {version}, newer than this sgtb reads ({FORMAT}); "
                "pip install --upgrade sgtb"
            )
        name = str(fields["data"])
        if version != FORMAT or not _DATA.fullmatch(name):
            raise ValueError("fields")
    except FileNotFoundError:
        there = "no knowledge base" if place.is_dir() else "no such folder"
        raise KnowledgeBaseError(
            f"{place}: {there} (no {POINTER}); `sgtb kb build` makes one"
        ) from None
    except NotADirectoryError:
        raise KnowledgeBaseError(f"{place}: a knowledge base is a folder, not a file") from None
    except OSError as error:
        raise KnowledgeBaseError(f"{pointer}: cannot be read: {error.strerror}") from None
    except KnowledgeBaseError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError):
        raise KnowledgeBaseError(f"{pointer}: damaged; build the knowledge base again") from None
    return place / name


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Be the only one who writes a knowledge base."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            file = open(place / LOCK, "ab")  # noqa: SIM115
        except OSError as error:
            raise write_error(place, error) from None
        with file:
            if _locked(file.fileno()) and _still_there(place / LOCK, file.fileno()):
                yield
                return
        if time.monotonic() > deadline:
            raise KnowledgeBaseError(
                f"{place}: another process is writing this knowledge base; try again later"
            )
        time.sleep(0.05)


@contextmanager
def building(place: Path) -> Iterator[Path]:
    """Give a new data folder to fill, and make it the valid one if all goes well.

    Until then, and if anything goes wrong or the process is killed, the old data are valid.
    """
    made = not place.exists()
    if not made and not place.is_dir():
        raise KnowledgeBaseError(f"{place}: is a file; a knowledge base is a folder")
    if not made and not (place / POINTER).exists() and _foreign(place):
        raise KnowledgeBaseError(
            f"{place}: holds other files and no knowledge base; name a new folder"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(place, error) from None
    with writing(place):
        _sweep(place)
        numbers = [int(m[1]) for p in place.iterdir() if (m := _DATA.fullmatch(p.name))]
        folder = place / f"data-{max(numbers, default=0) + 1:06d}"
        try:
            folder.mkdir()
            yield folder
            sync_folder(folder)
            pointer = {"format": FORMAT, "data": folder.name}
            write_whole(place / POINTER, (json.dumps(pointer) + "\n").encode())
        except BaseException as error:
            if _valid_name(place) != folder.name:  # else it came to be valid all the same
                shutil.rmtree(folder, ignore_errors=True)
            if not (place / POINTER).exists():
                (place / LOCK).unlink(missing_ok=True)
            if made:
                _remove_empty(place)
            if isinstance(error, lmdb.Error) or _of_place(error, place):
                raise write_error(place, error) from None
            raise
        _sweep(place)


def _foreign(place: Path) -> bool:
    """Tell whether a folder holds what no build put there, finished or killed."""
    return any(
        p.name != LOCK and not _DATA.fullmatch(p.name) and not _unfinished_pointer(p)
        for p in place.iterdir()
    )


def _unfinished_pointer(path: Path) -> bool:
    return path.name.startswith(f".{POINTER}.")


def _valid_name(place: Path) -> str | None:
    """Return the name of the valid data folder, "" where there is none; None: it cannot be told."""
    try:
        folder = data_folder(place)
        return folder.name if folder.is_dir() else None
    except KnowledgeBaseError:
        return None if (place / POINTER).exists() else ""


def _sweep(place: Path) -> None:
    """Delete data that are not valid: older ones, and what a killed build left."""
    valid = _valid_name(place)
    if valid is None:
        return
    for path in place.iterdir():
        if _DATA.fullmatch(path.name) and path.name != valid:
            shutil.rmtree(path, ignore_errors=True)
        elif _unfinished_pointer(path):
            path.unlink(missing_ok=True)


def _of_place(error: BaseException, place: Path) -> TypeGuard[OSError]:
    """Tell whether an error comes from writing a knowledge base, not from reading its sources."""
    if not isinstance(error, OSError):
        return False
    return error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(place)


def _remove_empty(place: Path) -> None:
    try:
        place.rmdir()
    except OSError:
        return  # somebody else put something there


def _locked(handle: int) -> bool:
    if os.name == "nt":
        return True  # LMDB still keeps changes apart; two builds at once are not kept apart
    import fcntl  # not on Windows

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _still_there(path: Path, handle: int) -> bool:
    """Tell whether a lock is the one that others will find: a failed build takes its own away."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
