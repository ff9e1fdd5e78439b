"""Candidate lookup: the entities that mentions may refer to.

A mention takes, in this order: the candidates that its document gives; those of a longer name of
the same person in the document; those of its own name; for an acronym, those of the name that it
abbreviates in the document; those of similarly spelt names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Floats, Ints, Longs
from sgtb.core.errors import RequestError, SettingsError
from sgtb.core.records import Document
from sgtb.kb.entity import TYPES, CandidateLists
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.linking.candidates.fuzzy_names import FuzzyNames
from sgtb.linking.links import Found
from sgtb.native import keep_strongest
from sgtb.text.normalization import normal_name

# Name sharing: mentions that take the candidates of another mention of the document.


SMALL_WORDS = frozenset(
    "a an and at by for from in of on or the to with de del der des di du e et la las le les los "
    "und van von y".split()
)
"""Words that an acronym may skip."""

_ACRONYM = re.compile(r"(?:[^\W\d_]\.?){2,6}")
_OPENING = re.compile(r"\s*[(\[]\s*")
_POSSESSIVE = re.compile(r"['’]s$")


def longer_names(names: Sequence[str], is_person: Sequence[bool]) -> list[int]:
    """Find the longest name of a person that contains a name: the paper's heuristic.

    "Meck" takes the candidates of "Anna Meck". Ties in the number of words go to the first name.
    """
    full = [i for i, person in enumerate(is_person) if person and " " in names[i]]
    if not full:
        return list(range(len(names)))
    full.sort(key=lambda i: -names[i].count(" "))  # stable
    padded = [(i, f" {names[i]} ") for i in full]
    longest: dict[str, int | None] = {"": None}
    for name in names:
        if name not in longest:
            within = f" {name} "
            longest[name] = next(
                (i for i, other in padded if within in other and within != other), None
            )
    found = (longest[name] for name in names)
    return [i if other is None else other for i, other in enumerate(found)]


def written_out(
    document: Document, names: Sequence[str], has_candidates: Sequence[bool]
) -> list[int]:
    """Find, for acronyms without candidates, a mention with candidates and matching initials.

    A name right before the acronym in brackets, as in "International Monetary Fund (IMF)", takes
    precedence over the first one in the document.
    """
    taken = list(range(len(names)))
    mentions = document.mentions
    acronyms = [
        i for i in taken if not has_candidates[i] and names[i] and is_acronym(mentions[i].text)
    ]
    full = [i for i in taken if has_candidates[i] and " " in names[i]] if acronyms else []
    best: dict[str, int] = {}
    explained = set()
    for i in acronyms:
        letters = names[i]
        for other in full:
            if letters in explained or not spells(letters, names[other]):
                continue
            best.setdefault(letters, other)
            between = document.text[mentions[other].end : mentions[i].start]
            if mentions[other].end <= mentions[i].start and _OPENING.fullmatch(between):
                best[letters] = other
                explained.add(letters)
    for i in acronyms:
        taken[i] = best.get(names[i], i)
    return taken


def is_acronym(text: str) -> bool:
    """Return whether a name is written as an acronym: IMF, I.M.F., IMF's."""
    letters = _POSSESSIVE.sub("", text)
    return letters.isupper() and _ACRONYM.fullmatch(letters) is not None


def spells(letters: str, name: str) -> bool:
    """Return whether the initials of a name spell some letters; small words may be skipped."""
    reached = {0}  # numbers of letters spelt so far
    for word in name.split():
        spelt = {at + 1 for at in reached if letters[at : at + 1] == word[0]}
        reached = spelt | reached if word in SMALL_WORDS else spelt
    return len(letters) in reached


_PERSON = TYPES.index("PER")
_CACHE_SIZE = 1 << 18
"""Size limit of each cache."""


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """Settings of the candidate lookup.

    top           candidates per mention at most
    longer_names  use the longer name of a person that contains the name: the paper's heuristic
    acronyms      use the name that an unknown acronym abbreviates
    near_names    use similarly spelt names where nothing else is found
    """

    top: int = TOP
    longer_names: bool = True
    acronyms: bool = True
    near_names: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.top, bool) or not isinstance(self.top, int) or self.top < 1:
            raise SettingsError(f"top must be a whole number from 1 up, not {self.top!r}")
        for name in ("longer_names", "acronyms", "near_names"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} must be true or false, not {getattr(self, name)!r}")


