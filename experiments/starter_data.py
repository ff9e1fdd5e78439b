"""Starter data: the documents and contrast pairs that ship with the package."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import Document, Mention
from sgtb.linking.links import Span
from sgtb.linking.mentions.mention_detection import checked_spans, token_range
from sgtb.starter import CONTRAST, DOCUMENTS, KINDS
from sgtb.text.tokenization import sentences, tokenize

SPLITS = ("train", "dev", "test")
_PAIR = "contrast"
_MARK = re.compile(r"\[\[([^|\]]+)(?:\|([^\]]+))?\]\]")


class ContrastPair(NamedTuple):
    """A name, and two texts in which it means different entities."""

    name: str
    one: Document
    two: Document


class KindText(NamedTuple):
    """A text and its kind: news, chat, tweet, …"""

    kind: str
    document: Document


def read_starter(path: Path = DOCUMENTS) -> dict[str, tuple[Document, ...]]:
    """Return the documents by split."""
    found: dict[str, list[Document]] = {split: [] for split in SPLITS}
    for block in _blocks(path, SPLITS, 1):
        split, (text,) = block.kind, block.texts
        found[split].append(marked_document(f"{split} {block.line}", text, split))
    return {split: tuple(documents) for split, documents in found.items()}


def read_kinds(path: Path = KINDS) -> dict[str, tuple[KindText, ...]]:
    """Return the texts of many kinds by split; a line break is written as \\n."""
    found: dict[str, list[KindText]] = {split: [] for split in SPLITS}
    for block in _blocks(path, SPLITS, 1):
        text = block.texts[0].replace("\\n", "\n")
        document = marked_document(f"{block.kind} {block.line}", text, block.kind)
        found[block.kind].append(KindText(block.names[0], document))
    return {split: tuple(texts) for split, texts in found.items()}


def read_contrast(path: Path = CONTRAST) -> tuple[ContrastPair, ...]:
    """Return the contrast pairs."""
    pairs = []
    for block in _blocks(path, (_PAIR,), 2):
        name = block.names[0].replace("_", " ")
        one, two = (
            marked_document(f"{name} {i}", text, "test") for i, text in enumerate(block.texts, 1)
        )
        pairs.append(ContrastPair(name, one, two))
    return tuple(pairs)


def marked_document(id_: str, marked: str, split: str = "") -> Document:
    """Return a document from a text with marks: [[id|surface]], or [[id]] where they are equal."""
    text, spans, golds, end = "", [], [], 0
    for mark in _MARK.finditer(marked):
        text += marked[end : mark.start()]
        surface = mark[2] or mark[1]
        spans.append(Span(len(text), len(text) + len(surface)))
        golds.append(mark[1])
        text += surface
        end = mark.end()
    text += marked[end:]
    tokens = tokenize(text)
    mentions = tuple(
        Mention(s.start, s.end, *token_range(tokens, s.start, s.end),
                text[s.start : s.end], gold)
        for s, gold in zip(checked_spans(text, spans), golds, strict=True)
    )  # fmt: skip
    return Document(id_, text, tokens, sentences(text, tokens), mentions, split)


class _Block(NamedTuple):
    """A header with the number of its line, and the texts below it."""

    line: int
    kind: str
    names: list[str]
    texts: list[str]


def _blocks(path: Path, kinds: tuple[str, ...], n_texts: int) -> Iterator[_Block]:
    lines = path.read_text("utf-8").splitlines()
    for at in range(0, len(lines), n_texts + 1):
        head = lines[at].split()
        texts = lines[at + 1 : at + 1 + n_texts]
        if len(head) < 3 or head[0] != "#" or head[1] not in kinds or len(texts) < n_texts:
            below = "a line of text" if n_texts == 1 else f"{n_texts} lines of text"
            raise CorpusError(
                f"{path}, line {at + 1}: {lines[at][:40]!r}, but expected "
                f"'# {'|'.join(kinds)} <name>' with {below} below it"
            )
        for i, text in enumerate(texts, at + 2):
            rest = _MARK.sub("", text)
            if text.startswith("# ") or "[[" in rest or "]]" in rest:
                raise CorpusError(
                    f"{path}, line {i}: {text[:40]!r} is no text with marks such as [[id|surface]]"
                )
        yield _Block(at + 1, head[1], head[2:], texts)
