"""ELEVANT: one article a line, with ground truth labels.

    {"id": 7, "title": "A game", "text": "Orlan won.", "evaluation_span": [0, 10],
     "labels": [{"id": 0, "span": [0, 5], "entity_id": "Q7", "name": "Orlan", "parent": null,
                 "children": [], "optional": false, "type": "Q43229"}]}

An entity id that begins with "Unknown" is NIL.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.json_lines import JsonLine, line_format, number_or_text, readable

_UNKNOWN = "Unknown"


def _fields(document: Document) -> Iterator[dict[str, Any]]:
    labels = [_label(i, mention) for i, mention in enumerate(document.mentions)]
    for child, parent in _nested(document.mentions):
        labels[child]["parent"] = parent
        labels[parent]["children"].append(child)
    yield {
        "id": number_or_text(document.id),
        "title": document.id,
        "text": document.text,
        "evaluation_span": [0, len(document.text)],
        "labels": labels,
    }


def _label(i: int, mention: Mention) -> dict[str, Any]:
    known = mention.gold != NIL
    return {
        "id": i,
        "span": [mention.start, mention.end],
        "entity_id": mention.gold if known else _UNKNOWN,
        "name": (mention.title or "") if known else _UNKNOWN,
        "parent": None,
        "children": [],
        "optional": False,
        "type": mention.type or "",
    }


def _nested(mentions: tuple[Mention, ...]) -> Iterator[tuple[int, int]]:
    """Yield the index of every nested mention, and that of the smallest mention around it."""
    stack: list[int] = []
    for i in sorted(range(len(mentions)), key=lambda i: (mentions[i].start, -mentions[i].end)):
        while stack and mentions[stack[-1]].end < mentions[i].end:
            stack.pop()
        if stack:
            yield i, stack[-1]
        stack.append(i)


def _document(line: JsonLine, handler: ErrorHandler) -> Document:
    annotations = readable(line.required_items("labels"), partial(_annotation, line), handler)
    return annotated_document(
        line.id(), line.text("text"), annotations, error=line.error, handler=handler
    )


def _annotation(line: JsonLine, i: int, label: Any) -> Annotation:
    given = line.within(label, f"label {i}", "span and entity_id")
    span, entity = given.span("span"), given.entity("entity_id")
    gold, title = NIL, None
    if not entity.startswith(_UNKNOWN):
        gold, title = entity, given.optional_text("name") or None
    return Annotation(*span, gold, title, given.optional_text("type") or None)


def _adjust(document: Document) -> Document:
    """Return a document with NIL for ids that ELEVANT takes for unknown."""
    mentions = tuple(
        replace(mention, gold=NIL, title=None) if (mention.gold or "").startswith(_UNKNOWN)
        else mention
        for mention in document.mentions
    )  # fmt: skip
    return replace(document, mentions=mentions)


FORMAT = line_format(
    _document,
    _fields,
    name="elevant",
    about="ELEVANT: an article a line, with labels",
    capacity=Capacity(candidates=False, splits=False, unannotated=False, adjust=_adjust),
    endings=(".benchmark.jsonl", ".elevant.jsonl"),
    json_keys=(("labels", "text"),),
)
