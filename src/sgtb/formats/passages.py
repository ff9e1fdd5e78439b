"""Passages: one mention a line with its context, joined to documents.

BLINK and KILT write one mention a line and repeat the text around it. Consecutive lines of the
same document id and text are one document. Published files have the parts stripped of white
space; the parts are then joined with a space, and texts are compared without white space. Lines
written by sgtb have the position of the mention as "start", and their parts are exact.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document, Mention
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity, Format
from sgtb.formats.corpus_source import shown
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.json_lines import JsonLine, iterate_lines, json_shown, write_lines

_NUMBERED = re.compile(r"(.*):[0-9]+", re.DOTALL)
_VISIBLE = re.compile(r"\S")
PASSAGE_CAPACITY = Capacity(types=False, candidates=False, splits=False, nil=False, empty=False)


class Passage(NamedTuple):
    """A mention with context and annotation."""

    line: JsonLine
    document: str | None  # id of its document; None: unknown
    parts: tuple[str, str, str]  # the text before the mention, the mention, and that after it
    exact: bool  # whether the parts are unstripped
    gold: tuple[str | None, str | None]  # id and title of the entity


def passage_format(
    parse: Callable[[JsonLine], Passage], fields: Callable[[Document, int, Mention], Any],
    **declared: Any,
) -> Format:  # fmt: skip
    """Return a format of one mention a line; `declared` are its further fields."""

    def lines(document: Document) -> Iterator[dict[str, Any]]:
        return (fields(document, i, mention) for i, mention in enumerate(document.mentions))

    def write(documents: Iterable[Document], path: Path) -> int:
        return write_lines(lines, _distinct_ids(documents, path), path)

    read = partial(read_passages, parse)
    return Format(read=read, write=write, capacity=PASSAGE_CAPACITY, **declared)


def read_passages(
    parse: Callable[[JsonLine], Passage], path: Path, handler: ErrorHandler
) -> Iterator[Document]:
    """Yield the documents of a file."""
    draft: _Draft | None = None
    for line in iterate_lines(path, handler):
        with handler.skipping():
            passage = parse(line)
            if not passage.parts[1].strip():
                raise line.error("the mention is empty")
            if draft is None or not draft.add(passage):
                if draft is not None:
                    yield draft.document(handler)
                draft = _Draft.begin(passage, draft)
    if draft is not None:
        yield draft.document(handler)


def document_of(id: str | None) -> str | None:
    """Return the document's id of a mention's id, `document:number`."""
    match = _NUMBERED.fullmatch(id) if id is not None else None
    return match[1] if match else id


def mention_id(document: Document, i: int) -> str:
    """Return the id of a mention."""
    return f"{document.id}:{i}"


def is_exact(line: JsonLine, fields: dict[str, Any], left: str) -> bool:
    """Return whether a line has the start of its mention; raise if it is wrong."""
    start = fields.get("start")
    if start is not None and start != len(left):
        raise line.error(
            f'"start" is {json_shown(start)}, but {len(left)} code points precede the mention'
        )
    return start is not None


@dataclass
class _Draft:
    """A document while its lines are read."""

    first: Passage
    text: str
    annotations: list[Annotation]
    nth: int  # number among consecutive documents with the same id, from 1

    @classmethod
    def begin(cls, passage: Passage, before: "_Draft | None") -> "_Draft":
        left, mention, right = passage.parts
        if not passage.exact:
            mention = mention.strip()
            left = left if _has_border(left, mention) else f"{left} "
            right = right if _has_border(mention, right) else f" {right}"
        nth = 1
        if before is not None and before.first.document == passage.document is not None:
            nth = before.nth + 1
        draft = cls(passage, left + mention + right, [], nth)
        draft._annotate(passage, len(left), len(left) + len(mention))
        return draft

    def add(self, passage: Passage) -> bool:
        """Add a passage of this document; return False if it is of another."""
        first = self.first
        if (passage.document, passage.exact) != (first.document, first.exact):
            return False
        left, mention, right = passage.parts
        if passage.exact:
            if left + mention + right != self.text:
                return False
            self._annotate(passage, len(left), len(left) + len(mention))
            return True
        left, mention, right = map(_without_space, passage.parts)
        if left + mention + right != _without_space(self.text):
            return False
        positions = [match.start() for match in _VISIBLE.finditer(self.text)]
        start, last = positions[len(left)], positions[len(left) + len(mention) - 1]
        self._annotate(passage, start, last + 1)
        return True

    def document(self, handler: ErrorHandler) -> Document:
        line, id_ = self.first.line, self.first.document
        if id_ is None:
            id_ = str(line.number)
        elif self.nth > 1:
            id_ = f"{id_}#{self.nth}"
        return annotated_document(
            id_, self.text, self.annotations, error=line.error, handler=handler
        )

    def _annotate(self, passage: Passage, start: int, end: int) -> None:
        self.annotations.append(Annotation(start, end, *passage.gold, error=passage.line.error))


def _has_border(left: str, right: str) -> bool:
    """Return whether two parts need no space between them."""
    return not left or not right or left[-1].isspace() or right[0].isspace()


def _without_space(text: str) -> str:
    return "".join(text.split())


def _distinct_ids(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    before: str | None = None
    for document in documents:
        if document.id == before:
            raise CorpusError(
                f"{path}: two consecutive documents have the id {shown(document.id)} and would "
                "become one; make ids unique"
            )
        before = document.id
        yield document
