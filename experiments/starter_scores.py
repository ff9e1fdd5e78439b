"""Scores on the starter: test documents and contrast pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.starter_data import ContrastPair
from sgtb.core.records import Document
from sgtb.evaluation.linkers.systems import System
from sgtb.evaluation.metrics import PrecisionRecall, share
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import Link, LinkedDocument


@dataclass(frozen=True, slots=True)
class Share:
    """A number of right ones among a total."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """The share of right ones in percent."""
        return 100 * share(self.right, self.total)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a system.

    mentions   of the documents, spans given
    ambiguous  those of them that have two candidates or more
    names      of the contrast pairs: the mentions that carry a pair's name
    pairs      contrast pairs of which all such mentions are right
    found      of the documents, from plain text: span and entity must be right
    """

    mentions: Share
    ambiguous: Share
    names: Share
    pairs: Share
    found: PrecisionRecall


@dataclass(frozen=True)
class StarterAnswers:
    """The answers of a linker with all candidates, from which baselines are computed too."""

    documents: tuple[Document, ...]
    contrast: tuple[ContrastPair, ...]
    marked: tuple[LinkedDocument, ...]
    pairs: tuple[tuple[LinkedDocument, LinkedDocument], ...]
    bare: tuple[LinkedDocument, ...]

    @classmethod
    def of(
        cls, linker: Linker, documents: tuple[Document, ...], contrast: tuple[ContrastPair, ...]
    ) -> "StarterAnswers":
        """Link documents and pairs; the linker must give all candidates."""
        pairs = iter(tuple(linker.pipe(d for pair in contrast for d in (pair.one, pair.two))))
        return cls(
            documents, contrast,
            marked=tuple(linker.pipe(documents)),
            pairs=tuple(zip(pairs, pairs, strict=True)),
            bare=tuple(linker.pipe(document.text for document in documents)),
        )  # fmt: skip

    def scores(self, choose: System) -> Scores:
        """Compare the answers of a system with the gold."""
        rights, several = [], []
        for document, linked in zip(self.documents, self.marked, strict=True):
            rights += _right(document, choose(linked))
            several += [len(link.candidates) > 1 for link in linked.links]
        difficult = [right for right, ambiguous in zip(rights, several, strict=True) if ambiguous]
        named = [self._named(pair, both, choose) for pair, both in
                 zip(self.contrast, self.pairs, strict=True)]  # fmt: skip
        return Scores(
            _share(rights),
            _share(difficult),
            _share([right for pair in named for right in pair]),
            _share([all(pair) for pair in named]),
            self._found(choose),
        )

    def _named(
        self, pair: ContrastPair, both: tuple[LinkedDocument, LinkedDocument], choose: System
    ) -> list[bool]:
        """Return for each mention with the pair's name whether it is right."""
        found = []
        for document, linked in zip((pair.one, pair.two), both, strict=True):
            rights = _right(document, choose(linked))
            found += [
                right
                for mention, right in zip(document.mentions, rights, strict=True)
                if mention.text.lower() == pair.name.lower()
            ]
        return found

    def _found(self, choose: System) -> PrecisionRecall:
        right = predicted = gold = 0
        for document, linked in zip(self.documents, self.bare, strict=True):
            wanted = {(m.start, m.end, m.gold) for m in document.mentions}
            chosen = zip(linked.links, choose(linked), strict=True)
            given = {(link.start, link.end, id_) for link, id_ in chosen if id_ is not None}
            right += len(wanted & given)
            predicted += len(given)
            gold += len(wanted)
        return PrecisionRecall(right, predicted, gold)


class LinkVote:
    """Baseline: the candidate linked with candidates of most other mentions, then by prior.

    Ties go to the lower number.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        lists = kb.link_lists(np.arange(len(kb), dtype=np.int32))
        source = np.repeat(np.arange(len(kb)), np.diff(lists.indptr))
        self._linked: list[set[int]] = [set() for _ in range(len(kb))]
        for one, other in zip(source.tolist(), lists.data.tolist(), strict=True):
            self._linked[one].add(other)
            self._linked[other].add(one)

    def __call__(self, linked: LinkedDocument) -> Sequence[str | None]:
        """Return the choice for every mention; None without candidates."""
        numbers = [self._numbers(link) for link in linked.links]
        chosen = []
        for i, link in enumerate(linked.links):
            others = [set(given) for j, given in enumerate(numbers) if j != i]
            votes = [sum(not self._linked[n].isdisjoint(o) for o in others) for n in numbers[i]]
            # A prior is at most 1: halved, it decides among equal votes only.
            ranked = [
                (vote + candidate.prior / 2, -number)
                for vote, candidate, number in zip(votes, link.candidates, numbers[i], strict=True)
            ]
            best = max(ranked, default=None)
            chosen.append(None if best is None else self._kb.id_of(-best[1]))
        return chosen

    def _numbers(self, link: Link) -> list[int]:
        numbers = [self._kb.number(candidate.entity) for candidate in link.candidates]
        return [number for number in numbers if number is not None]


def _right(document: Document, ids: Sequence[str | None]) -> list[bool]:
    return [id_ == mention.gold for mention, id_ in zip(document.mentions, ids, strict=True)]


def _share(rights: Sequence[bool]) -> Share:
    return Share(sum(rights), len(rights))
