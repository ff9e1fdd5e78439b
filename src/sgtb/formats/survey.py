"""Survey: statistics and all errors of a corpus file, in one pass."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document
from sgtb.formats.annotated import overlapping
from sgtb.formats.corpus_source import shown
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.registry import detect_format, read_documents

MAX_LISTED = 1000
"""Problems of a kind that are listed; all are counted."""


@dataclass(frozen=True)
class ProblemList:
    """Problems of one kind: their number, and descriptions of the first."""

    total: int
    listed: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """Statistics and errors of a file.

    linked       mentions of entities
    nil          mentions of entities outside the knowledge base
    unannotated  mentions without annotation
    entities     number of distinct entities
    unreadable   unreadable lines and mentions, offsets that do not match the text
    repaired     mentions that were found near their offsets
    overlaps     mentions that begin before the end of another
    repeated     documents with the id of another
    """

    path: str
    format: str
    documents: int
    characters: int
    mentions: int
    linked: int
    nil: int
    unannotated: int
    entities: int
    unreadable: ProblemList
    repaired: ProblemList
    overlaps: ProblemList
    repeated: ProblemList

    @property
    def errors(self) -> int:
        """Number of errors, without repaired ones."""
        return self.unreadable.total + self.overlaps.total + self.repeated.total

    @property
    def nil_share(self) -> float:
        """Share of NIL among annotated mentions."""
        return self.nil / (self.linked + self.nil) if self.linked + self.nil else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object."""
        share = None if self.nil_share != self.nil_share else round(self.nil_share, 6)
        return {**asdict(self), "nil_share": share, "errors": self.errors}


def survey(
    path: Path, format: str | None = None, on_document: Callable[[Document], None] | None = None
) -> Survey:
    """Read a whole file in spite of errors.

    on_document  called with every readable document
    """
    counts, errors = _Counts(), _BoundedErrors()
    kind = format or detect_format(path)
    try:
        for document in read_documents(path, kind, errors):
            counts.add(document)
            if on_document is not None:
                on_document(document)
    except CorpusError as error:  # the rest of the file is unreadable
        errors.error(error)
    return Survey(
        path=str(path),
        format=kind,
        documents=counts.documents,
        characters=counts.characters,
        mentions=counts.linked + counts.nil + counts.unannotated,
        linked=counts.linked,
        nil=counts.nil,
        unannotated=counts.unannotated,
        entities=len(counts.entities),
        unreadable=errors.errors.problems,
        repaired=errors.repairs.problems,
        overlaps=counts.overlaps.problems,
        repeated=counts.repeated.problems,
    )


class _BoundedList:
    """Problems of a kind: the first are kept, all are counted."""

    def __init__(self) -> None:
        self._total = 0
        self._listed: list[str] = []

    def add(self, problem: str) -> None:
        self._total += 1
        if len(self._listed) < MAX_LISTED:
            self._listed.append(problem)

    @property
    def problems(self) -> ProblemList:
        return ProblemList(self._total, tuple(self._listed))


class _BoundedErrors(ErrorHandler):
    """Collects errors and repairs in bounded memory."""

    def __init__(self) -> None:
        self.errors, self.repairs = _BoundedList(), _BoundedList()

    def error(self, error: CorpusError) -> None:
        self.errors.add(str(error))

    def repair(self, error: CorpusError) -> None:
        self.repairs.add(str(error))


class _Counts:
    """Counts over documents."""

    def __init__(self) -> None:
        self.documents = self.characters = self.linked = self.nil = self.unannotated = 0
        self.entities: set[str] = set()
        self.overlaps, self.repeated = _BoundedList(), _BoundedList()
        self._ids: set[str] = set()

    def add(self, document: Document) -> None:
        self.documents += 1
        self.characters += len(document.text)
        if document.id in self._ids:
            self.repeated.add(
                f"document {self.documents}: an earlier one has the same id {shown(document.id)}"
            )
        self._ids.add(document.id)
        for mention in document.mentions:
            if mention.gold is None:
                self.unannotated += 1
            elif mention.gold == NIL:
                self.nil += 1
            else:
                self.linked += 1
                self.entities.add(mention.gold)
        for i in overlapping(document.mentions):
            mention = document.mentions[i]
            self.overlaps.add(
                f"document {shown(document.id)}: the mention {shown(mention.text)} at "
                f"{mention.start} to {mention.end} overlaps an earlier one"
            )
