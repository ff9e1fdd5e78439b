"""Request forms: what may be linked besides requests and documents."""

from collections.abc import Iterable
from typing import Any

from sgtb.core.errors import RequestError
from sgtb.core.records import Document
from sgtb.linking.links import Request

Linkable = str | Request | Document | None
"""None is a missing value of a column, which has no links. A spaCy `Doc` is accepted, too."""
_MISSING = ("NAType", "NaTType")
"""Missing values of pandas."""


def as_request(given: Any) -> Request | Document:
    """Return what is linked: a request, or a document as it is.

    Missing values are empty texts. The entities of a spaCy Doc are its spans, unless no component
    has set any.
    """
    if isinstance(given, Request | Document):
        return given
    if isinstance(given, str):
        return Request(given)
    if given is None or type(given).__name__ in _MISSING or _is_nan(given):
        return Request("")
    if _is_spacy_doc(given):
        return Request(given.text, tuple(given.ents) if given.has_annotation("ENT_IOB") else None)
    raise RequestError(
        f"only a text, a Request, a Document or a spaCy Doc can be linked, not {given!r:.80}"
    )


def check_many(documents: Iterable[Any], caller: str) -> None:
    """Raise for a single document, whose characters would be linked one by one."""
    if isinstance(documents, str | bytes | Request | Document) or _is_spacy_doc(documents):
        raise RequestError(
            f"{caller} takes a list or another iterable of documents; use `link` for one document"
        )


def _is_nan(given: object) -> bool:
    return isinstance(given, float) and given != given


def _is_spacy_doc(given: object) -> bool:
    return hasattr(given, "ents") and hasattr(given, "has_annotation")
