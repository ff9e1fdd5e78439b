"""Coherence: what the other names of a document say about a candidate, before anything is decided.

Every other name votes with its own candidates: are they linked with this one, are their vectors
close? A name with a single candidate is sure of itself, and its votes are counted apart. A
random walk over the document's candidates adds what is linked in more than one step.

No label takes part. Search then decides with the entities actually chosen; these features are
what it can know of the names it has not come to yet.
"""

import numpy as np

from sgtb.kernels import int64, kernel
from sgtb.learn.dtypes import Doubles, Floats, Ints, Longs
from sgtb.linking.facts import EntityFacts
from sgtb.linking.nodes import Nodes
from sgtb.linking.repeats import Repeats
from sgtb.linking.segments import share
from sgtb.linking.votes import CLOSE_VOTES, VOTES, votes

SPACES = ("topic", "description")
"""The vector spaces in which names vote by closeness."""

COMPARED = (*VOTES, *(f"{space}_{vote}" for space in SPACES for vote in CLOSE_VOTES), "walk_log")
COHERENCES = (*COMPARED, "walk_share", *(f"{name}_below_best" for name in COMPARED))

WALK_ROUNDS, RESTART = 15, 0.2


def coherence_features(repeats: Repeats, facts: EntityFacts) -> Floats:
    """Return f4[C, len(COHERENCES)] for the candidates told once; repeats have the same."""
    once = repeats.once
    offsets = once.candidate_offsets
    prior = share(facts.in_links[once.entity] + 1.0, offsets)
    spaces = [getattr(facts, f"{space}_vector") for space in SPACES]
    walk = _walks(repeats, facts, prior)
    voted = votes(once, repeats.names, prior, facts.links, spaces)
    features = np.empty((len(walk), len(COHERENCES)), np.float32)
    compare(voted, np.log(walk + 1e-6), share(walk, offsets), offsets, features)
    return features


@kernel
def compare(voted: Doubles, log: Doubles, shared: Doubles, offsets: Ints, out: Floats) -> None:
    """Write votes, log and share, and how far all but the share are below the mention's best."""
    n = voted.shape[0]
    for m in range(offsets.shape[0] - 1):
        for i in range(n + 1):
            column = voted[i] if i < n else log
            best = -np.inf
            for c in range(offsets[m], offsets[m + 1]):
                best = max(best, column[c])
            for c in range(offsets[m], offsets[m + 1]):
                out[c, i] = np.float32(column[c])
                out[c, n + 2 + i] = np.float32(column[c] - best)
        for c in range(offsets[m], offsets[m + 1]):
            out[c, n + 1] = np.float32(shared[c])


def _walks(repeats: Repeats, facts: EntityFacts, prior: Doubles) -> Doubles:
    """Return where a walk over each document's candidates spends its time, per candidate.

    It sets out from every mention: who is mentioned often is home more often.
    """
    nodes, links = Nodes.of(repeats.once, len(facts)), facts.links
    largest = int(np.diff(nodes.offsets).max(initial=0))
    home = np.zeros(len(nodes.entity))
    set_out(nodes, repeats.place, prior, home)
    time = home.copy()
    walk(
        nodes.offsets, nodes.entity, links.offsets, links.columns, home,
        np.full(len(facts), -1, np.int32), np.zeros(largest + 1, np.int64),
        np.empty(len(links.columns), np.int32), np.zeros(largest), time,
    )  # fmt: skip
    visited: Doubles = time[nodes.place]
    return visited


@kernel
def set_out(nodes: Nodes, place: Longs, prior: Doubles, home: Doubles) -> None:
    """Write how much each entity is home, which is one for all of a document.

    place  of the candidates of all mentions, among those told once
    """
    for c in range(place.shape[0]):
        home[nodes.place[place[c]]] += prior[place[c]]
    for d in range(nodes.offsets.shape[0] - 1):
        total = 0.0
        for i in range(nodes.offsets[d], nodes.offsets[d + 1]):
            total += home[i]
        for i in range(nodes.offsets[d], nodes.offsets[d + 1]):
            home[i] /= max(total, 1e-300)


@kernel
def walk(
    offsets: Longs, entity: Ints, link_offsets: Longs, link_targets: Ints, home: Doubles,
    place: Ints, ends: Longs, targets: Ints, moved: Doubles, time: Doubles,
) -> None:  # fmt: skip
    """Walk links inside each document, going home now and then; who has no link stays."""
    for d in range(offsets.shape[0] - 1):
        first, n = offsets[d], offsets[d + 1] - offsets[d]
        for i in range(n):
            place[entity[first + i]] = i
        at = 0
        for i in range(n):  # most links lead out of the document
            e = int64(entity[first + i])
            for k in range(link_offsets[e], link_offsets[e + 1]):
                target = place[link_targets[k]]
                if target >= 0:
                    targets[at] = target
                    at += 1
            ends[i + 1] = at
        for _ in range(WALK_ROUNDS):
            for i in range(n):
                moved[i] = 0.0
            for i in range(n):
                begin, end = ends[i], ends[i + 1]
                if begin == end:
                    moved[i] += time[first + i]
                    continue
                step = time[first + i] / (end - begin)
                for k in range(begin, end):
                    moved[targets[k]] += step
            for i in range(n):
                time[first + i] = RESTART * home[first + i] + (1.0 - RESTART) * moved[i]
        for i in range(n):
            place[entity[first + i]] = -1
