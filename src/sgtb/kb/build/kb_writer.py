"""KbWriter: writes the data folder of a new knowledge base in bounded memory."""

import hashlib
import math
import os
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints
from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.progress import Progress, silent
from sgtb.core.workers import ahead
from sgtb.kb import environment
from sgtb.kb.build.entity_fields import GIVEN
from sgtb.kb.build.sorted_runs import SortedRuns, run_of
from sgtb.kb.build.type_names import COARSE_TYPES, OwnTypes, coarse_type
from sgtb.kb.build.usable_names import is_id
from sgtb.kb.columns import Extent, column_path, pack_header, read_extent, unit_halves
from sgtb.kb.entity import TYPES
from sgtb.kb.environment import State
from sgtb.kb.fuzzy_index import FuzzyIndex, NameTexts
from sgtb.kb.layout import (
    COLUMNS,
    DTYPES,
    FUZZY_COLUMNS,
    HEADER,
    MAX_KEY,
    MAX_TEXT,
    NAMES,
    NEAR,
    NUMBER,
    ROW,
    item_size,
)  # fmt: skip
from sgtb.kb.name_index import Spelling, by_name, merged, pack_spellings, source_weights
from sgtb.kb.name_variants import VARIANT, VariantRules
from sgtb.native import distinct_names, pack_names, packing, value_packer
from sgtb.text.normalization import name_table

NAME_TAIL = struct.Struct(">IBI")
_ROW = struct.Struct("<3q9ifi2BH")  # the fields of ROW
_BATCH = 20_000
_NO_BUILD = bytes(16)
DEFAULT_MEMORY = 256 << 20


class EntityBatch(NamedTuple):
    """Consecutive entities of a list, packed by a kernel."""

    first: int  # number of the first one
    spellings: int  # number of all spellings
    unknown_links: int  # links that were left out
    text: bytes  # id, title, description and spellings of each
    names: bytes  # records of names, as runs
    ids: bytes  # records of ids, as runs
    types: list[str]  # distinct names of types
    rows: bytes  # ROW of each; `own_type` is an index of `types`, `text_at` one of `text`
    links: bytes  # i4, targets of the links of all, ascending; each row has the number of its own


