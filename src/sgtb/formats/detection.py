"""Detection: the format of a file or folder, found out from what it holds."""

import json
import re
import zlib
from pathlib import Path

from sgtb.core.errors import CorpusError
from sgtb.formats.codecs.aida_conll import ANNOTATIONS
from sgtb.formats.corpus_source import LONGEST_LINE, open_lines

_HEAD = 1 << 16
_TAR = slice(257, 262)
_TURTLE = re.compile(rb"@prefix\b|\bPREFIX\b|nif-core#|^\s*<[a-z]+:[^>]*>", re.IGNORECASE | re.M)
_RAW_TEXT = ("RawText", "*/RawText", "*/*/RawText")


def found_format(path: Path) -> str:
    """Return the name of a format."""
    if path.is_dir():
        return _of_folder(path)
    with open_lines(path) as stream:
        head = stream.read(_HEAD)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"{"):
            # All of the first line, which may be long.
            line = start if b"\n" in start else start + stream.readline(LONGEST_LINE)
            return _of_object(path, line.split(b"\n", 1)[0])
    if head[_TAR] == b"ustar":
        return "wned"
    if start.startswith(b"-DOCSTART-"):
        return "aida"
    if start.startswith(b"<") and re.search(rb"<[\w.-]*entityAnnotation|<document\s", start):
        return "wned"
    if _is_docbin(head):
        return "docbin"
    if _TURTLE.search(head):
        return "nif"
    raise _unknown(path, "an empty file" if not start else "its beginning is none of theirs")


def _of_folder(path: Path) -> str:
    if (path / ANNOTATIONS).exists():
        return "aida"
    if any(True for pattern in _RAW_TEXT for _ in path.glob(pattern)):
        return "wned"
    raise _unknown(path, f"the folder has neither {ANNOTATIONS} nor RawText")


def _of_object(path: Path, line: bytes) -> str:
    try:
        keys = set(json.loads(line))
    except (ValueError, RecursionError):
        # Damaged: what reads it will say where. Most likely it is this.
        return "jsonl"
    if {"index", "text"} <= keys:
        return "zelda"
    if {"context_left", "mention"} <= keys:
        return "blink"
    if {"input", "output"} <= keys or {"input", "meta"} <= keys:
        return "kilt"
    if {"labels", "text"} <= keys:
        return "elevant"
    if "text" in keys:
        return "jsonl"
    raise _unknown(path, f"its first line has the keys {', '.join(sorted(keys)[:8])}")


def _is_docbin(head: bytes) -> bool:
    """Whether a file begins as DocBins do: a packed map, whose first key is the version."""
    try:
        start = zlib.decompressobj().decompress(head, 64)
    except zlib.error:
        return False
    return b"version" in start or b"attrs" in start


def _unknown(path: Path, why: str) -> CorpusError:
    return CorpusError(
        f"{path}: no format that is known: {why}; say which it is with `format`, --from or --format"
    )
