"""Formats: the ways in which annotated documents are written, read and written by name.

`docs/guide/formats.md` shows each of them, and says what it keeps.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.capacity import Capacity, Losses
from sgtb.formats.codecs import aida_conll as aida
from sgtb.formats.codecs import (
    aida_file,
    blink,
    docbin,
    elevant,
    jsonl,
    kilt,
    nif,
    wned_folder,
    zelda,
)
from sgtb.formats.complaints import Complaints
from sgtb.formats.corpus_source import shown, unpacked_name
from sgtb.formats.detection import found_format


class Format(NamedTuple):
    """A way to write documents.

    about     what it is, in a few words
    endings   of the names of its files; the first format with an ending is meant by it
    read      yields the documents of a file and complains about what is wrong with it
    capacity  what it can hold of a document
    write     writes documents that fit; returns how many
    """

    about: str
    endings: tuple[str, ...]
    read: Callable[[Path, Complaints], Iterator[Document]]
    capacity: Capacity
    write: Callable[[Iterable[Document], Path], int]


def _read_aida(path: Path, complaints: Complaints) -> Iterator[Document]:
    if path.is_dir():
        return iter(aida.read_aida(path))
    return aida_file.read_aida_file(path, complaints)


_FORMATS = {
    "aida": Format(
        "AIDA-CoNLL: AIDA-YAGO2-dataset.tsv, or the folder that it is made from",
        (".tsv",),
        _read_aida,
        aida_file.CAPACITY,
        aida_file.write_aida_file,
    ),
    "wned": Format(
        "WNED: a folder of texts and an XML file, or an archive of such folders",
        (".xml", ".tar"),
        wned_folder.read_wned_folder,
        wned_folder.CAPACITY,
        wned_folder.write_wned_folder,
    ),
    "jsonl": Format(
        "the project's own: a document a line, with all that a document is",
        (".jsonl", ".ndjson"),
        jsonl.read_jsonl,
        jsonl.CAPACITY,
        jsonl.write_jsonl,
    ),
    "zelda": Format(
        "ZELDA: a document a line, with spans, ids and titles in lists",
        (".zelda.jsonl",),
        zelda.read_zelda,
        zelda.CAPACITY,
        zelda.write_zelda,
    ),
    "blink": Format(
        "BLINK: a mention a line, between its contexts",
        (".blink.jsonl",),
        blink.read_blink,
        blink.CAPACITY,
        blink.write_blink,
    ),
    "kilt": Format(
        "KILT: a mention a line, marked in its text",
        (".kilt.jsonl",),
        kilt.read_kilt,
        kilt.CAPACITY,
        kilt.write_kilt,
    ),
    "elevant": Format(
        "ELEVANT: an article a line, with labels",
        (".benchmark.jsonl", ".elevant.jsonl"),
        elevant.read_elevant,
        elevant.CAPACITY,
        elevant.write_elevant,
    ),
    "nif": Format(
        "NIF: RDF in Turtle", (".ttl", ".nif"), nif.read_nif, nif.CAPACITY, nif.write_nif
    ),
    "docbin": Format(
        "DocBin: spaCy's own", (".spacy",), docbin.read_docbin, docbin.CAPACITY, docbin.write_docbin
    ),
}

FORMATS = tuple(_FORMATS)
"""The names of all formats."""


def format_of(name: str) -> Format:
    """Return the format of a name."""
    if name not in _FORMATS:
        raise CorpusError(f"there is no format {name!r}, but {', '.join(FORMATS)}")
    return _FORMATS[name]


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a file or folder, by what it holds."""
    return found_format(Path(path))


def format_for(path: str | Path) -> str:
    """Return the format that the name of a file to be written asks for.

    A name without an ending is that of a folder, in which WNED is written.
    """
    name = unpacked_name(Path(path)).name.lower()
    fitting = [
        (len(ending), format)
        for format, entry in _FORMATS.items()
        for ending in entry.endings
        if name.endswith(ending) and ending not in (".xml", ".tar")
    ]
    if fitting:
        return max(fitting)[1]
    if "." not in name:
        return "wned"
    raise CorpusError(f"{path}: its name does not tell a format; say which: {', '.join(FORMATS)}")


def read_documents(
    path: str | Path, format: str | None = None, complaints: Complaints | None = None
) -> Iterator[Document]:
    """Return the documents of a file or folder, read while they are asked for.

    The first thing that is wrong raises a CorpusError with file and line, unless `complaints`
    hears it.

    format  one of FORMATS; None: it is found out
    """
    entry = format_of(format or detect_format(path))
    return entry.read(Path(path), complaints or Complaints())


def write_documents(documents: Iterable[Document], path: str | Path, format: str) -> int:
    """Write documents, all or nothing; return how many.

    What the format cannot hold is left out: `write_counting` tells what that was.
    """
    return write_counting(documents, path, format, Losses())


def write_counting(
    documents: Iterable[Document], path: str | Path, format: str, losses: Losses
) -> int:
    """Write documents, and count in `losses` what the format cannot hold of them."""
    entry = format_of(format)
    fitted = (entry.capacity.fit(_encodable(document), losses) for document in documents)
    return entry.write((document for document in fitted if document is not None), Path(path))


def _encodable(document: Document) -> Document:
    """Return a document, unless it has half of a surrogate pair in it."""
    parts = [document.id, document.text]
    for mention in document.mentions:
        given = (mention.gold, mention.title, mention.type, *(mention.candidates or ()))
        parts += [part for part in given if part is not None]
    try:
        "".join(parts).encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"document {shown(document.id)} has half of a surrogate pair, which cannot be written; "
            "replace it, as with U+FFFD"
        ) from None
    return document