class KbWriter:
    """Writes entities in the order of their numbers, then links, pairs, vectors; `finish` ends it.

    variants  rules that make further names; None: none are made
    """

    def __init__(
        self,
        folder: Path,
        entities: int,
        sources: Sequence[str],
        dimensions: int,
        origin: Mapping[str, Any],
        *,
        variants: VariantRules | None = None,
        memory: int = DEFAULT_MEMORY,
        progress: Progress | None = None,
    ) -> None:
        self.folder = folder
        self.entities = entities
        self.sources = tuple(sources)
        self.dimensions = dimensions
        self.origin = dict(origin)
        self._variants = variants
        if variants is not None:
            self.sources = tuple(dict.fromkeys((*sources, VARIANT)))
            self.origin.update(variants.origin)
        self._variant = self.sources.index(VARIANT) if VARIANT in self.sources else -1
        self._memory = memory
        self._progress = progress or silent
        self._files: dict[str, BinaryIO] = {}
        for column in COLUMNS:
            file = self._files[column] = open(column_path(folder, column), "wb")  # noqa: SIM115
            file.write(pack_header(column, item_size(column, dimensions), _NO_BUILD))
        self._names = SortedRuns(folder, "names", memory * 3 // 4)
        self._ids = SortedRuns(folder, "ids", memory // 4)
        self._items = dict.fromkeys(COLUMNS, 0)
        self._aliases = 0
        self._words: SortedRuns | None = None
        self._rows: npt.NDArray[np.void] | None = None
        self._fuzzy_ends = array("q", [0])
        self._in_links: Ints = np.zeros(0, np.int32)
        self._name_count = -1
        self._own_types = OwnTypes()

    def entity(
        self,
        id: str,
        title: str,
        description: str,
        type: str,
        popularity: float,
        spellings: Sequence[Spelling],
        stated_in: int = -1,
        stated_out: int = -1,
    ) -> None:
        """Write the next entity; a spelling without a normal form is an error."""
        number = self._items["entities"]
        named: list[tuple[str, int, int]] = list(spellings)
        if self._variants is not None:
            distinct = sorted({text for text, _, _ in named})
            made = self._variants.variants([title, *distinct], type)
            named += [(name, self._variant, 1) for name in made]
        packed = pack_names(name_table(), named, number)
        spelled, count, records = packed or _pack_any(id, merged(named), number)
        text, sizes = _pack_text(id, title, description, spelled)
        own_type = self._own_types.number(type)
        at = self._append("text", text)
        row = _pack_row(at, sizes, type, own_type, popularity, stated_in, stated_out)
        self._append("entities", row)
        self._names.extend(records)
        self._ids.add(id.encode() + b"\0" + NUMBER.pack(number))
        self._aliases += count

    def packing(self, numbers: Any, named: bool, skips: bool) -> Any:
        """Return what the kernel needs that packs lines of a list for `add_batch`.

        numbers  of all entities
        named    whether an entity's name is one of its spellings
        skips    whether unknown links are left out
        """
        sources = {source: i for i, source in enumerate(self.sources)}
        if GIVEN in sources:
            sources[""] = sources[GIVEN]
        maker = None if self._variants is None else self._variants.kernel
        if self._variants is not None and maker is None:
            sources = {}  # of no line: all are for Python
        return packing(
            name_table(), maker, numbers, sources, COARSE_TYPES, self._variant, named, skips
        )

    def add_batch(self, batch: EntityBatch) -> bool:
        """Write the next entities; return False, and write none, if there are too many types."""
        if batch.first != self._items["entities"]:
            raise ValueError(f"entity {batch.first} after {self._items['entities']} others")
        types = [coarse_type(name) for name in batch.types]
        try:
            own_types = np.array([*map(self._own_types.number, types)], np.uint16)
        except KnowledgeBaseError:
            return False
        coarse = np.array([*map(_coarse_number, types)], np.uint8)
        rows = np.frombuffer(bytearray(batch.rows), ROW)
        rows["text_at"] += self._append("text", batch.text)
        rows["links"] = 0  # until they are written
        rows["type"], rows["own_type"] = coarse[rows["own_type"]], own_types[rows["own_type"]]
        self._append("entities", rows.tobytes())
        self._names.extend(batch.names)
        self._ids.extend(batch.ids)
        self._aliases += batch.spellings
        return True

    def links(self, source: Ints, target: Ints) -> None:
        """Write distinct links, sorted by source and target over all calls."""
        rows = self._all_rows()
        _count_runs(rows, "links", source, self._append("links", target.astype("<i4").tobytes()))
        self._in_links += np.bincount(target, minlength=self.entities).astype(np.int32)

    def near(self, source: Ints, other: Ints, count: npt.NDArray[np.uint32]) -> None:
        """Write pairs in both directions, sorted by source and other."""
        rows, items = self._all_rows(), np.empty(len(other), NEAR)
        items["other"], items["count"] = other, count
        _count_runs(rows, "near", source, self._append("near", items.tobytes()))

    def vectors(self, number: Ints, matrix: npt.NDArray[np.float32]) -> None:
        """Write vectors of entities, scaled to unit length."""
        at = self._append("vectors", unit_halves(matrix).tobytes())
        self._all_rows()["vector"][number] = at + np.arange(len(number))

    def words(self, words: Sequence[str], matrix: npt.NDArray[np.float32]) -> None:
        """Write vectors of distinct words; words too long for a key are left out."""
        if self._words is None:
            self._words = SortedRuns(self.folder, "words", self._memory // 4)
        kept = [i for i, word in enumerate(words) if 0 < len(word.encode()) <= MAX_KEY]
        first = self._append("words", unit_halves(matrix[kept]).tobytes())
        for at, i in enumerate(kept, first):
            self._words.add(words[i].encode() + b"\0" + NUMBER.pack(at))

    def names(self) -> Iterator[str]:
        """Yield all names in normal form in the order of their bytes, after the last entity."""
        count = 0
        for batch in self._names.batches(NAME_TAIL.size):
            names = distinct_names(batch)
            yield from names
            count += len(names)
        self._name_count = count

    def finish(self, name_pages: npt.NDArray[np.uint32] | None = None) -> State:
        """Write all, return the state; `name_pages` u4[names, 2]: linking pages, all pages."""
        rows = self._all_rows()
        rows["in_links"] = self._in_links
        _flush(rows)
        for column, file in self._files.items():
            if column != "fuzzy_text":  # written with the index
                file.close()
        columns = {
            column: self._extent(column) for column in COLUMNS if column not in FUZZY_COLUMNS
        }
        env = environment.create(self.folder / NAMES)
        try:
            digest = hashlib.blake2b(repr(sorted(columns.items())).encode(), digest_size=16)
            digest.update(repr((self.sources, self.origin)).encode())
            digest.update("".join(f"{name}\0" for name in self._own_types).encode())
            names = self._index(env, name_pages, digest)
            state = State(
                build=digest.hexdigest(),
                generation=0,
                fingerprint=digest.hexdigest(),
                sources=self.sources,
                dimensions=self.dimensions,
                columns={**columns, **self._fuzzy_columns()},
                entities=self.entities,
                names=names,
                aliases=self._aliases,
                links=self._items["links"],
                indexed=self.entities,
                origin=self.origin,
                own_types=tuple(self._own_types),
            )
            with env.begin(write=True) as transaction:
                transaction.put(b"state", state.pack())
            env.sync(True)
        finally:
            env.close()
        self._sign(bytes.fromhex(state.build))
        self.close()
        return state

    def close(self) -> None:
        """Close all files, also after an error."""
        for file in self._files.values():
            # A full disk has been reported already.
            with suppress(OSError):
                file.close()
        for runs in (self._names, self._ids, self._words):
            if runs is not None:
                runs.close()

    def _append(self, column: str, data: bytes) -> int:
        """Write whole items of a column; return the number of the first."""
        at = self._items[column]
        self._files[column].write(data)
        self._items[column] += len(data) // max(item_size(column, self.dimensions), 1)
        return at

    def _all_rows(self) -> npt.NDArray[np.void]:
        """Return the rows of all entities, mapped from the file."""
        if self._rows is None:
            if self._items["entities"] != self.entities:
                given = self._items["entities"]
                raise ValueError(f"{given} of {self.entities} entities were given")
            self._files["entities"].flush()
            self._rows = self._map("entities", self.entities, "r+")
            self._in_links = np.zeros(self.entities, np.int32)
        return self._rows

    def _index(
        self, env: lmdb.Environment, pages: npt.NDArray[np.uint32] | None, digest: "hashlib.blake2b"
    ) -> int:
        """Write ids, names and words to LMDB in key order, which is fastest."""

        def put(table: str, items: Iterable[tuple[bytes, bytes]], expected: int) -> None:
            handle, done, items = env.open_db(table.encode()), 0, iter(items)
            while batch := list(islice(items, _BATCH)):
                with env.begin(write=True, db=handle) as transaction:
                    transaction.cursor().putmulti(batch, append=True)
                digest.update(b"".join(chain.from_iterable(batch)))
                done += len(batch)
                self._progress(table, done, max(expected, done))

        put("ids", _unique("id", self._ids), self.entities)
        put("words", _unique("word", self._words or ()), self._items["words"])
        total = 0

        def values() -> Iterator[tuple[bytes, bytes]]:
            nonlocal total
            packer = value_packer(
                np.frombuffer(self._all_rows().data, np.uint8),
                self._map("text", self._items["text"]),
                np.array(source_weights(self.sources)),
                self._variant,
                np.zeros((0, 2), np.uint32) if pages is None else pages,
            )
            packed = (packer.pack(batch) for batch in self._names.batches(NAME_TAIL.size))
            for items, listed, ends in ahead(packed):
                self._files["fuzzy_text"].write(listed)
                self._fuzzy_ends.frombytes(ends)
                total += len(items)
                yield from items

        put("names", values(), max(self._name_count, 0))
        for runs in (self._names, self._ids):
            runs.close()  # their memory is needed for the fuzzy index
        return total

    def _fuzzy_columns(self) -> dict[str, Extent]:
        """Write the fuzzy index of all names that are no variants."""
        self._files["fuzzy_text"].close()
        ends = self._fuzzy_ends
        if ends[-1] >= 1 << 32:
            raise KnowledgeBaseError(f"{self.folder}: names of more than 4 GiB cannot be indexed")
        text = self._map("fuzzy_text", ends[-1])
        names = NameTexts(text, np.frombuffer(ends, np.int64).astype(np.uint32))
        # The postings are mapped from their file: they need not fit in memory.
        index = FuzzyIndex.build(names, room=lambda size: self._map("fuzzy_postings", size, "r+"))
        for name, values in index._asdict().items():
            column = f"fuzzy_{name}"
            if column == "fuzzy_postings":
                _flush(values)
            elif column != "fuzzy_text":
                with open(column_path(self.folder, column), "ab") as file:
                    file.write(np.ascontiguousarray(values, DTYPES[column]).data)
        return {column: self._extent(column) for column in FUZZY_COLUMNS}

    def _map(self, column: str, items: int, mode: Literal["r", "r+"] = "r") -> npt.NDArray[Any]:
        """Map so many items of a column's file."""
        path, dtype = column_path(self.folder, column), DTYPES[column]
        if not items:
            return np.zeros(0, dtype)
        return np.memmap(path, dtype, mode, HEADER.size, (items,))

    def _extent(self, column: str) -> Extent:
        return read_extent(self.folder, column, item_size(column, self.dimensions))

    def _sign(self, build: bytes) -> None:
        """Write the build into the headers of all columns, and sync them to disk."""
        for column in COLUMNS:
            with open(column_path(self.folder, column), "r+b") as file:
                file.write(pack_header(column, item_size(column, self.dimensions), build))
                file.flush()
                os.fsync(file.fileno())


def _pack_any(id: str, spellings: Sequence[Spelling], number: int) -> tuple[bytes, int, bytes]:
    """Pack the names of an entity, whatever their characters; an invalid name is an error.

    Returns its spellings for text.bin, their number, and its records of names as a run.
    """
    packed, names = pack_spellings(spellings), by_name(spellings)
    if not all(0 < len(name) <= MAX_KEY for name, _ in names):
        raise KnowledgeBaseError(
            f"entity {id!r}: a name has 1 to {MAX_KEY} bytes in its normal form"
        )
    records = [name_record(name, number, source, count) for (name, source), count in names.items()]
    return packed, len(spellings), run_of(records)


def _pack_text(id: str, title: str, description: str, spellings: bytes) -> tuple[bytes, list[int]]:
    """Return an entity's bytes for text.bin, and the sizes of their parts."""
    parts = (id.encode(), title.encode(), description.encode(), spellings)
    if not is_id(id):
        raise KnowledgeBaseError(
            f"id {id[:40]!r}: an id has 1 to {MAX_KEY} bytes and no control characters"
        )
    sizes = [*map(len, parts)]
    if max(sizes) > MAX_TEXT:
        raise KnowledgeBaseError(
            f"entity {id!r}: title, description and names may have {MAX_TEXT:,} bytes each"
        )
    return b"".join(parts), sizes


def pack_entity(
    id: str,
    title: str,
    description: str,
    type: str,
    popularity: float,
    spellings: Sequence[Spelling],
) -> tuple[bytes, npt.NDArray[np.void]]:
    """Return an entity's bytes for text.bin and its row without offsets."""
    text, sizes = _pack_text(id, title, description, pack_spellings(spellings))
    row = _pack_row(0, sizes, type, 0, popularity)
    return text, np.frombuffer(bytearray(row), ROW).reshape(())


def _pack_row(
    text_at: int,
    sizes: Sequence[int],
    type: str,
    own_type: int,
    popularity: float,
    stated_in: int = -1,
    stated_out: int = -1,
) -> bytes:
    """Return a row without links, pairs and vector."""
    return _ROW.pack(
        text_at, 0, 0, *sizes, 0, 0, stated_out, stated_in, 0, popularity, -1,
        _coarse_number(type), 1, own_type,
    )  # fmt: skip


def _coarse_number(type: str) -> int:
    """Return the number of a coarse type; 0: unknown."""
    return TYPES.index(type) if type in TYPES else 0


def popularity_key(popularity: float) -> float:
    """Return a sort key: descending popularity, unknown ones last."""
    return math.inf if math.isnan(popularity) else -popularity


def _count_runs(rows: npt.NDArray[np.void], column: str, source: Ints, at: int) -> None:
    """Set offset and number of the items of each source in its row."""
    if not len(source):
        return
    begins = np.flatnonzero(np.diff(source, prepend=source[0] - 1))
    owners = source[begins]
    new = rows[column][owners] == 0  # else the list continues that of the last call
    rows[f"{column}_at"][owners[new]] = at + begins[new]
    rows[column][owners] += np.diff(begins, append=len(source)).astype(np.int32)


def _unique(what: str, records: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Split sorted records into key and number; a repeated key is an error."""
    before = None
    for record in records:
        key, value = record[: -NUMBER.size - 1], record[-NUMBER.size :]
        if key == before:
            raise KnowledgeBaseError(f"{what} {key.decode()!r} is given twice")
        before = key
        yield key, value


def name_record(name: bytes, number: int, source: int, count: int) -> bytes:
    """Return a record that sorts by name, entity and source."""
    return name + b"\0" + NAME_TAIL.pack(number, source, count)


def _flush(rows: npt.NDArray[Any]) -> None:
    if isinstance(rows, np.memmap):
        rows.flush()
