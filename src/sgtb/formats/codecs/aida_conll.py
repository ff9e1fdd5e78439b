"""AIDA-CoNLL: the CoNLL-2003 news, with the entities that Hoffart et al. (2011) annotated.

The folder holds `AIDA-YAGO2-annotations.tsv` and the text as `eng.train`, `eng.testa` and
`eng.testb`. The n-th document of the annotations is the n-th of the three files together, and an
annotation's index counts the tokens of its document, blank lines skipped. It starts a mention,
whose end only the text's name tags tell: IOB1 spans, which run on over the end of a sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from sgtb.core.records import NIL, Document, Mention, Tokens
from sgtb.formats.corpus_source import Source, read_source, shown
from sgtb.formats.corpus_titles import unescape_title

ANNOTATIONS = "AIDA-YAGO2-annotations.tsv"
"""The file with the gold entities."""

TEXTS = (("eng.train", "train"), ("eng.testa", "dev"), ("eng.testb", "test"))
"""The files with the text, in the order of the annotations, and the split each one is."""

NO_ENTITY = "--NME--"
"""Stands where an entity would, if the knowledge base has none."""

HEADER = re.compile(r"-DOCSTART- \(([0-9]{1,9})(|testa|testb) (.*)\)")
HEADER_SPLIT = {"": "train", "testa": "dev", "testb": "test"}
"""The first line of a document has its number, something that tells its split, and a word."""

_DOCSTART = "-DOCSTART-"
_TAG = re.compile(r"O|[IB]-(?:PER|ORG|LOC|MISC)")
_INDEX = re.compile(r"[0-9]{1,9}")
_WIKI_ID = re.compile(r"[1-9][0-9]{0,17}")


class _Text(NamedTuple):
    """The text of a document as CoNLL has it: words, tags, their lines, sentences."""

    source: Source
    split: str
    words: list[str]
    tags: list[str]
    lines: list[int]
    sentences: list[tuple[int, int]]


class _Annotation(NamedTuple):
    token: int
    gold: str
    title: str | None
    line: int


class _Annotated(NamedTuple):
    """A document of the annotation file: what its first line says, and its annotations."""

    number: int
    split: str
    word: str
    line: int
    annotations: list[_Annotation]


def read_aida(folder: Path) -> tuple[Document, ...]:
    """Read the whole corpus; a document's id is its number, counted from 1.

    A mention's gold is the id of a Wikipedia page, and its type the annotated one.
    """
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


def _read_annotations(source: Source) -> Iterator[_Annotated]:
    document: _Annotated | None = None
    for n, line in enumerate(source.lines(), 1):
        if line.startswith(_DOCSTART):
            if document is not None:
                yield document
            header = HEADER.fullmatch(line)
            if header is None:
                raise source.error(n, f"expected -DOCSTART- (number word), found {shown(line)}")
            document = _Annotated(int(header[1]), HEADER_SPLIT[header[2]], header[3], n, [])
        elif line:
            if document is None:
                raise source.error(n, f"expected -DOCSTART- first, found {shown(line)}")
            document.annotations.append(_annotation(source, n, line))
    if document is None:
        raise source.error(1, "the file has no document")
    yield document


def _annotation(source: Source, n: int, line: str) -> _Annotation:
    columns = line.split("\t")
    if not _INDEX.fullmatch(columns[0]):
        raise source.error(n, f"expected the index of a token, found {shown(columns[0])}")
    index = int(columns[0])
    if columns[1:] == [NO_ENTITY]:
        return _Annotation(index, NIL, None, n)
    if len(columns) not in (4, 5):  # a few pages have no Freebase id, the fifth column
        raise source.error(
            n, f"expected index, title, url, Wikipedia id, Freebase id, found {shown(line)}"
        )
    if not _WIKI_ID.fullmatch(columns[3]):
        raise source.error(n, f"expected the number of a Wikipedia page, found {shown(columns[3])}")
    return _Annotation(index, columns[3], unescape_title(columns[1]), n)


def _read_texts(source: Source, split: str) -> Iterator[_Text]:
    """Yield the documents of a CoNLL file; `-DOCSTART-` may come before or after each of them."""
    lines = source.lines()
    starts = [n for n, line in enumerate(lines, 1) if line.startswith(_DOCSTART)]
    bounds = [0, *starts, len(lines) + 1]
    if not any(lines):
        raise source.error(1, "the file is empty")
    for before, after in pairwise(bounds):
        text = _read_text(source, split, lines, before, after)
        if text.words:
            yield text
        elif before > 0 and after <= len(lines):
            raise source.error(after, "the document that ends here has no tokens")


def _read_text(source: Source, split: str, lines: list[str], before: int, after: int) -> _Text:
    """Read the document between two lines, counted from 1, neither of which belongs to it."""
    text = _Text(source, split, [], [], [], [])
    first = 0
    for n in range(before + 1, after):
        columns = lines[n - 1].split()
        if not columns:
            if len(text.words) > first:
                text.sentences.append((first, len(text.words)))
                first = len(text.words)
            continue
        if len(columns) != 4:
            raise source.error(
                n, f"expected token, part of speech, chunk, name tag, found {shown(lines[n - 1])}"
            )
        if not _TAG.fullmatch(columns[3]):
            raise source.error(n, f"expected a name tag such as I-PER, found {shown(columns[3])}")
        text.words.append(columns[0])
        text.tags.append(columns[3])
        text.lines.append(n)
    if len(text.words) > first:
        text.sentences.append((first, len(text.words)))
    return text


def _document(source: Source, n: int, annotated: _Annotated, text: _Text) -> Document:
    # A header repeats its document's number and first word: so it tells where files go apart.
    if (annotated.number, annotated.split, annotated.word) != (n, text.split, text.words[0]):
        raise source.error(
            annotated.line,
            f"document {annotated.number} of {annotated.split}, {shown(annotated.word)}, but the "
            f"text has document {n} of {text.split}, {shown(text.words[0])}, here: "
            f"{text.source.name}, line {text.lines[0]}",
        )
    written, tokens = laid_out(text.words, text.sentences)
    mentions = tuple(_mentions(source, annotated, text, written, tokens))
    return Document(str(n), written, tokens, tuple(text.sentences), mentions, text.split)


def laid_out(words: Sequence[str], sentences: Iterable[tuple[int, int]]) -> tuple[str, Tokens]:
    """Return the text, a space between tokens and a newline between sentences, and its tokens."""
    starts = [*accumulate([len(word) + 1 for word in words], initial=0)][:-1]
    ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
    rows = (" ".join(words[first:stop]) for first, stop in sentences)
    return "\n".join(rows), Tokens(words, starts, ends)


def _mentions(
    source: Source, annotated: _Annotated, text: _Text, written: str, tokens: Tokens
) -> Iterator[Mention]:
    spans = dict(_spans(text.tags))
    for entry in annotated.annotations:
        stop = spans.pop(entry.token, None)
        if stop is None:
            where = (
                f"the document has only {len(tokens)} tokens"
                if entry.token >= len(tokens)
                else f"{text.source.name}, line {text.lines[entry.token]}, starts none, "
                "or it was annotated before"
            )
            raise source.error(entry.line, f"no name starts at token {entry.token}: {where}")
        start, end = tokens.starts[entry.token], tokens.ends[stop - 1]
        type_ = text.tags[entry.token][2:]
        name = written[start:end]
        yield Mention(start, end, entry.token, stop, name, entry.gold, entry.title, type_)
    for first, stop in spans.items():
        name = " ".join(text.words[first:stop])
        raise text.source.error(
            text.lines[first], f"the name {shown(name)} has no annotation in {source.name}"
        )


def _spans(tags: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of IOB1 tags: a name goes on while the type does and no B starts another."""
    first, last = 0, "O"
    for i, tag in enumerate(tags):
        if tag[2:] != last[2:] or tag[0] == "B":
            if last != "O":
                yield first, i
            first = i
        last = tag
    if last != "O":
        yield first, len(tags)
