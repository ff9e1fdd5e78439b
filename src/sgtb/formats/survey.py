"""Survey: what a corpus file holds, and everything that is wrong with it, in one pass."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document
from sgtb.formats.annotated import overlapping
from sgtb.formats.complaints import Complaints
from sgtb.formats.corpus_source import shown
from sgtb.formats.registry import detect_format, read_documents

LISTED = 1000
"""How many problems of a kind are listed at most; all are counted."""


@dataclass(frozen=True)
class Problems:
    """Problems of one kind: how many, and the first of them in words."""

    total: int
    listed: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """What a file holds, and what is wrong with it.

    linked       mentions that mean an entity
    nil          mentions that mean nothing in the knowledge base
    unannotated  mentions without annotation
    entities     how many different ones are meant
    unreadable   lines and mentions that cannot be read, offsets that do not match the text
    repaired     what did not match the text, but was found near it
    overlaps     mentions that begin before another has ended
    repeated     documents whose id another has
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
    unreadable: Problems
    repaired: Problems
    overlaps: Problems
    repeated: Problems

    @property
    def errors(self) -> int:
        """How much is wrong; what could be repaired is not."""
        return self.unreadable.total + self.overlaps.total + self.repeated.total

    @property
    def nil_share(self) -> float:
        """The share of the annotated mentions that mean nothing in the knowledge base."""
        return self.nil / (self.linked + self.nil) if self.linked + self.nil else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        share = None if self.nil_share != self.nil_share else round(self.nil_share, 6)
        return {**asdict(self), "nil_share": share, "errors": self.errors}


def survey(
    path: Path, format: str | None = None, also: Callable[[Document], None] | None = None
) -> Survey:
    """Read a whole file, and go on where something is wrong with it.

    also  is given every document that could be read
    """
    counts, notes = _Counts(), _Notes()
    kind = format or detect_format(path)
    try:
        for document in read_documents(path, kind, notes):
            counts.add(document)
            if also is not None:
                also(document)
    except CorpusError as error:  # nothing behind it can be read
        notes.wrong(error)
    return Survey(
        str(path),
        kind,
        counts.documents,
        counts.characters,
        counts.linked + counts.nil + counts.unannotated,
        counts.linked,
        counts.nil,
        counts.unannotated,
        len(counts.entities),
        notes.errors.problems,
        notes.repairs.problems,
        counts.overlaps.problems,
        counts.repeated.problems,
    )


class _List:
    """Problems of a kind: the first are kept, so that memory stays bounded, and all counted."""

    def __init__(self) -> None:
        self._total = 0
        self._listed: list[str] = []

    def add(self, problem: str) -> None:
        self._total += 1
        if len(self._listed) < LISTED:
            self._listed.append(problem)

    @property
    def problems(self) -> Problems:
        return Problems(self._total, tuple(self._listed))


class _Notes(Complaints):
    """Lists what a reader complains about."""

    def __init__(self) -> None:
        self.errors, self.repairs = _List(), _List()

    def wrong(self, error: CorpusError) -> None:
        self.errors.add(str(error))

    def repaired(self, error: CorpusError) -> None:
        self.repairs.add(str(error))


class _Counts:
    """What is counted while documents pass."""

    def __init__(self) -> None:
        self.documents = self.characters = self.linked = self.nil = self.unannotated = 0
        self.entities: set[str] = set()
        self.overlaps, self.repeated = _List(), _List()
        self._ids: set[str] = set()

    def add(self, document: Document) -> None:
        self.documents += 1
        self.characters += len(document.text)
        if document.id in self._ids:
            self.repeated.add(
                f"document {self.documents}: another before it has the id {shown(document.id)}, too"
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
                f"{mention.start} to {mention.end} overlaps one before it"
            )
