"""ResolvedGold: documents whose gold is resolved against a knowledge base, and linking them."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sgtb.core.errors import RequestError
from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument, Request
from sgtb.linking.training.gold import align_gold

ALL = 1000  # more candidates than a mention has


@dataclass(frozen=True, slots=True)
class ResolvedGold:
    """A document in two versions; gold is an entity, NIL, or None if a mention is not annotated."""

    annotated: Document  # with every entity that the annotation names, in the knowledge base or not
    known: Document  # with those of the knowledge base only; all others are NIL

    @property
    def unknown(self) -> int:
        """The number of mentions whose entity the knowledge base lacks."""
        return sum(1 for _ in self.annotated.in_kb()) - sum(1 for _ in self.known.in_kb())


def resolve_gold(kb: KnowledgeBase, documents: Iterable[Document]) -> Iterator[ResolvedGold]:
    """Yield documents with their gold resolved to the ids of a knowledge base."""
    for document in align_gold(kb, documents):
        both = [_resolved(kb, mention) for mention in document.mentions]
        yield ResolvedGold(
            replace(document, mentions=tuple(annotated for annotated, _ in both)),
            replace(document, mentions=tuple(known for _, known in both)),
        )


def copy_linker(linker: Linker, reasons: bool) -> Linker:
    """Return a linker with its own knowledge base and workers, to be closed independently.

    It returns all candidates, because recall counts those considered, not those shown.
    """
    settings = replace(linker.settings, candidates=ALL, reasons=reasons)
    return Linker(linker.model, linker.kb.path, settings)


def link_resolved(
    linker: Linker, documents: Iterable[Document], jobs: int, from_text: bool = False
) -> Iterator[tuple[ResolvedGold, LinkedDocument]]:
    """Link documents without their gold; only a few are held in memory at a time.

    from_text  whether only the text is linked, without the document's tokens and mentions
    """
    pending: deque[ResolvedGold] = deque()  # a linker reads ahead

    def inputs() -> Iterator[Document | Request]:
        for resolved in resolve_gold(linker.kb, documents):
            pending.append(resolved)
            document = resolved.annotated
            yield Request(document.text, id=document.id) if from_text else document

    try:
        for linked in linker.pipe(inputs(), jobs=jobs):
            yield pending.popleft(), linked
    except RequestError as error:
        last = f"one of the documents up to {pending[-1].annotated.id!r}: " if pending else ""
        raise RequestError(f"{last}{error}") from None


def titles_of(kb: KnowledgeBase, ids: Iterable[str | None]) -> Mapping[str, str]:
    """Return the titles of those ids that are entities of a knowledge base."""
    numbers = {id_: kb.number(id_) for id_ in ids if id_ is not None}
    return {id_: kb.title_of(n) for id_, n in numbers.items() if n is not None}


def _resolved(kb: KnowledgeBase, mention: Mention) -> tuple[Mention, Mention]:
    if mention.gold is None or mention.gold == NIL:
        return mention, mention
    number = kb.number(mention.gold)
    if number is None:
        return mention, replace(mention, gold=NIL)
    # The annotated title may be a redirect; the entity counts.
    type_ = mention.type or kb.type_of(number) or None
    known = replace(mention, title=None, type=type_)
    return known, known
