"""Gold: what annotations name, found among the entities of a knowledge base.

A corpus may name entities by the ids of the knowledge base, by titles, or by addresses that end in
either. What is not found stays as it is: it is unknown to the knowledge base.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import unquote

from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase

_REMEMBERED = 1 << 16
"""How many golds are remembered before it starts anew."""
_ALL = 1 << 30


def align_gold(kb: KnowledgeBase, documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents with gold as ids of the knowledge base, wherever it is known there."""
    finder = GoldFinder(kb)
    for document in documents:
        mentions = tuple(finder.aligned(mention) for mention in document.mentions)
        yield replace(document, mentions=mentions)


def known_gold(kb: KnowledgeBase, mention: Mention) -> bool:
    """Whether the gold of a mention is the id of an entity."""
    return mention.gold is not None and mention.in_kb and kb.number(mention.gold) is not None


class GoldFinder:
    """Finds the entities that annotations name, and remembers them."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[tuple[str, str | None], str | None] = {}

    def aligned(self, mention: Mention) -> Mention:
        """Return the mention with the id of its entity as gold; unchanged where none is found."""
        if mention.gold is None or not mention.in_kb:
            return mention
        id_ = self.find(mention.gold, mention.title)
        return mention if id_ is None or id_ == mention.gold else replace(mention, gold=id_)

    def find(self, gold: str, title: str | None = None) -> str | None:
        """Return the id of the entity that an annotation names; None: it is not there.

        It is looked for by id, then by exact title: the one given, else the gold itself with
        underscores as spaces; of an address the last part is taken.
        """
        key = gold, title
        if key not in self._known:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known[key] = self._search(gold, title)
        return self._known[key]

    def _search(self, gold: str, title: str | None) -> str | None:
        # What is said to be a title is none of the ids, even if one happens to look like it.
        ids = () if gold == title else (gold, _last_part(gold))
        for id_ in ids:
            if id_ and self._kb.number(id_) is not None:
                return id_
        for name in titles_in(gold, title):
            found = self._titled(name)
            if found is not None:
                return found
        return gold if self._kb.number(gold) is not None else None

    def _titled(self, title: str) -> str | None:
        # Of two entities of one title the likelier, by the order of the candidates.
        candidates = self._kb.candidates(title, _ALL)
        return next((c.id for c in candidates if c.title == title), None)


def titles_in(gold: str, title: str | None = None) -> tuple[str, ...]:
    """Return what may be the title of the entity that an annotation names."""
    titles = (title or "", gold.replace("_", " "), _last_part(gold).replace("_", " "))
    return tuple(title for title in dict.fromkeys(titles) if title)


def _last_part(gold: str) -> str:
    """Return what an address ends in, decoded; "" if it is none."""
    scheme, found, rest = gold.partition("://")
    if not found or not scheme.isalnum():
        return ""
    # A title may hold a slash: on Wikipedia all behind /wiki/ is one, on DBpedia behind /resource/.
    for folder in ("/wiki/", "/resource/", "/entity/"):
        _, found, last = rest.partition(folder)
        if found:
            return unquote(last)
    return unquote(rest.rstrip("/").rpartition("/")[2])