class FoundCandidates(NamedTuple):
    """Candidates of M mentions, those without any included.

    offsets  i4[M+1]
    entity   i4[C]  numbers, likeliest first; given candidates by in-links
    prior    f4[C]  of the name; NaN for given candidates
    found    per mention, how its candidates were found
    """

    offsets: Ints
    entity: Ints
    prior: Floats
    found: tuple[Found, ...]


class CandidateFinder:
    """Finds the candidates of mentions. Thread-safe, except while the knowledge base is refreshed.

    Caches are dropped after a refresh.
    """

    def __init__(self, kb: KnowledgeBase, settings: CandidateSettings | None = None) -> None:
        self.settings = settings or CandidateSettings()
        self._kb = kb
        self._near = FuzzyNames(kb) if self.settings.near_names else None
        self._numbers: dict[str, int] = {}
        self._fuzzy_found: dict[str, tuple[Ints, Floats]] = {}
        self._cached_state = self._state()

    def forget(self) -> None:
        """Clear the caches."""
        self._numbers, self._fuzzy_found = {}, {}
        if self._near is not None:
            self._near.forget()

    def find(self, documents: Sequence[Document]) -> FoundCandidates:
        """Find the candidates of all mentions of some documents, in order.

        Raises a RequestError for a given candidate that is not in the knowledge base.
        """
        self._check_state()
        mentions = [mention for document in documents for mention in document.mentions]
        normal = {text: normal_name(text) for text in _texts(documents)}
        names = [normal.get(mention.text, "") for mention in mentions]
        looked_up = [n for n, m in zip(names, mentions, strict=True) if m.candidates is None]
        row_of = {name: row for row, name in enumerate(dict.fromkeys(looked_up))}
        lists, given = self._given(documents)
        lists = _joined(self._kb.candidate_lists(list(row_of), self.settings.top), lists)
        rows = [
            row_of[name] if row is None else len(row_of) + row
            for name, row in zip(names, given, strict=True)
        ]
        found = self._shared(documents, names, rows, lists)
        if self._near is not None:
            lists = self._with_near_names(self._near, names, rows, found, lists)
        return _gathered(lists, rows, found)

    def _check_state(self) -> None:
        """Clear the caches if the knowledge base was refreshed."""
        state = self._state()
        if state != self._cached_state:
            self.forget()
            self._cached_state = state

    def _state(self) -> tuple[str, int]:
        return self._kb.state.build, self._kb.state.generation

    def _given(self, documents: Sequence[Document]) -> tuple[CandidateLists, list[int | None]]:
        """Return the distinct lists of given candidates, cut to `top`, and each mention's list."""
        given = [
            None if (ids := mention.candidates) is None else tuple(ids)
            for document in documents
            for mention in document.mentions
        ]
        row: dict[tuple[str, ...], int] = {}
        rows = [None if ids is None else row.setdefault(ids, len(row)) for ids in given]
        try:
            numbers = _looked_up(self._numbers, row)
        except KeyError:
            numbers = _looked_up(self._with_new_ids(documents, row), row)
        return _strongest(self._kb, numbers, [*map(len, row)], self.settings.top), rows

    def _with_new_ids(
        self, documents: Iterable[Document], lists: Iterable[Sequence[str]]
    ) -> dict[str, int]:
        """Add the ids of some lists to the cache of numbers and return it."""
        ids, known = dict.fromkeys(chain.from_iterable(lists)), self._numbers
        if len(known) + len(ids) > _CACHE_SIZE:
            self._numbers = known = {}
        new = [id_ for id_ in ids if id_ not in known]
        found = dict(zip(new, self._kb.numbers(new), strict=True))
        for id_, number in found.items():
            if number is None:
                raise _unknown(id_, documents, self._kb)
            known[id_] = number
        return known

    def _shared(
        self,
        documents: Iterable[Document],
        names: Sequence[str],
        rows: list[int],
        lists: CandidateLists,
    ) -> list[Found]:
        """Apply the rules within documents to `rows` in place; return how candidates were found."""
        known = (np.diff(lists.offsets) > 0).tolist()
        person = _persons(self._kb, lists).tolist()
        found: list[Found] = []
        end = 0
        for document in documents:
            begin, end = end, end + len(document.mentions)
            free = [mention.candidates is None for mention in document.mentions]
            if not any(free):
                found += ["given"] * len(free)
                continue
            own, here = rows[begin:end], names[begin:end]
            places = range(len(own))
            longer = (
                longer_names(here, [person[row] for row in own])
                if self.settings.longer_names
                else places
            )
            taken = [own[longer[i]] if free[i] else own[i] for i in places]
            has = [known[row] for row in taken]
            full = written_out(document, here, has) if self.settings.acronyms else places
            for i in places:
                how: Found = "exact" if has[i] else "nothing"
                if not free[i]:
                    how = "given"
                elif longer[i] != i:
                    how = "longer name"
                elif full[i] != i:
                    how, taken[i] = "acronym", taken[full[i]]
                found.append(how)
            rows[begin:end] = taken
        return found

    def _with_near_names(
        self,
        near_names: FuzzyNames,
        names: Sequence[str],
        rows: list[int],
        found: list[Found],
        lists: CandidateLists,
    ) -> CandidateLists:
        """Add the candidates of similarly spelt names where nothing was found."""
        added: dict[str, int] = {}
        more: list[tuple[Ints, Floats]] = []
        for i, name in enumerate(names):
            if found[i] != "nothing":
                continue
            near = self._fuzzy_candidates(near_names, name)
            if not len(near[0]):
                continue
            if name not in added:
                added[name] = len(lists.offsets) - 1 + len(more)
                more.append(near)
            rows[i], found[i] = added[name], "near name"
        offsets = np.cumsum([0, *(len(entity) for entity, _ in more)])
        entity = np.concatenate([np.zeros(0, np.int32), *(entity for entity, _ in more)])
        prior = np.concatenate([np.zeros(0, np.float32), *(prior for _, prior in more)])
        return _joined(lists, CandidateLists(offsets, entity, prior))

    def _fuzzy_candidates(self, near_names: FuzzyNames, name: str) -> tuple[Ints, Floats]:
        near = self._fuzzy_found.get(name)
        if near is None:
            near = near_names.candidates(name, self.settings.top)
            if len(self._fuzzy_found) >= _CACHE_SIZE:
                self._fuzzy_found = {}
            self._fuzzy_found[name] = near
        return near


