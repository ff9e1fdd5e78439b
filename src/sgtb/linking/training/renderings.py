"""Renderings: annotated documents as other publishers would print them.

Features that only hold for the layout of one corpus do not help on other texts, so training
documents are read a second time in another rendering.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sgtb.core.dtypes import Longs
from sgtb.core.records import Document, Tokens
from sgtb.text.tokenization import mention_at, segment

PARAGRAPH = 60
"""Tokens after which a paragraph ends with its sentence; AIDA-CoNLL marks no paragraphs."""

_NO_SPACE_BEFORE = re.compile(r"[.,;:!?)\]%]|'(?:s|S|t|re|ve|ll|d|m)?|n't|''")
_NO_SPACE_AFTER = frozenset("([$#`")


Separator = Callable[[str, str, int], str]
"""From a token, the next one and the next one's index to what is printed between them."""


def renderings_of(documents: Sequence[Document]) -> tuple[list[Document], Longs]:
    """Return the paragraphs of all documents, every second one as prose, and their documents.

    A document of one paragraph is returned as prose or in lower case.
    """
    found, source = list[Document](), list[int]()
    for d, document in enumerate(documents):
        parts = paragraphs(document)
        for p, part in enumerate(parts, d):
            as_is = p % 2 and len(parts) > 1
            found.append(part if as_is else lower_case(part) if p % 2 else prose(part))
        source += [d] * len(parts)
    return found, np.array(source, np.int64)


def rendered(document: Document, separator: Separator) -> Document:
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


def prose(document: Document) -> Document:
    """Undo the tokenization: running text with the spaces of print, without line breaks."""
    quotes = 0

    def separator(before: str, word: str, at: int) -> str:
        nonlocal quotes
        quotes += before == '"'  # every other double quote closes
        close = _NO_SPACE_BEFORE.fullmatch(word) or before in _NO_SPACE_AFTER
        return "" if close or ('"' in (word, before) and quotes % 2) else " "

    return rendered(document, separator)


def lower_case(document: Document) -> Document:
    """Put the text in lower case; lines stay."""
    tokens = [token._replace(text=token.text.lower()) for token in document.tokens]
    return rendered(replace(document, tokens=Tokens.of(tokens)), _line_break(document))


def _line_break(document: Document) -> Separator:
    begins = {first for first, _ in document.sentences}
    return lambda before, word, at: "\n" if at in begins else " "


def paragraphs(document: Document) -> list[Document]:
    """Make a document of every paragraph with a mention."""
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
            parts.append(rendered(part, _line_break(part)))
    return parts
