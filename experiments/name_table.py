"""NameTable: the entities of each name, collected without gold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sgtb.core.entities import EntityTable
from sgtb.core.records import Document
from sgtb.linking.entities.entity_facts import split_title
from sgtb.text.normalization import normal_phrase

Ids = frozenset[str]


@dataclass(frozen=True)
class NameTable:
    """The ids of entities by the normal form of a name.

    The entities of a name are its candidates in any of some documents, and the entities with that
    title, without brackets.
    """

    ids: Mapping[str, Ids]

    @classmethod
    def build(cls, documents: Iterable[Document], entities: EntityTable) -> "NameTable":
        """Collect names from the candidates of documents, and from titles."""
        ids: dict[str, set[str]] = {}
        for document in documents:
            for mention in document.mentions:
                ids.setdefault(normal_phrase(mention.text), set()).update(mention.candidates or ())
        for id_, title in zip(entities.ids, entities.titles, strict=True):
            for name in (split_title(title)[0], title):
                ids.setdefault(normal_phrase(name), set()).add(id_)
        # Names of punctuation only have an empty normal form.
        return cls({name: frozenset(known) for name, known in ids.items() if name and known})

    def listed(self, document: Document) -> Document:
        """Return the document with candidates for every mention, none for unknown names.

        An unknown name gets the candidates of the longest mention that contains it as words: "Meck"
        those of "Anna Meck". This is the paper's heuristic for persons, applied to all unknown
        names.
        """
        names = [normal_phrase(mention.text) for mention in document.mentions]
        full = sorted(  # by words, most first; sorting leaves equals in the document's order
            (name for name in dict.fromkeys(names) if name in self.ids),
            key=lambda name: -name.count(" "),
        )
        mentions = (
            replace(mention, candidates=tuple(sorted(self._ids_of(name, full))))
            for mention, name in zip(document.mentions, names, strict=True)
        )
        return replace(document, mentions=tuple(mentions))

    def _ids_of(self, name: str, full: Iterable[str]) -> Ids:
        if name in self.ids:
            return self.ids[name]
        longest = next((other for other in full if f" {name} " in f" {other} "), None)
        return self.ids[longest] if longest and name else frozenset()
