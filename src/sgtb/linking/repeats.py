"""Repeats: a name that comes again in a document brings the same candidates along.

A third of all mentions do. What depends on the name, the document and the candidates is told once
and said again; what depends on the sentence is told each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.kernels import inner, int64, kernel
from sgtb.learn.dtypes import Ints, Longs
from sgtb.linking.choices import Choices
from sgtb.linking.contexts import Contexts
from sgtb.linking.slices import sliced
from sgtb.ragged import Ragged

Bits = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Repeats:
    """Mentions of a document that have the name, the full name, the words and the candidates alike.

    once               the choices of the first of each
    names, full_names  theirs
    mentions           of each, itself and its repeats, by place among all mentions
    place              i8[C]  of each candidate of any mention, its place among those told once
    """

    once: Choices
    names: tuple[str, ...]
    full_names: tuple[str, ...]
    mentions: Ragged
    place: Longs

    @classmethod
    def of(cls, choices: Choices, contexts: Contexts) -> "Repeats":
        """Find who repeats whom."""
        bag = contexts.name_bag
        first = np.empty(len(choices.mentions), np.int64)
        name = numbered(contexts.names)
        find_first(
            choices.mention_offsets, name,
            _Told(
                numbered(contexts.full_names), choices.candidate_offsets, choices.entity,
                choices.prior.view(np.uint32), bag.offsets, bag.columns, bag.values.view(np.uint32),
            ),
            np.full(len(name), -1, np.int64), np.empty(len(name), np.int64), first,
        )  # fmt: skip
        is_first = first == np.arange(len(first))
        before = np.concatenate([[0], np.cumsum(is_first)])
        group, own = before[first], is_first.nonzero()[0]
        of_group = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(own)))])
        begins = choices.candidate_offsets.astype(np.int64)
        entity = sliced(choices.entity, begins[own], begins[own + 1])
        shift = entity.offsets[group] - begins[:-1]
        firsts = own.tolist()
        once = Choices(
            choices.documents, tuple(choices.mentions[m] for m in firsts),
            before[choices.mention_offsets].astype(np.int32), entity.offsets.astype(np.int32),
            entity.items, choices.gold[own],
            sliced(choices.prior, begins[own], begins[own + 1]).items,
        )  # fmt: skip
        return cls(
            once, tuple(contexts.names[m] for m in firsts),
            tuple(contexts.full_names[m] for m in firsts),
            Ragged(of_group, np.argsort(group, kind="stable")),
            np.repeat(shift, np.diff(begins)) + np.arange(begins[-1]),
        )  # fmt: skip


def numbered(names: Sequence[str]) -> Longs:
    """Return the names as numbers, in the order they come first."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], np.int64)


class _Told(NamedTuple):
    """What makes a mention a repeat of another of its name; floats are compared by their bits."""

    full_name: Longs
    candidate_offsets: Ints
    entity: Ints
    prior: Bits
    word_offsets: Longs
    words: Ints
    values: Bits


@kernel
def find_first(
    mention_offsets: Ints, name: Longs, told: _Told, last: Longs, before: Longs, first: Longs
) -> None:
    """Write of each mention the first of its document that it is like: mostly itself.

    last    scratch, -1: the last mention of each name that was no repeat
    before  scratch: the one before that in the document, -1: none
    """
    for d in range(mention_offsets.shape[0] - 1):
        begin = int64(mention_offsets[d])
        for m in range(begin, mention_offsets[d + 1]):
            other = last[name[m]]
            before[m] = other if other >= begin else -1
            other = before[m]
            while other >= 0 and not _is_like(m, other, told):
                other = before[other]
            first[m] = other if other >= 0 else m
            if other < 0:
                last[name[m]] = m


@inner
def _is_like(m: int, other: int, told: _Told) -> bool:
    if told.full_name[m] != told.full_name[other]:
        return False
    a, b = int64(told.candidate_offsets[m]), int64(told.candidate_offsets[other])
    n = int64(told.candidate_offsets[m + 1]) - a
    if n != int64(told.candidate_offsets[other + 1]) - b:
        return False
    i, k = told.word_offsets[m], told.word_offsets[other]
    n_words = told.word_offsets[m + 1] - i
    return bool(
        n_words == told.word_offsets[other + 1] - k
        and _equal(told.entity[a : a + n], told.entity[b : b + n])
        and _equal(told.prior[a : a + n], told.prior[b : b + n])
        and _equal(told.words[i : i + n_words], told.words[k : k + n_words])
        and _equal(told.values[i : i + n_words], told.values[k : k + n_words])
    )


@inner
def _equal(some: npt.NDArray[Any], others: npt.NDArray[Any]) -> bool:
    for i in range(some.shape[0]):  # noqa: SIM110 (kernels have no generators)
        if some[i] != others[i]:
            return False
    return True
