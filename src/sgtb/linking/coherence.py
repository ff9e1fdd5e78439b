"""Coherence: what the other names of a document say about a candidate, before anything is decided.

Every other name votes with its own candidates: are they linked with this one, are their vectors
close? A name with a single candidate is sure of itself, and its votes are counted apart. A
random walk over the document's candidates adds what is linked in more than one step.

No label takes part. Search then decides with the entities actually chosen; these features are
what it can know of the names it has not come to yet.
"""

import itertools
from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Bytes, Doubles, Floats, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.facts import EntityFacts
from sgtb.linking.segments import group_of, relative, share

VOTES = ("linked_votes", "linked_names", "linked_with_sure")
CLOSE_VOTES = ("close_votes", "close_names", "close_to_sure")
SPACES = ("topic", "description")
"""The vector spaces in which names vote by closeness."""

COMPARED = (*VOTES, *(f"{space}_{vote}" for space in SPACES for vote in CLOSE_VOTES), "walk_log")
COHERENCES = (*COMPARED, "walk_share", *(f"{name}_below_best" for name in COMPARED))

REACH = 64
"""A name is voted on by so many names before and after it; keeps long documents linear."""

WALK_ROUNDS, RESTART = 15, 0.2


class _Names(NamedTuple):
    """The distinct names of all documents: the mentions they first stand at."""

    offsets: Longs  # per document
    mention: Longs
    name_of: Longs  # per mention, the name's place in its document


def coherence_features(choices: Choices, contexts: Contexts, facts: EntityFacts) -> Floats:
    """Return f4[C, len(COHERENCES)]."""
    offsets = choices.candidate_offsets
    prior = share(facts.entities.in_links[choices.entity] + 1.0, offsets)
    names = _distinct(choices, contexts)
    columns: list[Doubles] = []
    for space in SPACES:
        linked = np.zeros((choices.n_candidates, len(VOTES)))
        close = np.zeros((choices.n_candidates, len(CLOSE_VOTES)))
        count_votes(
            choices.mention_offsets, offsets, choices.entity, prior, names,
            facts.links.offsets, facts.links.columns, getattr(facts, f"{space}_vector"),
            np.zeros(facts.links.n_rows, np.uint8), linked, close,
        )  # fmt: skip
        columns += [*close.T] if columns else [*linked.T, *close.T]
    walk = _walks(choices, facts, prior)
    columns.append(np.log(walk + 1e-6))
    below = [relative(column, offsets) for column in columns]
    return np.stack([*columns, share(walk, offsets), *below], axis=1).astype(np.float32)


def _distinct(choices: Choices, contexts: Contexts) -> _Names:
    offsets, mention, name_of = [0], [], []
    borders = choices.mention_offsets.tolist()
    for first, last in itertools.pairwise(borders):
        known: dict[str, int] = {}
        for m in range(first, last):
            name = contexts.names[m]
            if name not in known:
                known[name] = len(known)
                mention.append(m)
            name_of.append(known[name])
        offsets.append(len(mention))
    return _Names(*(np.array(values, np.int64) for values in (offsets, mention, name_of)))


@kernel
def count_votes(
    mention_offsets: Ints, candidate_offsets: Ints, entity: Ints, prior: Doubles, names: _Names,
    link_offsets: Longs, link_targets: Ints, vectors: Floats, marked: Bytes, linked: Doubles,
    close: Doubles,
) -> None:  # fmt: skip
    """Let the names of each document vote on each other's candidates."""
    for d in range(mention_offsets.shape[0] - 1):
        first, last = names.offsets[d], names.offsets[d + 1]
        for m in range(mention_offsets[d], mention_offsets[d + 1]):
            own = first + names.name_of[m]
            model = names.mention[own]
            start, n = candidate_offsets[m], candidate_offsets[m + 1] - candidate_offsets[m]
            if model != m and _same(entity, candidate_offsets, model, m):
                for c in range(n):
                    for k in range(linked.shape[1]):
                        linked[start + c, k] = linked[candidate_offsets[model] + c, k]
                        close[start + c, k] = close[candidate_offsets[model] + c, k]
                continue
            low, high = max(first, own - REACH), min(last, own + REACH + 1)
            for c in range(start, start + n):
                e = int64(entity[c])
                for i in range(link_offsets[e], link_offsets[e + 1]):
                    marked[link_targets[i]] = 1
                _ask_names(
                    names, low, high, own, candidate_offsets, entity, prior, vectors, e, marked,
                    linked, close, c,
                )  # fmt: skip
                for i in range(link_offsets[e], link_offsets[e + 1]):
                    marked[link_targets[i]] = 0


