"""Survey: statistics and all errors of a corpus file, in one pass."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError, SgtbError
from sgtb.core.records import NIL, Document
from sgtb.formats.annotated import overlapping
from sgtb.formats.corpus_source import shown
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.registry import detect_format, read_documents

MAX_LISTED = 1000  # problems of a kind that are listed; all are counted


@dataclass(frozen=True)
class ProblemList:
    """Problems of one kind: their number, and descriptions of the first."""

    total: int
    listed: tuple[str, ...]


@dataclass(frozen=True)
class Survey:
    """Statistics and errors of a file."""

    path: str
    format: str
    documents: int
    characters: int
    mentions: int
    linked: int  # mentions of entities
    nil: int  # mentions of entities outside the knowledge base
    unannotated: int  # mentions without annotation
    entities: int  # number of distinct entities
    unreadable: ProblemList  # unreadable lines and mentions, offsets that do not match the text
    repaired: ProblemList  # mentions that were found near their offsets
    overlaps: ProblemList  # mentions that begin before the end of another
    repeated: ProblemList  # documents with the id of another

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
    """Read a whole file in spite of errors; `on_document` is called with each document."""
    found = _Surveyor()
    kind = format or detect_format(path)
    try:
        for document in read_documents(path, kind, found):
            found.add(document)
            if on_document is not None:
                on_document(document)
    except CorpusError as error:  # the rest of the file is unreadable
        found.error(error)
    n, problems = found.counts, found.problems
    return Survey(
        path=str(path), format=kind, documents=n["documents"], characters=n["characters"],
        mentions=n["linked"] + n["nil"] + n["unannotated"], linked=n["linked"], nil=n["nil"],
        unannotated=n["unannotated"], entities=len(found.entities),
        unreadable=problems("unreadable"), repaired=problems("repaired"),
        overlaps=problems("overlaps"), repeated=problems("repeated"),
    )  # fmt: skip


class _Surveyor(ErrorHandler):
    """Counts over documents; all problems are counted, the first of each kind are kept."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.entities: set[str] = set()
        self._ids: set[str] = set()
        self._listed: defaultdict[str, list[str]] = defaultdict(list)

    def problems(self, kind: str) -> ProblemList:
        return ProblemList(self.counts[kind], tuple(self._listed[kind]))

    def error(self, error: SgtbError) -> None:
        self._note("unreadable", str(error))

    def repair(self, error: CorpusError) -> None:
        self._note("repaired", str(error))

    def _note(self, kind: str, problem: str) -> None:
        self.counts[kind] += 1
        if len(self._listed[kind]) < MAX_LISTED:
            self._listed[kind].append(problem)

    def add(self, document: Document) -> None:
        counts, id_ = self.counts, shown(document.id)
        counts["documents"] += 1
        counts["characters"] += len(document.text)
        if document.id in self._ids:
            place = f"document {counts['documents']}"
            self._note("repeated", f"{place}: an earlier one has the same id {id_}")
        self._ids.add(document.id)
        for mention in document.mentions:
            if mention.in_kb:
                self.entities.add(mention.gold or "")
            kinds = {None: "unannotated", NIL: "nil"}
            counts[kinds.get(mention.gold, "linked")] += 1
        for i in overlapping(document.mentions):
            mention = document.mentions[i]
            self._note(
                "overlaps",
                f"document {id_}: the mention {shown(mention.text)} at {mention.start} to "
                f"{mention.end} overlaps an earlier one",
            )
