"""Asked: a document as a system is asked about it, its gold held against the knowledge base."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.training.gold import align_gold


@dataclass(frozen=True, slots=True)
class Asked:
    """A document whose gold is one of three things: an entity, NIL, or None: not annotated.

    annotated  with every entity that the annotation names, in the knowledge base or not
    inside     with those of the knowledge base only: all others are NIL
    """

    annotated: Document
    inside: Document

    @property
    def unknown(self) -> int:
        """How many mentions mean an entity that the knowledge base lacks."""
        return sum(1 for _ in self.annotated.in_kb()) - sum(1 for _ in self.inside.in_kb())


def ask(kb: KnowledgeBase, documents: Iterable[Document]) -> Iterator[Asked]:
    """Yield documents with their gold resolved to the ids of a knowledge base."""
    for document in align_gold(kb, documents):
        both = [_readings(kb, mention) for mention in document.mentions]
        yield Asked(
            replace(document, mentions=tuple(annotated for annotated, _ in both)),
            replace(document, mentions=tuple(inside for _, inside in both)),
        )


def titles_of(kb: KnowledgeBase, ids: Iterable[str | None]) -> Mapping[str, str]:
    """Return the titles of those that are entities of a knowledge base."""
    titles = {}
    for id_ in ids:
        number = None if id_ is None else kb.number(id_)
        if id_ is not None and number is not None:
            titles[id_] = kb.title_of(number)
    return titles


def _readings(kb: KnowledgeBase, mention: Mention) -> tuple[Mention, Mention]:
    if mention.gold is None or mention.gold == NIL:
        return mention, mention
    number = kb.number(mention.gold)
    if number is None:
        return mention, replace(mention, gold=NIL)
    # An annotation may go by a title that leads elsewhere by now; what counts is the entity.
    type_ = mention.type or TYPES[kb.rows["type"][number]] or None
    known = replace(mention, title=None, type=type_)
    return known, known
