"""WNED: five sets of annotated documents of several domains (Guo and Barbosa).

Each set is a folder with texts in `RawText/` and all annotations in one XML file. An annotation
has offset, length and text of a mention, and the title of a page.
"""

import html
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document
from sgtb.formats.corpus_source import SourceFile, occurrences, read_members, shown
from sgtb.formats.error_handler import ErrorHandler, ErrorList
from sgtb.text.tokenization import mention_at, segment

WNED_SETS = ("ace", "aquaint", "msnbc", "clueweb", "wikipedia")
"""The sets, in the order of the paper's Table 1."""
MAX_SHIFT = 100  # characters around its offset in which a mention is searched for
_NUMBER = re.compile(r"[0-9]{1,9}")
_REQUIRED = ("mention", "wikiName", "offset", "length")
_MEMBER = re.compile(r"(?:(.+)/)?(?:([^/]+)\.xml|RawText/([^/]+))")


class _XmlAnnotation(NamedTuple):
    """A mention; `title` is "" or NIL outside the knowledge base."""

    text: str
    title: str
    offset: int
    length: int
    line: int


class _AnnotatedText(NamedTuple):
    """The annotations of a document, by the name of its text file."""

    name: str
    annotations: list[_XmlAnnotation]
    line: int


class WnedCorpus(NamedTuple):
    """A set: documents in the order of the XML; golds are page titles."""

    name: str
    documents: tuple[Document, ...]


class WnedFiles(NamedTuple):
    """The files of a set: annotations, and texts by name."""

    folder: str  # path of the set within the archive or folder; "": the folder itself
    name: str
    xml: SourceFile
    texts: Mapping[str, SourceFile]


def read_wned(archive: Path, handler: ErrorHandler | None = None) -> tuple[WnedCorpus, ...]:
    """Read all sets from `wned.tar.xz` or its folder; without a handler, errors are skipped."""
    found = {files.name: files for files in find_sets(archive)}
    for name in WNED_SETS:
        if name not in found:
            raise CorpusError(f"{archive}: {name}/{name}.xml is missing; fetch the archive again")
    handler = handler or ErrorList()
    return tuple(WnedCorpus(name, read_set(found[name], handler)) for name in WNED_SETS)


def find_sets(path: Path) -> list[WnedFiles]:
    """Return the sets in an archive or folder, or the folder itself; WNED's own first.

    A set is a folder with `RawText` and one XML file, or several of which one has its name.
    """
    xml: dict[str, dict[str, SourceFile]] = {}
    texts: dict[str, dict[str, SourceFile]] = {}
    for member, source in read_members(path):
        match = _MEMBER.fullmatch(member)
        if match is not None and match[3]:
            texts.setdefault(match[1] or "", {})[match[3]] = source
        elif match is not None:
            xml.setdefault(match[1] or "", {})[match[2]] = source
    found = []
    for folder, files in xml.items():
        name = (folder or path.name).rpartition("/")[2]
        own = files.get(name) or (next(iter(files.values())) if len(files) == 1 else None)
        if own is not None and (folder in texts or name in WNED_SETS):
            found.append(WnedFiles(folder, name, own, texts.get(folder, {})))
    own_order = {name: i for i, name in enumerate(WNED_SETS)}
    return sorted(found, key=lambda f: (bool(f.folder), own_order.get(f.name, 99), f.folder))


def read_set(files: WnedFiles, handler: ErrorHandler) -> tuple[Document, ...]:
    """Read the documents of a set."""
    xml, texts = files.xml, files.texts
    documents = []
    seen: Counter[str] = Counter()
    for annotated in _XmlReader(xml).read():
        if annotated.name not in texts:
            raise xml.error(annotated.line, f"no RawText/{annotated.name}")
        # One document of the Wikipedia set occurs twice; both count, as in the paper.
        seen[annotated.name] += 1
        nth = seen[annotated.name]
        id_ = annotated.name if nth == 1 else f"{annotated.name}#{nth}"
        documents.append(_document(id_, xml, annotated, texts[annotated.name].text(), handler))
    return tuple(documents)


