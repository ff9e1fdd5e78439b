"""Merge builds: one knowledge base from several, united by id or by title.

Entities that match become one: their names and counts are summed per source, their links and pairs
united. Id, title, description, type, popularity and vector are those of the first knowledge base
that has one.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints, Longs
from sgtb.core.errors import KnowledgeBaseError, SettingsError
from sgtb.core.progress import Progress, silent
from sgtb.kb.build.entity_fields import GIVEN, MAX_SOURCES
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.columns import list_items
from sgtb.kb.kb_folder import building
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.name_index import MAX_COUNT, Spelling
from sgtb.text.normalization import title_key

MergeKey = Literal["id", "title"]

_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class MergeReport:
    """Report of a merge."""

    given: tuple[int, ...]  # entities of each knowledge base
    entities: int
    united: int  # entities that several have
    names: int
    links: int
    vectors: int  # entities with a vector
    # dimensions that do not agree, if vectors were left out for that
    vectors_dropped: tuple[int, ...]
    fingerprint: str


def merge_kbs(
    paths: Sequence[Path], out: Path, *, by: MergeKey = "id", progress: Progress | None = None
) -> MergeReport:
    """Build a knowledge base in the folder `out` from others; the order of `paths` matters."""
    if by not in get_args(MergeKey):
        raise SettingsError(f"by: {by!r}; id or title")
    if len(paths) < 2:
        raise SettingsError("give at least two knowledge bases to merge")
    with ExitStack() as stack:
        kbs = [stack.enter_context(KnowledgeBase.open(path)) for path in paths]
        members = _unite(kbs, by)
        with building(out) as folder:
            return _Merge(kbs, members, by, progress or silent).write(folder)


@dataclass(frozen=True)
class _Members:
    """The entities that become one, by merged number."""

    new: list[Ints]  # per knowledge base i4[entities], the merged number; -1: removed
    kb: Ints  # i4[M], which knowledge base
    number: Ints  # i4[M], its number there
    # i8[N+1], the members of each merged number, in the order of the knowledge bases
    offsets: Longs

    def groups(self) -> Iterator[list[tuple[int, int]]]:
        """Yield knowledge base and number of the members of each merged entity."""
        members = [*zip(self.kb.tolist(), self.number.tolist(), strict=True)]
        return (members[a:b] for a, b in pairwise(self.offsets.tolist()))


def _unite(kbs: Sequence[KnowledgeBase], by: MergeKey) -> _Members:
    """Number the entities of all knowledge bases, equal keys alike."""
    numbers: dict[tuple[str, str], int] = {}
    alive = [np.flatnonzero(kb.rows["alive"]).astype(np.int32) for kb in kbs]
    new = [np.full(len(kb.rows), -1, np.int32) for kb in kbs]
    for keys, own, merged in zip(_keys(kbs, alive, by), alive, new, strict=True):
        merged[own] = [numbers.setdefault(key, len(numbers)) for key in keys]
    merged_numbers = np.concatenate([merged[own] for merged, own in zip(new, alive, strict=True)])
    which = np.repeat(np.arange(len(kbs), dtype=np.int32), [len(own) for own in alive])
    order = np.argsort(merged_numbers, kind="stable")
    members = _Members(
        new,
        which[order],
        np.concatenate(alive)[order],
        np.searchsorted(merged_numbers[order], np.arange(len(numbers) + 1)),
    )
    _check_ids(kbs, members)
    return members


def _keys(
    kbs: Sequence[KnowledgeBase], alive: Sequence[Ints], by: MergeKey
) -> list[list[tuple[str, str]]]:
    """Return what entities match by: id or title.

    Titles match by their keys, unless one knowledge base has a key several times: then these titles
    must be equal. A title that one knowledge base has several times matches nothing; if another one
    has it, too, that is an error.
    """
    if by == "id":
        return [
            [(kb.id_of(n), "") for n in own.tolist()] for kb, own in zip(kbs, alive, strict=True)
        ]
    titles = [[kb.title_of(n) for n in own.tolist()] for kb, own in zip(kbs, alive, strict=True)]
    counts = [Counter(own) for own in titles]
    for kb, count in zip(kbs, counts, strict=True):
        for title, times in count.items():
            if times > 1 and any(title in other for other in counts if other is not count):
                raise KnowledgeBaseError(
                    f"{kb.path}: {times} entities have the title {title!r}, which another "
                    "knowledge base has, too; merge by id, or change their titles"
                )
    keys = [Counter(map(title_key, own)) for own in titles]
    several = {key for own in keys for key, times in own.items() if times > 1}
    return [
        [
            (
                title if (key := title_key(title)) in several else key,
                kb.id_of(n) if count[title] > 1 else "",
            )
            for n, title in zip(own.tolist(), names, strict=True)
        ]
        for kb, own, names, count in zip(kbs, alive, titles, counts, strict=True)
    ]


def _check_ids(kbs: Sequence[KnowledgeBase], members: _Members) -> None:
    """Raise if two merged entities would have the same id."""
    titles: dict[str, str] = {}
    for (kb, number), *_ in members.groups():
        id_, title = kbs[kb].id_of(number), kbs[kb].title_of(number)
        if id_ in titles:
            raise KnowledgeBaseError(
                f"id {id_!r} is that of {titles[id_]!r} and, in {kbs[kb].path}, of {title!r}; "
                "merge by id, or change ids"
            )
        titles[id_] = title


class _Merge:
    """Writes the merged knowledge base."""

    def __init__(
        self, kbs: Sequence[KnowledgeBase], members: _Members, by: MergeKey, progress: Progress
    ) -> None:
        self._kbs, self._members, self._progress = kbs, members, progress
        self._sources = [*dict.fromkeys([GIVEN, *(s for kb in kbs for s in kb.sources)])]
        if len(self._sources) > MAX_SOURCES:
            raise KnowledgeBaseError(
                f"{len(self._sources)} sources of names together; {MAX_SOURCES} are possible"
            )
        given = dict.fromkeys(kb.dimensions for kb in kbs if kb.dimensions)
        self._dimensions = next(iter(given)) if len(given) == 1 else 0
        self._dropped = tuple(given) if len(given) > 1 else ()
        self._origin = {"kind": "merge", "by": by, "of": [dict(kb.state.origin) for kb in kbs]}

    def write(self, folder: Path) -> MergeReport:
        """Write everything to a data folder."""
        total = len(self._members.offsets) - 1
        writer = KbWriter(
            folder, total, self._sources, self._dimensions, self._origin, progress=self._progress
        )
        with closing(writer):
            vectors = self._write_entities(writer, total)
            writer.links(*self._links())
            writer.near(*self._pairs())
            if self._dimensions:
                self._write_vectors(writer, vectors)
            state = writer.finish(self._name_pages(writer))
        return MergeReport(
            given=tuple(int((merged >= 0).sum()) for merged in self._members.new),
            entities=total,
            united=int((np.diff(self._members.offsets) > 1).sum()),
            names=state.names,
            links=state.links,
            vectors=len(vectors),
            vectors_dropped=self._dropped,
            fingerprint=state.fingerprint,
        )

    def _write_entities(self, writer: KbWriter, total: int) -> list[tuple[int, int, int]]:
        """Write all entities; return merged number, knowledge base and number of vectors."""
        kbs = self._kbs
        source = [[self._sources.index(name) for name in kb.sources] for kb in kbs]
        vectors = []
        for merged, group in enumerate(self._members.groups()):
            rows = [kbs[kb].rows[number] for kb, number in group]
            (first, own), *_ = group
            popularity = (float(row["popularity"]) for row in rows)
            writer.entity(
                id=kbs[first].id_of(own),
                title=next(filter(None, (kbs[kb].title_of(n) for kb, n in group)), ""),
                description=next(filter(None, (kbs[kb].description_of(n) for kb, n in group)), ""),
                type=next(filter(None, (kbs[kb].type_of(n) for kb, n in group)), ""),
                popularity=next((p for p in popularity if not math.isnan(p)), math.nan),
                spellings=[
                    Spelling(text, source[kb][of], times)
                    for kb, number in group
                    for text, of, times in kbs[kb].spellings_of(number)
                ],
                stated_in=next((int(r["stated_in"]) for r in rows if r["stated_in"] >= 0), -1),
                stated_out=next((int(r["stated_out"]) for r in rows if r["stated_out"] >= 0), -1),
            )
            if self._dimensions:
                with_vector = (
                    (kb, n) for (kb, n), row in zip(group, rows, strict=True) if row["vector"] >= 0
                )
                vectors += [(merged, kb, n) for kb, n in islice(with_vector, 1)]
            if merged % _BATCH == 0:
                self._progress("entities", merged, total)
        return vectors

    def _links(self) -> tuple[Ints, Ints]:
        """Return the distinct links, sorted."""
        keys = [
            _packed(merged, *list_items(kb.rows, "links", kb.link_targets))
            for kb, merged in zip(self._kbs, self._members.new, strict=True)
        ]
        found = np.unique(np.concatenate(keys))
        source, target = _unpacked(found)
        return source[source != target], target[source != target]

    def _pairs(self) -> tuple[Ints, Ints, npt.NDArray[np.uint32]]:
        """Return the pairs in both directions with summed counts, sorted."""
        keys, counts = [], []
        for kb, merged in zip(self._kbs, self._members.new, strict=True):
            owner, items = list_items(kb.rows, "near", kb.near_items)
            keys.append(_packed(merged, owner, items["other"]))
            counts.append(items["count"].astype(np.float64))
        found, at = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.bincount(at, np.concatenate(counts), len(found))
        a, b = _unpacked(found)
        kept = a != b
        return a[kept], b[kept], np.minimum(total[kept], MAX_COUNT).astype(np.uint32)

    def _write_vectors(self, writer: KbWriter, vectors: list[tuple[int, int, int]]) -> None:
        for k, kb in enumerate(self._kbs):
            own = np.array([(m, n) for m, of, n in vectors if of == k], np.int32).reshape(-1, 2)
            for at in range(0, len(own), _BATCH):
                batch = own[at : at + _BATCH]
                writer.vectors(np.ascontiguousarray(batch[:, 0]), kb.vectors(batch[:, 1]))
        known: set[str] = set()
        for kb in self._kbs:
            words = [(word, at) for word, at in kb.words() if word not in known]
            known.update(word for word, _ in words)
            for i in range(0, len(words), _BATCH):
                some = words[i : i + _BATCH]
                matrix = kb.word_rows[[at for _, at in some]].astype(np.float32)
                writer.words([word for word, _ in some], matrix)

    def _name_pages(self, writer: KbWriter) -> npt.NDArray[np.uint32]:
        """Return the summed page counts of all names."""
        names = writer.names()
        parts = [np.zeros((0, 2), np.uint32)]
        while batch := [*islice(names, _BATCH)]:
            total = np.zeros((len(batch), 2), np.uint64)
            for kb in self._kbs:
                heads = kb.name_heads(batch)
                total[:, 0] += heads.linked
                total[:, 1] += heads.pages
            parts.append(np.minimum(total, MAX_COUNT).astype(np.uint32))
        return np.concatenate(parts)


def _packed(merged: Ints, a: Longs, b: npt.NDArray[Any]) -> Longs:
    """Return pairs of merged numbers as keys; links to removed entities do not exist."""
    keys: Longs = merged[a].astype(np.int64) << 32 | merged[b]
    return keys


def _unpacked(keys: Longs) -> tuple[Ints, Ints]:
    return (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
