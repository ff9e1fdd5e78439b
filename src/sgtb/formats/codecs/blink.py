"""BLINK: one mention a line, between the text to its left and to its right.

    {"context_left": "In", "mention": "Orlan", "context_right": "it rained.",
     "query_id": "7:0", "label_id": 14, "label_title": "Orlan"}

Published files have "Wikipedia_ID" and "Wikipedia_title" too, which go before "label_id": that may
be a number that only BLINK knows. A "label_id" of -1 says that the mention is not annotated.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgtb.core.records import Document, Mention
from sgtb.formats.capacity import Capacity
from sgtb.formats.complaints import Complaints
from sgtb.formats.json_lines import Line, id_text, number_or_text
from sgtb.formats.passages import (
    Passage,
    document_of,
    is_exact,
    mention_id,
    read_passages,
    write_passages,
)

CAPACITY = Capacity(types=False, candidates=False, splits=False, nil=False, empty=False)
_NOT_ANNOTATED = -1


def read_blink(path: Path, complaints: Complaints) -> Iterator[Document]:
    """Yield the documents of a file."""
    return read_passages(path, _passage, complaints)


def write_blink(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    return write_passages(documents, path, _fields)


def _fields(document: Document, i: int, mention: Mention) -> dict[str, Any]:
    text = document.text
    fields = {
        "context_left": text[: mention.start],
        "mention": mention.text,
        "context_right": text[mention.end :],
        "query_id": mention_id(document, i),
        "label_id": _NOT_ANNOTATED if mention.gold is None else number_or_text(mention.gold),
        "start": mention.start,
    }
    return fields if mention.title is None else {**fields, "label_title": mention.title}


def _passage(line: Line) -> Passage:
    left = line.text("context_left")
    query = line.fields.get("query_id", line.fields.get("id"))
    return Passage(
        line,
        document_of(None if query is None else str(query)),
        left,
        line.text("mention"),
        line.text("context_right"),
        is_exact(line, line.fields, left),
        *_meaning(line),
    )


def _meaning(line: Line) -> tuple[str | None, str | None]:
    """Return gold and title."""
    title = line.optional_text("Wikipedia_title") or line.optional_text("label_title")
    for key in ("Wikipedia_ID", "label_id"):
        value = line.fields.get(key)
        if value is not None and value != _NOT_ANNOTATED:
            return id_text(value, key, line.error), title
    if line.fields.get("label_id") == _NOT_ANNOTATED:
        return None, None
    return title, title