def _looked_up(number: Mapping[str, int], lists: Iterable[Sequence[str]]) -> Ints:
    return np.fromiter(map(number.__getitem__, chain.from_iterable(lists)), np.int32)


def _unknown(id_: str, documents: Iterable[Document], kb: KnowledgeBase) -> RequestError:
    """Return the error for an unknown candidate id."""
    document, mention = next(
        (document, mention)
        for document in documents
        for mention in document.mentions
        if id_ in (mention.candidates or ())
    )
    return RequestError(
        f"document {document.id!r}: candidate {id_!r} of {mention.text!r} at {mention.start} is "
        f"not in {kb.path}"
    )


def _texts(documents: Iterable[Document]) -> set[str]:
    """Return the mention texts of documents in which any mention lacks given candidates."""
    return {
        mention.text
        for document in documents
        if any(mention.candidates is None for mention in document.mentions)
        for mention in document.mentions
    }


def _persons(kb: KnowledgeBase, lists: CandidateLists) -> Bools:
    """Return whether the likeliest candidate of each list is a person."""
    first = lists.offsets[:-1]
    some = np.flatnonzero(np.diff(lists.offsets))
    persons = np.zeros(len(first), np.bool_)
    persons[some] = kb.rows["type"][lists.entity[first[some]]] == _PERSON
    return persons


def _strongest(kb: KnowledgeBase, numbers: Ints, sizes: Sequence[int], top: int) -> CandidateLists:
    """Return the distinct `top` of each list by in-links, ties to the lower number."""
    stated = kb.rows["stated_in"][numbers]
    in_links = np.where(stated >= 0, stated, kb.rows["in_links"][numbers]).astype(np.int64)
    begins, offsets = np.zeros((2, len(sizes) + 1), np.int64)
    np.cumsum(sizes, out=begins[1:])
    kept = numbers.copy()
    keep_strongest(begins, in_links, top, kept, offsets)
    n = int(offsets[-1])
    return CandidateLists(offsets, kept[:n], np.full(n, np.nan, np.float32))


def _joined(some: CandidateLists, others: CandidateLists) -> CandidateLists:
    return CandidateLists(
        np.concatenate([some.offsets, others.offsets[1:] + some.offsets[-1]]),
        np.concatenate([some.entity, others.entity]),
        np.concatenate([some.prior, others.prior]),
    )


def _gathered(
    lists: CandidateLists, rows: Sequence[int], found: Sequence[Found]
) -> FoundCandidates:
    """Concatenate the lists of all mentions."""
    row = np.array(rows, np.int64)
    starts = lists.offsets[row]
    sizes = lists.offsets[row + 1] - starts
    offsets: Longs = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    index = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    return FoundCandidates(
        offsets.astype(np.int32), lists.entity[index], lists.prior[index], tuple(found)
    )
