"""WNED: five sets of annotated documents of several domains (Guo and Barbosa).

Each set is a folder with texts in `RawText/` and all annotations in one XML file. An annotation
has offset, length and text of a mention, and the title of a page.
"""

import html
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sgtb.core.errors import CorpusError
from sgtb.core.records import NIL, Document
from sgtb.formats.codecs.wned_xml import AnnotatedText, XmlAnnotation, read_annotations
from sgtb.formats.corpus_source import SourceFile, read_members, shown
from sgtb.text.tokenization import mention_at, segment

WNED_SETS = ("ace", "aquaint", "msnbc", "clueweb", "wikipedia")
"""The sets, in the order of the paper's Table 1."""

MAX_SHIFT = 100
"""Characters around its offset in which a mention is searched for."""

_MEMBER = re.compile(r"(?:(.+)/)?(?:([^/]+)\.xml|RawText/([^/]+))")


class Mismatch(NamedTuple):
    """An annotation whose offset and length do not match its text.

    message  file, line, both texts and what was done
    dropped  whether the mention was left out; otherwise it was repaired
    """

    message: str
    dropped: bool


@dataclass(frozen=True)
class WnedCorpus:
    """A set.

    documents   in the order of the XML; golds are page titles
    mismatches  annotations that do not match the text
    """

    name: str
    documents: tuple[Document, ...]
    mismatches: tuple[Mismatch, ...]


class WnedFiles(NamedTuple):
    """The files of a set: annotations, and texts by name.

    folder  path of the set within the archive or folder; "": the folder itself
    """

    folder: str
    name: str
    xml: SourceFile
    texts: Mapping[str, SourceFile]


def read_wned(archive: Path, name: str | None = None) -> tuple[WnedCorpus, ...]:
    """Read all sets, or the named one, from `wned.tar.xz` or its extracted folder."""
    if name is not None and name not in WNED_SETS:
        raise CorpusError(
            f"{archive}: WNED has no set {name!r}; choose one of {', '.join(WNED_SETS)}"
        )
    names = WNED_SETS if name is None else (name,)
    found = {files.name: files for files in find_sets(archive)}
    for wanted in names:
        if wanted not in found:
            raise CorpusError(
                f"{archive}: {wanted}/{wanted}.xml is missing; fetch the archive again"
            )
    return tuple(read_set(found[wanted]) for wanted in names)


def find_sets(path: Path) -> list[WnedFiles]:
    """Return the sets in an archive or folder, or the folder itself; WNED's own first.

    A set is a folder with `RawText` and one XML file, or several of which one has its name.
    """
    xml: dict[str, dict[str, SourceFile]] = {}
    texts: dict[str, dict[str, SourceFile]] = {}
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
    occurrences: Counter[str] = Counter()
    for annotated in read_annotations(xml):
        if annotated.name not in texts:
            raise xml.error(annotated.line, f"no RawText/{annotated.name}")
        # One document of the Wikipedia set occurs twice; both count, as in the paper.
        occurrences[annotated.name] += 1
        nth = occurrences[annotated.name]
        id_ = annotated.name if nth == 1 else f"{annotated.name}#{nth}"
        documents.append(_document(id_, xml, annotated, texts[annotated.name].text(), mismatches))
    return WnedCorpus(files.name, tuple(documents), tuple(mismatches))


def _document(
    id_: str, xml: SourceFile, annotated: AnnotatedText, text: str, mismatches: list[Mismatch]
) -> Document:
    tokens, lines = segment(text)
    mentions = []
    for annotation in annotated.annotations:
        start, end, action = _locate(text, annotation)
        if action:
            found = text[annotation.offset : annotation.offset + annotation.length]
            message = f"the mention {shown(annotation.text)} is {shown(found)} at its offset"
            error = xml.error(annotation.line, f"{message}; {action}")
            mismatches.append(Mismatch(str(error), action.startswith("dropped")))
        # Unlinked mentions have no title in MSNBC and NIL in ACE; other sets have none.
        title = annotation.title.replace("_", " ") if annotation.title not in ("", NIL) else None
        mention = mention_at(text, tokens, start, end, gold=title or NIL, title=title)
        if start < end and mention is not None:
            mentions.append(mention)
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(id=id_, text=text, tokens=tokens, sentences=lines, mentions=tuple(mentions))


def _locate(text: str, annotation: XmlAnnotation) -> tuple[int, int, str]:
    """Return start and end of a mention without surrounding spaces, and the repair, if any."""
    wanted = annotation.text
    start, end = annotation.offset, annotation.offset + annotation.length
    found = text[start:end]
    action = ""
    if not wanted.strip():
        return 0, 0, "dropped: no text"
    if found != wanted:
        if html.unescape(found) == wanted:
            action = "kept: escaped in the text"
        else:
            nearest = _nearest(text, wanted, start)
            if nearest is None:
                return 0, 0, f"dropped: not within {MAX_SHIFT} characters"
            action = f"kept: found {nearest - start:+d} characters from its offset"
            start, end = nearest, nearest + len(wanted)
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    return start, start + len(found.strip()), action


def _nearest(text: str, wanted: str, offset: int) -> int | None:
    """Return the nearest occurrence within MAX_SHIFT characters; ties to the first."""
    occurrences = []
    position = text.find(wanted, max(0, offset - MAX_SHIFT))
    while 0 <= position <= offset + MAX_SHIFT:
        occurrences.append(position)
        position = text.find(wanted, position + 1)
    return min(occurrences, key=lambda position: abs(position - offset), default=None)
