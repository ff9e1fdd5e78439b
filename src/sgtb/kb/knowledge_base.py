"""KnowledgeBase: a memory-mapped knowledge base, open for reading."""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.ragged import Ragged, Texts, sliced
from sgtb.kb.columns import column_end
from sgtb.kb.entity import TYPES, Alias, Candidate, CandidateLists, Entity, NameHeads, SimilarNames
from sgtb.kb.fuzzy_index import FuzzyIndex, NameTexts, first_names, most_similar
from sgtb.kb.layout import (
    CANDIDATE,
    FORMAT,
    FUZZY_COLUMNS,
    MAX_KEY,
    NAME_PAGES,
    NAMES,
    NUMBER,
    PATCH,
    ROW,
    TEXT_SIZES,
)
from sgtb.kb.name_index import NameValue, Spelling, unpack_name, unpack_spellings
from sgtb.kb.name_variants import VARIANT
from sgtb.kb.snapshot import Snapshot, SnapshotOwner, damaged, process
from sgtb.native import candidate_reader, read_candidates
from sgtb.text.normalization import normal_name

TOP = 30  # default limit of candidates per name, as in the paper
_ALL = 1 << 40
_HEAD = NAME_PAGES.size
_PAIR = CANDIDATE.itemsize
# Position of an entity's text in its row: one offset, and four consecutive sizes.
_TEXT_AT = struct.Struct("<q")
_TEXT_SIZES = struct.Struct("<4i")
_TEXT_AT_OFFSET = ROW.fields["text_at"][1]  # type: ignore[index]
_TEXT_SIZES_OFFSET = ROW.fields["id_size"][1]  # type: ignore[index]


