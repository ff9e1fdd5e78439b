"""Chunks: documents with tokens and mentions, split where they have too many mentions.

A search takes n² steps for n mentions, and mentions far apart say little about each other. A
document of more than MOST mentions is split between sentences, and each chunk is searched alone.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import repeat
from operator import attrgetter
from typing import Any

from sgtb.core.errors import RequestError
from sgtb.core.records import Document, Mention, from_columns
from sgtb.linking.links import Request, Span
from sgtb.linking.mentions.mention_detection import NameFinder, checked_spans, token_range
from sgtb.text.tokenization import Tokenizer, segment

MOST = 400


@dataclass(frozen=True)
class Chunk:
    """A document, or a part of a long one."""

    document: Document
    fixed: tuple[bool, ...]  # per mention, whether the caller gave its entity
    first: int = 0  # the place of its first mention in the whole document


def chunk_from_request(
    request: Request, names: NameFinder, tokenizer: Tokenizer = segment
) -> Chunk:
    """Return a request as a document; mentions are found by their names where none are given."""
    _check_request(request)
    text = request.text
    tokens, lines = tokenizer(text)
    if request.spans is None:
        mentions = names.find(text, tokens, lines)
        return Chunk(Document(request.id, text, tokens, lines, mentions), (False,) * len(mentions))
    spans = checked_spans(text, request.spans)
    mentions = tuple(
        Mention(
            span.start, span.end, *token_range(tokens, span.start, span.end),
            text[span.start : span.end],
            # What is fixed has no other candidate: so the others see that it is certain.
            candidates=span.candidates if span.fixed is None else (span.fixed,),
        )
        for span in spans
    )  # fmt: skip
    fixed = tuple(span.fixed is not None for span in spans)
    return Chunk(Document(request.id, text, tokens, lines, mentions), fixed)


def chunk_from_document(document: Document) -> Chunk:
    """Return a document without what is annotated: candidates stay, gold and types go."""
    check_document(document)
    mentions = document.mentions
    if any(m.gold is not None or m.title is not None or m.type is not None for m in mentions):
        kept = ("start", "end", "first", "stop", "text", "candidates")
        columns: dict[str, Iterable[Any]] = {name: map(attrgetter(name), mentions) for name in kept}
        hidden = dict.fromkeys(("gold", "title", "type"), repeat(None))
        mentions = from_columns(Mention, len(mentions), columns | hidden)
        document = replace(document, mentions=mentions)
    return Chunk(document, (False,) * len(mentions))


def _check_request(request: Request) -> None:
    """Raise unless what a request holds is of the kinds it should be of."""
    for name, value in (("text", request.text), ("id", request.id)):
        if not isinstance(value, str):
            raise RequestError(f"the {name} of a request is {value!r:.80}; it must be a string")
    if request.spans is None:
        return
    if not isinstance(request.spans, tuple | list):
        raise RequestError(
            f"the spans of a request are {request.spans!r:.80}; give a tuple of Span, or None for "
            "mentions to be found"
        )
    for span in request.spans:
        if not isinstance(span, Span):
            raise RequestError(f"a span of a request is {span!r:.80}; it must be a Span")
        if not isinstance(span.candidates, tuple | list | None):
            raise RequestError(
                f"the candidates of a span are {span.candidates!r:.80}; give a tuple of entity ids"
            )
        fixed = () if span.fixed is None else (span.fixed,)
        for id_ in (*fixed, *(span.candidates or ())):
            if not isinstance(id_, str):
                raise RequestError(f"a span names the entity {id_!r:.80}; an id is a string")


def check_document(document: Document) -> None:
    """Raise unless all that is counted in tokens is within them."""
    n, ends = len(document.tokens), [0, *(stop for _, stop in document.sentences)]
    begins = [first for first, _ in document.sentences]
    if begins != ends[:-1] or ends[-1] != n or ends != sorted(ends):
        raise RequestError(
            f"document {document.id!r}: its sentences are not its {n} tokens, one after the other"
        )
    for mention in document.mentions:
        if not 0 <= mention.first < mention.stop <= n:
            raise RequestError(
                f"document {document.id!r}: the mention {mention.text!r:.80} has the tokens "
                f"{mention.first} to {mention.stop} of {n}"
            )


def split_into_chunks(chunk: Chunk, most: int = MOST) -> list[Chunk]:
    """Split a document into chunks of at most `most` mentions, between sentences where possible."""
    mentions = chunk.document.mentions
    if len(mentions) <= most:
        return [chunk]
    ends = [stop for _, stop in chunk.document.sentences]
    sentence_of = [bisect_right(ends, mention.first) for mention in mentions]
    chunks: list[Chunk] = []
    first, first_token = 0, 0
    while first < len(mentions):
        last, stop_token = len(mentions), len(chunk.document.tokens)
        if last - first > most:
            last = _border(sentence_of, first, first + most)
            begins = chunk.document.sentences[sentence_of[last]][0]
            stop_token = begins if mentions[last - 1].stop <= begins else mentions[last].first
        part = chunk.document.part((first, last), (first_token, stop_token))
        chunks.append(Chunk(part, chunk.fixed[first:last], first))
        first, first_token = last, stop_token
    return chunks


def _border(sentence_of: list[int], first: int, last: int) -> int:
    """Return the mention to split before: the last one up to `last` that opens a sentence."""
    for i in range(last, first, -1):
        if sentence_of[i] != sentence_of[i - 1]:
            return i
    return last
