"""Answers and candidate lists: the entities that a system chose, and those it could choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sgtb.core.errors import ProblemsError
from sgtb.core.records import Document


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """One answer to every mention, in the order of the documents and of their mentions.

    documents  the ids of the documents
    entities   per document and mention the id of an entity; None or NIL: no entity

    The ids guard against a comparison with documents in another order.
    """

    documents: tuple[str, ...]
    entities: tuple[tuple[str | None, ...], ...]

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.entities):
            raise ProblemsError(
                f"answers for {len(self.entities)} documents, but {len(self.documents)} ids of them"
            )

    @classmethod
    def of(cls, documents: Sequence[Document], entities: Sequence[Sequence[str | None]]) -> Self:
        """Make answers of nested lists, and check that they fit the documents."""
        check_fit(documents, entities, "answers")
        for document, row in zip(documents, entities, strict=True):
            for t, entity in enumerate(row):
                # A number would never equal an id, and every answer would quietly be wrong.
                if entity is not None and not isinstance(entity, str):
                    raise ProblemsError(
                        f"document {document.id}: the answer to mention {t} is {entity!r}; "
                        "give entity ids as text, or None"
                    )
        ids = tuple(document.id for document in documents)
        return cls(ids, tuple(tuple(row) for row in entities))

    def beside(
        self, documents: Sequence[Document]
    ) -> list[tuple[Document, tuple[str | None, ...]]]:
        """Return every document with the answers to its mentions; raise if they do not fit."""
        for i, (document, id) in enumerate(zip(documents, self.documents, strict=False)):
            if document.id != id:
                raise ProblemsError(
                    f"document {document.id}: the answers in its place, number {i}, are for "
                    f"document {id}; give the documents in the order in which they were answered"
                )
        check_fit(documents, self.entities, "answers")
        return list(zip(documents, self.entities, strict=True))


def check_fit(documents: Sequence[Document], rows: Sequence[Sequence[object]], what: str) -> None:
    """Raise unless there is one row per document and one item per mention in it."""
    for document, row in zip(documents, rows, strict=False):
        if isinstance(row, str):
            raise ProblemsError(
                f"document {document.id}: its {what} are the text {row!r}; give a list of them"
            )
        if len(row) != len(document.mentions):
            raise ProblemsError(
                f"document {document.id}: {len(row)} {what} for {len(document.mentions)} mentions; "
                "there must be one for each"
            )
    if len(documents) > len(rows):
        raise ProblemsError(
            f"document {documents[len(rows)].id}: no {what}; there are {what} for the first "
            f"{len(rows)} of {len(documents)} documents"
        )
    if len(documents) < len(rows):
        last = f", after document {documents[-1].id}" if documents else ""
        raise ProblemsError(
            f"{what} for {len(rows)} documents, but there are only {len(documents)}{last}"
        )


Candidates = Sequence[Sequence[Sequence[str]]]  # per document and mention the ids of its candidates


def candidates_of(documents: Sequence[Document], candidates: Candidates | None) -> Candidates:
    """Return the given candidates, checked; None: those of the mentions themselves."""
    if candidates is None:
        return [[mention.candidates or () for mention in doc.mentions] for doc in documents]
    check_fit(documents, candidates, "candidate lists")
    for document, row in zip(documents, candidates, strict=True):
        for t, listed in enumerate(row):
            if isinstance(listed, str):
                raise ProblemsError(
                    f"document {document.id}: the candidates of mention {t} are the text "
                    f"{listed!r}; give a list of entity ids"
                )
    return candidates
