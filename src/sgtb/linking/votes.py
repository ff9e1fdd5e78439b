"""Votes: what the other names of a document say about a candidate, by links and by closeness.

Every name votes with its own candidates, the likelier the heavier. What counts is how many of
them are linked with the candidate, or how close their vectors are to its own; on the whole, by
the best of them, and of the names that have one candidate only and so are sure of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Doubles, Floats, Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.eights import (
    EIGHT,
    column,
    doubles,
    fill_panels,
    larger,
    load,
    multiply_panels,
    panel_room,
    store,
    zeros,
)
from sgtb.linking.repeats import numbered
from sgtb.linking.sparse import Sparse

VOTES = ("linked_votes", "linked_names", "linked_with_sure")
CLOSE_VOTES = ("close_votes", "close_names", "close_to_sure")

REACH = 64
"""A name is voted on by so many names before and after it; keeps long documents linear."""


class _Names(NamedTuple):
    """The distinct names of all documents and, name after name, their distinct candidate lists.

    A name votes with the list it comes with first. Where it comes with others, as lists made by
    hand may have it, these are voted on like the first.
    """

    offsets: Longs  # per document
    candidate_offsets: Longs  # per name
    n_voters: Longs  # per name, the length of its first list
    entity: Ints  # per candidate
    prior: Doubles  # per candidate


class _Room(NamedTuple):
    """Room to compare the candidates of a document in, and to count votes."""

    rows: Floats  # their vectors
    panels: Floats  # the same, eight abreast
    near: Floats  # per candidate of a name, its closeness to those of the names after it
    votes: Doubles  # per candidate in reach
    best: Doubles


class _Places(NamedTuple):
    """Where entities stand among the candidates of a document."""

    last: Longs  # per entity, where it stands last; -1: not there
    before: Longs  # per candidate of a document, where its entity stands before it; -1: nowhere


def votes(
    choices: Choices, names: Sequence[str], prior: Doubles, links: Sparse, spaces: Sequence[Floats]
) -> Doubles:
    """Return f8[3 + 3 S, C]: VOTES, then CLOSE_VOTES of each of S spaces.

    names   of the mentions
    prior   of the candidates, how much each of a mention's has to say
    links   who is linked with whom, in both directions
    spaces  vectors by entity number
    """
    ballot, place = _ballot(choices, names, prior)
    in_document = _longest(ballot.candidate_offsets[ballot.offsets])
    longest = _longest(ballot.candidate_offsets)
    in_reach = min(in_document, (2 * REACH + 1) * longest)
    voted, best = np.zeros(in_reach + EIGHT), np.zeros(in_reach + EIGHT)
    places = _Places(np.full(links.n_rows, -1, np.int64), np.zeros(in_document, np.int64))
    # Sums are read and written in eights, beyond the last candidate too.
    out = np.zeros((len(VOTES) + len(CLOSE_VOTES) * len(spaces), len(ballot.entity) + EIGHT))
    count_links(ballot, links.offsets, links.columns, places, voted, best, out[: len(VOTES)])
    near = np.zeros((longest + EIGHT, in_reach + 3 * EIGHT), np.float32)
    for s, space in enumerate(spaces):
        width = space.shape[1]
        room = _Room(
            np.zeros((in_document + EIGHT, width), np.float32),
            np.zeros(panel_room(in_document, width), np.float32), near, voted, best,
        )  # fmt: skip
        lines = out[len(VOTES) + len(CLOSE_VOTES) * s :][: len(CLOSE_VOTES)]
        count_closeness(ballot, np.ascontiguousarray(space), room, lines)
    return np.take(out, place, axis=1)


def _longest(offsets: Longs) -> int:
    return int(np.diff(offsets).max(initial=0))


def _ballot(choices: Choices, names: Sequence[str], prior: Doubles) -> tuple[_Names, Longs]:
    """Return the names, and for every candidate of a mention its place among theirs."""
    n, m, number = choices.n_candidates, len(names), numbered(names)
    room = _Names(
        np.zeros(len(choices.documents) + 1, np.int64), np.zeros(m + 1, np.int64),
        np.zeros(m, np.int64), np.empty(n, np.int32), np.empty(n),
    )  # fmt: skip
    place = np.empty(n, np.int64)
    list_names(
        choices.mention_offsets, choices.candidate_offsets, choices.entity, prior, number,
        np.full((2, m), -1, np.int64), np.empty((2, m), np.int64), room, place,
    )  # fmt: skip
    n_names = int(room.offsets[-1])
    n = int(room.candidate_offsets[n_names])
    ballot = _Names(
        room.offsets, room.candidate_offsets[: n_names + 1], room.n_voters[:n_names],
        room.entity[:n], room.prior[:n],
    )  # fmt: skip
    return ballot, place


@kernel
def list_names(
    mention_offsets: Ints, candidate_offsets: Ints, entity: Ints, prior: Doubles, name: Longs,
    ends: Longs, lists: Longs, names: _Names, place: Longs,
) -> None:  # fmt: skip
    """Write the names of each document in their order, the distinct lists of each in theirs.

    name   of each mention
    ends   scratch, -1: per name, the first mention that has it, and the last with a list of its own
    lists  scratch: per mention, the first with the same list; and the next of its name with another
    """
    n_names, n = int64(0), int64(0)
    for d in range(mention_offsets.shape[0] - 1):
        begin, end = int64(mention_offsets[d]), int64(mention_offsets[d + 1])
        for m in range(begin, end):
            head = ends[0, name[m]]
            lists[0, m], lists[1, m] = m, -1
            if head < begin:
                ends[0, name[m]] = ends[1, name[m]] = m
                continue
            while head >= 0 and not _same_list(m, head, candidate_offsets, entity):
                head = lists[1, head]
            if head >= 0:
                lists[0, m] = head
            else:
                lists[1, ends[1, name[m]]] = m
                ends[1, name[m]] = m
        for m in range(begin, end):
            if ends[0, name[m]] != m:
                continue
            names.n_voters[n_names] = candidate_offsets[m + 1] - candidate_offsets[m]
            n_names += 1
            own = m
            while own >= 0:
                first = int64(candidate_offsets[own])
                for c in range(first, candidate_offsets[own + 1]):
                    names.entity[n], names.prior[n], place[c] = entity[c], prior[c], n
                    n += 1
                own = lists[1, own]
            names.candidate_offsets[n_names] = n
        for m in range(begin, end):
            first, model = int64(candidate_offsets[m]), int64(candidate_offsets[lists[0, m]])
            for i in range(candidate_offsets[m + 1] - first):
                place[first + i] = place[model + i]
        names.offsets[d + 1] = n_names


@inner
def _same_list(m: int, other: int, offsets: Ints, entity: Ints) -> bool:
    a, b = int64(offsets[m]), int64(offsets[other])
    n = int64(offsets[m + 1]) - a
    if int64(offsets[other + 1]) - b != n:
        return False
    for i in range(n):  # noqa: SIM110 (kernels have no generators)
        if entity[a + i] != entity[b + i]:
            return False
    return True


@kernel
def count_links(
    names: _Names, link_offsets: Longs, link_targets: Ints, places: _Places, votes: Doubles,
    best: Doubles, out: Doubles,
) -> None:  # fmt: skip
    """Let the names of each document vote on each other's candidates by links, which go both ways.

    votes, best  room for those of one name
    """
    for d in range(names.offsets.shape[0] - 1):
        first, last = names.offsets[d], names.offsets[d + 1]
        base, top = names.candidate_offsets[first], names.candidate_offsets[last]
        for i in range(top - base):
            e = int64(names.entity[base + i])
            places.before[i] = places.last[e]
            places.last[e] = base + i
        for r in range(first, last):
            if names.n_voters[r] == 0:
                continue
            low, high = max(first, r - REACH), min(last, r + REACH + 1)
            left, right = names.candidate_offsets[low], names.candidate_offsets[high]
            _vote_by_links(
                names, r, left, right, link_offsets, link_targets, base, places, votes, best
            )
            _cast(names, r, left, right, votes, best, out)
        for r in range(first, last):
            asked, _ = _asked(names, r, max(first, r - REACH), min(last, r + REACH + 1))
            for c in range(names.candidate_offsets[r], names.candidate_offsets[r + 1]):
                out[0, c] /= max(asked, 1)
                out[1, c] /= max(asked, 1)  # with how many sure names it is linked is told as it is
        for c in range(base, top):
            places.last[names.entity[c]] = -1


@kernel
def count_closeness(names: _Names, vectors: Floats, room: _Room, out: Doubles) -> None:
    """Let the names of each document vote on each other's candidates by closeness in a space.

    Two names are compared once, and both vote with what comes of it.
    """
    for d in range(names.offsets.shape[0] - 1):
        first, last = names.offsets[d], names.offsets[d + 1]
        base, top = names.candidate_offsets[first], names.candidate_offsets[last]
        for i in range(top - base):
            row, vector = room.rows[i], vectors[int64(names.entity[base + i])]
            for k in range(vector.shape[0]):
                row[k] = vector[k]
        fill_panels(room.rows, top - base, room.panels)
        for r in range(first, last):
            high = min(last, r + REACH + 1)
            shift = _compare(names, r, high, base, room)
            _vote(names, r, high, room, shift, out)
            _be_voted_on(names, r, high, room, shift, out)
        for r in range(first, last):
            asked, sure = _asked(names, r, max(first, r - REACH), min(last, r + REACH + 1))
            for c in range(names.candidate_offsets[r], names.candidate_offsets[r + 1]):
                out[0, c] /= max(asked, 1)
                out[1, c] /= max(asked, 1)
                out[2, c] /= max(sure, 1)


@inner
def _vote_by_links(
    names: _Names, r: int, left: int, right: int, link_offsets: Longs, link_targets: Ints,
    base: int, places: _Places, votes: Doubles, best: Doubles,
) -> None:  # fmt: skip
    """Write the votes of name r on candidates left to right - 1."""
    for i in range(right - left):
        votes[i] = 0.0
        best[i] = 0.0
    voter = names.candidate_offsets[r]
    for v in range(voter, voter + names.n_voters[r]):
        e = int64(names.entity[v])
        for k in range(link_offsets[e], link_offsets[e + 1]):
            c = int64(places.last[link_targets[k]])
            while c >= left:
                if c < right:
                    votes[c - left] += names.prior[v]
                    best[c - left] = 1.0
                c = int64(places.before[c - base])


@inner
def _compare(names: _Names, r: int, high: int, base: int, room: _Room) -> int:
    """Write how close the candidates of name r are to those of the names after it, below `high`.

    Return where the first of these stands: they are compared panel by panel.
    """
    own, begin = names.candidate_offsets[r] - base, names.candidate_offsets[r + 1] - base
    end = names.candidate_offsets[high] - base
    if begin < end:
        first, last = begin // EIGHT, (end - 1) // EIGHT + 1
        multiply_panels(room.rows[own:], begin - own, room.panels, first, last, room.near)
    return int64(begin % EIGHT)


@inner
def _vote(names: _Names, r: int, high: int, room: _Room, shift: int, out: Doubles) -> None:
    """Let name r vote on the names after it."""
    own, left = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    n = names.candidate_offsets[high] - left
    if names.n_voters[r] == 0:
        return
    for i in range(0, n, EIGHT):
        best = zeros()
        votes = doubles(best)
        for v in range(names.n_voters[r]):
            near = larger(load(room.near[v], shift + i), zeros())
            votes = votes + names.prior[own + v] * doubles(near)
            best = larger(near, best)
        store(votes, room.votes, i)
        store(doubles(best), room.best, i)
    _add(room.votes[:n], out[0, left : left + n])
    _add(room.best[:n], out[1, left : left + n])
    if names.n_voters[r] == 1:
        _add(room.best[:n], out[2, left : left + n])


@inner
def _be_voted_on(names: _Names, r: int, high: int, room: _Room, shift: int, out: Doubles) -> None:
    """Let the names after name r vote on it, one after the other.

    Eight candidates of the name at a time. What the last of them write beyond it is put back.
    """
    own, left = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    after = load(out[0], left), load(out[1], left), load(out[2], left)
    for v in range(0, left - own, EIGHT):
        all_votes, all_best = load(out[0], own + v), load(out[1], own + v)
        all_sure = load(out[2], own + v)
        for q in range(r + 1, high):
            voter = names.candidate_offsets[q]
            best = zeros()
            votes = doubles(best)
            for i in range(voter, voter + names.n_voters[q]):
                near = larger(column(room.near, v, i - left + shift), zeros())
                votes = votes + names.prior[i] * doubles(near)
                best = larger(near, best)
            all_votes = all_votes + votes
            all_best = all_best + doubles(best)
            if names.n_voters[q] == 1:
                all_sure = all_sure + doubles(best)
        store(all_votes, out[0], own + v)
        store(all_best, out[1], own + v)
        store(all_sure, out[2], own + v)
    store(after[0], out[0], left)
    store(after[1], out[1], left)
    store(after[2], out[2], left)


@inner
def _cast(
    names: _Names, r: int, left: int, right: int, votes: Doubles, best: Doubles, out: Doubles
) -> None:
    """Add the votes of name r to those on other names; none on its own candidates."""
    own, after = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    for begin, end in ((left, own), (after, right)):
        _add(votes[begin - left : end - left], out[0, begin:end])
        _add(best[begin - left : end - left], out[1, begin:end])
        if names.n_voters[r] == 1:
            _add(best[begin - left : end - left], out[2, begin:end])


@inner
def _add(votes: Doubles, total: Doubles) -> None:
    for i in range(total.shape[0]):
        total[i] += votes[i]


@inner
def _asked(names: _Names, r: int, low: int, high: int) -> tuple[int, int]:
    """Return how many names vote on name r, and how many of them are sure."""
    asked, sure = 0, 0
    for other in range(low, high):
        if other != r:
            asked += names.n_voters[other] > 0
            sure += names.n_voters[other] == 1
    return asked, sure
