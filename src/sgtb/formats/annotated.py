"""Annotated: a text and what is said about spans of it, checked and made a document.

All formats but AIDA give a text and offsets; tokens and sentences are then made by the same rules
as for a text that is to be linked.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sgtb.core.records import Document, Mention
from sgtb.formats.complaints import Complaints, ErrorAt
from sgtb.formats.corpus_source import shown
from sgtb.text.tokenization import Segmented, segment, touched_tokens

SPLITS = ("train", "dev", "test", "")


class Annotation(NamedTuple):
    """What a file says about a span of a text; the fields are those of a mention.

    text   the name as the file has it, to be compared with what the text has; None: it has none
    error  makes errors that name the line of this annotation; None: that of its document
    """

    start: int
    end: int
    gold: str | None = None
    title: str | None = None
    type: str | None = None
    candidates: tuple[str, ...] | None = None
    text: str | None = None
    error: ErrorAt | None = None


def annotated_document(
    id: str,
    text: str,
    annotations: Iterable[Annotation],
    *,
    split: str = "",
    layout: Segmented | None = None,
    error: ErrorAt,
    complaints: Complaints,
) -> Document:
    """Return a document, its mentions in the order of the text.

    Annotations that cannot be mentions are complained about, and left out where that is all.

    layout  the tokens and sentences that the file brings along; None: they are made
    """
    tokens, lines = layout or segment(text)
    mentions = []
    for annotation in annotations:
        problem = _problem(text, annotation)
        if problem is None:
            start, end = annotation.start, annotation.end
            first, stop = touched_tokens(tokens, start, end)
            if first < stop:
                mentions.append(Mention(start, end, first, stop, text[start:end], *annotation[2:6]))
                continue
            problem = f"the mention {start} to {end} touches no word or sign"
        complaints.wrong((annotation.error or error)(problem))
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(id, text, tokens, lines, tuple(mentions), split)


def overlapping(mentions: Sequence[Mention]) -> list[int]:
    """Return the places of the mentions that begin before one ahead of them has ended."""
    found, end = [], 0
    for i, mention in enumerate(mentions):
        if mention.start < end:
            found.append(i)
        end = max(end, mention.end)
    return found


def _problem(text: str, annotation: Annotation) -> str | None:
    """Say why an annotation does not fit its text."""
    start, end, given = annotation.start, annotation.end, annotation.text
    if not 0 <= start < end <= len(text):
        return (
            f"the mention {start} to {end} is no part of a text of {len(text)} code points; "
            f"start and end must be 0 <= start < end <= {len(text)}"
        )
    if given is None or text[start:end] == given:
        return None
    problem = f"the mention {shown(given)} is {shown(text[start:end])} at {start} to {end}"
    return problem + _hint(text, start, given)


def _hint(text: str, start: int, given: str) -> str:
    """Say where the name is instead, and what may have been counted."""
    places = []
    at = text.find(given)
    while at >= 0 and given:
        places.append(at)
        at = text.find(given, at + 1)
    if not places:
        return "; the text does not have it"
    for unit, size in (("UTF-16 units", _utf16), ("bytes", _utf8)):
        if any(at != start and size(text[:at]) == start for at in places):
            return f"; the offsets count {unit}, and should count code points"
    nearest = min(places, key=lambda at: abs(at - start))
    return f"; the nearest one starts at {nearest}"


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
