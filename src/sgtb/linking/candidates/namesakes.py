"""Namesakes: persons that a single word cannot mean where the document has a full name with it.

After "Serena Williams", the name "Williams" is not Venus Williams, and after "Kyle Federer", whom
the knowledge base lacks, "Federer" is not Roger Federer. Spellings of given names vary, so persons
with the initial of an unknown one stay, and so do candidates that are no persons.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sgtb.core.records import Document
from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_table import MatchedLists, joined
from sgtb.linking.mentions.token_shapes import TITLES
from sgtb.text.normalization import normal_name

_PERSON = TYPES.index("PER")
_MOST_WORDS = 4  # of the full name of an unknown person


class Bearers(NamedTuple):
    """The full names in a document that have a word."""

    known: tuple[int, ...]  # mentions whose likeliest candidate is a person
    initials: frozenset[str]  # of the given names of those without candidates


def bearers_of(
    names: Sequence[str], is_person: Sequence[bool], is_unknown: Sequence[bool]
) -> Mapping[str, Bearers]:
    """Return the bearers of each word that is a name by itself.

    A known person bears all words of the name; an unknown one the last. "Mrs Kim" is no full name.
    """
    single = {name for name in names if name and " " not in name} - TITLES
    known: dict[str, list[int]] = {}
    unknown: dict[str, set[str]] = {}
    for i, name in enumerate(names):
        words = name.split()
        if len(words) < 2:
            continue
        if is_person[i]:
            for word in single.intersection(words):
                known.setdefault(word, []).append(i)
        elif is_unknown[i] and words[-1] in single and len(words) <= _MOST_WORDS:
            given = [word for word in words[:-1] if word not in TITLES]
            if given:
                unknown.setdefault(words[-1], set()).add(given[0][0])
    return {
        word: Bearers(tuple(known.get(word, ())), frozenset(unknown.get(word, ())))
        for word in {*known, *unknown}
    }


def without_namesakes(
    kb: KnowledgeBase,
    documents: Sequence[Document],
    names: Sequence[str],
    lists: MatchedLists,
    rows: Sequence[int],
) -> tuple[MatchedLists, list[int]]:
    """Return the lists of candidates and the list of each mention, without namesakes.

    names  of the mentions, in normal form
    rows   the list of each mention
    """
    sizes = np.diff(lists.offsets)
    person = np.asarray(kb.rows["type"][lists.entity] == _PERSON)
    first = np.zeros(len(sizes), np.bool_)
    some = np.flatnonzero(sizes)
    first[some] = person[lists.offsets[some]]
    of_mention = np.array(rows, np.int64)
    is_person, is_unknown = first[of_mention].tolist(), (sizes[of_mention] == 0).tolist()

    def entities_of(row: int) -> list[int]:
        return lists.entity[lists.offsets[row] : lists.offsets[row + 1]].tolist()

    kept_of: dict[tuple[int, bytes], int] = {}
    taken = [*rows]
    ends = np.cumsum([0, *(len(document.mentions) for document in documents)]).tolist()
    for document, (begin, end) in zip(documents, pairwise(ends), strict=True):
        here = names[begin:end]
        bearers = bearers_of(here, is_person[begin:end], is_unknown[begin:end])
        for i, mention in enumerate(document.mentions, begin) if bearers else ():
            own = bearers.get(names[i])
            if own is None or mention.candidates is not None:
                continue
            a, b = lists.offsets[rows[i] : rows[i] + 2].tolist()
            borne = {number for k in own.known for number in entities_of(rows[begin + k])}
            kept = ~person[a:b]
            for place in np.flatnonzero(~kept).tolist():
                number = int(lists.entity[a + place])
                kept[place] = number in borne or (
                    bool(own.initials) and normal_name(kb.title_of(number))[:1] in own.initials
                )
            if not kept.all():
                key = rows[i], kept.tobytes()
                taken[i] = kept_of.setdefault(key, len(sizes) + len(kept_of))
    if not kept_of:
        return lists, taken
    return joined([lists, *(_narrowed(lists, *key) for key in kept_of)]), taken


def _narrowed(lists: MatchedLists, row: int, kept: bytes) -> MatchedLists:
    places = lists.offsets[row] + np.flatnonzero(np.frombuffer(kept, np.bool_))
    return MatchedLists(
        np.array([0, len(places)]), lists.entity[places], lists.prior[places], lists.match[places]
    )
