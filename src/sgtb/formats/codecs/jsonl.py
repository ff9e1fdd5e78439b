"""JSONL: the project's own format, one document a line, without losses.

    {"id": "d1", "text": "Orlan won.", "mentions": [{"start": 0, "end": 5, "entity": "Q7"}]}

`"entity": null` is NIL; without "entity" the mention is not annotated. A mention may have "title",
"type", "candidates" and "text", a document "split", and "tokens" and "sentences" if they differ
from those of the tokenizer. Other keys are ignored. The output of `sgtb link --json`, with "links"
instead of "mentions", is read too: start, end and entity of each link.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from sgtb.core.records import NIL, Document, Mention, Token, Tokens
from sgtb.formats.annotated import SPLITS, Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity
from sgtb.formats.error_handler import ErrorHandler
from sgtb.formats.json_lines import JsonLine, json_shown, line_format, readable, whole_number
from sgtb.text.tokenization import Segmented, segment, sentences


def _fields(document: Document) -> Iterator[dict[str, Any]]:
    fields: dict[str, Any] = {
        "id": document.id,
        "text": document.text,
        "mentions": [_mention_fields(mention) for mention in document.mentions],
    }
    if document.split:
        fields["split"] = document.split
    if document.tokens != segment(document.text).tokens:
        fields["tokens"] = [[start, end] for _, start, end in document.tokens]
    if document.sentences != sentences(document.text, document.tokens):
        fields["sentences"] = [list(sentence) for sentence in document.sentences]
    yield fields


def _mention_fields(mention: Mention) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": mention.start, "end": mention.end}
    if mention.gold is not None:
        fields["entity"] = None if mention.gold == NIL else mention.gold
    for key in ("title", "type"):
        if (value := getattr(mention, key)) is not None:
            fields[key] = value
    if mention.candidates is not None:
        fields["candidates"] = list(mention.candidates)
    return fields


def _document(line: JsonLine, handler: ErrorHandler) -> Document:
    text = line.text("text")
    split = line.optional_text("split") or ""
    if split not in SPLITS:
        raise line.error(f'"split" should be train, dev or test, not {json_shown(split)}')
    given, parse = ("mentions", _annotation)
    if "mentions" not in line.fields and "links" in line.fields:
        given, parse = "links", _link
    annotations = readable(line.items(given), partial(parse, line), handler)
    return annotated_document(
        line.id(), text, annotations, split=split, segmentation=_segmentation(line, text),
        error=line.error, handler=handler,
    )  # fmt: skip


def document_of(fields: dict[str, Any], number: int) -> Document:
    """Return the document of an object that is not from a file; errors name its number."""
    line = JsonLine("documents", number, {"id": str(number), **fields})
    return _document(line, ErrorHandler())


def _link(line: JsonLine, i: int, fields: Any) -> Annotation:
    """Read a link; its title, type and candidates are those of the linker, not of a corrector."""
    if isinstance(fields, dict):
        kept = fields.keys() & {"start", "end", "text", "entity"}
        fields = {key: fields[key] for key in kept}
    return _annotation(line, i, fields)


def _annotation(line: JsonLine, i: int, fields: Any) -> Annotation:
    given = line.within(fields, f"mention {i}", "start and end")
    texts: dict[str, Any] = {key: given.optional_text(key) for key in ("title", "type", "text")}
    candidates = fields.get("candidates")
    if candidates is not None and not isinstance(candidates, list):
        raise given.error(f'"candidates" should be a list of ids, not {json_shown(candidates)}')
    start, end = (whole_number(fields.get(key), key, given.error) for key in ("start", "end"))
    gold = None
    if "entity" in fields:
        gold = NIL if fields["entity"] is None else given.entity("entity")
    if candidates is not None:
        ids = (given._replace(fields={"candidates": one}) for one in candidates)
        candidates = tuple(one.entity("candidates") for one in ids)
    return Annotation(start, end, gold, candidates=candidates, **texts)


def _segmentation(line: JsonLine, text: str) -> Segmented | None:
    """Return the tokens and sentences of a line; None: it has none."""
    if line.fields.get("tokens") is None and line.fields.get("sentences") is None:
        return None
    tokens, lines = segment(text)
    if line.fields.get("tokens") is not None:
        spans = list(_pairs(line, "tokens"))
        ends = [0, *(end for _, end in spans)]
        for (start, end), before in zip(spans, ends, strict=False):
            if not before <= start < end <= len(text):
                raise line.error(
                    f'"tokens": [{start}, {end}] is not in the text after the token before it'
                )
        tokens = Tokens.of(Token(text[start:end], start, end) for start, end in spans)
        lines = sentences(text, tokens)
    if line.fields.get("sentences") is not None:
        lines = tuple(_pairs(line, "sentences"))
        ends = [0, *(stop for _, stop in lines)]
        if [first for first, _ in lines] != ends[:-1] or ends[-1] != len(tokens):
            raise line.error(f'"sentences" do not partition the {len(tokens)} tokens')
    return Segmented(tokens, lines)


def _pairs(line: JsonLine, key: str) -> Iterator[tuple[int, int]]:
    return (line._replace(fields={key: pair}).span(key) for pair in line.items(key))


FORMAT = line_format(
    _document,
    _fields,
    name="jsonl",
    about="the project's own: a document a line, without losses",
    capacity=Capacity(bare_titles=True),
    endings=(".jsonl", ".ndjson"),
    json_keys=(("text",),),
)
