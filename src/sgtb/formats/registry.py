"""Registry of corpus formats: reading and writing of annotated documents by format name."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.corpus_format import Format, Losses, detect
from sgtb.formats.corpus_source import shown, uncompressed_name
from sgtb.formats.error_handler import ErrorHandler

_CODECS = "aida_file wned_folder jsonl zelda blink kilt elevant nif docbin".split()
"""Modules of `codecs` that declare a FORMAT."""


def _load(codecs: Iterable[str]) -> dict[str, Format]:
    formats = (import_module(f"sgtb.formats.codecs.{codec}").FORMAT for codec in codecs)
    return {format.name: format for format in formats}


_FORMATS = _load(_CODECS)
FORMATS = tuple(_FORMATS)  # the names of all formats
_FOLDER_FORMAT = "wned"


def format_of(name: str) -> Format:
    """Return a format by name."""
    if name not in _FORMATS:
        raise CorpusError(f"unknown format {name!r}; choose one of {', '.join(FORMATS)}")
    return _FORMATS[name]


def detect_format(path: str | Path) -> str:
    """Return the format of a file or folder, detected from its content."""
    return detect(Path(path), _FORMATS.values())


def format_for(path: str | Path) -> str:
    """Return the format for a file to be written, by its ending; no ending is a folder."""
    name = uncompressed_name(Path(path)).name.lower()
    matches = [
        (len(ending), format.name)
        for format in _FORMATS.values()
        for ending in format.endings
        if name.endswith(ending)
    ]
    if matches:
        return max(matches)[1]
    if "." not in name:
        return _FOLDER_FORMAT
    raise CorpusError(f"{path}: no format has this ending; choose one of {', '.join(FORMATS)}")


def read_documents(
    path: str | Path, format: str | None = None, handler: ErrorHandler | None = None
) -> Iterator[Document]:
    """Return a lazy iterator over the documents of a file or folder.

    format   one of FORMATS; None: detected
    handler  None: the first error raises a CorpusError with file and line
    """
    return format_of(format or detect_format(path)).read(Path(path), handler or ErrorHandler())


def write_documents(
    documents: Iterable[Document], path: str | Path, format: str, losses: Losses | None = None
) -> int:
    """Write documents, all or nothing; count what the format cannot hold; return their number."""
    entry, lost = format_of(format), Losses() if losses is None else losses
    fitted = (entry.capacity.fit(_encodable(document), lost) for document in documents)
    return entry.write((document for document in fitted if document is not None), Path(path))


def _encodable(document: Document) -> Document:
    """Return a document; raise if it cannot be encoded as UTF-8."""
    parts = [document.id, document.text]
    for mention in document.mentions:
        values = (mention.gold, mention.title, mention.type, *(mention.candidates or ()))
        parts += [value for value in values if value is not None]
    try:
        "".join(parts).encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"document {shown(document.id)} has half of a surrogate pair, which cannot be written; "
            "replace it, for example by U+FFFD"
        ) from None
    return document
