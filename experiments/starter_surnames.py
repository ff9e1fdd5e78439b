"""Surnames: whether the starter reads a surname as the person of the full name before it.

Every person of the starter with a surname gives two texts. In one the full name is known, in the
other an unknown given name stands before the surname, so that both names are NIL.
`python -m experiments.starter_surnames` prints counts of the second mention.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.linker import Linker
from sgtb.linking.links import LinkedDocument

KNOWN = "{full} spoke on Monday. {surname} was tired."
UNKNOWN = "Lena {surname} runs a bakery in our village. {surname} opened it nine years ago."
CONFIDENT = 0.9
_LEAST_LETTERS = 3


class Person(NamedTuple):
    """An entity and the parts of its title."""

    entity: str
    full: str
    surname: str


@dataclass
class SurnameCounts:
    """Second mentions: right, linked to another entity, of these confident, not linked."""

    right: int = 0
    wrong: int = 0
    confident: int = 0
    unlinked: int = 0


def persons(kb: KnowledgeBase) -> Iterator[Person]:
    """Yield the persons whose title is a full name, without brackets, commas and numbers."""
    for id_ in kb.ids():
        entity = kb.entity(id_)
        words = entity.title.split()
        usable = len(words) > 1 and all(word[0].isupper() and word[-1].isalpha() for word in words)
        if entity.type == "PER" and usable and len(words[-1]) >= _LEAST_LETTERS:
            yield Person(id_, entity.title, words[-1])


def count_known(linker: Linker, people: Sequence[Person]) -> SurnameCounts:
    """Count the answers after known full names; those that are not linked rightly are left out."""
    texts = [KNOWN.format(full=one.full, surname=one.surname) for one in people]
    counts = SurnameCounts()
    for person, linked in zip(people, linker.pipe(texts), strict=True):
        if linked.links and linked.links[0].entity == person.entity:
            _count(counts, linked, person.surname, person.entity)
    return counts


def count_unknown(linker: Linker, people: Sequence[Person]) -> SurnameCounts:
    """Count the answers after unknown full names; no link is right."""
    surnames = sorted({one.surname for one in people})
    texts = [UNKNOWN.format(surname=surname) for surname in surnames]
    counts = SurnameCounts()
    for surname, linked in zip(surnames, linker.pipe(texts), strict=True):
        _count(counts, linked, surname, None)
    return counts


def _count(counts: SurnameCounts, linked: LinkedDocument, surname: str, right: str | None) -> None:
    place = linked.text.index(f" {surname} ", linked.text.index(".")) + 1
    for link in linked.links:
        if link.start != place:
            continue
        counts.right += link.entity == right
        counts.unlinked += link.entity is None and right is not None
        if link.entity not in (None, right):
            counts.wrong += 1
            counts.confident += link.confidence >= CONFIDENT


if __name__ == "__main__":
    with Linker.starter() as starter:
        everyone = list(persons(starter.kb))
        for name, found in (
            ("known", count_known(starter, everyone)),
            ("unknown", count_unknown(starter, everyone)),
        ):
            print(name, found)
