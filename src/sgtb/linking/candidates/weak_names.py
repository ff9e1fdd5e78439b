"""Weak names: names that the knowledge base does not list.

Their candidates are the entities that training documents annotate under the same or a similar name,
those with the name as a variant, and those of similarly spelt names. The functions at the end find
mentions that take the candidates of another name of their document, and candidates that another
name rules out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.core.errors import SettingsError
from sgtb.core.records import Document
from sgtb.core.sparse_matrix import group_of
from sgtb.kb.entity import TYPES, SimilarNames
from sgtb.kb.fuzzy_index import SCORES, FuzzyIndex, NameTexts
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.name_variants import TITLES, other_forms
from sgtb.linking.candidates.candidate_table import (
    EXACT,
    MATCHES,
    NOTHING,
    SIMILARITY,
    TRAINED,
    VARIANT,
    Hidden,
    MatchedLists,
    any_of,
    candidate_lists,
    joined,
    strength,
)
from sgtb.text.normalization import SMALL_WORDS, normal_name, spells

_SIMILAR = 48  # similar names per name
_CONTAINING = 512  # names per name that contain it
_LEAST = 0.2  # similarity of a similar name at least
_PER_NAME = 30  # candidates of a similar name
_EXACT_KEY, _TRAINED_KEY, _VARIANT_KEY = 3.0, 2.0, 1.0
"""Added to the sort key of candidates; that of similar names is their similarity, at most 1."""

NameCounts = Mapping[str, Mapping[str, int]]  # name -> entity id -> number of annotated mentions


@dataclass(frozen=True)
class TrainedNames:
    """Annotated names of training documents that the knowledge base does not list."""

    counts: NameCounts = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, entities in self.counts.items():
            for id_, n in entities.items():
                whole = isinstance(n, int) and not isinstance(n, bool) and n > 0
                if not (isinstance(name, str) and isinstance(id_, str) and whole):
                    raise SettingsError(f"the count of {name!r:.80} as {id_!r:.80} is {n!r:.80}")

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "TrainedNames":
        """Count pairs of name and entity id."""
        counts: dict[str, dict[str, int]] = {}
        for (name, id_), n in sorted(Counter(pairs).items()):
            counts.setdefault(name, {})[id_] = n
        return cls(counts)


class _Rows(NamedTuple):
    """Unordered candidates: number of the name, entity, sort key, match."""

    name: Longs
    entity: Longs
    key: Floats
    match: Floats


class WeakNames:
    """Finds the candidates of weak names.

    fuzzy       whether similarly spelt names are searched
    containing  whether names that contain the name are searched, also for listed names
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        trained: TrainedNames,
        *,
        fuzzy: bool,
        containing: bool,
        top: int,
    ) -> None:
        self._kb, self._fuzzy, self._containing, self._top = kb, fuzzy, containing, top
        ids = sorted({id_ for entities in trained.counts.values() for id_ in entities})
        number = dict(zip(ids, kb.numbers(ids), strict=True))
        self._names = list(trained.counts)
        self._place = {name: i for i, name in enumerate(self._names)}
        # Entities that were removed from the knowledge base are left out.
        self._entities = [
            {n: count for id_, count in entities.items() if (n := number[id_]) is not None}
            for entities in trained.counts.values()
        ]
        self._index = FuzzyIndex.build(
            NameTexts.of(name.encode() for name in self._names), kb.fuzzy.weight
        )

    def also(self, names: Iterable[str]) -> list[str]:
        """Return the listed names that may have further candidates, too."""
        return [name for name in names if self._containing or name in self._place]

    def find(
        self,
        names: Sequence[str],
        variants: MatchedLists,
        own: Mapping[tuple[str, int], int] | None = None,
        hidden: Hidden = NOTHING,
    ) -> MatchedLists:
        """Return the candidates of names, at most `top` of each.

        variants  candidates that the knowledge base lists with the names
        own       counts of (name, entity) in training to be left out: those of the own document
        hidden    entities that the knowledge base lacks, so to speak
        """
        own = own or {}
        places = [self._place.get(name, -1) for name in names]
        trained = [i for i, place in enumerate(places) if place >= 0]
        same = np.ones((len(trained), len(SCORES)), np.float32)
        parts = [
            self._listed(variants),
            self._trained(trained, [places[i] for i in trained], same, own, hidden),
        ]
        unlisted = np.flatnonzero(~any_of(variants.match[:, EXACT] > 0, variants.offsets))
        some = [names[i] for i in unlisted.tolist()]
        if some:
            parts.append(_for(unlisted, self._other_forms(some, hidden)))
        if self._containing:
            parts.append(self._longer(names, hidden))
        if some and self._fuzzy:
            parts += [
                _for(unlisted, self._similar(some, hidden)),
                _for(unlisted, self._trained_similarly(some, own, hidden)),
            ]
        return _united(_Rows(*map(np.concatenate, zip(*parts, strict=True))), len(names), self._top)

    def _listed(self, lists: MatchedLists) -> _Rows:
        key = np.where(lists.match[:, EXACT] > 0, _EXACT_KEY, _VARIANT_KEY) + lists.prior
        return _Rows(group_of(lists.offsets), lists.entity.astype(np.int64), key, lists.match)

    def _other_forms(self, names: Sequence[str], hidden: Hidden) -> _Rows:
        """Return the candidates of other forms of the names, such as singular and plural."""
        forms = [(i, form) for i, name in enumerate(names) for form in other_forms(name)]
        lists = candidate_lists(self._kb, [form for _, form in forms], _PER_NAME, hidden)
        asked = np.repeat(np.array([i for i, _ in forms], np.int64), np.diff(lists.offsets))
        match = np.zeros((len(lists.entity), len(MATCHES)), np.float32)
        match[:, [VARIANT, *range(SIMILARITY, len(MATCHES))]] = 1
        return _Rows(asked, lists.entity.astype(np.int64), _VARIANT_KEY + lists.prior, match)

    def _trained_similarly(
        self, names: Sequence[str], own: Mapping[tuple[str, int], int], hidden: Hidden
    ) -> _Rows:
        found = self._index.search(names, _SIMILAR)
        name, at = np.nonzero(
            (np.arange(_SIMILAR) < found.n_found[:, None]) & (found.scores[:, :, 0] >= _LEAST)
        )
        places = found.name[name, at].tolist()
        rows = self._trained(name.tolist(), places, found.scores[name, at], own, hidden)
        return rows._replace(key=rows.match[:, SIMILARITY])

    def _trained(
        self,
        names: Sequence[int],
        places: Sequence[int],
        scores: Floats,
        own: Mapping[tuple[str, int], int],
        hidden: Hidden,
    ) -> _Rows:
        """Return the annotated entities of trained names, each found for one of the names."""
        rows: list[tuple[float, ...]] = []
        for i, (name, place) in enumerate(zip(names, places, strict=True)):
            spelt, entities = self._names[place], self._entities[place]
            counts = {e: n - own.get((spelt, e), 0) for e, n in entities.items() if e not in hidden}
            left = {e: n for e, n in counts.items() if n > 0}
            total = sum(left.values())
            rows += [(name, entity, i, n / total) for entity, n in left.items()]
        found, entity, row, share = np.array(rows, np.float64).reshape(-1, 4).T
        match = np.zeros((len(rows), len(MATCHES)), np.float32)
        match[:, TRAINED] = share
        match[:, SIMILARITY:] = scores[row.astype(np.int64)]
        key = _TRAINED_KEY + match[:, TRAINED]
        return _Rows(found.astype(np.int64), entity.astype(np.int64), key, match)

    def _similar(self, names: Sequence[str], hidden: Hidden) -> _Rows:
        """Return the candidates of similarly spelt names of the knowledge base."""
        rows = self._candidates(self._kb.similar_names(names, _SIMILAR), hidden)
        kept = rows.key >= _LEAST
        return _Rows(rows.name[kept], rows.entity[kept], rows.key[kept], rows.match[kept])

    def _longer(self, names: Sequence[str], hidden: Hidden) -> _Rows:
        """Return the candidates of names that contain the names, by popularity and in-links."""
        rows = self._candidates(self._kb.similar_names(names, _CONTAINING, containing=True), hidden)
        return rows._replace(key=strength(self._kb, rows.name, rows.entity).astype(np.float32))

    def _candidates(self, similar: SimilarNames, hidden: Hidden) -> _Rows:
        """Return the candidates of names of the knowledge base; their keys are similarities."""
        lists = candidate_lists(self._kb, similar.names, _PER_NAME, hidden)
        asked, row = group_of(similar.offsets), group_of(lists.offsets)
        kept = ~lists.variant
        row, entity = row[kept], lists.entity[kept].astype(np.int64)
        match = np.zeros((len(row), len(MATCHES)), np.float32)
        match[:, SIMILARITY:] = similar.scores[row]
        return _Rows(asked[row], entity, match[:, SIMILARITY], match)