class KnowledgeBase(SnapshotOwner):
    """Snapshot of a knowledge base when it was opened or last refreshed.

    Entities have a number, used in arrays, and a permanent id. Writers do not affect the
    snapshot; `refresh` moves it to the newest state. Thread-safe. A forked child sees the newest
    state from its first look-up on.

    folder  data folder of the snapshot
    rows    ROW per entity by number, including removed ones (`alive` is 0); see `layout.py`
    """

    def _use(self, snapshot: Snapshot) -> None:
        columns = snapshot.columns
        self.rows, self.text = columns["entities"], columns["text"]
        self.link_targets, self.near_items = columns["links"], columns["near"]
        self.vector_rows, self.word_rows = columns["vectors"], columns["words"]
        self.fuzzy = snapshot.fuzzy
        self._fresh: FuzzyIndex | None = None
        self._row_bytes, self._text_bytes = _memory(self.rows), _memory(self.text)
        self._candidate_reader = candidate_reader(
            self._row_bytes, ROW.itemsize, _TEXT_AT_OFFSET, _TEXT_SIZES_OFFSET, self._text_bytes,
            len(snapshot.state.sources),
        )  # fmt: skip

    def __len__(self) -> int:
        return self.state.entities

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.path)!r}, {len(self):,} entities)"

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts."""
        return self.state.sources

    @property
    def dimensions(self) -> int:
        """The length of vectors; 0: none."""
        return self.state.dimensions

    @property
    def size(self) -> int:
        """The size of its files in bytes, without checksums."""
        with self._reading():
            ends = (column_end(*item, self.dimensions) for item in self.state.columns.items())
            return self._snapshot.size + sum(ends)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all entities in the order of their numbers."""
        for number in np.flatnonzero(self.rows["alive"]):
            yield self.id_of(int(number))

    def number(self, id: str) -> int | None:
        """Return an entity's number; None: unknown id."""
        return self.numbers([id])[0]

    def numbers(self, ids: Sequence[str]) -> list[int | None]:
        """Return the numbers of many entities; None: unknown id."""
        keys = [id.encode("utf-8", "surrogatepass") for id in ids]
        with self._reading() as (tables, transaction):
            get, table, unpack = transaction.get, tables.ids, NUMBER.unpack
            values = (get(key, None, table) if 0 < len(key) <= MAX_KEY else None for key in keys)
            return [None if value is None else unpack(value)[0] for value in values]

    def id_of(self, number: int) -> str:
        """Return the id of an entity number."""
        return self._text(number, 0)

    def title_of(self, number: int) -> str:
        """Return the title of an entity number."""
        return self._text(number, 1)

    def description_of(self, number: int) -> str:
        """Return the description of an entity number."""
        return self._text(number, 2)

    def type_of(self, number: int) -> str:
        """Return the type of an entity number: a coarse one or its own; "": unknown."""
        return self.types_of(np.array([number]))[0]

    def types_of(self, numbers: Ints | Longs) -> list[str]:
        """Return the types of many entities."""
        with self._guard:
            rows, own_types = self.rows[numbers], self.state.own_types
        names = (*TYPES, *own_types)
        own = rows["own_type"].astype(np.int64)
        index = np.where(own > 0, len(TYPES) - 1 + own, rows["type"])
        try:
            return [names[i] for i in index.tolist()]
        except IndexError:
            raise self._damaged("entities", "an unknown type") from None

    def ids_of(self, numbers: Longs) -> Texts:
        """Return the ids of many entities."""
        return self._texts(numbers, "id_size")

    def titles(self, numbers: Longs) -> Texts:
        """Return the titles of many entities."""
        return self._texts(numbers, "title_size")

    def descriptions(self, numbers: Longs) -> Texts:
        """Return the descriptions of many entities."""
        return self._texts(numbers, "description_size")

    def spellings_of(self, number: int) -> tuple[Spelling, ...]:
        """Return the spellings of an entity number, with source numbers."""
        try:
            found = unpack_spellings(self._bytes(number, 3))
        except ValueError as error:
            raise self._damaged("text", str(error)) from None
        if any(spelling.source >= len(self.sources) for spelling in found):
            raise self._damaged("text", f"a name of entity number {number} has no source")
        return found

    def has_spelling(self, number: int, text: str) -> bool:
        """Return whether an entity number has a name in exactly this spelling."""
        # Its size precedes it, which cannot be a part of a name.
        data = text.encode()
        return bool(data) and len(data).to_bytes(2, "little") + data in self._bytes(number, 3)

    def entity(self, id: str) -> Entity:
        """Return an entity; raise a KeyError if there is none of that id."""
        with self._guard:
            number = self._numbered(id)
            row, sources = self.rows[number], self.sources
            return Entity(
                id=id,
                number=number,
                title=self.title_of(number),
                description=self.description_of(number),
                type=self.type_of(number),
                popularity=float(row["popularity"]),
                in_links=_stated(int(row["stated_in"]), int(row["in_links"])),
                out_links=_stated(int(row["stated_out"]), int(row["links"])),
                aliases=tuple(
                    Alias(text, sources[source], count)
                    for text, source, count in self.spellings_of(number)
                ),
                links=tuple(self.id_of(int(target)) for target in self.links(number)),
            )

    def candidates(self, name: str, k: int = TOP) -> tuple[Candidate, ...]:
        """Return at most k candidates of a name, by prior, then popularity, then id."""
        # Without `_reading`, whose calls take a quarter of the time of a look-up.
        with self._guard:
            tables = self._environment
            if tables is None or self._pid != process.pid:
                tables, _ = self._newest()
            try:
                value = self._transaction.get(_key(name), None, tables.names)
                if value is None:
                    return ()
                found: tuple[Candidate, ...] = self._candidate_reader.read(value, k, Candidate)
            except lmdb.Error as error:
                raise damaged(tables.path, str(error)) from None
            except ValueError as error:  # it begins with the name of the table or column
                raise damaged(self.folder, str(error)) from None
            return found

    def candidate_lists(self, names: Sequence[str], k: int = TOP) -> CandidateLists:
        """Return the candidates of many names as arrays."""
        return self._read_names(names, max(k, 0))[1]

    def similar_names(
        self, names: Sequence[str], limit: int, *, containing: bool = False
    ) -> SimilarNames:
        """Return at most `limit` known names per name that are spelt similarly; no variants.

        containing  names that contain all words of the name and more
        """
        normal = [normal_name(name) for name in names]
        usable = [
            name if len(name.encode("utf-8", "replace")) <= MAX_KEY else "" for name in normal
        ]
        with self._reading():
            changed = self.state.generation > 0
            indexes = [index for index in (self.fuzzy, self._fresh_names()) if index]
        # Names that were removed since the build are still in its index.
        searched = 2 * limit if changed else limit
        try:
            found = most_similar(indexes, usable, searched, containing)
        except ValueError as error:  # it begins with the name of the damaged column
            column = f"fuzzy_{str(error).partition(':')[0].partition(' ')[0]}"
            column = column if column in FUZZY_COLUMNS else "fuzzy_text"
            raise self._damaged(column, str(error)) from None
        if not changed:
            return found
        heads = self.name_heads(found.names)
        return first_names(found, heads.known & ~heads.variant, limit)

    def _fresh_names(self) -> FuzzyIndex:
        """Return an index of the names of entities written since the build."""
        if self._fresh is None:
            with self._reading() as (tables, transaction):
                patched = [PATCH.unpack(key)[0] for key, _ in transaction.cursor(tables.rows)]
            numbers = sorted({*patched, *range(self.state.indexed, len(self.rows))})
            sources = self.sources
            names = {
                normal_name(text).encode()
                for number in numbers
                for text, source, _ in self.spellings_of(number)
                if sources[source] != VARIANT
            }
            self._fresh = FuzzyIndex.build(NameTexts.of(sorted(names)), self.fuzzy.weight)
        return self._fresh

    def name_heads(self, names: Sequence[str]) -> NameHeads:
        """Return which of many names are known, with their page counts."""
        heads, first = self._read_names(names, 1)
        variant = heads.variant
        # The first candidate is hardly ever one by a variant if others are not.
        variant[np.diff(first.offsets) > 0] = first.variant
        some = np.flatnonzero(variant)
        if len(some):
            lists = self.candidate_lists([names[i] for i in some.tolist()], _ALL)
            listed = np.repeat(some, np.diff(lists.offsets))[~lists.variant]
            variant[listed] = False
        return heads

    def name_value(self, name: str) -> NameValue | None:
        """Return the counts of a name in normal form; None: unknown name."""
        with self._reading() as (tables, transaction):
            value = transaction.get(_key(name), None, tables.names)
            try:
                return None if value is None else unpack_name(bytes(value), len(self.sources))
            except ValueError as error:
                raise KnowledgeBaseError(f"{tables.path}: damaged: {error}") from None

    def link_probability(self, name: str) -> float:
        """Return the share of the pages with a name on which it is a link; NaN: not counted."""
        value = self.name_value(name)
        return value.linked / value.pages if value is not None and value.pages else float("nan")

    def names(self) -> Iterator[str]:
        """Yield every name in normal form, in the order of its bytes."""
        key = b""
        while True:  # in batches, so that other threads can look up names in between
            with self._reading() as (tables, transaction):
                cursor = transaction.cursor(tables.names)
                batch = []
                if cursor.set_range(key + b"\0"):
                    for item in cursor.iternext(values=False):
                        batch.append(bytes(item))
                        if len(batch) == 10_000:
                            break
            if not batch:
                return
            yield from (name.decode() for name in batch)
            key = batch[-1]

    def links(self, entity: int | str) -> Ints:
        """Return the numbers of the entities that an entity links to, ascending."""
        with self._guard:
            return self.link_lists(np.array([self._numbered(entity)])).data

    def link_lists(self, numbers: Ints) -> Ragged:
        """Return the links of many entities."""
        with self._guard:
            rows = self.rows
            at, count = rows["links_at"][numbers], rows["links"][numbers]
            self._check_slices(at, count, len(self.link_targets))
            found = sliced(self.link_targets, at, at + count)
            if len(found.data) and not 0 <= found.data.min() <= found.data.max() < len(rows):
                raise self._damaged("links", "a link to no entity")
            return found

    def near(self, entity: int | str) -> npt.NDArray[np.void]:
        """Return the entities linked near an entity, ascending, with page counts (NEAR)."""
        with self._guard:
            row = self.rows[self._numbered(entity)]
            at, count = int(row["near_at"]), int(row["near"])
            self._check_slices(np.array([at]), np.array([count]), len(self.near_items))
            return self.near_items[at : at + count]

    def cooccurrence(self, entity: int | str, other: int | str) -> int:
        """Return the number of pages on which two entities are linked near each other."""
        with self._guard:
            items, number = self.near(entity), self._numbered(other)
        at = int(np.searchsorted(items["other"], number))
        return int(items["count"][at]) if at < len(items) and items["other"][at] == number else 0

    def vector(self, entity: int | str) -> Floats | None:
        """Return the unit vector of an entity; None: none."""
        with self._guard:
            at = int(self.rows[self._numbered(entity)]["vector"])
            if at >= len(self.vector_rows):
                raise self._damaged("entities", f"vector {at} is outside of vectors.bin")
            return None if at < 0 else self.vector_rows[at].astype(np.float32)

    def vectors(self, numbers: Ints) -> Floats:
        """Return the vectors of many entities; zeros: none."""
        with self._guard:
            at = self.rows["vector"][numbers]
            result = np.zeros((len(at), self.dimensions), np.float32)
            if len(at) and at.max() >= len(self.vector_rows) and self.dimensions:
                raise self._damaged("entities", f"vector {at.max()} is outside of vectors.bin")
            if self.dimensions:
                result[at >= 0] = self.vector_rows[at[at >= 0]]
            return result

    def word_vector(self, word: str) -> Floats | None:
        """Return the unit vector of a word in normal form; None: none."""
        with self._reading() as (tables, transaction):
            value = transaction.get(_key(word), None, tables.words)
            at = None if value is None else int(NUMBER.unpack(value)[0])
            return None if at is None else self.word_rows[at].astype(np.float32)

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield every word that has a vector, with its row."""
        with self._reading() as (tables, transaction):
            cursor = transaction.cursor(tables.words)
            return iter([(bytes(key).decode(), NUMBER.unpack(value)[0]) for key, value in cursor])

    def info(self) -> dict[str, Any]:
        """Return counts and origin as a JSON object."""
        with self._reading() as _:
            state, alive = self.state, self.rows["alive"] == 1
            return {
                "format": FORMAT,
                "entities": state.entities,
                "names": state.names,
                "aliases": state.aliases,
                "links": state.links,
                "pairs": int(self.rows["near"][alive].sum()) // 2,
                "vectors": int((self.rows["vector"][alive] >= 0).sum()),
                "words": state.columns["words"].items,
                "dimensions": state.dimensions,
                "sources": list(state.sources),
                "generation": state.generation,
                "fingerprint": state.fingerprint,
                "bytes": self.size,
                "origin": dict(state.origin),
            }

    def _read_names(self, names: Sequence[str], k: int) -> tuple[NameHeads, CandidateLists]:
        """Read many names, with at most k candidates each; none is marked as a variant."""
        with self._reading() as (tables, transaction):
            get, table, sources = transaction.get, tables.names, self.state.sources
            values = [get(_key(name), b"", table) for name in names]
            sizes = np.fromiter(map(len, values), np.int64, len(values))
            (known,) = sizes.nonzero()  # most ranges of a text are no names
            offsets = np.zeros(len(values) + 1, np.int64)
            stored = (sizes - _HEAD) // (_PAIR + 4 * len(sources))
            np.cumsum(np.clip(stored, 0, k), out=offsets[1:])
            n, heads = int(offsets[-1]), np.zeros((2, len(values)), np.uint32)
            found = CandidateLists(
                offsets, np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.bool_)
            )
            variant = sources.index(VARIANT) if VARIANT in sources else -1
            own, own_offsets = np.empty((2, len(known)), np.uint32), offsets[np.append(known, -1)]
            try:
                read_candidates(
                    [values[i] for i in known.tolist()], len(sources), variant, own, own_offsets,
                    *found[1:],
                )  # fmt: skip
            except ValueError:
                raise damaged(tables.path, "a name's candidates cannot be read") from None
            heads[:, known] = own
        if n and not 0 <= found.entity.min() <= found.entity.max() < len(self.rows):
            raise damaged(self.folder / NAMES, "a candidate that is no entity")
        return NameHeads(sizes > 0, heads[0], heads[1], np.zeros(len(names), np.bool_)), found

    def _numbered(self, entity: int | str) -> int:
        if not isinstance(entity, str):
            return entity
        number = self.number(entity)
        if number is None:
            raise KeyError(entity)
        return number

    def _bytes(self, number: int, part: int) -> bytes:
        """Return part 0 to 3 of an entity's text: id, title, description, spellings."""
        with self._guard:
            rows, text = self._row_bytes, self._text_bytes
        begin = number * ROW.itemsize
        if not 0 <= begin < len(rows):
            raise IndexError(f"there is no entity number {number}")
        # Read from plain memory, ten times as fast as a row of a structured array.
        (at,) = _TEXT_AT.unpack_from(rows, begin + _TEXT_AT_OFFSET)
        sizes = _TEXT_SIZES.unpack_from(rows, begin + _TEXT_SIZES_OFFSET)
        at += sum(sizes[:part])
        if min(at, *sizes) < 0 or at + sizes[part] > len(text):
            raise self._damaged("entities", f"entity number {number} is outside of text.bin")
        return bytes(text[at : at + sizes[part]])

    def _texts(self, numbers: Longs, part: str) -> Texts:
        """Return a part of the texts of many entities; `part` is the name of its size."""
        with self._guard:
            rows, text = self.rows, self.text
        starts = rows["text_at"][numbers]
        for size in TEXT_SIZES[: TEXT_SIZES.index(part)]:
            starts = starts + rows[size][numbers]
        self._check_slices(starts, rows[part][numbers], len(text))
        return Texts(text, starts, starts + rows[part][numbers])

    def _text(self, number: int, part: int) -> str:
        try:
            return self._bytes(number, part).decode()
        except UnicodeDecodeError as error:
            raise self._damaged("text", str(error)) from None

    def _check_slices(self, starts: Longs, counts: Ints | Longs, size: int) -> None:
        """Raise if slices of a column are outside of it, as rows of a damaged file state."""
        if len(starts) and not (
            starts.min() >= 0 and counts.min() >= 0 and (starts + counts).max() <= size
        ):
            raise self._damaged("entities", "an entity is outside of another column")


def _memory(array: npt.NDArray[Any]) -> memoryview:
    return array.view(np.uint8).data if len(array) else memoryview(b"")


def _key(name: str) -> bytes:
    """Return the key of a name; an impossible one if it is too long or empty."""
    key = normal_name(name).encode("utf-8", "replace")
    return key if 0 < len(key) <= MAX_KEY else b"\0"


def _stated(stated: int, known: int) -> int:
    return known if stated < 0 else stated
