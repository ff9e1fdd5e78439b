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


class _Spaces(NamedTuple):
    """The vectors of the candidates of names, all spaces side by side."""

    offsets: Longs  # per space, its columns
    row: Ints  # per candidate
    vectors: Floats


class _Scratch(NamedTuple):
    """Room to count votes in."""

    last: Longs  # per entity, where it stands last among the document's candidates; -1: not there
    before: Longs  # per candidate of a document, where its entity stands before it; -1: nowhere
    gathered: Floats  # the candidates of a document, one per column
    near: Floats  # per candidate of a name, its closeness to those of the names after it
    votes: Doubles  # per candidate in reach
    best: Doubles


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
    used, row = np.unique(ballot.entity, return_inverse=True)
    ends = np.cumsum([0, *(space.shape[1] for space in spaces)])
    vectors = np.concatenate(
        [np.zeros((len(used), 0), np.float32), *(space[used] for space in spaces)], axis=1
    )
    in_document = _longest(ballot.candidate_offsets[ballot.offsets])
    in_reach = min(in_document, (2 * REACH + 1) * _longest(ballot.candidate_offsets))
    scratch = _Scratch(
        np.full(links.n_rows, -1, np.int64), np.zeros(in_document, np.int64),
        np.zeros((int(ends[-1]), in_document), np.float32),
        np.zeros((_longest(ballot.candidate_offsets), in_reach), np.float32),
        np.zeros(in_reach), np.zeros(in_reach),
    )  # fmt: skip
    out = np.zeros((len(VOTES) + len(CLOSE_VOTES) * len(spaces), len(ballot.entity)))
    stacked = _Spaces(ends.astype(np.int64), row.astype(np.int32), vectors)
    count_votes(ballot, links.offsets, links.columns, stacked, scratch, out)
    return out[:, place]


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
def count_votes(
    names: _Names, link_offsets: Longs, link_targets: Ints, spaces: _Spaces, scratch: _Scratch,
    out: Doubles,
) -> None:  # fmt: skip
    """Let the names of each document vote on each other's candidates; links go both ways."""
    for d in range(names.offsets.shape[0] - 1):
        first, last = names.offsets[d], names.offsets[d + 1]
        base, top = names.candidate_offsets[first], names.candidate_offsets[last]
        _enter(names, spaces, base, top, scratch)
        for r in range(first, last):
            if names.n_voters[r] == 0:
                continue
            low, high = max(first, r - REACH), min(last, r + REACH + 1)
            left, right = names.candidate_offsets[low], names.candidate_offsets[high]
            _vote_by_links(names, r, left, right, link_offsets, link_targets, base, scratch)
            _cast(names, r, left, right, scratch, 0, out)
        for r in range(first, last):
            high = min(last, r + REACH + 1)
            for s in range(spaces.offsets.shape[0] - 1):
                _compare(names, r, high, spaces, s, base, scratch)
                _vote_by_closeness(names, r, high, scratch, 3 * (s + 1), out)
                _be_voted_on(names, r, high, scratch, 3 * (s + 1), out)
        for r in range(first, last):
            _average(names, r, max(first, r - REACH), min(last, r + REACH + 1), out)
        for c in range(base, top):
            scratch.last[names.entity[c]] = -1


@inner
def _enter(names: _Names, spaces: _Spaces, base: int, top: int, scratch: _Scratch) -> None:
    """Note where the entities of a document stand, and lay their vectors side by side."""
    for i in range(top - base):
        e = int64(names.entity[base + i])
        scratch.before[i] = scratch.last[e]
        scratch.last[e] = base + i
        row = int64(spaces.row[base + i])
        for k in range(spaces.vectors.shape[1]):
            scratch.gathered[k, i] = spaces.vectors[row, k]


@inner
def _vote_by_links(
    names: _Names, r: int, left: int, right: int, link_offsets: Longs, link_targets: Ints,
    base: int, scratch: _Scratch,
) -> None:  # fmt: skip
    """Write the votes of name r on candidates left to right - 1."""
    for i in range(right - left):
        scratch.votes[i] = 0.0
        scratch.best[i] = 0.0
    voter = names.candidate_offsets[r]
    for v in range(voter, voter + names.n_voters[r]):
        e = int64(names.entity[v])
        for k in range(link_offsets[e], link_offsets[e + 1]):
            c = int64(scratch.last[link_targets[k]])
            while c >= left:
                if c < right:
                    scratch.votes[c - left] += names.prior[v]
                    scratch.best[c - left] = 1.0
                c = int64(scratch.before[c - base])


