"""Passages: a mention with the text to its left and right, one a line, put together to documents.

BLINK and KILT write one mention a line and repeat the text around it. Lines that follow each other,
name the same document and have the same text are one document. Published files have the white
space at the ends of each part taken away; then a blank is put between the parts, and texts are the
same if they are so without white space. Lines written here give the place of the mention as
"start", and nothing is taken away.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document, Mention
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.complaints import Complaints
from sgtb.formats.corpus_source import shown
from sgtb.formats.json_lines import Line, iterate_lines, json_shown, write_lines

_NUMBERED = re.compile(r"(.*):[0-9]+", re.DOTALL)
_SEEN = re.compile(r"\S")


class Passage(NamedTuple):
    """A mention in its text, and what it means.

    document  the id of the document it is from; None: not said
    exact     whether the parts are the text as it is
    """

    line: Line
    document: str | None
    left: str
    mention: str
    right: str
    exact: bool
    gold: str | None
    title: str | None


def read_passages(
    path: Path, parse: Callable[[Line], Passage], complaints: Complaints
) -> Iterator[Document]:
    """Yield the documents of a file."""
    draft: _Draft | None = None
    for line in iterate_lines(path, complaints):
        try:
            passage = parse(line)
            if not passage.mention.strip():
                raise line.error("the mention is empty")
        except CorpusError as error:
            complaints.wrong(error)
            continue
        if draft is None or not draft.add(passage):
            if draft is not None:
                yield draft.document(complaints)
            draft = _Draft.begin(passage, draft)
    if draft is not None:
        yield draft.document(complaints)


def write_passages(
    documents: Iterable[Document], path: Path, fields: Callable[[Document, int, Mention], Any]
) -> int:
    """Write documents, a mention a line; return how many documents."""
    return write_lines(path, _told_apart(documents, path), lambda document: (
        fields(document, i, mention) for i, mention in enumerate(document.mentions)
    ))  # fmt: skip


def document_of(id: str | None) -> str | None:
    """Return the id of a document out of that of a mention, which a colon and a number end."""
    match = _NUMBERED.fullmatch(id) if id is not None else None
    return match[1] if match else id


def mention_id(document: Document, i: int) -> str:
    """Return the id of a mention."""
    return f"{document.id}:{i}"


def is_exact(line: Line, fields: dict[str, Any], left: str) -> bool:
    """Whether a line says where its mention starts; a wrong place is an error."""
    start = fields.get("start")
    if start is not None and start != len(left):
        raise line.error(
            f'"start" is {json_shown(start)}, but {len(left)} code points stand before the mention'
        )
    return start is not None


@dataclass
class _Draft:
    """A document while its lines are read.

    nth  which of the documents in a row that have the same id
    """

    first: Passage
    text: str
    annotations: list[Annotation]
    nth: int

    @classmethod
    def begin(cls, passage: Passage, before: "_Draft | None") -> "_Draft":
        left, mention, right = passage.left, passage.mention, passage.right
        if not passage.exact:
            mention = mention.strip()
            left, right = _spaced(left, mention), right if _blank(mention, right) else f" {right}"
        again = before is not None and before.first.document == passage.document is not None
        nth = before.nth + 1 if again and before is not None else 1
        draft = cls(passage, left + mention + right, [], nth)
        draft._annotate(passage, len(left), len(left) + len(mention))
        return draft

    def add(self, passage: Passage) -> bool:
        """Take in a passage, if it is from this document."""
        first = self.first
        if (passage.document, passage.exact) != (first.document, first.exact):
            return False
        if passage.exact:
            if passage.left + passage.mention + passage.right != self.text:
                return False
            start = len(passage.left)
            self._annotate(passage, start, start + len(passage.mention))
            return True
        left, mention = _squeezed(passage.left), _squeezed(passage.mention)
        if left + mention + _squeezed(passage.right) != _squeezed(self.text):
            return False
        places = [match.start() for match in _SEEN.finditer(self.text)]
        start, last = places[len(left)], places[len(left) + len(mention) - 1]
        self._annotate(passage, start, last + 1)
        return True

    def document(self, complaints: Complaints) -> Document:
        line, id_ = self.first.line, self.first.document
        named = str(line.number) if id_ is None else id_ if self.nth == 1 else f"{id_}#{self.nth}"
        return annotated_document(
            named, self.text, self.annotations, error=line.error, complaints=complaints
        )

    def _annotate(self, passage: Passage, start: int, end: int) -> None:
        error = passage.line.error
        self.annotations.append(Annotation(start, end, passage.gold, passage.title, error=error))


def _spaced(left: str, right: str) -> str:
    return left if _blank(left, right) else f"{left} "


def _blank(left: str, right: str) -> bool:
    """Whether nothing needs to be put between two parts of a text."""
    return not left or not right or left[-1].isspace() or right[0].isspace()


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _told_apart(documents: Iterable[Document], path: Path) -> Iterator[Document]:
    before: str | None = None
    for document in documents:
        if document.id == before:
            raise CorpusError(
                f"{path}: two documents in a row have the id {shown(document.id)}, and would "
                "become one; give them ids of their own"
            )
        before = document.id
        yield document
