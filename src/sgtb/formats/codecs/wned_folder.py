"""WNED folder: any corpus in the format of WNED.

    corpus/corpus.xml      the annotations of all documents
    corpus/RawText/…       one file per text

A folder or archive of several such sets is read as one corpus with ids `set/document`; documents
with such ids are written as several sets. Titles are the ids of entities.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from sgtb.core.errors import CorpusError
from sgtb.core.files import new_folder
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.codecs.wned_corpus import find_sets, read_set
from sgtb.formats.corpus_format import Capacity, FileHead, Format
from sgtb.formats.corpus_source import shown
from sgtb.formats.error_handler import ErrorHandler

RAW_TEXT = "RawText"
_MAX_NAME = 255
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\]")
_SET = re.compile(r"(?!RawText)[A-Za-z0-9_-]{1,60}")
_DOTS = (".", "..", "")
_ROOT = re.compile(rb"<[\w.-]*entityAnnotation|<document\s")
_TAR_MAGIC = slice(257, 262)


def read_wned_folder(path: Path, handler: ErrorHandler) -> Iterator[Document]:
    """Yield the documents of all sets in a folder or an archive, or of one XML file."""
    for name, corpus in read_wned_sets(path, handler):
        for document in corpus:
            yield replace(document, id=f"{name}/{document.id}") if name else document


def read_wned_sets(path: Path, handler: ErrorHandler) -> Iterator[tuple[str, tuple[Document, ...]]]:
    """Yield name and documents of each set, WNED's own first; "" for a folder that is a set."""
    found = find_sets(path.parent if path.suffix == ".xml" else path)
    if path.suffix == ".xml":
        found = [files for files in found if files.xml.name == str(path)]
    if not found:
        raise CorpusError(
            f"{path}: no XML file beside a folder {RAW_TEXT}; give a corpus in WNED's layout"
        )
    for files in found:
        yield files.name if files.folder else "", read_set(files, handler)


def write_wned_folder(documents: Iterable[Document], path: Path) -> int:
    """Write documents to a new folder, whole or not at all; return how many."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise CorpusError(f"{path}: already exists; remove it, or name another folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; create it first")
    with new_folder(path) as draft:
        count = _write(documents, draft, path.name)
        os.replace(draft, path)
    return count


def _write(documents: Iterable[Document], folder: Path, name: str) -> int:
    """Write sets below a folder; documents without a set's name to the folder itself."""
    count = 0
    with ExitStack() as open_files:
        files: dict[str, BinaryIO] = {}
        for document in documents:
            set_, _, own = document.id.rpartition("/")
            if set_ not in files:
                files[set_] = open_files.enter_context(_set_file(folder / set_, set_ or name))
            text = folder / set_ / RAW_TEXT / own
            if text.exists():
                raise CorpusError(
                    f"a second document {shown(document.id)}; make ids unique, because texts are "
                    "files of that name"
                )
            text.write_bytes(document.text.encode())
            files[set_].write(_annotations(document, own).encode())
            count += 1
        if not files:
            open_files.enter_context(_set_file(folder, name))
    return count


@contextmanager
def _set_file(folder: Path, name: str) -> Iterator[BinaryIO]:
    """Open the XML file of a set, between its first and its last line."""
    (folder / RAW_TEXT).mkdir(parents=True)
    with open(folder / f"{name}.xml", "wb") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<{_element(name)}>\n'.encode())
        yield file
        file.write(f"</{_element(name)}>\n".encode())


def _element(name: str) -> str:
    """Return the name of the root element, with characters that XML allows."""
    word = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return f"{word if word[:1].isalpha() else f'_{word}'}.entityAnnotation"


def _annotations(document: Document, name: str) -> str:
    rows = "".join(
        "\t\t<annotation>\n"
        f"\t\t\t<mention>{_text(mention.text)}</mention>\n"
        f"\t\t\t<wikiName>{_text(mention.gold or NIL)}</wikiName>\n"
        f"\t\t\t<offset>{mention.start}</offset>\n"
        f"\t\t\t<length>{mention.end - mention.start}</length>\n"
        "\t\t</annotation>\n"
        for mention in document.mentions
    )
    return f"\t<document docName={quoteattr(name)}>\n{rows}\t</document>\n"


def _text(text: str) -> str:
    # XML parsers read CR LF as LF, unless CR is a character reference.
    return escape(text, {"\r": "&#13;"})


def _adjust(document: Document) -> Document:
    """Return a document with titles as ids, trimmed mentions, and an id that is a file name."""
    set_, _, own = document.id.rpartition("/")
    id_ = f"{set_}/{_file_name(own)}" if _SET.fullmatch(set_) else _file_name(document.id)
    mentions = [_titled(document, mention) for mention in document.mentions]
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return replace(document, id=id_, mentions=tuple(mentions))


def _file_name(name: str) -> str:
    name = _NOT_XML.sub("_", _NOT_IN_NAMES.sub("_", name))
    name = name.encode()[:_MAX_NAME].decode(errors="ignore")
    return f"_{name}" if name in _DOTS else name


def _titled(document: Document, mention: Mention) -> Mention:
    text = mention.text
    start = mention.start + len(text) - len(text.lstrip())
    text = text.strip()
    title = (mention.title or mention.gold or "").replace("_", " ").strip()
    if _NOT_XML.search(text) or _NOT_XML.search(title):
        raise CorpusError(
            f"document {shown(document.id)}: the mention {shown(text)} has a character that XML "
            "does not allow; choose another format"
        )
    gold = NIL if mention.gold == NIL else title or NIL
    named = None if gold == NIL else title
    return replace(mention, start=start, end=start + len(text), text=text, gold=gold, title=named)


def _is_wned(head: FileHead) -> bool:
    if head.path.is_dir():
        patterns = (RAW_TEXT, f"*/{RAW_TEXT}", f"*/*/{RAW_TEXT}")
        return any(True for pattern in patterns for _ in head.path.glob(pattern))
    is_xml = head.start.startswith(b"<") and _ROOT.search(head.start) is not None
    return is_xml or head.data[_TAR_MAGIC] == b"ustar"


FORMAT = Format(
    name="wned",
    about="WNED: a folder of texts and an XML file, or an archive of such folders",
    read=read_wned_folder,
    write=write_wned_folder,
    capacity=Capacity(
        types=False, candidates=False, splits=False, unannotated=False, adjust=_adjust
    ),
    detects=_is_wned,
)
