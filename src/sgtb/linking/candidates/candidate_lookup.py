"""Candidate lookup: the entities that mentions may refer to.

A mention takes, in this order: the candidates that its document gives; those of a longer name of
the same person in the document; those of the name that it abbreviates, as its document defines;
those of its own name; for an acronym, those of a name with these initials in the document. A
surname after a full name means no other person. Names that the knowledge base does not list are
weak names, see `weak_names`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from sgtb.core.byte_cache import ByteCache
from sgtb.core.dtypes import Bools, Floats, Ints, Longs
from sgtb.core.errors import RequestError, SettingsError
from sgtb.core.ragged import Ragged
from sgtb.core.records import Document
from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import TOP, KnowledgeBase
from sgtb.linking.candidates.candidate_table import (
    EXACT,
    NOTHING,
    SHARED,
    SIMILARITY,
    TRAINED,
    VARIANT,
    Hidden,
    MatchedLists,
    any_of,
    apart,
    are_hidden,
    candidate_lists,
    joined,
    ranked,
    runs,
    strongest,
)
from sgtb.linking.candidates.weak_names import (
    TrainedNames,
    WeakNames,
    abbreviations,
    longer_names,
    without_namesakes,
    written_in_full,
    written_out,
)
from sgtb.linking.links import Found
from sgtb.text.normalization import normal_name

_PERSON = TYPES.index("PER")
_ID_BUDGET, _WEAK_BUDGET, _WEAK_LONGEST = 4 << 20, 8 << 20, 64 << 10
"""Bytes of the caches of ids and of candidates of weak names, and of one weak name."""
_SHARED: tuple[Found, ...] = ("longer name", "abbreviation", "acronym")
"""Ways in which a mention takes the candidates of another name."""
_READ = 1 << 12  # candidates read per name; of more, those with the lowest prior are left out


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """Settings of the candidate lookup.

    top           candidates per mention at most
    longer_names  use the longer name of a person that contains the name: the paper's heuristic;
                  no other person is a candidate
    acronyms      use the name that an unknown acronym abbreviates, and definitions in the text
    fuzzy         search similarly spelt names where the knowledge base does not list the name
    containing    search names that contain the name, such as those of clubs for that of their city
    """

    top: int = TOP
    longer_names: bool = True
    acronyms: bool = True
    fuzzy: bool = False
    containing: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.top, bool) or not isinstance(self.top, int) or self.top < 1:
            raise SettingsError(f"top must be a whole number from 1 up, not {self.top!r}")
        for name in ("longer_names", "acronyms", "fuzzy", "containing"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} must be true or false, not {getattr(self, name)!r}")


class FoundCandidates(NamedTuple):
    """Candidates of M mentions, those without any included."""

    offsets: Longs  # i8[M+1]
    entity: Ints  # i4[C], numbers, likeliest first; given candidates by in-links
    prior: Floats  # f4[C], of the name; NaN for given candidates
    match: Floats  # f4[C, len(MATCHES)], 0 for given candidates
    found: tuple[Found, ...]  # per mention, how its candidates were found


_Names = tuple[list[str], list[str]]
"""The names of all mentions in normal form, and the same with abbreviations written out, "" without
any. Names that are not looked up are ""."""


class CandidateFinder:
    """Finds the candidates of mentions. Thread-safe, except while the knowledge base is refreshed.

    Caches are dropped after a refresh.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        settings: CandidateSettings | None = None,
        trained: TrainedNames | None = None,
    ) -> None:
        self.settings = settings or CandidateSettings()
        self.trained = trained or TrainedNames()
        self._kb = kb
        self.forget()

    def forget(self) -> None:
        """Clear the caches."""
        self._numbers: ByteCache[str, int] = ByteCache("ids", _ID_BUDGET)
        self._weak_cache: ByteCache[str, MatchedLists] = ByteCache("weak names", _WEAK_BUDGET)
        self._weak = WeakNames(
            self._kb, self.trained, fuzzy=self.settings.fuzzy,
            containing=self.settings.containing, top=self.settings.top,
        )  # fmt: skip
        self._cached_state = self._state()

    def find(
        self,
        documents: Sequence[Document],
        leave_out: Sequence[int] | None = None,
        hidden: Sequence[Hidden] | None = None,
    ) -> FoundCandidates:
        """Find the candidates of all mentions of some documents, in order.

        leave_out  for training documents: the number of the document that each is a part of, whose
                   own annotations must not be used
        hidden     entities of each document that the knowledge base lacks, so to speak
        Raises a RequestError for a given candidate that is not in the knowledge base.
        """
        if self._state() != self._cached_state:
            self.forget()
        if hidden is None or not documents:
            return self._find(documents, leave_out, NOTHING)
        parts = [
            self._find(documents[a:b], None if leave_out is None else leave_out[a:b], hidden[a])
            for a, b in runs(hidden)
        ]
        found = chain.from_iterable(part.found for part in parts)
        return FoundCandidates(*joined([MatchedLists(*part[:4]) for part in parts]), tuple(found))

    def _find(
        self, documents: Sequence[Document], leave_out: Sequence[int] | None, hidden: Hidden
    ) -> FoundCandidates:
        names = self._names(documents)
        row_of = {name: row for row, name in enumerate(dict.fromkeys(chain(*names)))}
        listed = candidate_lists(self._kb, list(row_of), _READ, hidden)
        strong = any_of(~listed.variant, listed.offsets)
        weak = [name for name, known in zip(row_of, strong.tolist(), strict=True) if not known]
        weak += self._weak.also(row_of)
        given, given_rows = self._given(documents, hidden)
        lists = [ranked(self._kb, listed, self.settings.top), given]
        begin = len(row_of)
        own, full = ([row_of[name] for name in some] for some in names)
        own = [o if row is None else begin + row for o, row in zip(own, given_rows, strict=True)]
        begin += len(given.offsets) - 1
        unlisted = {*weak} - {""}
        if unlisted:
            weak_lists, weak_rows = self._weak_rows(documents, names, unlisted, leave_out, hidden)
            lists.append(weak_lists)
            for i, (of_own, of_full) in enumerate(weak_rows):
                own[i] = own[i] if of_own is None or given_rows[i] is not None else begin + of_own
                full[i] = full[i] if of_full is None else begin + of_full
        every = joined(lists)
        known = np.concatenate([strong, np.ones(begin - len(strong), bool)])
        rows, found = self._shared(documents, names, (own, full), every, known)
        every, rows = self._with_own(every, rows, own, found)
        if self.settings.longer_names:
            every, rows = without_namesakes(self._kb, documents, names[0], every, rows)
        return _gathered(every, rows, found)

    def annotated_names(self, documents: Sequence[Document]) -> list[tuple[str, str]]:
        """Return names and annotated entities that the knowledge base does not list with them."""
        names = self._names(documents)
        distinct = list(dict.fromkeys(chain(*names)))
        lists = self._kb.candidate_lists(distinct, _READ)
        listed = {
            name: {*lists.entity[a:b][~lists.variant[a:b]].tolist()}
            for name, (a, b) in zip(distinct, pairwise(lists.offsets.tolist()), strict=True)
        }
        mentions = [mention for document in documents for mention in document.mentions]
        return [
            (name, mention.gold)
            for mention, own, full in zip(mentions, *names, strict=True)
            if mention.in_kb and mention.gold
            for name in dict.fromkeys((own, full))
            if name and self._kb.number(mention.gold) not in listed[name]
        ]

    def _state(self) -> tuple[str, int]:
        return self._kb.state.build, self._kb.state.generation

    def _names(self, documents: Sequence[Document]) -> _Names:
        """Return the names of all mentions; given candidates need none of their own."""
        own: list[str] = []
        full: list[str] = []
        for document in documents:
            if all(mention.candidates is not None for mention in document.mentions):
                own += [""] * len(document.mentions)
                full += [""] * len(document.mentions)
                continue
            defined = abbreviations(document.text) if self.settings.acronyms else {}
            texts = [mention.text for mention in document.mentions]
            own += texts
            full += [written_in_full(text, defined) if defined else "" for text in texts]
        normal = {text: normal_name(text) for text in {*own, *full}} | {"": ""}
        return [normal[text] for text in own], [normal[text] for text in full]

    def _given(
        self, documents: Sequence[Document], hidden: Hidden
    ) -> tuple[MatchedLists, list[int | None]]:
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
        kept, sizes = ~are_hidden(numbers, hidden), [*map(len, row)]
        if not kept.all():
            list_of = np.repeat(np.arange(len(sizes)), sizes)
            numbers, sizes = numbers[kept], np.bincount(list_of[kept], None, len(sizes)).tolist()
        return strongest(self._kb, numbers, sizes, self.settings.top), rows

    def _with_new_ids(
        self, documents: Iterable[Document], lists: Iterable[Sequence[str]]
    ) -> dict[str, int]:
        """Add the ids of some lists to the cache of numbers and return it."""
        ids, known = dict.fromkeys(chain.from_iterable(lists)), self._numbers
        if known.is_full:
            self._numbers = known = ByteCache("ids", _ID_BUDGET)
        new = [id_ for id_ in ids if id_ not in known]
        numbers: dict[str, int] = {}
        for id_, number in zip(new, self._kb.numbers(new), strict=True):
            if number is None:
                raise _unknown(id_, documents, self._kb)
            numbers[id_] = number
        known.keep_plain(numbers)
        return known

    def _weak_rows(
        self,
        documents: Sequence[Document],
        names: _Names,
        weak: Set[str],
        leave_out: Sequence[int] | None,
        hidden: Hidden,
    ) -> tuple[MatchedLists, list[tuple[int | None, int | None]]]:
        """Return lists of weak names, and the lists of each mention's own and full name."""
        groups = [0] * len(documents) if leave_out is None else leave_out
        group = [g for g, d in zip(groups, documents, strict=True) for _ in d.mentions]
        row_of: dict[tuple[str, int], int] = {}
        rows = [
            (
                row_of.setdefault((own, g), len(row_of)) if own in weak else None,
                row_of.setdefault((full, g), len(row_of)) if full in weak else None,
            )
            for g, own, full in zip(group, *names, strict=True)
        ]
        counts = self._own_counts(documents, groups) if leave_out is not None else {}
        by_group: dict[int, list[str]] = {}
        for name, g in row_of:
            by_group.setdefault(g, []).append(name)
        found: dict[tuple[str, int], MatchedLists] = {}
        for g, some in by_group.items():
            lists = (
                self._weak_lists(some)
                if leave_out is None and not hidden
                else self._find_weak(some, counts.get(g), hidden)
            )
            found.update({(name, g): one for name, one in zip(some, lists, strict=True)})
        return joined([found[key] for key in row_of]), rows

    def _weak_lists(self, names: Sequence[str]) -> list[MatchedLists]:
        """Return the candidates of weak names, from the cache where possible."""
        cache = self._weak_cache
        if cache.is_full:
            self._weak_cache = cache = ByteCache("weak names", _WEAK_BUDGET)
        new = [name for name in names if name not in cache]
        read = dict(zip(new, self._find_weak(new, None, NOTHING) if new else (), strict=True))
        cache.keep(read.items(), longest=_WEAK_LONGEST)
        return [read[name] if name in read else cache[name] for name in names]

    def _find_weak(
        self, names: Sequence[str], own: Mapping[tuple[str, int], int] | None, hidden: Hidden
    ) -> list[MatchedLists]:
        lists = candidate_lists(self._kb, names, _READ, hidden)
        return apart(
            self._weak.find(names, ranked(self._kb, lists, self.settings.top), own, hidden)
        )

    def _own_counts(
        self, documents: Sequence[Document], groups: Sequence[int]
    ) -> dict[int, Counter[tuple[str, int]]]:
        """Return, per group of documents, how often its annotations have a name and an entity."""
        counts: dict[int, Counter[tuple[str, int]]] = {group: Counter() for group in groups}
        for document, group in zip(documents, groups, strict=True):
            for name, id_ in self.annotated_names([document]):
                if (number := self._kb.number(id_)) is not None:
                    counts[group][name, number] += 1
        return counts

    def _shared(
        self,
        documents: Iterable[Document],
        names: _Names,
        rows: tuple[list[int], list[int]],
        lists: MatchedLists,
        strong: Bools,
    ) -> tuple[list[int], list[Found]]:
        """Return the list of each mention by the rules within documents, and how it was found.

        rows    the lists of the mentions' own and full names
        strong  whether the knowledge base lists the name of a list
        """
        ways, person = _ways(lists), _persons(self._kb, lists).tolist()
        listed = strong.tolist() + [False] * (len(ways) - len(strong))
        taken_rows: list[int] = []
        found: list[Found] = []
        end = 0
        for document in documents:
            begin, end = end, end + len(document.mentions)
            free = [mention.candidates is None for mention in document.mentions]
            if not any(free):
                found += ["given"] * len(free)
                taken_rows += rows[0][begin:end]
                continue
            places = range(end - begin)
            here, here_in_full = (some[begin:end] for some in names)
            own, full = (some[begin:end] for some in rows)
            abbreviated = [
                free[i]
                and bool(here_in_full[i])
                and ways[full[i]] != "nothing"
                and (listed[full[i]] or not listed[own[i]])
                for i in places
            ]
            own = [full[i] if abbreviated[i] else own[i] for i in places]
            longer: Sequence[int] = places
            if self.settings.longer_names:
                longer = longer_names(here, [person[row] for row in own])
            taken = [own[longer[i]] if free[i] else own[i] for i in places]
            has = [ways[row] not in ("nothing", "similar name") for row in taken]
            initials = written_out(document, here, has) if self.settings.acronyms else places
            for i in places:
                how = ways[taken[i]]
                if not free[i]:
                    how = "given"
                elif longer[i] != i:
                    how = "longer name"
                elif initials[i] != i:
                    how, taken[i] = "acronym", taken[initials[i]]
                elif abbreviated[i]:
                    how = "abbreviation"
                found.append(how)
            taken_rows += taken
        return taken_rows, found

    def _with_own(
        self, lists: MatchedLists, rows: Sequence[int], own: Sequence[int], found: Sequence[Found]
    ) -> tuple[MatchedLists, list[int]]:
        """Add the lists of shared names: their candidates, then those of the mention's own name."""
        begin = len(lists.offsets) - 1
        added: dict[tuple[int, int], int] = {}
        taken = [
            added.setdefault((row, own_row), begin + len(added)) if how in _SHARED else row
            for row, own_row, how in zip(rows, own, found, strict=True)
        ]
        if not added:
            return lists, taken
        parts = [_shared_list(lists, *pair, self.settings.top) for pair in added]
        return joined([lists, *parts]), taken


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


