"""AIDA file: AIDA-CoNLL as one file, `AIDA-YAGO2-dataset.tsv`, one token a line.

    -DOCSTART- (1 Orlan)
    Orlan   B   Orlan Rovers   Orlan_Rovers   http://en.wikipedia.org/wiki/Orlan_Rovers   12   /m/b
    Rovers  I   Orlan Rovers   Orlan_Rovers   http://en.wikipedia.org/wiki/Orlan_Rovers   12   /m/b
    won

with tabs between columns and an empty line after a sentence. `--NME--` instead of an entity is
NIL. The text consists of the tokens with spaces between them, and newlines between sentences.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention, Token, Tokens
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.codecs.aida_conll import (
    ANNOTATIONS,
    HEADER,
    HEADER_SPLIT,
    NO_ENTITY,
    TokenLines,
    join_tokens,
    read_aida,
)
from sgtb.formats.corpus_format import Capacity, FileHead, Format, write_file
from sgtb.formats.corpus_source import SourceFile, shown, text_lines, unescape_title
from sgtb.formats.error_handler import ErrorHandler
from sgtb.text.tokenization import Segmented, segment, touched_tokens

_DOCSTART = "-DOCSTART-"
_ANY_HEADER = re.compile(r"-DOCSTART- \((.*)\)")
_SUFFIX = {split: suffix for suffix, split in HEADER_SPLIT.items()}
_NUMBER = re.compile(r"[0-9]{1,9}")
_SPACE = re.compile(r"\s")
_BREAK = re.compile(r"[\t\n\r]")
_ESCAPED = re.compile(r"[\t\n\r\\]")
_NO_IDS = ("", "000")
_WIKIPEDIA = "http://en.wikipedia.org/wiki/"


def read_aida_file(path: Path, handler: ErrorHandler) -> Iterator[Document]:
    """Yield the documents of a file, or of the folder that it is made from."""
    if path.is_dir():
        yield from read_aida(path)
        return
    source = SourceFile(str(path), b"")
    draft: _Draft | None = None
    for n, line in text_lines(path):
        with handler.skipping():
            if line.startswith(_DOCSTART):
                id_, split = _read_header(source, n, line)
                if draft is not None:
                    yield draft.document(source, handler)
                draft = _Draft(id=id_, split=split, line=n)
            elif draft is None:
                if line:
                    raise source.error(n, f"expected -DOCSTART- first, found {shown(line)}")
            elif line:
                columns = _columns(source, n, line)
                if not draft.add(columns):
                    raise source.error(n, "I continues a name, but no name precedes it")
            else:
                draft.end_sentence()
    if draft is None:
        raise source.error(1, "the file has no document")
    yield draft.document(source, handler)


class _Columns(NamedTuple):
    """A line: token, and if it is part of a name, B or I and its annotation."""

    token: str
    tag: str = ""
    gold: str | None = None
    title: str | None = None


@dataclass(kw_only=True)
class _Draft(TokenLines):
    """A document while its lines are read; names are (first, stop, gold, title)."""

    id: str
    line: int
    names: list[tuple[int, int, str | None, str | None]] = field(default_factory=list)

    def add(self, columns: _Columns) -> bool:
        """Add a token; return False if it continues a name that there is not."""
        at = len(self.words)
        if columns.tag == "I":
            if not self.names or self.names[-1][1] != at:
                return False
            first, _, gold, title = self.names.pop()
            self.names.append((first, at + 1, gold, title))
        elif columns.tag == "B":
            self.names.append((at, at + 1, columns.gold, columns.title))
        self.words.append(columns.token)
        return True

    def document(self, source: SourceFile, handler: ErrorHandler) -> Document:
        self.end_sentence()
        text, tokens = join_tokens(self.words, self.sentences)
        annotations = [
            Annotation(tokens.starts[first], tokens.ends[stop - 1], gold, title)
            for first, stop, gold, title in self.names
        ]
        return annotated_document(
            self.id, text, annotations, split=self.split,
            segmentation=Segmented(tokens, tuple(self.sentences)),
            error=lambda message: source.error(self.line, message), handler=handler,
        )  # fmt: skip


def _read_header(source: SourceFile, n: int, line: str) -> tuple[str, str]:
    """Return id and split; documents of other corpora may have any id, and no split."""
    own = HEADER.fullmatch(line)
    if own is not None:
        return own[1], HEADER_SPLIT[own[2]]
    other = _ANY_HEADER.fullmatch(line)
    if other is None:
        raise source.error(n, f"expected -DOCSTART- (id), found {shown(line)}")
    return other[1], ""


def _columns(source: SourceFile, n: int, line: str) -> _Columns:
    token, *rest = line.split("\t")
    if not token or _SPACE.search(token):
        raise source.error(n, f"expected a token first, found {shown(line)}")
    if not rest:
        return _Columns(token)
    if not 3 <= len(rest) <= 6 or rest[0] not in ("B", "I"):
        raise source.error(
            n, f"expected a token, or token, B or I, mention and entity, found {shown(line)}"
        )
    return _Columns(token, rest[0], *_entity(rest[2:]))


def _entity(columns: list[str]) -> tuple[str | None, str | None]:
    """Return gold and title from the columns YAGO2 entity, URL, Wikipedia id and further ones."""
    if columns[0] == NO_ENTITY:
        return NIL, None
    title = unescape_title(columns[0]) or None
    id_ = columns[2] if len(columns) > 2 else ""
    named = _BREAK.sub(" ", title) if title is not None and id_ in _NO_IDS else id_
    return (NIL, None) if named in ("", NIL) else (named, title)


def _entity_columns(mention: Mention) -> list[str]:
    if mention.gold == NIL:
        return [NO_ENTITY]
    title, gold = mention.title or "", _BREAK.sub(" ", mention.gold or "")
    escaped = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", title).replace(" ", "_")
    url = _WIKIPEDIA + quote(title.replace(" ", "_")) if title else ""
    return [escaped, url, gold]


def _lines(document: Document) -> Iterator[str]:
    """Yield the lines of an adjusted document."""
    yield f"{_header(document)}\n"
    columns = {}
    for mention in document.mentions:
        name = " ".join(document.tokens.texts[mention.first : mention.stop])
        entity = "\t".join((name, *_entity_columns(mention)))
        for i in range(mention.first, mention.stop):
            columns[i] = f"\t{'B' if i == mention.first else 'I'}\t{entity}"
    ends = {stop for _, stop in document.sentences[:-1]}
    for i, word in enumerate(document.tokens.texts):
        if i in ends:
            yield "\n"
        yield f"{word}{columns.get(i, '')}\n"
    yield "\n"


def _header(document: Document) -> str:
    id_ = _BREAK.sub(" ", document.id)
    if document.split in _SUFFIX and _NUMBER.fullmatch(id_):
        word = document.tokens.texts[0] if document.tokens else ""
        id_ = f"{id_}{_SUFFIX[document.split]} {word}"
    return f"{_DOCSTART} ({id_})"


def _adjust(document: Document) -> Document:
    """Return a document whose text is tokens in sentences, split at the borders of mentions."""
    tokens, lines = document.tokens, document.sentences
    if any(_SPACE.search(text) or text.startswith(_DOCSTART) for text in tokens.texts):
        tokens, lines = segment(document.text)
    split_tokens, index = _split_tokens(tokens, document.mentions)
    bounds = tuple((index[first], index[stop]) for first, stop in lines)
    text, words = join_tokens(split_tokens.texts, bounds)
    mentions = []
    for mention in document.mentions:
        first, stop = touched_tokens(split_tokens, mention.start, mention.end)
        if first == stop:
            raise CorpusError(f"document {shown(document.id)}: a mention has no visible token")
        start, end = words[first].start, words[stop - 1].end
        gold, title = _entity(_entity_columns(mention))
        mention = replace(mention, start=start, end=end, first=first, stop=stop)
        mentions.append(replace(mention, text=text[start:end], gold=gold, title=title))
    id_, split = _read_header(SourceFile("", b""), 0, _header(document))
    return Document(id_, text, words, bounds, mentions=tuple(mentions), split=split)


def _split_tokens(tokens: Tokens, mentions: Sequence[Mention]) -> tuple[Tokens, list[int]]:
    """Return tokens split at the borders of mentions, and i4[tokens + 1], their new indices."""
    borders = sorted({at for mention in mentions for at in (mention.start, mention.end)})
    parts: list[Token] = []
    index = []
    for token in tokens:
        index.append(len(parts))
        inside = borders[bisect_right(borders, token.start) : bisect_left(borders, token.end)]
        for start, end in pairwise((token.start, *inside, token.end)):
            parts.append(Token(token.text[start - token.start : end - token.start], start, end))
    return Tokens.of(parts), [*index, len(parts)]


def _is_aida(head: FileHead) -> bool:
    return head.start.startswith(_DOCSTART.encode()) or (head.path / ANNOTATIONS).is_file()


FORMAT = Format(
    name="aida",
    about="AIDA-CoNLL: AIDA-YAGO2-dataset.tsv, or the folder that it is made from",
    read=read_aida_file,
    write=partial(write_file, _lines),
    capacity=Capacity(
        types=False, candidates=False, unannotated=False, overlaps="none", adjust=_adjust
    ),
    endings=(".tsv",),
    detects=_is_aida,
)
