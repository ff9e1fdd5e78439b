"""Spellings of entities, and the values of the index from names to entities."""

import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.layout import CANDIDATE, MAX_SPELLING, NAME_PAGES, SPELLING
from sgtb.kb.name_variants import VARIANT, WEIGHT
from sgtb.text.normalization import normal_name

MAX_COUNT = 0xFFFFFFFF

Counts = dict[int, list[int]]  # entity number -> count per source
Ties = Callable[[int], tuple[float, bytes]]
"""Sort key of entities of equal prior: minus the popularity, then the id."""


class Spelling(NamedTuple):
    """A name as written, with the number of its source and its count."""

    text: str
    source: int
    times: int


def merged(spellings: Iterable[tuple[str, int, int]]) -> tuple[Spelling, ...]:
    """Return distinct spellings with summed counts, in order of text and source."""
    counts: dict[tuple[str, int], int] = {}
    for text, source, count in spellings:
        key = (text, source)
        counts[key] = min(counts.get(key, 0) + count, MAX_COUNT)
    return tuple(Spelling(*key, counts[key]) for key in sorted(counts))


def pack_spellings(spellings: Iterable[Spelling]) -> bytes:
    """Return the bytes of an entity's spellings for text.bin."""
    parts: list[bytes] = []
    for text, source, count in spellings:
        data = text.encode()
        if len(data) > MAX_SPELLING or count < 1:
            raise KnowledgeBaseError(
                f"name {text[:40]!r}: a name has at most {MAX_SPELLING:,} bytes, a count at least 1"
            )
        parts += (SPELLING.pack(source, count, len(data)), data)
    return b"".join(parts)


def unpack_spellings(data: bytes) -> tuple[Spelling, ...]:
    """Return the spellings of bytes; ValueError if these are inconsistent."""
    found: list[Spelling] = []
    at = 0
    while at < len(data):
        if at + SPELLING.size > len(data):
            raise ValueError("truncated spellings")
        source, count, size = SPELLING.unpack_from(data, at)
        at += SPELLING.size
        text = data[at : at + size]
        if len(text) < size:
            raise ValueError("truncated spellings")
        found.append(Spelling(text.decode(), source, count))
        at += size
    return tuple(found)


def by_name(spellings: Iterable[Spelling]) -> dict[tuple[bytes, int], int]:
    """Return the counts of an entity's normal names by name and source.

    Spellings that were not counted, all with 1, count once: "US" and "U.S." are one name.
    """
    counts: dict[tuple[bytes, int], list[int]] = {}
    for text, source, count in spellings:
        counts.setdefault((normal_name(text).encode(), source), []).append(count)
    return {
        key: min(sum(found), MAX_COUNT) if max(found) > 1 else 1 for key, found in counts.items()
    }


def source_weights(sources: Sequence[str]) -> tuple[float, ...]:
    """Return the weight of each source in the prior."""
    return tuple(WEIGHT if source == VARIANT else 1.0 for source in sources)


def priors(counts: Mapping[int, Sequence[int]], weights: Sequence[float]) -> dict[int, float]:
    """Return P(entity | name): the weighted mean over the sources that have the name."""
    if len(counts) == 1:
        return dict.fromkeys(counts, 1.0)
    totals = [sum(row[s] for row in counts.values()) for s in range(len(weights))]
    known = [s for s in range(len(weights)) if totals[s]]
    total = _sum(weights[s] for s in known)
    return {
        entity: _sum(weights[s] * (row[s] / totals[s]) for s in known) / total
        for entity, row in counts.items()
    }


def _sum(values: Iterable[float]) -> float:
    """Add from left to right, as the kernel does; `sum` compensates since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def pack_name(
    counts: Mapping[int, Sequence[int]], weights: Sequence[float], pages: tuple[int, int], tie: Ties
) -> bytes:
    """Return the value of a name: pages, then (entity, prior) likeliest first, then counts.

    Ties in the prior go to the more popular entity, then to the lower id.
    """
    if len(counts) == 1:
        ((only, row),) = counts.items()
        return _layout(1, len(weights)).pack(*pages, only, 1.0, *row)
    prior = dict(zip(counts, array("f", priors(counts, weights).values()), strict=True))
    shared = {value for value, n in Counter(prior.values()).items() if n > 1}
    order = sorted(
        counts, key=lambda one: (-prior[one], *(tie(one) if prior[one] in shared else ()))
    )
    pairs = chain.from_iterable((one, prior[one]) for one in order)
    table = chain.from_iterable(map(counts.__getitem__, order))
    return _layout(len(order), len(weights)).pack(*pages, *pairs, *table)


@lru_cache(maxsize=1024)
def _layout(size: int, sources: int) -> struct.Struct:
    """Return the layout of a name's value."""
    return struct.Struct(f"<II{size * 'if'}{size * sources}I")


class NameValue(NamedTuple):
    """An unpacked value of a name; `counts` is u4[candidates, sources]."""

    linked: int
    pages: int
    candidates: npt.NDArray[np.void]
    counts: npt.NDArray[np.uint32]


def unpack_name(data: bytes | memoryview, sources: int) -> NameValue:
    """Unpack a name's value; ValueError if its length fits no number of candidates."""
    size, rest = divmod(len(data) - NAME_PAGES.size, CANDIDATE.itemsize + 4 * sources)
    if rest or size < 1:
        raise ValueError("a name's value has a length that fits no number of candidates")
    linked, pages = NAME_PAGES.unpack_from(data)
    candidates = np.frombuffer(data, CANDIDATE, size, NAME_PAGES.size)
    at = NAME_PAGES.size + CANDIDATE.itemsize * size
    counts = np.frombuffer(data, "<u4", size * sources, at).reshape(size, sources)
    return NameValue(linked, pages, candidates, counts)
