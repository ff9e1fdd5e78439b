"""Scores on the starter: how many mentions of test and contrast pairs a system gets right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.starter_data import ContrastPair
from sgtb.core.records import Document
from sgtb.evaluation.metrics import share
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link, LinkedDocument

Chooser = Callable[[LinkedDocument], Sequence[str | None]]
"""Given a document with all candidates of its mentions: the id that each of them means."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """The share of what is right."""
        return 100 * share(self.right, self.total)


@dataclass(frozen=True, slots=True)
class FoundScore:
    """Links in texts whose mentions nobody marked: the same span and the same entity is right."""

    right: int
    said: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of right links among those made, in percent."""
        return 100 * share(self.right, self.said)

    @property
    def recall(self) -> float:
        """The share of gold mentions that were linked right, in percent."""
        return 100 * share(self.right, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both, in percent."""
        return 100 * share(2 * self.right, self.said + self.gold)


@dataclass(frozen=True, slots=True)
class Scores:
    """What a system gets right.

    mentions   of the documents, their spans given
    ambiguous  those of them that have two candidates or more
    names      of the contrast pairs: the mentions that carry a pair's name
    pairs      contrast pairs of which all such mentions are right
    found      of the documents, from the bare text
    """

    mentions: Share
    ambiguous: Share
    names: Share
    pairs: Share
    found: FoundScore


@dataclass(frozen=True)
class Sheet:
    """A linker's answers to all that is asked; choosers may read other answers from them."""

    documents: tuple[Document, ...]
    contrast: tuple[ContrastPair, ...]
    marked: tuple[LinkedDocument, ...]
    pairs: tuple[tuple[LinkedDocument, LinkedDocument], ...]
    bare: tuple[LinkedDocument, ...]

    @classmethod
    def of(
        cls, linker: Linker, documents: tuple[Document, ...], contrast: tuple[ContrastPair, ...]
    ) -> "Sheet":
        """Link documents and pairs; the linker must give all candidates."""
        pairs = iter(tuple(linker.pipe(d for pair in contrast for d in (pair.one, pair.two))))
        return cls(
            documents, contrast,
            marked=tuple(linker.pipe(documents)),
            pairs=tuple(zip(pairs, pairs, strict=True)),
            bare=tuple(linker.pipe(document.text for document in documents)),
        )  # fmt: skip

    def scores(self, choose: Chooser) -> Scores:
        """Hold a chooser's answers against the gold."""
        rights, several = [], []
        for document, linked in zip(self.documents, self.marked, strict=True):
            rights += _right(document, choose(linked))
            several += [len(link.candidates) > 1 for link in linked.links]
        asked = [right for right, ambiguous in zip(rights, several, strict=True) if ambiguous]
        named = [self._named(pair, both, choose) for pair, both in
                 zip(self.contrast, self.pairs, strict=True)]  # fmt: skip
        return Scores(
            _share(rights),
            _share(asked),
            _share([right for pair in named for right in pair]),
            _share([all(pair) for pair in named]),
            self._found(choose),
        )

    def _named(
        self, pair: ContrastPair, both: tuple[LinkedDocument, LinkedDocument], choose: Chooser
    ) -> list[bool]:
        """Tell of each mention that carries the pair's name whether it is right."""
        found = []
        for document, linked in zip((pair.one, pair.two), both, strict=True):
            rights = _right(document, choose(linked))
            found += [
                right
                for mention, right in zip(document.mentions, rights, strict=True)
                if mention.text.lower() == pair.name.lower()
            ]
        return found

    def _found(self, choose: Chooser) -> FoundScore:
        right = said = gold = 0
        for document, linked in zip(self.documents, self.bare, strict=True):
            wanted = {(m.start, m.end, m.gold) for m in document.mentions}
            chosen = zip(linked.links, choose(linked), strict=True)
            given = {(link.start, link.end, id_) for link, id_ in chosen if id_ is not None}
            right += len(wanted & given)
            said += len(given)
            gold += len(wanted)
        return FoundScore(right, said, gold)


def decided(linked: LinkedDocument) -> Sequence[str | None]:
    """Choose what the linker chose."""
    return [link.entity for link in linked.links]


class Baselines:
    """Choosers that learned nothing: candidates are ranked, of equals the lower number is taken."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        lists = kb.link_lists(np.arange(len(kb), dtype=np.int32))
        source = np.repeat(np.arange(len(kb)), np.diff(lists.indptr))
        self._linked: list[set[int]] = [set() for _ in range(len(kb))]
        for one, other in zip(source.tolist(), lists.data.tolist(), strict=True):
            self._linked[one].add(other)
            self._linked[other].add(one)

    def prior(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Choose the candidate of the highest name prior."""
        return [
            self._best(link, [candidate.prior for candidate in link.candidates])
            for link in linked.links
        ]

    def in_links(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Choose the candidate that most entities link to."""
        counts = self._kb.rows["in_links"]
        return [
            self._best(link, [float(counts[n]) for n in self._numbers(link)])
            for link in linked.links
        ]

    def link_vote(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Choose the candidate linked with candidates of most other mentions, then by prior."""
        numbers = [self._numbers(link) for link in linked.links]
        chosen = []
        for i, link in enumerate(linked.links):
            others = [set(given) for j, given in enumerate(numbers) if j != i]
            votes = [sum(not self._linked[n].isdisjoint(o) for o in others) for n in numbers[i]]
            priors = [candidate.prior for candidate in link.candidates]
            # A prior is at most 1, so that it decides among equal votes only.
            ranks = [vote + prior / 2 for vote, prior in zip(votes, priors, strict=True)]
            chosen.append(self._best(link, ranks))
        return chosen

    def _numbers(self, link: Link) -> list[int]:
        numbers = [self._kb.number(candidate.entity) for candidate in link.candidates]
        return [number for number in numbers if number is not None]

    def _best(self, link: Link, ranks: Sequence[float]) -> str | None:
        order = zip(ranks, self._numbers(link), strict=True)
        best = max(order, key=lambda pair: (pair[0], -pair[1]), default=None)
        return None if best is None else self._kb.id_of(best[1])


def _right(document: Document, ids: Sequence[str | None]) -> list[bool]:
    return [id_ == mention.gold for mention, id_ in zip(document.mentions, ids, strict=True)]


def _share(rights: Sequence[bool]) -> Share:
    return Share(sum(rights), len(rights))