@inner
def _same(entity: Ints, offsets: Ints, a: int, b: int) -> bool:
    n = offsets[a + 1] - offsets[a]
    if n != offsets[b + 1] - offsets[b]:
        return False
    for c in range(n):  # noqa: SIM110 (kernels have no generators)
        if entity[offsets[a] + c] != entity[offsets[b] + c]:
            return False
    return True


@inner
def _ask_names(
    names: _Names, low: int, high: int, own: int, offsets: Ints, entity: Ints, prior: Doubles,
    vectors: Floats, e: int, marked: Bytes, linked: Doubles, close: Doubles, c: int,
) -> None:  # fmt: skip
    asked, sure = 0, 0
    for r in range(low, high):
        m = names.mention[r]
        n = offsets[m + 1] - offsets[m]
        if r == own or n == 0:
            continue
        asked += 1
        best_link, best_close, sum_link, sum_close = 0.0, 0.0, 0.0, 0.0
        for k in range(offsets[m], offsets[m + 1]):
            other = int64(entity[k])
            cosine = np.float32(0.0)
            for i in range(vectors.shape[1]):
                cosine += vectors[e, i] * vectors[other, i]
            near = max(float(cosine), 0.0)
            is_linked = float(marked[other])
            best_link, best_close = max(best_link, is_linked), max(best_close, near)
            sum_link += prior[k] * is_linked
            sum_close += prior[k] * near
        linked[c, 0] += sum_link
        linked[c, 1] += best_link
        close[c, 0] += sum_close
        close[c, 1] += best_close
        if n == 1:
            sure += 1
            linked[c, 2] += best_link
            close[c, 2] += best_close
    for k in range(2):
        linked[c, k] /= max(asked, 1)
        close[c, k] /= max(asked, 1)
    close[c, 2] /= max(sure, 1)


def _walks(choices: Choices, facts: EntityFacts, prior: Doubles) -> Doubles:
    """Return where a walk over each document's candidates spends its time, per candidate."""
    candidate_document = group_of(choices.candidate_offsets[choices.mention_offsets])
    n = np.int64(len(facts.entities))
    node, where = np.unique(candidate_document * n + choices.entity, return_inverse=True)
    document = (node // n).astype(np.int64)
    offsets = np.searchsorted(document, np.arange(len(choices.documents) + 1)).astype(np.int64)
    home = np.bincount(where, prior, len(node)).astype(np.float64)
    home /= np.maximum(np.bincount(document, home, len(choices.documents)), 1e-300)[document]
    time = home.copy()
    largest = int(np.diff(offsets).max(initial=0))
    walk(
        offsets, (node % n).astype(np.int32), facts.links.offsets, facts.links.columns, home,
        np.full(len(facts.entities), -1, np.int32), np.zeros(largest), np.zeros(largest), time,
    )  # fmt: skip
    visited: Doubles = time[where]
    return visited


@kernel
def walk(
    offsets: Longs, entity: Ints, link_offsets: Longs, link_targets: Ints, home: Doubles,
    place: Ints, degree: Doubles, moved: Doubles, time: Doubles,
) -> None:  # fmt: skip
    """Walk links inside each document, going home now and then; who has no link stays."""
    for d in range(offsets.shape[0] - 1):
        first, n = offsets[d], offsets[d + 1] - offsets[d]
        for i in range(n):
            place[entity[first + i]] = i
        for i in range(n):
            degree[i] = 0.0
            e = int64(entity[first + i])
            for k in range(link_offsets[e], link_offsets[e + 1]):
                degree[i] += place[link_targets[k]] >= 0
        for _ in range(WALK_ROUNDS):
            for i in range(n):
                moved[i] = 0.0
            for i in range(n):
                if degree[i] == 0.0:
                    moved[i] += time[first + i]
                    continue
                step = time[first + i] / degree[i]
                e = int64(entity[first + i])
                for k in range(link_offsets[e], link_offsets[e + 1]):
                    target = place[link_targets[k]]
                    if target >= 0:
                        moved[target] += step
            for i in range(n):
                time[first + i] = RESTART * home[first + i] + (1.0 - RESTART) * moved[i]
        for i in range(n):
            place[entity[first + i]] = -1
