"""BLINK: one mention a line, with left and right context.

    {"context_left": "In", "mention": "Orlan", "context_right": "it rained.",
     "query_id": "7:0", "label_id": 14, "label_title": "Orlan"}

"Wikipedia_ID" and "Wikipedia_title" of published files take precedence over "label_id", which may
be internal to BLINK. A "label_id" of -1 means that the mention is not annotated.
"""

from typing import Any

from sgtb.core.records import Document, Mention
from sgtb.formats.json_lines import JsonLine, number_or_text
from sgtb.formats.passages import Passage, document_of, is_exact, mention_id, passage_format

_NOT_ANNOTATED = -1


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


def _passage(line: JsonLine) -> Passage:
    parts = line.text("context_left"), line.text("mention"), line.text("context_right")
    query = line.fields.get("query_id", line.fields.get("id"))
    document = document_of(None if query is None else str(query))
    exact = is_exact(line, line.fields, parts[0])
    return Passage(line, document, parts, exact, gold=_gold_and_title(line))


def _gold_and_title(line: JsonLine) -> tuple[str | None, str | None]:
    title = line.optional_text("Wikipedia_title") or line.optional_text("label_title")
    for key in ("Wikipedia_ID", "label_id"):
        value = line.fields.get(key)
        if value is not None and value != _NOT_ANNOTATED:
            return line.entity(key), title
    if line.fields.get("label_id") == _NOT_ANNOTATED:
        return None, None
    return title, title


FORMAT = passage_format(
    _passage,
    _fields,
    name="blink",
    about="BLINK: a mention a line, between its contexts",
    endings=(".blink.jsonl",),
    json_keys=(("context_left", "mention"),),
)
