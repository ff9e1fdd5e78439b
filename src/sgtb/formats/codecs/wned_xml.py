"""Annotation files of WNED: annotations per document, with their lines.

Parsed with expat, which reports lines. Document types are refused, because they can define
entities that expand without bound or read other files.
"""

import re
from typing import NamedTuple
from xml.parsers import expat

from sgtb.core.errors import CorpusError
from sgtb.formats.corpus_source import SourceFile, shown

_NUMBER = re.compile(r"[0-9]{1,9}")
_REQUIRED = ("mention", "wikiName", "offset", "length")


class XmlAnnotation(NamedTuple):
    """A mention; `title` is "" or NIL outside the knowledge base."""

    text: str
    title: str
    offset: int
    length: int
    line: int


class AnnotatedText(NamedTuple):
    """The annotations of a document, by the name of its text file."""

    name: str
    annotations: list[XmlAnnotation]
    line: int


def read_annotations(source: SourceFile) -> list[AnnotatedText]:
    """Return the documents of an XML file in order."""
    return _Reader(source).read()


class _Reader:
    """Handlers of the parser; the state is the path of open elements and their fields."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.buffer_text = True
        self._path: list[str] = []
        self._documents: list[AnnotatedText] = []
        self._line = 0
        self._fields: dict[str, str] = {}

    def read(self) -> list[AnnotatedText]:
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
            self._documents.append(AnnotatedText(attributes["docName"], [], line))
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

    def _annotation(self) -> XmlAnnotation:
        for name in _REQUIRED:
            if name not in self._fields:
                raise self._source.error(self._line, f"no <{name}> in the annotation")
        return XmlAnnotation(
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
