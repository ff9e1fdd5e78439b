"""JSONL: the project's own format, one document a line, which holds all that a document is.

    {"id": "d1", "text": "Orlan won.", "mentions": [{"start": 0, "end": 5, "entity": "Q7"}]}

`"entity": null` says that the mention means nothing in the knowledge base; without "entity" it is
not annotated. A mention may have "title", "type", "candidates" and "text", a document "split", and
"tokens" and "sentences" where they are not those that the text gives by itself. Other keys are
passed over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention, Token, Tokens
from sgtb.formats.annotated import SPLITS, Annotation, annotated_document
from sgtb.formats.capacity import Capacity
from sgtb.formats.complaints import Complaints
from sgtb.formats.json_lines import (
    Line,
    checked_text,
    id_text,
    json_shown,
    read_lines,
    span_of,
    whole_number,
    write_lines,
)
from sgtb.text.tokenization import Segmented, segment, sentences

CAPACITY = Capacity(bare_titles=True)


def read_jsonl(path: Path, complaints: Complaints) -> Iterator[Document]:
    """Yield the documents of a file."""
    return read_lines(path, lambda line: _document(line, complaints), complaints)


def write_jsonl(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    return write_lines(path, documents, lambda document: (fields_of(document),))


def fields_of(document: Document) -> dict[str, Any]:
    """Return a document as plain data."""
    fields: dict[str, Any] = {
        "id": document.id,
        "text": document.text,
        "mentions": [_mention_fields(mention) for mention in document.mentions],
    }
    if document.split:
        fields["split"] = document.split
    usual = segment(document.text)
    if document.tokens != usual.tokens:
        fields["tokens"] = [[start, end] for _, start, end in document.tokens]
    if document.sentences != sentences(document.text, document.tokens):
        fields["sentences"] = [list(sentence) for sentence in document.sentences]
    return fields


def _mention_fields(mention: Mention) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": mention.start, "end": mention.end}
    if mention.gold is not None:
        fields["entity"] = None if mention.gold == NIL else mention.gold
    if mention.title is not None:
        fields["title"] = mention.title
    if mention.type is not None:
        fields["type"] = mention.type
    if mention.candidates is not None:
        fields["candidates"] = list(mention.candidates)
    return fields


def _document(line: Line, complaints: Complaints) -> Document:
    text = line.text("text")
    split = line.optional_text("split") or ""
    if split not in SPLITS:
        raise line.error(f'"split" should be train, dev or test, not {json_shown(split)}')
    annotations = []
    for i, fields in enumerate(line.items("mentions"), 1):
        try:
            annotations.append(_annotation(line, i, fields))
        except CorpusError as error:
            complaints.wrong(error)
    return annotated_document(
        line.id(),
        text,
        annotations,
        split=split,
        layout=_layout(line, text),
        error=line.error,
        complaints=complaints,
    )


def _annotation(line: Line, i: int, fields: Any) -> Annotation:
    def error(message: str) -> CorpusError:
        return line.error(f"mention {i}: {message}")

    if not isinstance(fields, dict):
        raise error(f"not an object with start and end, but {json_shown(fields)}")
    given = {
        key: checked_text(fields, key, error) if fields.get(key) is not None else None
        for key in ("title", "type", "text")
    }
    candidates = fields.get("candidates")
    if candidates is not None and not isinstance(candidates, list):
        raise error(f'"candidates" should be a list of ids, not {json_shown(candidates)}')
    return Annotation(
        whole_number(fields.get("start"), "start", error),
        whole_number(fields.get("end"), "end", error),
        _gold(fields, error),
        given["title"],
        given["type"],
        None if candidates is None else tuple(id_text(c, "candidates", error) for c in candidates),
        given["text"],
    )


def _gold(fields: dict[str, Any], error: Any) -> str | None:
    if "entity" not in fields:
        return None
    return NIL if fields["entity"] is None else id_text(fields["entity"], "entity", error)


def _layout(line: Line, text: str) -> Segmented | None:
    """Return the tokens and sentences that a line brings along; None: none."""
    if line.fields.get("tokens") is None and line.fields.get("sentences") is None:
        return None
    tokens, lines = segment(text)
    if line.fields.get("tokens") is not None:
        spans = list(_pairs(line, "tokens"))
        ends = [0, *(end for _, end in spans)]
        for (start, end), before in zip(spans, ends, strict=False):
            if not before <= start < end <= len(text):
                raise line.error(
                    f'"tokens": [{start}, {end}] is no part of the text behind those before it'
                )
        tokens = Tokens.of(Token(text[start:end], start, end) for start, end in spans)
        lines = sentences(text, tokens)
    if line.fields.get("sentences") is not None:
        lines = tuple(_pairs(line, "sentences"))
        ends = [0, *(stop for _, stop in lines)]
        if [first for first, _ in lines] != ends[:-1] or ends[-1] != len(tokens):
            raise line.error(f'"sentences" are not the {len(tokens)} tokens, one after the other')
    return Segmented(tokens, lines)


def _pairs(line: Line, key: str) -> Iterator[tuple[int, int]]:
    return (span_of(pair, key, line.error) for pair in line.items(key))