def _document(
    id_: str, xml: SourceFile, annotated: _AnnotatedText, text: str, handler: ErrorHandler
) -> Document:
    tokens, lines = segment(text)
    mentions = []
    for annotation in annotated.annotations:
        start, end, action = _locate(text, annotation)
        if action:
            found = text[annotation.offset : annotation.offset + annotation.length]
            message = f"the mention {shown(annotation.text)} is {shown(found)} at its offset"
            error = xml.error(annotation.line, f"{message}; {action}")
            (handler.error if action.startswith("dropped") else handler.repair)(error)
        # Unlinked mentions have no title in MSNBC and NIL in ACE; other sets have none.
        title = annotation.title.replace("_", " ") if annotation.title not in ("", NIL) else None
        mention = mention_at(text, tokens, start, end, gold=title or NIL, title=title)
        if start < end and mention is not None:
            mentions.append(mention)
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(id_, text, tokens, lines, mentions=tuple(mentions))


def _locate(text: str, annotation: _XmlAnnotation) -> tuple[int, int, str]:
    """Return start and end of a mention without surrounding spaces, and the repair, if any."""
    wanted = annotation.text
    start, end = annotation.offset, annotation.offset + annotation.length
    found = text[start:end]
    action = ""
    if not wanted.strip():
        return 0, 0, "dropped: no text"
    if found != wanted:
        if html.unescape(found) == wanted:
            action = "kept: escaped in the text"
        else:
            stop = start + MAX_SHIFT + len(wanted)
            near = occurrences(text, wanted, max(0, start - MAX_SHIFT), stop)
            if not near:
                return 0, 0, f"dropped: not within {MAX_SHIFT} characters"
            nearest = min(near, key=lambda position: abs(position - start))
            action = f"kept: found {nearest - start:+d} characters from its offset"
            start, end = nearest, nearest + len(wanted)
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    return start, start + len(found.strip()), action


class _XmlReader:
    """Reads annotations with expat, which reports lines; the state is the path of open elements.

    Document types are refused, because they can define entities that expand without bound or read
    other files.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.buffer_text = True
        self._path: list[str] = []
        self._documents: list[_AnnotatedText] = []
        self._line = 0
        self._fields: dict[str, str] = {}

    def read(self) -> list[_AnnotatedText]:
        """Return the documents in order."""
        try:
            self._parser.Parse(self._source.text(), True)
        except expat.ExpatError as error:
            message = expat.errors.messages.get(error.code, "damaged")
            raise self._source.error(error.lineno, f"not XML: {message}") from None
        return self._documents

    def _error(self, message: str) -> CorpusError:
        return self._source.error(self._parser.CurrentLineNumber, message)

    def _doctype(self, name: str, *_: object) -> None:
        raise self._error(f"a document type, {shown(name)}, is not allowed; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        depth = len(self._path)
        self._path.append(name)
        if depth == 1:
            if name != "document" or "docName" not in attributes:
                raise self._error(f"expected <document docName=…>, found <{name[:40]}>")
            line = self._parser.CurrentLineNumber
            self._documents.append(_AnnotatedText(attributes["docName"], [], line))
        elif depth == 2:
            if name != "annotation":
                raise self._error(f"expected <annotation>, found <{name[:40]}>")
            self._line = self._parser.CurrentLineNumber
            self._fields = {}
        elif depth == 3:
            if name in self._fields:
                raise self._error(f"a second <{name[:40]}> in one annotation")
            self._fields[name] = ""

    def _data(self, data: str) -> None:
        if len(self._path) == 4:
            self._fields[self._path[-1]] += data

    def _end(self, name: str) -> None:
        self._path.pop()
        if len(self._path) == 2:
            self._documents[-1].annotations.append(self._annotation())

    def _annotation(self) -> _XmlAnnotation:
        for name in _REQUIRED:
            if name not in self._fields:
                raise self._source.error(self._line, f"no <{name}> in the annotation")
        return _XmlAnnotation(
            text=self._fields["mention"],  # not stripped: its length includes white space
            title=self._fields["wikiName"].strip(),
            offset=self._number("offset"),
            length=self._number("length"),
            line=self._line,
        )

    def _number(self, name: str) -> int:
        value = self._fields[name].strip()
        if not _NUMBER.fullmatch(value):
            raise self._source.error(self._line, f"<{name}>: {shown(value)} is not a number")
        return int(value)
