"""Capacity: what a format can hold of a document, and counts of what it cannot."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sgtb.core.records import NIL, Document, Mention

Losses = Counter[str]
"""Number of omissions by description."""


@dataclass(frozen=True)
class Capacity:
    """What a format can hold.

    nil          mentions of entities outside the knowledge base
    unannotated  mentions without annotation
    overlaps     overlapping mentions: "all", "not the same span" twice, or "none"
    empty        documents without mentions
    bare_titles  titles of mentions without entity
    adjust       further changes, such as of text and ids
    """

    titles: bool = True
    types: bool = True
    candidates: bool = True
    splits: bool = True
    nil: bool = True
    unannotated: bool = True
    overlaps: str = "all"
    empty: bool = True
    bare_titles: bool = False
    adjust: Callable[[Document], Document] = lambda document: document

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
        chosen = _without_overlaps(kept) if self.overlaps == "none" else _distinct(kept)
        if len(chosen) < len(kept):
            losses["mentions that overlap others"] += len(kept) - len(chosen)
        return chosen

    def _reduced(self, mention: Mention, losses: Losses) -> Mention:
        title, type_, candidates = mention.title, mention.type, mention.candidates
        if title is not None and not (self.titles and (mention.in_kb or self.bare_titles)):
            losses["titles"] += 1
            title = None
        if type_ is not None and not self.types:
            losses["types"] += 1
            type_ = None
        if candidates is not None and not self.candidates:
            losses["lists of candidates"] += 1
            candidates = None
        return replace(mention, title=title, type=type_, candidates=candidates)


def _without_overlaps(mentions: Sequence[Mention]) -> list[Mention]:
    """Return mentions without overlaps; the first is kept, of several the longest."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def _distinct(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the first mention of every span."""
    first: dict[tuple[int, int], Mention] = {}
    for mention in mentions:
        first.setdefault((mention.start, mention.end), mention)
    return list(first.values())


def _count_changes(before: Document, after: Document, losses: Losses) -> None:
    if before.id != after.id:
        losses["ids of documents, which are written in another way"] += 1
    if before.text != after.text:
        losses["texts, of which only the tokens are kept"] += 1
    if before.split != after.split:
        losses["splits of documents"] += 1
    for one, other in zip(before.mentions, after.mentions, strict=True):
        if one.gold != other.gold:
            losses["ids of entities, which are written in another way"] += 1
        if one.title != other.title and one.title is not None:
            losses["titles, which are written in another way"] += 1
