"""CandidateTable: mentions and their candidates, in flat arrays; MatchedLists: those of names."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Bools, Doubles, Floats, Ints, Longs
from sgtb.core.records import Document, Mention
from sgtb.core.sparse_matrix import group_of
from sgtb.kb.entity import CandidateLists
from sgtb.kb.fuzzy_index import SCORES
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.name_index import priors, source_weights
from sgtb.native import keep_strongest, number_nodes
from sgtb.text.normalization import normal_name

# Matched lists: the candidates of names in flat arrays, ranked and cut.


MATCHES = ("match_exact", "match_variant", "match_trained", "match_shared", *SCORES)
"""How the name of a mention matches that of a candidate: listed, variant, share of its annotations
in training, name of another mention, and the scores of a similar name (1 for the same name)."""
EXACT, VARIANT, TRAINED, SHARED = range(4)
SIMILARITY = len(MATCHES) - len(SCORES)


class MatchedLists(NamedTuple):
    """Candidates of several names, likeliest first."""

    offsets: Longs
    entity: Ints
    prior: Floats
    match: Floats  # f4[n, len(MATCHES)]


def strongest(kb: KnowledgeBase, numbers: Ints, sizes: Sequence[int], top: int) -> MatchedLists:
    """Return the distinct `top` of each list by in-links, ties to the lower number."""
    begins, offsets = np.zeros((2, len(sizes) + 1), np.int64)
    np.cumsum(sizes, out=begins[1:])
    kept = numbers.copy()
    keep_strongest(begins, _in_links(kb, numbers), top, kept, offsets)
    n = int(offsets[-1])
    match = np.zeros((n, len(MATCHES)), np.float32)
    return MatchedLists(offsets, kept[:n], np.full(n, np.nan, np.float32), match)


def _in_links(kb: KnowledgeBase, numbers: Ints | Longs) -> Longs:
    stated = kb.rows["stated_in"][numbers]
    return np.where(stated >= 0, stated, kb.rows["in_links"][numbers]).astype(np.int64)


def ranked(kb: KnowledgeBase, lists: CandidateLists, top: int) -> MatchedLists:
    """Rank the candidates of names: listed ones before variants, then by prior; keep `top`.

    Candidates of equal prior, as those of sources without counts, share it by popularity and
    in-links.
    """
    name = group_of(lists.offsets)
    changes = np.diff(name, prepend=-1).astype(bool) | np.diff(lists.prior, prepend=-1).astype(bool)
    group = np.cumsum(changes) - 1
    prior = lists.prior.astype(np.float64)
    tied = np.bincount(group)[group] > 1 if len(group) else changes
    if tied.any():
        entity = lists.entity[tied]
        _, ties = np.unique(group[tied], return_inverse=True)
        prior[tied] *= strength(kb, ties, entity) * np.bincount(ties)[ties]
    order = np.lexsort((-prior, lists.variant, name))
    order = order[np.arange(len(order)) - lists.offsets[name] < top]
    match = np.zeros((len(order), len(MATCHES)), np.float32)
    match[:, EXACT] = ~lists.variant[order]
    match[:, VARIANT] = lists.variant[order]
    match[:, SIMILARITY:] = 1
    offsets = np.searchsorted(name[order], np.arange(len(lists.offsets))).astype(np.int64)
    return MatchedLists(offsets, lists.entity[order], prior[order].astype(np.float32), match)


def strength(kb: KnowledgeBase, group: Longs, entity: Ints | Longs) -> Doubles:
    """Return shares of 1 within each group, by ranks in popularity and in-links."""
    popularity = np.nan_to_num(kb.rows["popularity"][entity].astype(np.float64), nan=-np.inf)
    return (_shares(group, popularity) + _shares(group, _in_links(kb, entity))) / 2


def _shares(group: Longs, values: Doubles | Longs) -> Doubles:
    """Return shares of 1 within each group, proportional to 1 / rank of the values.

    Ranks do not depend on the scale of a measure. Equal values have equal ranks.
    """
    order = np.lexsort((-values, group))
    ordered, sorted_groups = values[order], group[order]
    places = np.arange(len(order))
    first = np.searchsorted(sorted_groups, sorted_groups)
    new = np.ones(len(order), bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (sorted_groups[1:] != sorted_groups[:-1])
    rank = np.maximum.accumulate(np.where(new, places, 0)) - first + 1
    weight = np.empty(len(order))
    weight[order] = 1.0 / rank
    return weight / np.bincount(group, weight)[group]


def joined(parts: Sequence[MatchedLists]) -> MatchedLists:
    """Concatenate lists."""
    begins = np.cumsum([0, *(part.offsets[-1] for part in parts[:-1])])
    ends = [part.offsets[1:] + begin for part, begin in zip(parts, begins, strict=True)]
    return MatchedLists(
        np.concatenate([[0], *ends]),
        *(np.concatenate(some) for some in [*zip(*parts, strict=True)][1:]),
    )


def apart(lists: MatchedLists) -> list[MatchedLists]:
    """Return the list of each name by itself."""
    return [
        MatchedLists(np.array([0, b - a]), lists.entity[a:b], lists.prior[a:b], lists.match[a:b])
        for a, b in pairwise(lists.offsets.tolist())
    ]


def any_of(flags: Bools, offsets: Longs) -> Bools:
    """Return whether any flag is set in each group."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return before[offsets[1:]] > before[offsets[:-1]]


