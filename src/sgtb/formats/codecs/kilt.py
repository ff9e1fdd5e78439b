"""KILT: one mention a line, marked in its text, with its Wikipedia page.

    {"id": "7:0", "input": "In [START_ENT] Orlan [END_ENT] it rained.",
     "output": [{"answer": "Orlan", "provenance": [{"wikipedia_id": "14", "title": "Orlan"}]}],
     "meta": {"left_context": "In", "mention": "Orlan", "right_context": "it rained."}}

The text is that of "meta", because "input" may be truncated. A mention without "output" is not
annotated.
"""

import re
from typing import Any

from sgtb.core.records import Document, Mention
from sgtb.formats.json_lines import JsonLine, json_shown
from sgtb.formats.passages import Passage, document_of, is_exact, mention_id, passage_format

_START, _END = "[START_ENT]", "[END_ENT]"
_UNIQUE = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}_")
_PARTS = ("left_context", "mention", "right_context")


def _fields(document: Document, i: int, mention: Mention) -> dict[str, Any]:
    left, right = document.text[: mention.start], document.text[mention.end :]
    return {
        "id": mention_id(document, i),
        "input": f"{left.strip()} {_START} {mention.text} {_END} {right.strip()}",
        "output": [] if mention.gold is None else [_output(mention)],
        "meta": {
            "left_context": left,
            "mention": mention.text,
            "right_context": right,
            "start": mention.start,
        },
    }


def _output(mention: Mention) -> dict[str, Any]:
    page = {"wikipedia_id": mention.gold}
    if mention.title is None:
        return {"provenance": [page]}
    return {"answer": mention.title, "provenance": [{**page, "title": mention.title}]}


def _passage(line: JsonLine) -> Passage:
    meta = line.fields.get("meta")
    if isinstance(meta, dict) and isinstance(meta.get("mention"), str):
        left, mention, right = map(line._replace(fields=meta).text, _PARTS)
        parts, exact = (left, mention, right), is_exact(line, meta, left)
    else:
        parts, exact = _marked(line), False
    id_ = line.id() if "id" in line.fields else None
    if id_ is not None and not exact:
        id_ = _UNIQUE.sub("", id_, 1)
    return Passage(line, document_of(id_), parts, exact, gold=_gold_and_title(line))


def _marked(line: JsonLine) -> tuple[str, str, str]:
    left, start, rest = line.text("input").partition(_START)
    mention, end, right = rest.partition(_END)
    if not start or not end:
        raise line.error(f'neither "meta" with the mention nor {_START} and {_END} in "input"')
    return left, mention, right


def _gold_and_title(line: JsonLine) -> tuple[str | None, str | None]:
    """Return gold and title of the first answer that names a page."""
    for output in line.items("output"):
        pages = output.get("provenance") if isinstance(output, dict) else None
        if pages is None:
            continue
        if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
            raise line.error(f'"provenance" should be a list of pages, not {json_shown(pages)}')
        for page in pages:
            if page.get("wikipedia_id") is not None:
                gold = line._replace(fields=page).entity("wikipedia_id")
                named, key = (page, "title") if page.get("title") else (output, "answer")
                return gold, line._replace(fields=named).text(key) if named.get(key) else None
    return None, None


FORMAT = passage_format(
    _passage,
    _fields,
    name="kilt",
    about="KILT: a mention a line, marked in its text",
    endings=(".kilt.jsonl",),
    json_keys=(("input", "output"), ("input", "meta")),
)