def _for(names: Longs, rows: _Rows) -> _Rows:
    """Return rows of some names as rows of all names."""
    return rows._replace(name=names[rows.name])


def _united(rows: _Rows, n_names: int, top: int) -> MatchedLists:
    """Unite the rows of each candidate by their maxima, and keep the `top` of each name."""
    order = np.lexsort((rows.entity, rows.name))
    name, entity = rows.name[order], rows.entity[order]
    first = np.flatnonzero(
        np.diff(name, prepend=-1).astype(bool) | np.diff(entity, prepend=-1).astype(bool)
    )
    if len(first):
        key = np.maximum.reduceat(rows.key[order], first)
        match = np.maximum.reduceat(rows.match[order], first)
    else:
        key, match = rows.key, rows.match
    name, entity = name[first], entity[first]
    ranked = np.lexsort((entity, -key, name))
    starts = np.searchsorted(name, np.arange(n_names))
    kept = ranked[np.arange(len(ranked)) - starts[name] < top]
    offsets = np.searchsorted(name[kept], np.arange(n_names + 1)).astype(np.int64)
    prior = (key[kept] / (_EXACT_KEY + 1)).astype(np.float32)
    return MatchedLists(offsets, entity[kept].astype(np.int32), prior, match[kept])


# Names that share candidates.

