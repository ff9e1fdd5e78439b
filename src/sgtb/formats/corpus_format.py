"""Format: declaration of a corpus format, and detection of the format of a file."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.limits import FileLimits, check_items
from sgtb.core.records import Document
from sgtb.formats.capacity import Capacity
from sgtb.formats.corpus_source import open_lines
from sgtb.formats.error_handler import ErrorHandler

_HEAD = 1 << 16


class FileHead(NamedTuple):
    """Beginning of a file.

    path   file or folder
    data   first 64 KiB, decompressed; empty for a folder
    start  `data` without byte order mark and leading white space
    """

    path: Path
    data: bytes
    start: bytes


class Format(NamedTuple):
    """A corpus format.

    about      short description
    read       yields the documents of a file
    write      writes documents that fit the capacity; returns their number
    capacity   what the format can hold of a document
    endings    of files to be written; the longest match decides
    json_keys  for JSON Lines: alternative sets of keys that identify the first object
    detects    for other files and folders: whether a head is of this format
    """

    name: str
    about: str
    read: Callable[[Path, ErrorHandler], Iterator[Document]]
    write: Callable[[Iterable[Document], Path], int]
    capacity: Capacity
    endings: tuple[str, ...] = ()
    json_keys: tuple[Collection[str], ...] = ()
    detects: Callable[[FileHead], bool] = lambda head: False


def detect(path: Path, formats: Iterable[Format]) -> str:
    """Return the name of the format of a file or folder; the first one that matches."""
    data = b""
    if not path.is_dir():
        with open_lines(path) as stream:
            data = stream.read(_HEAD)
            start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
            if start.startswith(b"{"):
                if b"\n" not in start:
                    start += stream.readline(FileLimits.current().line)
                return _detect_object(path, start.split(b"\n", 1)[0], formats)
    head = FileHead(path, data, data.removeprefix(b"\xef\xbb\xbf").lstrip())
    for format in formats:
        if format.detects(head):
            return format.name
    if path.is_dir():
        raise _unknown(path, "the folder has the files of none")
    raise _unknown(path, "it begins like none" if head.start else "an empty file")


def _detect_object(path: Path, line: bytes, formats: Iterable[Format]) -> str:
    """Return the format with the most identifying keys in an object."""
    try:
        check_items(line)
        keys = set(json.loads(line))
    except (ValueError, RecursionError):
        keys = {"text"}  # damaged; the reader of the plainest format reports where
    matches = [
        (len(required), format.name)
        for format in formats
        for required in format.json_keys
        if keys.issuperset(required)
    ]
    if not matches:
        raise _unknown(path, f"none has the keys {', '.join(sorted(keys)[:8])}")
    return max(matches, key=lambda match: match[0])[1]


def _unknown(path: Path, why: str) -> CorpusError:
    return CorpusError(
        f"{path}: unknown format: {why}; name the format with `format`, --from or --format"
    )
