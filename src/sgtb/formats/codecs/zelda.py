"""ZELDA: one document a line, with the spans of its mentions and the Wikipedia pages meant.

{"id": "7", "text": "Orlan won.", "index": [[0, 5]], "wikipedia_ids": [14],
 "wikipedia_titles": ["Orlan"]}
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.capacity import Capacity
from sgtb.formats.complaints import Complaints
from sgtb.formats.json_lines import (
    Line,
    checked_text,
    id_text,
    json_shown,
    number_or_text,
    read_lines,
    span_of,
    write_lines,
)

CAPACITY = Capacity(types=False, candidates=False, splits=False, nil=False, unannotated=False)
_LISTS = ("index", "wikipedia_ids", "wikipedia_titles")


def read_zelda(path: Path, complaints: Complaints) -> Iterator[Document]:
    """Yield the documents of a file."""
    return read_lines(path, lambda line: _document(line, complaints), complaints)


def write_zelda(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    return write_lines(path, documents, lambda document: (_fields(document),))


def _fields(document: Document) -> dict[str, Any]:
    mentions = document.mentions
    return {
        "id": document.id,
        "text": document.text,
        "index": [[mention.start, mention.end] for mention in mentions],
        "wikipedia_ids": [number_or_text(mention.gold or "") for mention in mentions],
        "wikipedia_titles": [mention.title for mention in mentions],
    }


def _document(line: Line, complaints: Complaints) -> Document:
    spans, ids, titles = (line.required_items(key) for key in _LISTS)
    if not len(spans) == len(ids) == len(titles):
        raise line.error(
            f"{len(spans)} spans, {len(ids)} ids and {len(titles)} titles; "
            "there should be as many of each"
        )
    annotations = []
    for i, (span, id_, title) in enumerate(zip(spans, ids, titles, strict=True), 1):
        try:
            annotations.append(_annotation(line, i, span, id_, title))
        except CorpusError as error:
            complaints.wrong(error)
    return annotated_document(
        line.id(), line.text("text"), annotations, error=line.error, complaints=complaints
    )


def _annotation(line: Line, i: int, span: Any, id_: Any, title: Any) -> Annotation:
    def error(message: str) -> CorpusError:
        return line.error(f"mention {i}: {message}")

    if title is not None and not isinstance(title, str):
        raise error(f'"wikipedia_titles" should be strings, not {json_shown(title)}')
    key = "wikipedia_titles"
    return Annotation(
        *span_of(span, "index", error),
        id_text(id_, "wikipedia_ids", error),
        checked_text({key: title}, key, error) if title else None,
    )
