"""Unseen texts: sixty texts of twelve kinds, linked by the starter from plain text.

They were written before the starter's entities and texts for these kinds, by their titles in an
encyclopedia, and are not used for any choice. A name whose entity the starter lacks is NIL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.starter_data import KindText, read_kinds
from sgtb.core.records import NIL, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.link_options import LinkerSettings
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link, Request, Span
from sgtb.linking.mentions.mention_settings import MentionSettings

TEXTS = Path(__file__).parent / "unseen_texts.txt"
LOWER = "lower"
"""The kind in lower case, linked with names in lower case detected."""
CONFIDENT = 0.9


@dataclass(frozen=True)
class KindScores:
    """Counts of a kind of text.

    right      gold mentions that overlap a link to their entity, or NIL ones without a link
    gold       all gold mentions
    spurious   links that overlap no gold mention
    links      all links, and how many of them are right; then those above CONFIDENT
    """

    kind: str
    right: int
    gold: int
    spurious: int
    links: tuple[int, int]
    confident: tuple[int, int]

    @property
    def share(self) -> float:
        """Right answers, as a share of gold mentions and spurious links."""
        return self.right / max(self.gold + self.spurious, 1)


def unseen_texts() -> tuple[KindText, ...]:
    """Return the sixty texts."""
    return read_kinds(TEXTS)["test"]


def score_kinds(linker: Linker, texts: Sequence[KindText]) -> tuple[KindScores, ...]:
    """Link the plain texts and count per kind; the last row has the sums."""
    lower = Linker(
        linker.model, linker.kb, LinkerSettings(mentions=MentionSettings(capitals=False))
    )
    rows = []
    for kind in dict.fromkeys(text.kind for text in texts):
        own = lower if kind == LOWER else linker
        counts = [
            _score(own.kb, document.mentions, own.link(document.text).links)
            for name, document in texts
            if name == kind
        ]
        rows.append(_sum(kind, counts))
    return (*rows, _sum("all", rows))


def score_given(linker: Linker, texts: Sequence[KindText]) -> KindScores:
    """Link the texts with the spans of their gold mentions given, and count."""
    documents = [text.document for text in texts]
    linked = linker.pipe(
        Request(one.text, [Span(m.start, m.end) for m in one.mentions]) for one in documents
    )
    pairs = zip(documents, linked, strict=True)
    return _sum("spans given", [_score(linker.kb, a.mentions, b.links) for a, b in pairs])


def _sum(kind: str, parts: Sequence[KindScores]) -> KindScores:
    return KindScores(
        kind=kind,
        right=sum(part.right for part in parts),
        gold=sum(part.gold for part in parts),
        spurious=sum(part.spurious for part in parts),
        links=_pairs([part.links for part in parts]),
        confident=_pairs([part.confident for part in parts]),
    )


def _pairs(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(one for one, _ in pairs), sum(other for _, other in pairs)


def _score(kb: KnowledgeBase, mentions: Sequence[Mention], links: Sequence[Link]) -> KindScores:
    """Compare the links of a text with its gold."""
    linked = [link for link in links if link.entity is not None]

    def gold_of(mention: Mention) -> str:
        known = mention.in_kb and kb.number(mention.gold or "") is not None
        return mention.gold or NIL if known else NIL

    def touching(mention: Mention) -> list[Link]:
        return [o for o in linked if o.start < mention.end and mention.start < o.end]

    right_links = set()
    right = 0
    for mention in mentions:
        found, gold = touching(mention), gold_of(mention)
        if gold == NIL:
            right += not found
            continue
        hits = [link for link in found if link.entity == gold]
        right += bool(hits)
        right_links |= {(link.start, link.end) for link in hits}
    touched = {(link.start, link.end) for mention in mentions for link in touching(mention)}
    spurious = len(linked) - len(touched)
    sure = [link for link in linked if link.confidence > CONFIDENT]

    def count(some: Sequence[Link]) -> tuple[int, int]:
        return len(some), sum((link.start, link.end) in right_links for link in some)

    return KindScores("", right, len(mentions), spurious, count(linked), count(sure))


if __name__ == "__main__":
    with Linker.starter() as starter:
        unseen = unseen_texts()
        for row in (*score_kinds(starter, unseen), score_given(starter, unseen)):
            print(row.kind, row.right, row.gold, row.spurious, *row.confident)
