"""Gold: annotated entities, resolved to ids of a knowledge base.

A corpus may name entities by id, by title, or by a URL that ends in either. Unknown ones stay as
they are. Most corpora have few names outside the knowledge base, so training hides some entities:
all their mentions in a document become NIL, with the candidates that they would have if the
knowledge base lacked the entity.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

import numpy as np

from sgtb.core.records import NIL, Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.linking.candidates.candidate_table import Hidden
from sgtb.text.normalization import title_key

_CACHE_SIZE = 1 << 16
_ALL = 1 << 30


def align_gold(kb: KnowledgeBase, documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents with gold as ids of the knowledge base where known."""
    finder = GoldFinder(kb)
    for document in documents:
        mentions = tuple(finder.aligned(mention) for mention in document.mentions)
        yield replace(document, mentions=mentions)


def unknown_as_nil(kb: KnowledgeBase, documents: Iterable[Document]) -> list[Document]:
    """Replace gold that is not in the knowledge base by NIL; without a title it becomes one."""

    def known(mention: Mention) -> Mention:
        lacking = mention.in_kb and kb.number(mention.gold or "") is None
        title = mention.title or mention.gold
        return replace(mention, gold=NIL, title=title) if lacking else mention

    return [replace(d, mentions=tuple(map(known, d.mentions))) for d in documents]


def hide_gold(
    kb: KnowledgeBase, documents: Sequence[Document], share: float, seed: tuple[int, ...]
) -> tuple[list[Document], list[Hidden]]:
    """Hide a share of the distinct gold entities, drawn one by one.

    Returns documents in which they are NIL, and their numbers per document. The share differs by
    document, from none to twice as many: a knowledge base lacks more of one text than of another.
    """
    rng = np.random.default_rng(seed)
    shown: list[Document] = []
    hidden: list[Hidden] = []
    for document in documents:
        ids = dict.fromkeys(m.gold for m in document.mentions if m.in_kb and m.gold)
        drawn = rng.random(len(ids)) < min(1.0, share * 2 * rng.random())
        gone = {id_ for id_, out in zip(ids, drawn.tolist(), strict=True) if out}
        numbers = (kb.number(id_) for id_ in gone)
        hidden.append(frozenset(number for number in numbers if number is not None))
        mentions = tuple(replace(m, gold=NIL) if m.gold in gone else m for m in document.mentions)
        shown.append(replace(document, mentions=mentions) if gone else document)
    return shown, hidden


class GoldFinder:
    """Resolves annotated entities, with a cache."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[tuple[str, str | None], str | None] = {}

    def aligned(self, mention: Mention) -> Mention:
        """Return the mention with its gold resolved, or unchanged."""
        if mention.gold is None or not mention.in_kb:
            return mention
        id_ = self.find(mention.gold, mention.title)
        return mention if id_ is None or id_ == mention.gold else replace(mention, gold=id_)

    def find(self, gold: str, title: str | None = None) -> str | None:
        """Return the id of an annotated entity; None: unknown.

        Looks for the id, then for the title: the given one, or the gold with underscores as spaces;
        of a URL the last part. Similar titles count as the title (`title_key`).
        """
        key = gold, title
        if key not in self._known:
            if len(self._known) > _CACHE_SIZE:
                self._known.clear()
            self._known[key] = self._search(gold, title)
        return self._known[key]

    def _search(self, gold: str, title: str | None) -> str | None:
        # A gold that is declared a title is not an id, even if it looks like one.
        ids = () if gold == title else (gold, _last_part(gold))
        for id_ in ids:
            if id_ and self._has_id(id_, title):
                return id_
        for name in titles_in(gold, title):
            found = self._titled(name)
            if found is not None:
                return found
        return gold if self._has_id(gold, title) else None

    def _has_id(self, id_: str, title: str | None) -> bool:
        """Return whether there is such an id.

        The number of a page is no title: where ids are titles, "1984" is a year or a novel.
        """
        number = self._kb.number(id_)
        return number is not None and (
            title is None or not id_.isdecimal() or self._kb.title_of(number) in (title, "")
            or self._kb.title_of(number) != id_
        )  # fmt: skip

    def _titled(self, title: str) -> str | None:
        # Candidates are in order of likelihood.
        candidates = self._kb.candidates(title, _ALL)
        same = [c.id for c in candidates if c.title == title]
        similar = (c.id for c in candidates if title_key(c.title) == title_key(title))
        return same[0] if same else next(similar, None)


def titles_in(gold: str, title: str | None = None) -> tuple[str, ...]:
    """Return possible titles of an annotated entity; beside a title, a number is an id."""
    if title and gold.isdecimal():
        return (title,)
    titles = (title or "", gold.replace("_", " "), _last_part(gold).replace("_", " "))
    return tuple(title for title in dict.fromkeys(titles) if title)


def _last_part(gold: str) -> str:
    """Return the decoded last part of a URL; "": not a URL."""
    scheme, found, rest = gold.partition("://")
    if not found or not scheme.isalnum():
        return ""
    # Titles may have slashes, so everything after these folders is the title.
    for folder in ("/wiki/", "/resource/", "/entity/"):
        _, found, last = rest.partition(folder)
        if found:
            return unquote(last)
    return unquote(rest.rstrip("/").rpartition("/")[2])
