"""Renderings: annotated documents as other publishers would print them.

Features that only hold for the layout of one corpus do not help on other texts. So training
documents are read a second time in another rendering, and experiments measure what a rendering
costs.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.records import Document, Mention, Token, Tokens
from sgtb.text.tokenization import mention_at, segment

PARAGRAPH = 60
"""Tokens after which a paragraph ends with its sentence; AIDA-CoNLL marks no paragraphs."""
JOINED = 10
"""Documents that are joined to a long one."""

_NO_SPACE_BEFORE = re.compile(r"[.,;:!?)\]%]|'(?:s|S|t|re|ve|ll|d|m)?|n't|''")
_NO_SPACE_AFTER = frozenset("([$#`")


def as_read(documents: Iterable[Document]) -> list[Document]:
    """Return the documents unchanged."""
    return list(documents)


def one_line(documents: Iterable[Document]) -> list[Document]:
    """Join all tokens by single spaces, without line breaks."""
    return [_rendered(document, lambda *_: " ") for document in documents]


def prose(documents: Iterable[Document]) -> list[Document]:
    """Undo the tokenization: running text with the spaces of print, without line breaks."""
    return [_rendered(document, _print_space()) for document in documents]


def lower_case(documents: Iterable[Document]) -> list[Document]:
    """Put the text in lower case; lines stay."""
    return [_rendered(_lowered(document), _line_break(document)) for document in documents]


def paragraphs(documents: Iterable[Document]) -> list[Document]:
    """Make a document of every paragraph."""
    return [part for document in documents for part in _paragraphs(document)]


def joined(documents: Iterable[Document], size: int = JOINED) -> list[Document]:
    """Join every so many successive documents to one, separated by empty lines."""
    rest = iter(documents)
    return [_concatenated(group) for group in iter(lambda: list(islice(rest, size)), [])]


class Copies(NamedTuple):
    """Renderings of documents, and the index of the document of each."""

    documents: list[Document]
    source: Longs


def renderings_of(documents: Sequence[Document]) -> Copies:
    """Return the paragraphs of all documents, every second one as prose.

    A document of one paragraph is returned as prose or in lower case.
    """
    found, source = list[Document](), list[int]()
    for d, document in enumerate(documents):
        parts = _paragraphs(document)
        other = as_read if len(parts) > 1 else lower_case
        found += [(other if p % 2 else prose)([part])[0] for p, part in enumerate(parts, d)]
        source += [d] * len(parts)
    return Copies(found, np.array(source, np.int64))


RENDERINGS: dict[str, Callable[[Iterable[Document]], list[Document]]] = {
    "as read": as_read,
    "tokens on one line": one_line,
    "detokenized prose": prose,
    "all lower case": lower_case,
    "each paragraph alone": paragraphs,
    "ten documents joined": joined,
}

Separator = Callable[[str, str, int], str]
"""From a token, the next one and the next one's index to what is printed between them."""


def _rendered(document: Document, separator: Separator) -> Document:
    """Print the tokens with other separators, and tokenize again."""
    words = document.tokens.texts
    text, starts, ends = "", [], []
    for i, word in enumerate(words):
        if i:
            text += separator(words[i - 1], word, i)
        starts.append(len(text))
        text += word
        ends.append(len(text))
    tokens, sentences = segment(text)
    mentions = []
    for mention in document.mentions:
        start, end = starts[mention.first], ends[mention.stop - 1]
        found = mention_at(text, tokens, start, end)
        if found is None:
            raise ValueError(f"{document.id}: {mention.text!r} has no token")
        kept = {key: getattr(mention, key) for key in ("gold", "title", "type", "candidates")}
        mentions.append(replace(found, **kept))
    return Document(document.id, text, tokens, sentences, tuple(mentions), document.split)


def _print_space() -> Separator:
    """Return the separators of print; every other double quote closes."""
    quotes = 0

    def separator(before: str, word: str, at: int) -> str:
        nonlocal quotes
        quotes += before == '"'
        if _NO_SPACE_BEFORE.fullmatch(word) or before in _NO_SPACE_AFTER:
            return ""
        if (word == '"' and quotes % 2) or (before == '"' and quotes % 2):
            return ""
        return " "

    return separator


def _line_break(document: Document) -> Separator:
    begins = {first for first, _ in document.sentences}
    return lambda before, word, at: "\n" if at in begins else " "


def _lowered(document: Document) -> Document:
    tokens = [token._replace(text=token.text.lower()) for token in document.tokens]
    return replace(document, tokens=Tokens.of(tokens))


def _paragraphs(document: Document) -> list[Document]:
    bounds, begin = [], 0
    split = {t for m in document.mentions for t in range(m.first + 1, m.stop)}
    for _, stop in document.sentences:
        if stop - begin >= PARAGRAPH and stop not in split:  # some mentions cross lines
            bounds.append((begin, stop))
            begin = stop
    if begin < len(document.tokens):
        if bounds and len(document.tokens) - begin < PARAGRAPH // 2:
            begin = bounds.pop()[0]
        bounds.append((begin, len(document.tokens)))
    parts = []
    for number, (first, stop) in enumerate(bounds):
        lines = tuple((a - first, b - first) for a, b in document.sentences if first <= a < stop)
        mentions = tuple(
            replace(m, first=m.first - first, stop=m.stop - first)
            for m in document.mentions
            if first <= m.first < stop
        )
        if mentions:
            part = replace(
                document, id=f"{document.id} {number}", tokens=document.tokens[first:stop],
                sentences=lines, mentions=mentions,
            )  # fmt: skip
            parts.append(_rendered(part, _line_break(part)))
    return parts


def _concatenated(documents: Sequence[Document]) -> Document:
    texts, sentences, mentions = list[str](), list[tuple[int, int]](), list[Mention]()
    tokens = list[Token]()
    at = 0
    for document in documents:
        shift = len(tokens)
        tokens += [t._replace(start=t.start + at, end=t.end + at) for t in document.tokens]
        sentences += [(a + shift, b + shift) for a, b in document.sentences]
        mentions += [
            replace(m, start=m.start + at, end=m.end + at, first=m.first + shift,
                    stop=m.stop + shift)
            for m in document.mentions
        ]  # fmt: skip
        texts.append(document.text)
        at += len(document.text) + 2
    first = documents[0]
    return Document(
        first.id,
        "\n\n".join(texts),
        Tokens.of(tokens),
        tuple(sentences),
        tuple(mentions),
        first.split,
    )
