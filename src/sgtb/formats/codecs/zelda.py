"""ZELDA: one document a line, with spans of mentions and their Wikipedia pages.

{"id": "7", "text": "Orlan won.", "index": [[0, 5]], "wikipedia_ids": [14],
 "wikipedia_titles": ["Orlan"]}
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from sgtb.core.records import Document
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.json_lines import JsonLine, json_shown, line_format, number_or_text, readable

_LISTS = ("index", "wikipedia_ids", "wikipedia_titles")


def _fields(document: Document) -> Iterator[dict[str, Any]]:
    mentions = document.mentions
    yield {
        "id": document.id,
        "text": document.text,
        "index": [[mention.start, mention.end] for mention in mentions],
        "wikipedia_ids": [number_or_text(mention.gold or "") for mention in mentions],
        "wikipedia_titles": [mention.title for mention in mentions],
    }


def _document(line: JsonLine, handler: ErrorHandler) -> Document:
    spans, ids, titles = (line.required_items(key) for key in _LISTS)
    if not len(spans) == len(ids) == len(titles):
        raise line.error(
            f"{len(spans)} spans, {len(ids)} ids and {len(titles)} titles; "
            "their numbers must be equal"
        )
    rows = zip(spans, ids, titles, strict=True)
    annotations = readable(rows, partial(_annotation, line), handler)
    return annotated_document(
        line.id(), line.text("text"), annotations, error=line.error, handler=handler
    )


def _annotation(line: JsonLine, i: int, row: tuple[Any, Any, Any]) -> Annotation:
    given = line.within(dict(zip(_LISTS, row, strict=True)), f"mention {i}", "")
    title = row[2]
    if title is not None and not isinstance(title, str):
        raise given.error(f'"wikipedia_titles" should be strings, not {json_shown(title)}')
    span, gold = given.span("index"), given.entity("wikipedia_ids")
    return Annotation(*span, gold, given.text("wikipedia_titles") if title else None)


FORMAT = line_format(
    _document,
    _fields,
    name="zelda",
    about="ZELDA: a document a line, with spans, ids and titles in lists",
    capacity=Capacity(types=False, candidates=False, splits=False, nil=False, unannotated=False),
    endings=(".zelda.jsonl",),
    json_keys=(("index", "text"),),
)