_ACRONYM = re.compile(r"(?:[^\W\d_]\.?){2,6}")
_OPENING = re.compile(r"\s*[(\[]\s*")
_POSSESSIVE = re.compile(r"['’]s$")
_IN_BRACKETS = re.compile(r"\(([^()\n]{2,80})\)")
_WORD, _BRACKET = re.compile(r"[^\s()]+"), re.compile(r"[()]")
_SHORT = re.compile(r"(?=.*[^\W\d_])[\w.&/+'’-]{2,10}")
_SIGNS_OF_SHORT = re.compile(r"[A-Z].*[A-Z]|\d|^[a-z].*[A-Z]")
_LONGEST = 12  # words of the long form of an abbreviation


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


def abbreviations(text: str) -> dict[str, str]:
    """Return the abbreviations that a text defines, with their long forms; the first one counts.

    Both orders: "von Willebrand disease (vWD)" and "vWD (von Willebrand disease)". The letters of
    the short form must occur in the long form in their order, the first one at the beginning of a
    word (Schwartz and Hearst, 2003). Short forms are without dots: "I.M.F." defines "IMF", too.
    """
    found: dict[str, str] = {}
    for short, long in _defined(text) if "(" in text else ():
        found.setdefault(_undotted(short), long)
    return found


def _defined(text: str) -> Iterator[tuple[str, str]]:
    for bracket in _IN_BRACKETS.finditer(text):
        inner = bracket[1].partition(",")[0].partition(";")[0].strip()
        before = text[max(bracket.start() - 200, 0) : bracket.start()].rstrip()
        if not before or before[-1] in "()":
            continue
        if _is_short(inner):
            words = [*_WORD.finditer(before)][-min(_LONGEST, len(inner) + 5, 2 * len(inner)) :]
            if long := _long_form(inner, before[words[0].start() :]):
                yield inner, long
        elif _is_short(short := _BRACKET.split(before.split()[-1])[-1]):
            long = _long_form(short, inner)
            if long == inner:
                yield short, long


def _is_short(text: str) -> bool:
    """Return whether a word may be an abbreviation: two capitals, a digit, or an inner capital."""
    return bool(_SHORT.fullmatch(text) and _SIGNS_OF_SHORT.search(text))


def _long_form(short: str, window: str) -> str:
    """Return the shortest end of a text that contains the letters of a short form; "": none.

    Initials of whole words take precedence.
    """
    at = len(window)
    letters = [letter for letter in short.lower() if letter.isalnum()]
    lower = window.lower()
    words = [*re.finditer(r"[^\s-]+", lower)]
    for word in reversed(words):
        end = lower[word.start() :].replace("-", " ")
        if word[0] not in SMALL_WORDS and len(letters) > 1 and spells("".join(letters), end):
            return window[word.start() :]
    for i in range(len(letters) - 1, -1, -1):
        at = lower.rfind(letters[i], 0, at)
        while i == 0 and at > 0 and lower[at - 1].isalnum():
            at = lower.rfind(letters[i], 0, at)
        if at < 0:
            return ""
    long = window[at:]
    return long if len(long) > len(short) and len(letters) > 1 else ""


def written_in_full(text: str, defined: dict[str, str]) -> str:
    """Return a name with its abbreviations written out; "": it has none."""
    words = text.split()
    full = [defined.get(_undotted(word), word) for word in words]
    return " ".join(full) if full != words else ""


def _undotted(word: str) -> str:
    return _POSSESSIVE.sub("", word).replace(".", "")


# Namesakes: persons that a single word cannot mean where the document has a full name with it.
# After "Serena Williams", the name "Williams" is not Venus Williams, and after "Kyle Federer", whom
# the knowledge base lacks, "Federer" is not Roger Federer. Spellings of given names vary, so
# persons with the initial of an unknown one stay, and so do candidates that are no persons.

_PERSON = TYPES.index("PER")
_FULL_NAME = 4  # words of the full name of an unknown person at most


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
        elif is_unknown[i] and words[-1] in single and len(words) <= _FULL_NAME:
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
        numbers: list[int] = lists.entity[lists.offsets[row] : lists.offsets[row + 1]].tolist()
        return numbers

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
