"""AIDA file: AIDA-CoNLL as one file, a token a line, `AIDA-YAGO2-dataset.tsv`.

    -DOCSTART- (1 Orlan)
    Orlan   B   Orlan Rovers   Orlan_Rovers   http://en.wikipedia.org/wiki/Orlan_Rovers   12   /m/b
    Rovers  I   Orlan Rovers   Orlan_Rovers   http://en.wikipedia.org/wiki/Orlan_Rovers   12   /m/b
    won

with tabs between columns and an empty line after a sentence. `--NME--` instead of an entity says
that the knowledge base has none. The text is its tokens with a blank between them, and a new line
between sentences.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention, Token, Tokens
from sgtb.formats.annotated import Annotation, annotated_document
from sgtb.formats.capacity import Capacity
from sgtb.formats.codecs.aida_conll import HEADER, HEADER_SPLIT, NO_ENTITY, laid_out
from sgtb.formats.complaints import Complaints, ErrorAt
from sgtb.formats.corpus_source import Source, packing, shown, text_lines
from sgtb.formats.corpus_titles import unescape_title
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


def read_aida_file(path: Path, complaints: Complaints) -> Iterator[Document]:
    """Yield the documents of a file, read while they are asked for."""
    source = Source(str(path), b"")
    draft: _Draft | None = None
    for n, line in text_lines(path):
        try:
            if line.startswith(_DOCSTART):
                id_, split = _read_header(source, n, line)
                if draft is not None:
                    yield draft.document(source, complaints)
                draft = _Draft(id_, split, n)
            elif draft is None:
                if line:
                    raise source.error(n, f"expected -DOCSTART- first, found {shown(line)}")
            elif line:
                draft.add(_columns(source, n, line))
            else:
                draft.end_sentence()
        except CorpusError as error:
            complaints.wrong(error)
    if draft is None:
        raise source.error(1, "the file has no document")
    yield draft.document(source, complaints)


def write_aida_file(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    count = 0
    with packing(path) as stream:
        for document in documents:
            stream.write("\n".join(_rows(document)).encode() + b"\n\n")
            count += 1
    return count


class _Columns(NamedTuple):
    """A line: a token, and if it is part of a name whether it begins it, and what is meant."""

    token: str
    place: str = ""
    gold: str | None = None
    title: str | None = None
    error: ErrorAt | None = None


@dataclass
class _Draft:
    """A document while its lines are read; names are token ranges with gold and title."""

    id: str
    split: str
    line: int
    words: list[str] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    names: list[tuple[int, int, str | None, str | None]] = field(default_factory=list)

    def add(self, columns: _Columns) -> None:
        at = len(self.words)
        if columns.place == "I":
            if not self.names or self.names[-1][1] != at:
                assert columns.error is not None
                raise columns.error("I goes on with a name, but there is none before it")
            first, _, gold, title = self.names.pop()
            self.names.append((first, at + 1, gold, title))
        elif columns.place == "B":
            self.names.append((at, at + 1, columns.gold, columns.title))
        self.words.append(columns.token)

    def end_sentence(self) -> None:
        first = self.sentences[-1][1] if self.sentences else 0
        if first < len(self.words):
            self.sentences.append((first, len(self.words)))

    def document(self, source: Source, complaints: Complaints) -> Document:
        self.end_sentence()
        text, tokens = laid_out(self.words, self.sentences)
        return annotated_document(
            self.id,
            text,
            [
                Annotation(tokens[first].start, tokens[stop - 1].end, gold, title)
                for first, stop, gold, title in self.names
            ],
            split=self.split,
            layout=Segmented(tokens, tuple(self.sentences)),
            error=lambda message: source.error(self.line, message),
            complaints=complaints,
        )


def _read_header(source: Source, n: int, line: str) -> tuple[str, str]:
    """Return id and split; documents that are not AIDA's own may have any id, and no split."""
    own = HEADER.fullmatch(line)
    if own is not None:
        return own[1], HEADER_SPLIT[own[2]]
    other = _ANY_HEADER.fullmatch(line)
    if other is None:
        raise source.error(n, f"expected -DOCSTART- (id), found {shown(line)}")
    return other[1], ""


def _columns(source: Source, n: int, line: str) -> _Columns:
    token, *rest = line.split("\t")
    if not token or _SPACE.search(token):
        raise source.error(n, f"expected a token first, found {shown(line)}")
    if not rest:
        return _Columns(token)
    if not 3 <= len(rest) <= 6 or rest[0] not in ("B", "I"):
        raise source.error(
            n, f"expected a token, or token, B or I, mention and entity, found {shown(line)}"
        )
    return _Columns(token, rest[0], *_entity(rest[2:]), lambda message: source.error(n, message))


def _entity(columns: list[str]) -> tuple[str | None, str | None]:
    """Return gold and title out of the columns YAGO2 entity, url, Wikipedia id and so on."""
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


def _rows(document: Document) -> Iterator[str]:
    """Yield the lines of a document, which must fit."""
    yield _header(document)
    columns = {}
    for mention in document.mentions:
        name = " ".join(document.tokens.texts[mention.first : mention.stop])
        entity = "\t".join((name, *_entity_columns(mention)))
        for i in range(mention.first, mention.stop):
            columns[i] = f"\t{'B' if i == mention.first else 'I'}\t{entity}"
    ends = {stop for _, stop in document.sentences[:-1]}
    for i, word in enumerate(document.tokens.texts):
        if i in ends:
            yield ""
        yield word + columns.get(i, "")


def _header(document: Document) -> str:
    id_ = _BREAK.sub(" ", document.id)
    if document.split in _SUFFIX and _NUMBER.fullmatch(id_):
        word = document.tokens.texts[0] if document.tokens else ""
        id_ = f"{id_}{_SUFFIX[document.split]} {word}"
    return f"{_DOCSTART} ({id_})"


def _adjust(document: Document) -> Document:
    """Return a document as tokens in sentences; tokens are cut where mentions begin or end."""
    tokens, lines = document.tokens, document.sentences
    if any(_SPACE.search(text) or text.startswith(_DOCSTART) for text in tokens.texts):
        tokens, lines = segment(document.text)
    pieces, places = _cut(tokens, document.mentions)
    bounds = tuple((places[first], places[stop]) for first, stop in lines)
    text, words = laid_out(pieces.texts, bounds)
    mentions = []
    for mention in document.mentions:
        first, stop = touched_tokens(pieces, mention.start, mention.end)
        if first == stop:
            raise CorpusError(f"document {shown(document.id)}: a mention has no visible token")
        start, end = words[first].start, words[stop - 1].end
        gold, title = _entity(_entity_columns(mention))
        mentions.append(Mention(start, end, first, stop, text[start:end], gold, title))
    id_, split = _read_header(Source("", b""), 0, _header(document))
    return Document(id_, text, words, bounds, tuple(mentions), split)


def _cut(tokens: Tokens, mentions: Sequence[Mention]) -> tuple[Tokens, list[int]]:
    """Return the tokens in pieces, and per token the place of its first; at last their number."""
    borders = sorted({at for mention in mentions for at in (mention.start, mention.end)})
    pieces: list[Token] = []
    places = []
    for token in tokens:
        places.append(len(pieces))
        inside = borders[bisect_right(borders, token.start) : bisect_left(borders, token.end)]
        for start, end in pairwise((token.start, *inside, token.end)):
            pieces.append(Token(token.text[start - token.start : end - token.start], start, end))
    return Tokens.of(pieces), [*places, len(pieces)]


CAPACITY = Capacity(
    types=False, candidates=False, unannotated=False, overlaps="none", adjust=_adjust
)
