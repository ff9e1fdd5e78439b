"""Mistakes: mentions linked wrongly, with gold, answer and reasons."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sgtb.core.records import NIL, Document, Mention, Record
from sgtb.evaluation.linkers.resolved_gold import (
    ResolvedGold,
    copy_linker,
    link_resolved,
    titles_of,
)
from sgtb.evaluation.linkers.scores import Evaluation, SystemScores
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link

Kind = Literal["not among candidates", "wrong candidate", "NIL missed", "NIL invented"]
"""The gold was not a candidate; another candidate was chosen; a link where the gold is NIL; no link
although the gold was a candidate."""

AROUND = 320  # characters of text given on either side of a mention


@dataclass(frozen=True, slots=True)
class Mistake(Record):
    """A mention that was linked wrongly.

    system, data  names of the system and of the data set
    document      the id of the document
    before        the text before the mention; `after`, the text behind it
    gold          the id of the gold entity; None: NIL, or not in the knowledge base
    gold_title    its title; as annotated where the knowledge base lacks it
    link          the answer, with all candidates and reasons
    """

    system: str
    data: str
    document: str
    kind: Kind
    before: str
    after: str
    gold: str | None
    gold_title: str
    link: Link


def find_mistakes(
    linkers: Mapping[str, Linker],
    data: Mapping[str, Iterable[Document]],
    evaluation: Evaluation[SystemScores],
    *,
    most: int = 1000,
    jobs: int = 1,
) -> Iterator[Mistake]:
    """Link once more, with reasons, the documents in which an evaluation found mistakes.

    most  of each linker and data set; of more, some are taken at even distances
    """
    for name, linker in linkers.items():
        with copy_linker(linker, reasons=True) as own:
            for title, documents in data.items():
                labels = {one.split: one.name for one in evaluation.sets if one.data == title}
                wanted = _wanted(evaluation, title, name, most)
                for resolved, t, link in _relinked(own, documents, wanted, jobs):
                    yield _mistake(own.kb, name, labels[resolved.known.split], resolved, t, link)


def kind_of(mention: Mention, link: Link) -> Kind:
    """Return the kind of a wrong answer."""
    if not mention.in_kb:
        return "NIL missed"
    if all(other.entity != mention.gold for other in link.candidates):
        return "not among candidates"
    return "NIL invented" if link.entity is None else "wrong candidate"


Wanted = Mapping[str, Mapping[int, tuple[int, ...]]]
"""By split, then by the place of the document in it: mentions."""


def _wanted(evaluation: Evaluation[SystemScores], title: str, system: str, most: int) -> Wanted:
    wanted: dict[str, dict[int, tuple[int, ...]]] = {}
    for scores in (one for one in evaluation.sets if one.data == title):
        wrong = scores.systems[system].wrong
        if len(wrong) > most:
            wrong = wrong[np.linspace(0, len(wrong) - 1, most).round().astype(np.int64)]
        places = wanted.setdefault(scores.split, {})
        for document, mention in wrong.tolist():
            places[document] = (*places.get(document, ()), mention)
    return wanted


def _relinked(
    linker: Linker, documents: Iterable[Document], wanted: Wanted, jobs: int
) -> Iterator[tuple[ResolvedGold, int, Link]]:
    """Yield the mentions wanted, with their documents and links."""
    mentions: list[tuple[int, ...]] = []

    def chosen() -> Iterator[Document]:
        seen: Counter[str] = Counter()
        for document in documents:
            wrong = wanted.get(document.split, {}).get(seen[document.split])
            seen[document.split] += 1
            if wrong is not None:
                mentions.append(wrong)
                yield document

    for i, (resolved, found) in enumerate(link_resolved(linker, chosen(), jobs)):
        for t in mentions[i]:
            yield resolved, t, found.links[t]


def _mistake(
    kb: KnowledgeBase, system: str, data: str, resolved: ResolvedGold, t: int, link: Link
) -> Mistake:
    document, annotated = resolved.known, resolved.annotated.mentions[t]
    mention, text = document.mentions[t], document.text
    gold = mention.gold if mention.in_kb else None
    title = "" if annotated.gold in (None, NIL) else annotated.title or str(annotated.gold)
    return Mistake(
        system=system,
        data=data,
        document=document.id,
        kind=kind_of(mention, link),
        before=text[max(0, mention.start - AROUND) : mention.start],
        after=text[mention.end : mention.end + AROUND],
        gold=gold,
        gold_title=titles_of(kb, [gold]).get(gold or "", title),
        link=link,
    )
