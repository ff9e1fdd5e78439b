"""Candidate lists: the entities a system could choose from."""

from collections.abc import Sequence

from sgtb.core.errors import ProblemsError
from sgtb.core.records import Document
from sgtb.evaluation.system_answers import check_fit

Candidates = Sequence[Sequence[Sequence[str]]]
"""Per document and mention the ids of its candidates."""


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
