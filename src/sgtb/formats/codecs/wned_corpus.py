"""WNED: five sets of annotated documents from other domains than AIDA's (Guo and Barbosa).

Each set is a folder with the texts in `RawText/` and the annotations of all of them in one XML
file. An annotation gives offset, length and text of a mention, and the title of a page.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document, Mention
from sgtb.formats.codecs.wned_xml import AnnotatedText, Annotation, read_annotations
from sgtb.formats.corpus_source import Source, read_members
from sgtb.text.tokenization import segment, touched_tokens

WNED_SETS = ("ace", "aquaint", "msnbc", "clueweb", "wikipedia")
"""The sets, in the order of the paper's Table 1."""

REACH = 100
"""How many characters from where it should be a mention is looked for."""

_MEMBER = re.compile(r"(?:(.+)/)?(?:([^/]+)\.xml|RawText/([^/]+))")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An annotation whose offset and length do not give its text.

    file, line  where the annotation is
    document    the id of its document
    expected    the text it gives
    found       the text at its offset
    action      what was done about it
    """

    file: str
    line: int
    document: str
    expected: str
    found: str
    action: str


@dataclass(frozen=True)
class WnedCorpus:
    """One of the sets.

    documents   in the order of the XML. A gold is the title of a page
    mismatches  annotations that do not fit the text, and what became of them
    """

    name: str
    documents: tuple[Document, ...]
    mismatches: tuple[Mismatch, ...]


class WnedFiles(NamedTuple):
    """The files of a set: the annotations, and the texts by name.

    folder  where it lies in the archive or folder that is read; empty: it is that
    """

    folder: str
    name: str
    xml: Source
    texts: Mapping[str, Source]


def read_wned(archive: Path, name: str | None = None) -> tuple[WnedCorpus, ...]:
    """Read all sets, or the one of this name, from `wned.tar.xz` or the folder it unpacks to."""
    if name is not None and name not in WNED_SETS:
        raise CorpusError(f"{archive}: no set {name!r} in WNED, but {', '.join(WNED_SETS)}")
    names = WNED_SETS if name is None else (name,)
    found = {files.name: files for files in find_sets(archive)}
    for wanted in names:
        if wanted not in found:
            raise CorpusError(f"{archive}: no {wanted}/{wanted}.xml in it")
    return tuple(read_set(found[wanted]) for wanted in names)


def find_sets(path: Path) -> list[WnedFiles]:
    """Return the sets in an archive or a folder, WNED's own first, or a folder that is one itself.

    A set is a folder with `RawText` and one XML file, or several of which one has its name.
    """
    xml: dict[str, dict[str, Source]] = {}
    texts: dict[str, dict[str, Source]] = {}
    for member, source in read_members(path):
        match = _MEMBER.fullmatch(member)
        if match is not None and match[3]:
            texts.setdefault(match[1] or "", {})[match[3]] = source
        elif match is not None:
            xml.setdefault(match[1] or "", {})[match[2]] = source
    found = []
    for folder, files in xml.items():
        name = (folder or path.name).rpartition("/")[2]
        own = files.get(name) or (next(iter(files.values())) if len(files) == 1 else None)
        if own is not None and (folder in texts or name in WNED_SETS):
            found.append(WnedFiles(folder, name, own, texts.get(folder, {})))
    own_order = {name: i for i, name in enumerate(WNED_SETS)}
    return sorted(found, key=lambda f: (bool(f.folder), own_order.get(f.name, 99), f.folder))


def read_set(files: WnedFiles) -> WnedCorpus:
    """Read the documents of a set."""
    xml, texts = files.xml, files.texts
    documents = []
    mismatches: list[Mismatch] = []
    times: dict[str, int] = {}
    for annotated in read_annotations(xml):
        if annotated.name not in texts:
            raise xml.error(annotated.line, f"no RawText/{annotated.name}")
        # One document of the Wikipedia set is there twice. Both count, in the paper too.
        times[annotated.name] = times.get(annotated.name, 0) + 1
        nth = times[annotated.name]
        id_ = annotated.name if nth == 1 else f"{annotated.name}#{nth}"
        documents.append(_document(id_, xml, annotated, texts[annotated.name].text(), mismatches))
    return WnedCorpus(files.name, tuple(documents), tuple(mismatches))


def _document(
    id_: str, xml: Source, annotated: AnnotatedText, text: str, mismatches: list[Mismatch]
) -> Document:
    tokens, lines = segment(text)
    mentions = []
    for annotation in annotated.annotations:
        start, end, action = _place(text, annotation)
        if action:
            found = text[annotation.offset : annotation.offset + annotation.length]
            mismatches.append(
                Mismatch(xml.name, annotation.line, id_, annotation.text, found, action)
            )
        first, stop = touched_tokens(tokens, start, end)
        if start < end and first < stop:
            mentions.append(_mention(text, annotation.title, start, end, first, stop))
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(id_, text, tokens, lines, tuple(mentions))


def _mention(text: str, title: str, start: int, end: int, first: int, stop: int) -> Mention:
    # A mention is linked if it has a title at all. MSNBC leaves it empty otherwise, ACE says NIL,
    # and the other sets have linked mentions only.
    name = text[start:end]
    if title in ("", NIL):
        return Mention(start, end, first, stop, name, NIL)
    title = title.replace("_", " ")
    return Mention(start, end, first, stop, name, title, title)


def _place(text: str, annotation: Annotation) -> tuple[int, int, str]:
    """Return where a mention starts and ends, and what had to be done to find it, if anything.

    A few annotations begin or end with a space, which does not become part of the mention.
    """
    wanted = annotation.text
    start, end = annotation.offset, annotation.offset + annotation.length
    found = text[start:end]
    action = ""
    if not wanted.strip():
        return 0, 0, "dropped: no text"
    if found != wanted:
        if html.unescape(found) == wanted:
            action = "kept: the text has it escaped"
        else:
            nearest = _nearest(text, wanted, start)
            if nearest is None:
                return 0, 0, f"dropped: not within {REACH} characters"
            action = f"kept: found {nearest - start:+d} characters from its offset"
            start, end = nearest, nearest + len(wanted)
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    return start, start + len(found.strip()), action


def _nearest(text: str, wanted: str, offset: int) -> int | None:
    """Return where, not too far from the offset, the text has the wanted one; ties to the first."""
    occurrences = []
    position = text.find(wanted, max(0, offset - REACH))
    while 0 <= position <= offset + REACH:
        occurrences.append(position)
        position = text.find(wanted, position + 1)
    return min(occurrences, key=lambda position: abs(position - offset), default=None)
