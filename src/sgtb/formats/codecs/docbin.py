"""DocBin: spaCy's files of annotated texts; needs the extra `spacy`.

The entities of a Doc are the mentions: `kb_id_` is the gold, empty if not annotated, and `label_`
the type. spaCy drops entities without a label, so a mention without type gets "ENTITY". Id and
split of a document are "id" and "split" of `user_data`.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from sgtb.core.errors import CorpusError, import_extra
from sgtb.core.limits import FileLimits
from sgtb.core.records import Document
from sgtb.formats.annotated import SPLITS, Annotation, annotated_document
from sgtb.formats.corpus_format import Capacity, FileHead, Format
from sgtb.formats.corpus_source import open_output, read_source, shown
from sgtb.formats.error_handler import ErrorHandler

_NO_TYPE = "ENTITY"
_STEP = 1 << 20
_FREE = 1 << 24
_ATTRIBUTES = ("ENT_IOB", "ENT_TYPE", "ENT_KB_ID")


def read_docbin(path: Path, handler: ErrorHandler) -> Iterator[Document]:
    """Yield the documents of a file, which is read into memory."""
    tokens, vocab = _spacy()
    data = read_source(path).data
    _check_size(path, data)
    docs = _damaged_or(path, lambda: tokens.DocBin().from_bytes(data).get_docs(vocab))
    number = 0
    while (doc := _damaged_or(path, lambda: next(docs, None))) is not None:
        number += 1
        with handler.skipping():
            yield _document(doc, number, f"{path}, document {number}", handler)


def write_docbin(documents: Iterable[Document], path: Path) -> int:
    """Write documents; return how many."""
    tokens, vocab = _spacy()
    packed = tokens.DocBin(attrs=_ATTRIBUTES, store_user_data=True)
    for document in documents:
        packed.add(doc_of(document, vocab))
    with open_output(path) as stream:
        stream.write(packed.to_bytes())
    return len(packed)


def doc_of(document: Document, vocab: Any) -> Any:
    """Return a document without overlapping mentions as a spaCy Doc."""
    words, spaces = _words(document)
    doc = import_module("spacy.tokens").Doc(vocab, words=words, spaces=spaces)
    doc.user_data.update(id=document.id, split=document.split)
    doc.set_ents(
        [
            doc.char_span(m.start, m.end, label=m.type or _NO_TYPE, kb_id=m.gold or "")
            for m in document.mentions
        ]
    )
    return doc


def _words(document: Document) -> tuple[list[str], list[bool]]:
    """Return the words of the text, split at mentions, and whether a space follows each."""
    text = document.text
    starts = {mention.start for mention in document.mentions}
    ends = {mention.end for mention in document.mentions}
    tokens = document.tokens
    borders = {0, len(text), *starts, *ends, *tokens.starts, *tokens.ends}
    words: list[str] = []
    spaces: list[bool] = []
    for start, end in pairwise(sorted(borders)):
        word = text[start:end]
        own = start in starts or (end in ends and end == start + 1)  # part of a mention
        if word[0] == " " and words and not spaces[-1] and not own:
            spaces[-1] = True
            word = word[1:]
        if word:
            words.append(word)
            spaces.append(False)
    return words, spaces


def _document(doc: Any, number: int, where: str, handler: ErrorHandler) -> Document:
    def error(message: str) -> CorpusError:
        return CorpusError(f"{where}: {message}")

    id_, split = doc.user_data.get("id", str(number)), doc.user_data.get("split", "")
    if not isinstance(id_, str) or split not in SPLITS:
        raise error(
            f"id {shown(str(id_))} and split {shown(str(split))} must be a string and one of "
            f"{SPLITS}"
        )
    annotations = [
        Annotation(ent.start_char, ent.end_char, ent.kb_id_ or None, type=_type(ent.label_))
        for ent in doc.ents
    ]
    return annotated_document(id_, doc.text, annotations, split=split, error=error, handler=handler)


def _type(label: str) -> str | None:
    return None if label in ("", _NO_TYPE) else label


def _damaged_or(path: Path, read: Callable[[], Any]) -> Any:
    """Call `read`; raise any exception of spaCy as a CorpusError."""
    try:
        return read()
    except Exception as error:
        why = " ".join(str(error).split())
        raise CorpusError(
            f"{path}: not a DocBin of spaCy, or damaged: {type(error).__name__}: {shown(why)}"
        ) from None


def _check_size(path: Path, data: bytes) -> None:
    """Raise if the content of a DocBin, which spaCy unpacks at once, is beyond the limits."""
    limits, size, unpacker = FileLimits.current(), 0, zlib.decompressobj()
    most = min(limits.whole, max(_FREE, limits.ratio * len(data)))
    try:
        while data and not unpacker.eof:
            size += len(unpacker.decompress(data, _STEP))
            data = unpacker.unconsumed_tail
            if size > most:
                limit = "whole" if size > limits.whole else "ratio"
                raise CorpusError(f"{path}: it unpacks to too many bytes; {limits.advice(limit)}")
    except zlib.error:
        return  # spaCy reports it


def _spacy() -> tuple[Any, Any]:
    """Return `spacy.tokens` and a new vocabulary."""
    tokens, vocab = (
        import_extra(name, "spacy", "DocBin files need") for name in ("spacy.tokens", "spacy.vocab")
    )
    return tokens, vocab.Vocab()


def _adjust(document: Document) -> Document:
    mentions = tuple(replace(m, type=_type(m.type or "")) for m in document.mentions)
    return replace(document, mentions=mentions)


def _is_docbin(head: FileHead) -> bool:
    """Return whether a file begins with a compressed map whose first key is of a DocBin."""
    try:
        start = zlib.decompressobj().decompress(head.data, 64)
    except zlib.error:
        return False
    return b"version" in start or b"attrs" in start


FORMAT = Format(
    name="docbin",
    about="DocBin: files of spaCy",
    read=read_docbin,
    write=write_docbin,
    capacity=Capacity(titles=False, candidates=False, overlaps="none", adjust=_adjust),
    endings=(".spacy",),
    detects=_is_docbin,
)
