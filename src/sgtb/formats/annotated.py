"""Annotations: spans of a text, checked and converted to a document.

All formats but AIDA have a text and offsets; tokens and sentences are then those of the tokenizer.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sgtb.core.records import Document, Mention
from sgtb.formats.corpus_source import occurrences, shown
from sgtb.formats.error_handler import ErrorAt, ErrorHandler
from sgtb.text.tokenization import Segmented, mention_at, segment

SPLITS = ("train", "dev", "test", "")


class Annotation(NamedTuple):
    """An annotated span; fields as in `Mention`."""

    start: int
    end: int
    gold: str | None = None
    title: str | None = None
    type: str | None = None
    candidates: tuple[str, ...] | None = None
    text: str | None = None  # the name as in the file, to be compared; None: not in the file
    error: ErrorAt | None = None  # with the annotation's line; None: that of its document


def annotated_document(
    id: str,
    text: str,
    annotations: Iterable[Annotation],
    *,
    split: str = "",
    segmentation: Segmented | None = None,
    error: ErrorAt,
    handler: ErrorHandler,
) -> Document:
    """Return a document with mentions in the order of the text.

    segmentation  tokens and sentences of the file; None: those of the tokenizer
    error         maker of errors with the document's line
    handler       gets annotations that cannot be mentions
    """
    tokens, lines = segmentation or segment(text)
    mentions = []
    for annotation in annotations:
        problem = _problem(text, annotation)
        start, end, gold, title, type_, candidates, _, own_error = annotation
        if problem is None:
            mention = mention_at(
                text, tokens, start, end, gold=gold, title=title, type=type_, candidates=candidates
            )
            if mention is not None:
                mentions.append(mention)
                continue
            problem = f"the mention {start} to {end} has no token"
        handler.error((own_error or error)(problem))
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(id, text, tokens, lines, mentions=tuple(mentions), split=split)


def overlapping(mentions: Sequence[Mention]) -> list[int]:
    """Return the indices of mentions that begin before the end of an earlier one."""
    found, end = [], 0
    for i, mention in enumerate(mentions):
        if mention.start < end:
            found.append(i)
        end = max(end, mention.end)
    return found


def _problem(text: str, annotation: Annotation) -> str | None:
    """Return why an annotation does not fit its text; None: it does."""
    start, end, name = annotation.start, annotation.end, annotation.text
    if not 0 <= start < end <= len(text):
        return (
            f"the mention {start} to {end} is outside of a text of {len(text)} code points; "
            f"start and end must be 0 <= start < end <= {len(text)}"
        )
    if name is None or text[start:end] == name:
        return None
    problem = f"the mention {shown(name)} is {shown(text[start:end])} at {start} to {end}"
    return problem + _hint(text, start, name)


def _hint(text: str, start: int, name: str) -> str:
    """Return where the name is instead, and which unit the offsets may have."""
    positions = occurrences(text, name)
    if not positions:
        return "; the text does not have it"
    for unit, encoding, size in (("UTF-16 units", "utf-16-le", 2), ("bytes", "utf-8", 1)):
        sizes = {at: len(text[:at].encode(encoding, "surrogatepass")) // size for at in positions}
        if any(at != start and sizes[at] == start for at in positions):
            return f"; the offsets count {unit}, but must count code points"
    nearest = min(positions, key=lambda at: abs(at - start))
    return f"; the nearest one starts at {nearest}"