def _persons(kb: KnowledgeBase, lists: MatchedLists) -> Bools:
    """Return whether the likeliest candidate of each list is a person."""
    first = lists.offsets[:-1]
    some = np.flatnonzero(np.diff(lists.offsets))
    persons = np.zeros(len(first), np.bool_)
    persons[some] = kb.rows["type"][lists.entity[first[some]]] == _PERSON
    return persons


def _ways(lists: MatchedLists) -> list[Found]:
    """Return how the likeliest candidate of each list was found."""
    ways: list[Found] = ["nothing"] * (len(lists.offsets) - 1)
    some = np.flatnonzero(np.diff(lists.offsets))
    first = lists.match[lists.offsets[some]]
    for row, match in zip(some.tolist(), first.tolist(), strict=True):
        if match[EXACT]:
            ways[row] = "exact"
        elif match[TRAINED] and match[SIMILARITY] == 1:
            ways[row] = "training"
        else:
            ways[row] = "variant" if match[VARIANT] else "similar name"
    return ways


def _shared_list(lists: MatchedLists, row: int, own: int, top: int) -> MatchedLists:
    """Return the candidates of a shared name, then others of the own name."""
    first, last = lists.offsets[row : row + 2].tolist()
    begin, end = lists.offsets[own : own + 2].tolist()
    shared, known = range(first, last), {*lists.entity[first:last].tolist()}
    entities = enumerate(lists.entity[begin:end].tolist(), begin)
    # Lists are short: numpy's set operations take longer.
    kept = [*shared, *(i for i, entity in entities if entity not in known)][:top]
    match = lists.match[kept]
    match[: len(shared), SHARED] = 1
    return MatchedLists(np.array([0, len(kept)]), lists.entity[kept], lists.prior[kept], match)


def _gathered(lists: MatchedLists, rows: Sequence[int], found: Sequence[Found]) -> FoundCandidates:
    """Concatenate the lists of all mentions."""
    of_list = Ragged(lists.offsets, np.arange(lists.offsets[-1]))
    offsets, taken = of_list.take(np.array(rows, np.int64))
    left = zip(found, np.diff(offsets).tolist(), strict=True)
    ways = tuple(how if size or how == "given" else "nothing" for how, size in left)
    return FoundCandidates(
        offsets, lists.entity[taken], lists.prior[taken], lists.match[taken], ways
    )
