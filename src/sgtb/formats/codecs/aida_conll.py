"""AIDA-CoNLL: CoNLL-2003 news with the entities of Hoffart et al. (2011).

The folder has `AIDA-YAGO2-annotations.tsv` and the text as `eng.train`, `eng.testa` and
`eng.testb`. The n-th document of the annotations is the n-th of the three files together. An
annotation has the index of a mention's first token; the end is that of the IOB1 span of the text,
which may cross sentences.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from sgtb.core.records import NIL, Document, Mention, Tokens
from sgtb.formats.corpus_source import SourceFile, read_source, shown, unescape_title

ANNOTATIONS = "AIDA-YAGO2-annotations.tsv"  # the file with the gold entities
TEXTS = (("eng.train", "train"), ("eng.testa", "dev"), ("eng.testb", "test"))
"""Files of the text in the order of the annotations, with their splits."""
NO_ENTITY = "--NME--"  # marks a mention of an entity outside the knowledge base
HEADER = re.compile(r"-DOCSTART- \(([0-9]{1,9})(|testa|testb) (.*)\)")
HEADER_SPLIT = {"": "train", "testa": "dev", "testb": "test"}
"""Splits by the suffix of the document number in a header."""
_DOCSTART = "-DOCSTART-"
_TAG = re.compile(r"O|[IB]-(?:PER|ORG|LOC|MISC)")
_INDEX = re.compile(r"[0-9]{1,9}")
_WIKI_ID = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(kw_only=True)
class TokenLines:
    """Words and sentences of a document while its lines are read."""

    split: str
    words: list[str] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)

    def end_sentence(self) -> None:
        """End the sentence of the words so far, if there are new ones."""
        first = self.sentences[-1][1] if self.sentences else 0
        if first < len(self.words):
            self.sentences.append((first, len(self.words)))


@dataclass(kw_only=True)
class _Text(TokenLines):
    """A document of a CoNLL file, with tags and lines of its words."""

    source: SourceFile
    tags: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class _Annotation(NamedTuple):
    token: int
    gold: str
    title: str | None
    line: int


class _Annotated(NamedTuple):
    """A document of the annotation file: header and annotations."""

    number: int
    split: str
    word: str
    line: int
    annotations: list[_Annotation]


def read_aida(folder: Path) -> tuple[Document, ...]:
    """Read the whole corpus; ids are numbers of documents, from 1, and of Wikipedia pages."""
    source = read_source(folder / ANNOTATIONS)
    annotated = list(_read_annotations(source))
    texts = [
        text for file, split in TEXTS for text in _read_texts(read_source(folder / file), split)
    ]
    if len(annotated) != len(texts):
        raise source.error(
            annotated[-1].line if annotated else 1,
            f"{len(annotated)} documents here, but {len(texts)} in "
            f"{', '.join(file for file, _ in TEXTS)}",
        )
    return tuple(
        _document(source, n, entries, text)
        for n, (entries, text) in enumerate(zip(annotated, texts, strict=True), 1)
    )


def _read_annotations(source: SourceFile) -> Iterator[_Annotated]:
    document: _Annotated | None = None
    for n, line in enumerate(source.lines(), 1):
        if line.startswith(_DOCSTART):
            if document is not None:
                yield document
            header = HEADER.fullmatch(line)
            if header is None:
                raise source.error(n, f"expected -DOCSTART- (number word), found {shown(line)}")
            split = HEADER_SPLIT[header[2]]
            document = _Annotated(int(header[1]), split, header[3], line=n, annotations=[])
        elif line:
            if document is None:
                raise source.error(n, f"expected -DOCSTART- first, found {shown(line)}")
            document.annotations.append(_annotation(source, n, line))
    if document is None:
        raise source.error(1, "the file has no document")
    yield document


def _annotation(source: SourceFile, n: int, line: str) -> _Annotation:
    columns = line.split("\t")
    if not _INDEX.fullmatch(columns[0]):
        raise source.error(n, f"expected the index of a token, found {shown(columns[0])}")
    index = int(columns[0])
    if columns[1:] == [NO_ENTITY]:
        return _Annotation(index, NIL, None, n)
    if len(columns) not in (4, 5):  # the Freebase id may be missing
        raise source.error(
            n, f"expected index, title, url, Wikipedia id, Freebase id, found {shown(line)}"
        )
    if not _WIKI_ID.fullmatch(columns[3]):
        raise source.error(n, f"expected the number of a Wikipedia page, found {shown(columns[3])}")
    return _Annotation(index, columns[3], unescape_title(columns[1]), n)


def _read_texts(source: SourceFile, split: str) -> Iterator[_Text]:
    """Yield the documents of a CoNLL file; `-DOCSTART-` may precede or follow each."""
    lines = source.lines()
    if not any(lines):
        raise source.error(1, "the file is empty")
    text, is_first = _Text(source=source, split=split), True
    for n, line in enumerate([*lines, _DOCSTART], 1):
        columns = line.split()
        if line.startswith(_DOCSTART):
            text.end_sentence()
            if text.words:
                yield text
            elif not is_first and n <= len(lines):
                raise source.error(n, "the document that ends here has no tokens")
            text, is_first = _Text(source=source, split=split), False
        elif not columns:
            text.end_sentence()
        elif len(columns) != 4:
            raise source.error(
                n, f"expected token, part of speech, chunk, name tag, found {shown(line)}"
            )
        elif not _TAG.fullmatch(columns[3]):
            raise source.error(n, f"expected a name tag such as I-PER, found {shown(columns[3])}")
        else:
            text.words.append(columns[0])
            text.tags.append(columns[3])
            text.lines.append(n)


def _document(source: SourceFile, n: int, annotated: _Annotated, text: _Text) -> Document:
    # A header repeats number and first word of its document, which reveals misaligned files.
    if (annotated.number, annotated.split, annotated.word) != (n, text.split, text.words[0]):
        raise source.error(
            annotated.line,
            f"document {annotated.number} of {annotated.split}, {shown(annotated.word)}, but the "
            f"text has document {n} of {text.split}, {shown(text.words[0])}, here: "
            f"{text.source.name}, line {text.lines[0]}",
        )
    written, tokens = join_tokens(text.words, text.sentences)
    mentions = tuple(_mentions(source, annotated, text, written, tokens))
    return Document(str(n), written, tokens, tuple(text.sentences), mentions, split=text.split)


def join_tokens(words: Sequence[str], sentences: Iterable[tuple[int, int]]) -> tuple[str, Tokens]:
    """Return text and tokens, with spaces between tokens and newlines between sentences."""
    starts = [*accumulate([len(word) + 1 for word in words], initial=0)][:-1]
    ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
    rows = (" ".join(words[first:stop]) for first, stop in sentences)
    return "\n".join(rows), Tokens(words, starts, ends)


def _mentions(
    source: SourceFile, annotated: _Annotated, text: _Text, written: str, tokens: Tokens
) -> Iterator[Mention]:
    spans = dict(_spans(text.tags))
    for entry in annotated.annotations:
        stop = spans.pop(entry.token, None)
        if stop is None:
            where = (
                f"the document has only {len(tokens)} tokens"
                if entry.token >= len(tokens)
                else f"{text.source.name}, line {text.lines[entry.token]}, begins none, "
                "or it is annotated twice"
            )
            raise source.error(entry.line, f"no name starts at token {entry.token}: {where}")
        start, end = tokens.starts[entry.token], tokens.ends[stop - 1]
        yield Mention(
            start, end, entry.token, stop, text=written[start:end], gold=entry.gold,
            title=entry.title, type=text.tags[entry.token][2:],
        )  # fmt: skip
    for first, stop in spans.items():
        name = " ".join(text.words[first:stop])
        raise text.source.error(
            text.lines[first], f"the name {shown(name)} has no annotation in {source.name}"
        )


def _spans(tags: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of IOB1 tags; a span ends with its type, or before a B."""
    first, last = 0, "O"
    for i, tag in enumerate(tags):
        if tag[2:] != last[2:] or tag[0] == "B":
            if last != "O":
                yield first, i
            first = i
        last = tag
    if last != "O":
        yield first, len(tags)
