"""Renderings of a test split: what the layout of a text costs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from sgtb.core.records import Document, Mention, Token, Tokens
from sgtb.linking.training.renderings import lower_case, paragraphs, prose, rendered

JOINED = 10
"""Documents that are joined to a long one."""


def joined(documents: Iterable[Document], size: int = JOINED) -> list[Document]:
    """Join every so many successive documents to one, separated by empty lines."""
    rest = iter(documents)
    return [_concatenated(group) for group in iter(lambda: list(islice(rest, size)), [])]


RENDERINGS: dict[str, Callable[[Iterable[Document]], list[Document]]] = {
    "as read": list,
    "tokens on one line": lambda documents: [rendered(d, lambda *_: " ") for d in documents],
    "detokenized prose": lambda documents: [prose(d) for d in documents],
    "all lower case": lambda documents: [lower_case(d) for d in documents],
    "each paragraph alone": lambda documents: [part for d in documents for part in paragraphs(d)],
    "ten documents joined": joined,
}


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
