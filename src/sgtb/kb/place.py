"""Place: the folder of a knowledge base; who may write it, and which data in it are valid."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sgtb.errors import KnowledgeBaseError
from sgtb.files import sync_folder, write_whole
from sgtb.kb.layout import FORMAT, LOCK, POINTER

WAIT = 10.0
"""Seconds to wait for another writer."""
_DATA = re.compile(r"data-(\d{6})")


def data_folder(place: Path) -> Path:
    """Return the folder of the valid data; an error says what is there instead."""
    pointer = place / POINTER
    try:
        fields = json.loads(pointer.read_bytes())
        version, name = fields["format"], str(fields["data"])
        if type(version) is not int or not _DATA.fullmatch(name):
            raise ValueError("fields")
    except FileNotFoundError:
        there = "no knowledge base" if place.is_dir() else "no such folder"
        raise KnowledgeBaseError(
            f"{place}: {there} (no {POINTER}); `sgtb kb build` makes one"
        ) from None
    except NotADirectoryError:
        raise KnowledgeBaseError(f"{place}: a knowledge base is a folder, not a file") from None
    except (ValueError, TypeError, KeyError):
        raise KnowledgeBaseError(f"{pointer}: damaged; build the knowledge base again") from None
    if version > FORMAT:
        raise KnowledgeBaseError(
            f"{place}: format {version}, newer than this sgtb reads ({FORMAT}); "
            "pip install --upgrade sgtb"
        )
    if version != FORMAT:
        raise KnowledgeBaseError(f"{place}: format {version} is unknown")
    return place / name


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Be the only one who writes a knowledge base."""
    with open(place / LOCK, "ab") as file:
        deadline = time.monotonic() + WAIT
        while not _locked(file.fileno()):
            if time.monotonic() > deadline:
                raise KnowledgeBaseError(
                    f"{place}: another process is writing this knowledge base; try again later"
                )
            time.sleep(0.05)
        yield


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
    place.mkdir(parents=True, exist_ok=True)
    with writing(place):
        _sweep(place)
        numbers = [int(m[1]) for p in place.iterdir() if (m := _DATA.fullmatch(p.name))]
        folder = place / f"data-{max(numbers, default=0) + 1:06d}"
        folder.mkdir()
        try:
            yield folder
            sync_folder(folder)
            pointer = {"format": FORMAT, "data": folder.name}
            write_whole(place / POINTER, (json.dumps(pointer) + "\n").encode())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            if made:
                (place / LOCK).unlink(missing_ok=True)
                _remove_empty(place)
            raise
        _sweep(place)


def _foreign(place: Path) -> bool:
    return any(p.name != LOCK and not _DATA.fullmatch(p.name) for p in place.iterdir())


def _sweep(place: Path) -> None:
    """Delete data that are not valid: older ones, and what a killed build left."""
    try:
        valid = data_folder(place).name
    except KnowledgeBaseError:
        if (place / POINTER).exists():
            return  # which of them is valid cannot be told
        valid = ""
    for path in place.iterdir():
        if _DATA.fullmatch(path.name) and path.name != valid:
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(f".{POINTER}."):
            path.unlink(missing_ok=True)


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
