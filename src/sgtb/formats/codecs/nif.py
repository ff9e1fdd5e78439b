"""NIF: texts and mentions as RDF, in Turtle; needs the extra `nif`.

    <http://example.org/d1#offset_0_10> a nif:Context ; nif:isString "Orlan won." .
    <http://example.org/d1#offset_0_5> a nif:Phrase ;
        nif:referenceContext <http://example.org/d1#offset_0_10> ;
        nif:beginIndex "0"^^xsd:nonNegativeInteger ; nif:endIndex "5"^^xsd:nonNegativeInteger ;
        nif:anchorOf "Orlan" ; itsrdf:taIdentRef <http://dbpedia.org/resource/Orlan> .

Entities are IRIs. Other ids are written with the prefix `urn:sgtb:`, ids of Wikidata with that of
Wikidata, and both are restored by the reader. `http://aksw.org/notInWiki…` is NIL, as in GERBIL.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity, Format, write_file
from sgtb.formats.corpus_source import SourceFile, read_source, shown
from sgtb.formats.error_handler import ErrorAt, ErrorHandler
from sgtb.formats.rdf_turtle import (
    HEAD,
    ITEM,
    ITS,
    NIF,
    TYPE,
    WIKIDATA,
    TurtleError,
    escaped,
    index,
    read_turtle,
)  # fmt: skip

_NOT_IN_KB = "http://aksw.org/notInWiki"
_OWN = "urn:sgtb:"
_FRAGMENT = re.compile(r"#(?:char=[0-9]+,[0-9]*|offset_[0-9]+_[0-9]+)\Z")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\x00-\x20<>\"{}|\\^`#]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_TURTLE = re.compile(rb"@prefix\b|\bPREFIX\b|nif-core#|^\s*<[a-z]+:[^>]*>", re.IGNORECASE | re.M)
_ZLIB = b"x"  # first byte of compressed data, in which the pattern may occur by chance


def write_nif(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    seen: set[str] = set()

    def statements(document: Document) -> Iterator[str]:
        if document.id in seen:
            raise CorpusError(f"{path}: a second document {shown(document.id)}; make ids unique")
        seen.add(document.id)
        return _statements(document)

    return write_file(statements, documents, path, HEAD)


def _statements(document: Document) -> Iterator[str]:
    base = _iri(document.id, "document")
    context = _place(base, 0, len(document.text))
    yield (
        f"\n{context}\n\ta nif:OffsetBasedString , nif:Context ;\n"
        f"\tnif:beginIndex {index(0)} ;\n\tnif:endIndex {index(len(document.text))} ;\n"
        f'\tnif:isString "{escaped(document.text)}" .\n'
    )
    for mention in document.mentions:
        yield (
            f"\n{_place(base, mention.start, mention.end)}\n"
            "\ta nif:OffsetBasedString , nif:Phrase ;\n"
            f"\tnif:referenceContext {context} ;\n"
            f"\tnif:beginIndex {index(mention.start)} ;\n\tnif:endIndex {index(mention.end)} ;\n"
            f"{_annotation_lines(mention)}"
            f'\tnif:anchorOf "{escaped(mention.text)}" .\n'
        )


def _annotation_lines(mention: Mention) -> str:
    type_ = (
        "" if mention.type is None else f"\titsrdf:taClassRef <{_iri(mention.type, 'type')}> ;\n"
    )
    if mention.gold is None:
        return type_
    name = quote(mention.text.replace(" ", "_"))
    entity = f"{_NOT_IN_KB}/{name}" if mention.gold == NIL else _iri(mention.gold, "entity")
    return f"{type_}\titsrdf:taIdentRef <{entity}> ;\n"


def _place(base: str, start: int, end: int) -> str:
    return f"<{base}#offset_{start}_{end}>"


def _iri(id: str, kind: str) -> str:
    """Return an id as an IRI, from which `_id` restores it."""
    if kind == "entity" and ITEM.fullmatch(id):
        return WIKIDATA + id
    if _IRI.fullmatch(id) and _id(id, kind) == id and not id.startswith(_NOT_IN_KB):
        return id
    return f"{_OWN}{kind}:{quote(id, safe='')}"


def _id(iri: str, kind: str) -> str:
    own = f"{_OWN}{kind}:"
    if iri.startswith(own):
        return unquote(iri.removeprefix(own))
    item = iri.removeprefix(WIKIDATA)
    return item if kind == "entity" and ITEM.fullmatch(item) else iri


def read_nif(path: Path, handler: ErrorHandler) -> Iterator[Document]:
    """Yield the documents of a file in order; the file is read into memory."""
    source = read_source(path)
    graph = _Graph(source, path.name)
    annotations: dict[str, list[Annotation]] = {iri: [] for iri in graph.contexts}
    for iri in graph.mentions():
        with handler.skipping():
            context, annotation = graph.annotation(iri)
            annotations[context].append(annotation)
    for iri in graph.contexts:
        with handler.skipping():
            id_, text = _id(_FRAGMENT.sub("", iri), "document"), graph.one(iri, NIF + "isString")
            yield annotated_document(
                id_, text, annotations[iri], error=graph.error_at(iri), handler=handler
            )


class _Graph:
    """Values by subject and predicate, in the order of the file."""

    def __init__(self, source: SourceFile, name: str) -> None:
        self._text = source.text().removeprefix("\ufeff")
        self._source = source
        try:
            self._values = read_turtle(self._text, f"file:///{quote(name)}")
        except TurtleError as error:
            raise source.error(error.line, f"not Turtle: {shown(error.why, 100)}") from None
        self.contexts = [
            iri for iri, values in self._values.items()
            if NIF + "Context" in values.get(TYPE, ()) or NIF + "isString" in values
        ]  # fmt: skip
        if not self.contexts:
            raise source.error(1, "no nif:Context in it")

    def mentions(self) -> Iterator[str]:
        """Yield the IRIs of phrases, and of other parts of a text that have an entity."""
        for iri, values in self._values.items():
            phrase = NIF + "Phrase" in values.get(TYPE, ())
            if NIF + "referenceContext" in values and (phrase or ITS + "taIdentRef" in values):
                yield iri

    def annotation(self, iri: str) -> tuple[str, Annotation]:
        """Return context and annotation of a mention."""
        values, error = self._values[iri], self.error_at(iri)
        context = self.one(iri, NIF + "referenceContext")
        if context not in self._values or NIF + "isString" not in self._values[context]:
            raise error(f"the context {shown(context)} has no nif:isString")
        start, end = (self._number(iri, NIF + key) for key in ("beginIndex", "endIndex"))
        # The lowest of several equivalent entities: RDF has no order.
        gold = min(values.get(ITS + "taIdentRef", ()), default=None)
        if gold is not None:
            gold = NIL if gold.startswith(_NOT_IN_KB) else _id(gold, "entity")
        type_ = min(values.get(ITS + "taClassRef", ()), default=None)
        type_ = None if type_ is None else _id(type_, "type")
        text = self.one(iri, NIF + "anchorOf") if NIF + "anchorOf" in values else None
        return context, Annotation(start, end, gold, type=type_, text=text, error=error)

    def one(self, iri: str, predicate: str) -> str:
        """Return the value of a predicate, which must be unique."""
        values = self._values[iri].get(predicate, [])
        if len(set(values)) != 1:
            name = predicate.removeprefix(NIF)
            raise self.error_at(iri)(f"{len(values)} values of nif:{name}; there should be one")
        return values[0]

    def _number(self, iri: str, predicate: str) -> int:
        value = self.one(iri, predicate)
        if not _NUMBER.fullmatch(value):
            name = predicate.removeprefix(NIF)
            raise self.error_at(iri)(f"nif:{name} is {shown(value)}, not a number")
        return int(value)

    def error_at(self, iri: str) -> ErrorAt:
        """Return a maker of errors with the first line of a subject."""

        def error(message: str) -> CorpusError:
            at = self._text.find(f"<{iri}>")
            if at < 0:  # written with a prefix
                at = max(self._text.find(re.split(r"[#/]", iri)[-1]), 0)
            line = self._text.count("\n", 0, at) + 1
            return self._source.error(line, f"{shown(iri)}: {message}")

        return error


FORMAT = Format(
    name="nif",
    about="NIF: RDF in Turtle",
    read=read_nif,
    write=write_nif,
    capacity=Capacity(titles=False, candidates=False, splits=False, overlaps="not the same span"),
    endings=(".ttl", ".nif"),
    detects=lambda head: head.data[:1] != _ZLIB and _TURTLE.search(head.data) is not None,
)
