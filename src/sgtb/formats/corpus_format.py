"""Format: declaration of a corpus format, what it can hold, and detection of formats."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.limits import FileLimits, check_items
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.corpus_source import open_lines, open_output
from sgtb.formats.error_handler import ErrorHandler

_HEAD = 1 << 16
_CHANGES = {
    "id": "ids of documents, which are written in another way",
    "text": "texts, of which only the tokens are kept",
    "split": "splits of documents",
}
_LOSSES = {"title": "titles", "type": "types", "candidates": "lists of candidates"}
Losses = Counter[str]  # number of omissions by description


@dataclass(frozen=True)
class Capacity:
    """What a format can hold."""

    titles: bool = True
    types: bool = True
    candidates: bool = True
    splits: bool = True
    nil: bool = True  # mentions of entities outside the knowledge base
    unannotated: bool = True  # mentions without annotation
    overlaps: str = "all"  # overlapping mentions: "all", "not the same span" twice, or "none"
    empty: bool = True  # documents without mentions
    bare_titles: bool = False  # titles of mentions without entity
    adjust: Callable[[Document], Document] = lambda document: document  # further changes

    def fit(self, document: Document, losses: Losses) -> Document | None:
        """Return what the format can hold of a document, None for nothing; count the rest."""
        mentions = [
            self._reduced(mention, losses) for mention in self._kept(document.mentions, losses)
        ]
        if document.split and not self.splits:
            losses["splits of documents"] += 1
        if not mentions and not self.empty:
            losses["documents without mentions"] += 1
            return None
        split = document.split if self.splits else ""
        fitted = replace(document, mentions=tuple(mentions), split=split)
        adjusted = self.adjust(fitted)
        _count_changes(fitted, adjusted, losses)
        return adjusted

    def _kept(self, mentions: Sequence[Mention], losses: Losses) -> list[Mention]:
        kept = []
        for mention in mentions:
            if mention.gold == NIL and not self.nil:
                losses["mentions that mean nothing in the knowledge base (NIL)"] += 1
            elif mention.gold is None and not self.unannotated:
                losses["mentions that are not annotated"] += 1
            else:
                kept.append(mention)
        if self.overlaps == "all":
            return kept
        if self.overlaps == "none":
            chosen = _without_overlaps(kept)
        else:  # the first mention of every span
            spans = {(m.start, m.end): m for m in reversed(kept)}
            chosen = [m for m in kept if spans[m.start, m.end] is m]
        if len(chosen) < len(kept):
            losses["mentions that overlap others"] += len(kept) - len(chosen)
        return chosen

    def _reduced(self, mention: Mention, losses: Losses) -> Mention:
        holds_title = self.titles and (mention.in_kb or self.bare_titles)
        holds = {"title": holds_title, "type": self.types, "candidates": self.candidates}
        lost = [
            name for name, has in holds.items() if not has and getattr(mention, name) is not None
        ]
        losses.update(_LOSSES[name] for name in lost)
        without: dict[str, Any] = dict.fromkeys(lost)
        return replace(mention, **without)


def _without_overlaps(mentions: Sequence[Mention]) -> list[Mention]:
    """Return mentions without overlaps; the first is kept, of several the longest."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def _count_changes(before: Document, after: Document, losses: Losses) -> None:
    for name, loss in _CHANGES.items():
        if getattr(before, name) != getattr(after, name):
            losses[loss] += 1
    for one, other in zip(before.mentions, after.mentions, strict=True):
        if one.gold != other.gold:
            losses["ids of entities, which are written in another way"] += 1
        if one.title != other.title and one.title is not None:
            losses["titles, which are written in another way"] += 1


class FileHead(NamedTuple):
    """Beginning of a file."""

    path: Path  # file or folder
    data: bytes  # first 64 KiB, decompressed; empty for a folder
    start: bytes  # `data` without byte order mark and leading white space


class Format(NamedTuple):
    """A corpus format."""

    name: str
    about: str  # short description
    read: Callable[[Path, ErrorHandler], Iterator[Document]]  # yields the documents of a file
    write: Callable[[Iterable[Document], Path], int]  # returns the number of documents
    capacity: Capacity  # what the format can hold of a document
    endings: tuple[str, ...] = ()  # of files to be written; the longest match decides
    json_keys: tuple[Collection[str], ...] = ()  # alternative keys of the first JSON object
    detects: Callable[[FileHead], bool] = lambda head: False  # by the head of other files


def write_file(
    dump: Callable[[Document], Iterable[str]], documents: Iterable[Document], path: Path,
    head: str = "",
) -> int:  # fmt: skip
    """Write a head and the parts of all documents, all or nothing; return how many documents."""
    count = 0
    with open_output(path) as stream:
        stream.write(head.encode())
        for document in documents:
            stream.writelines(part.encode() for part in dump(document))
            count += 1
    return count


def detect(path: Path, formats: Iterable[Format]) -> str:
    """Return the name of the format of a file or folder; the first one that matches."""
    data = start = b""
    if not path.is_dir():
        with open_lines(path) as stream:
            data = stream.read(_HEAD)
            start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
            if start.startswith(b"{"):
                if b"\n" not in start:
                    start += stream.readline(FileLimits.current().line)
                return _detect_object(path, start.split(b"\n", 1)[0], formats)
    head = FileHead(path, data, start)
    for format in formats:
        if format.detects(head):
            return format.name
    if path.is_dir():
        raise _unknown(path, "the folder has the files of none")
    raise _unknown(path, "it begins like none" if head.start else "an empty file")


def _detect_object(path: Path, line: bytes, formats: Iterable[Format]) -> str:
    """Return the format with the most identifying keys in an object."""
    try:
        check_items(line)
        keys = set(json.loads(line))
    except (ValueError, RecursionError):
        keys = {"text"}  # damaged; the reader of the plainest format reports where
    matches = [
        (len(required), format.name)
        for format in formats
        for required in format.json_keys
        if keys.issuperset(required)
    ]
    if not matches:
        raise _unknown(path, f"none has the keys {', '.join(sorted(keys)[:8])}")
    return max(matches, key=lambda match: match[0])[1]


def _unknown(path: Path, why: str) -> CorpusError:
    return CorpusError(
        f"{path}: unknown format: {why}; name the format with `format`, --from or --format"
    )