# The candidate table: mentions and their candidates.


@dataclass(frozen=True)
class CandidateTable:
    """D documents, M mentions with candidates, C candidates."""

    documents: tuple[Document, ...]
    mentions: tuple[Mention, ...]  # in document order
    mention_offsets: Ints  # i4[D+1]
    candidate_offsets: Ints  # i4[M+1]
    entity: Ints  # i4[C], entity number, or row in a table of facts
    gold: Ints  # i4[M], position of the gold candidate within its mention; -1: absent
    prior: Floats  # f4[C], of the name; NaN if unknown
    match: Floats  # f4[C, len(MATCHES)], how names match; 0 for given candidates

    @property
    def n_candidates(self) -> int:
        """C."""
        return len(self.entity)


# Nodes: the distinct entities of each document.


class Nodes(NamedTuple):
    """Distinct entities of D documents."""

    offsets: Longs  # i8[D + 1]
    entity: Ints  # i4, ascending within a document
    number: Ints  # i4[C], node of each candidate, counted within its document
    place: Longs  # i8[C], node of each candidate, counted over all documents

    @classmethod
    def of(cls, candidates: CandidateTable, n_entities: int) -> "Nodes":
        """Number the entities of each document."""
        borders = candidates.candidate_offsets[candidates.mention_offsets].astype(np.int64)
        n, d = candidates.n_candidates, len(candidates.documents)
        nodes = cls(
            np.empty(d + 1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32),
            np.empty(n, np.int64),
        )  # fmt: skip
        number_nodes(borders, candidates.entity, n_entities, nodes)
        return nodes._replace(entity=nodes.entity[: nodes.offsets[-1]])


# Hidden entities: candidates as if the knowledge base lacked some of its entities.


Hidden = Set[int]  # numbers of entities
NOTHING: Hidden = frozenset()


def are_hidden(entity: Ints | Longs, hidden: Hidden) -> Bools:
    """Return which of some entities are hidden."""
    if not hidden:
        return np.zeros(len(entity), np.bool_)
    return np.isin(entity, np.array(sorted(hidden), np.int64))


def candidate_lists(
    kb: KnowledgeBase, names: Sequence[str], k: int, hidden: Hidden
) -> CandidateLists:
    """Return the candidates of names, with the priors that they had without the hidden entities."""
    lists = kb.candidate_lists(names, k)
    kept = ~are_hidden(lists.entity, hidden)
    if kept.all():
        return lists
    owner = group_of(lists.offsets)
    prior = lists.prior.copy()
    for i in np.unique(owner[~kept]).tolist():
        own = slice(*lists.offsets[i : i + 2].tolist())
        known = _priors(kb, names[i], hidden)
        prior[own] = [known.get(number, 0.0) for number in lists.entity[own].tolist()]
    rows = np.lexsort((-prior, owner))  # a source may be gone, so the order may change
    rows = rows[kept[rows]]
    ends = np.searchsorted(owner[rows], np.arange(len(names) + 1))
    return CandidateLists(
        ends.astype(np.int64), lists.entity[rows], prior[rows], lists.variant[rows]
    )


def _priors(kb: KnowledgeBase, name: str, hidden: Hidden) -> dict[int, float]:
    value = kb.name_value(normal_name(name))
    if value is None:
        return {}
    pairs = zip(value.candidates["entity"].tolist(), value.counts.tolist(), strict=True)
    counts = {number: row for number, row in pairs if number not in hidden}
    return priors(counts, source_weights(kb.sources)) if counts else {}


def runs(hidden: Sequence[Hidden]) -> Iterator[tuple[int, int]]:
    """Yield the borders of runs of documents that hide the same entities."""
    begin = 0
    for i in range(1, len(hidden) + 1):
        if i == len(hidden) or hidden[i] != hidden[begin]:
            yield begin, i
            begin = i