@inner
def _compare(
    names: _Names, r: int, high: int, spaces: _Spaces, s: int, base: int, scratch: _Scratch
) -> None:
    """Write the cosines of the candidates of name r and of the names after it, below `high`.

    Two names are compared once, and both vote with what comes of it. The innermost loop runs over
    candidates: it becomes vector instructions, yet each sum keeps its order. Four coordinates meet
    all candidates of the name before the next four are fetched.
    """
    own, left = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    right = names.candidate_offsets[high]
    n = left - own
    for v in range(n):
        for i in range(right - left):
            scratch.near[v, i] = np.float32(0.0)
    begin, end = spaces.offsets[s], spaces.offsets[s + 1]
    in_fours = begin + ((end - begin) >> 2 << 2)
    for k in range(begin, in_fours, 4):
        a0 = scratch.gathered[k, left - base : right - base]
        a1 = scratch.gathered[k + 1, left - base : right - base]
        a2 = scratch.gathered[k + 2, left - base : right - base]
        a3 = scratch.gathered[k + 3, left - base : right - base]
        for v in range(n):
            row = int64(spaces.row[own + v])
            v0, v1 = spaces.vectors[row, k], spaces.vectors[row, k + 1]
            v2, v3 = spaces.vectors[row, k + 2], spaces.vectors[row, k + 3]
            for i in range(a0.shape[0]):
                total = scratch.near[v, i] + v0 * a0[i]
                total += v1 * a1[i]
                total += v2 * a2[i]
                scratch.near[v, i] = total + v3 * a3[i]
    for k in range(in_fours, end):
        a0 = scratch.gathered[k, left - base : right - base]
        for v in range(n):
            v0 = spaces.vectors[int64(spaces.row[own + v]), k]
            for i in range(a0.shape[0]):
                scratch.near[v, i] += v0 * a0[i]


@inner
def _vote_by_closeness(
    names: _Names, r: int, high: int, scratch: _Scratch, line: int, out: Doubles
) -> None:
    """Let name r vote on the names after it, whose closeness is known."""
    own, left = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    n = names.candidate_offsets[high] - left
    if names.n_voters[r] == 0:
        return
    for i in range(n):
        scratch.votes[i] = 0.0
        scratch.best[i] = 0.0
    for v in range(names.n_voters[r]):
        prior = names.prior[own + v]
        for i in range(n):
            near = max(float(scratch.near[v, i]), 0.0)
            scratch.votes[i] += prior * near
            scratch.best[i] = max(scratch.best[i], near)
    _add(scratch.votes[:n], out[line, left : left + n])
    _add(scratch.best[:n], out[line + 1, left : left + n])
    if names.n_voters[r] == 1:
        _add(scratch.best[:n], out[line + 2, left : left + n])


@inner
def _be_voted_on(
    names: _Names, r: int, high: int, scratch: _Scratch, line: int, out: Doubles
) -> None:
    """Let the names after name r vote on it, one after the other."""
    own, left = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    for q in range(r + 1, high):
        n_voters = names.n_voters[q]
        if n_voters == 0:
            continue
        voter = names.candidate_offsets[q]
        for v in range(left - own):
            votes, best = 0.0, 0.0
            for i in range(voter, voter + n_voters):
                near = max(float(scratch.near[v, i - left]), 0.0)
                votes += names.prior[i] * near
                best = max(best, near)
            out[line, own + v] += votes
            out[line + 1, own + v] += best
            if n_voters == 1:
                out[line + 2, own + v] += best


@inner
def _cast(
    names: _Names, r: int, left: int, right: int, scratch: _Scratch, line: int, out: Doubles
) -> None:
    """Add the votes of name r to those of the names before it; none on its own candidates."""
    own, after = names.candidate_offsets[r], names.candidate_offsets[r + 1]
    is_sure = names.n_voters[r] == 1
    for begin, end in ((left, own), (after, right)):
        _add(scratch.votes[begin - left : end - left], out[line, begin:end])
        best = scratch.best[begin - left : end - left]
        _add(best, out[line + 1, begin:end])
        if is_sure:
            _add(best, out[line + 2, begin:end])


@inner
def _add(votes: Doubles, total: Doubles) -> None:
    for i in range(total.shape[0]):
        total[i] += votes[i]


@inner
def _average(names: _Names, r: int, low: int, high: int, out: Doubles) -> None:
    """Divide the votes on name r by the number of names that were asked."""
    asked, sure = 0, 0
    for other in range(low, high):
        if other != r:
            asked += names.n_voters[other] > 0
            sure += names.n_voters[other] == 1
    for c in range(names.candidate_offsets[r], names.candidate_offsets[r + 1]):
        for line in range(0, out.shape[0], 3):
            out[line, c] /= max(asked, 1)
            out[line + 1, c] /= max(asked, 1)
            if line > 0:  # with how many sure names it is linked is told as it is
                out[line + 2, c] /= max(sure, 1)
