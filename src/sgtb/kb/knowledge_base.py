"""KnowledgeBase: a knowledge base opened for reading, memory-mapped and shared by processes."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.errors import KnowledgeBaseError
from sgtb.kb import environment
from sgtb.kb.columns import map_column
from sgtb.kb.entity import TYPES, Alias, Candidate, Entity
from sgtb.kb.environment import Environment, State
from sgtb.kb.layout import CANDIDATE, COLUMNS, MAX_KEY, NAME_PAGES, NUMBER, PATCH, ROW
from sgtb.kb.place import data_folder
from sgtb.kb.spellings import NameValue, Spelling, unpack_name, unpack_spellings
from sgtb.text.normalize import normal_name

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

TOP = 30
"""How many candidates a name has at most, unless asked otherwise: the paper's number."""


class CandidateLists(NamedTuple):
    """The candidates of several names: those of name i are items offsets[i] to offsets[i + 1]."""

    offsets: npt.NDArray[np.int64]
    entity: Ints
    prior: Floats


class Lists(NamedTuple):
    """Numbers in lists: those of list i are items offsets[i] to offsets[i + 1]."""

    offsets: npt.NDArray[np.int64]
    items: Ints


class KnowledgeBase:
    """What was known when it was opened, or refreshed last.

    Entities have a number, which arrays use, and an id, which lasts. A reader sees one state of
    the knowledge base, whole, whatever a writer does; `refresh` takes it to the newest. All
    methods may be called from several threads.

    rows  one ROW an entity by number, removed ones included (`alive` is 0); see `layout.py`
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._guard = threading.RLock()
        self._environment: Environment | None = None
        self._transaction: lmdb.Transaction[memoryview]
        self._open()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "KnowledgeBase":
        """Open the knowledge base in a folder."""
        return cls(path)

    def close(self) -> None:
        """Let go of all files; arrays that were handed out stay good."""
        with self._guard:
            if self._environment is not None:
                if self._pid == os.getpid():
                    self._transaction.abort()
                environment.release(self._environment)
                self._environment = None

    def __enter__(self) -> "KnowledgeBase":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_environment", None) is not None:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return KnowledgeBase, (self.path,)  # a worker process opens it for itself

    def __len__(self) -> int:
        return self.state.entities

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.path)!r}, {len(self):,} entities)"

    def refresh(self) -> bool:
        """See what has been written since; return whether there is anything new."""
        with self._guard:
            before = self.state.build, self.state.generation
            if data_folder(self.path) != self._folder or self._pid != os.getpid():
                self.close()
                self._open()
            else:
                self._transaction.abort()
                self._transaction = self._alive().lmdb.begin(buffers=True)
                if self._alive().state(self._transaction).generation != before[1]:
                    self._load()
            return (self.state.build, self.state.generation) != before

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of name counts."""
        return self.state.sources

    @property
    def dimensions(self) -> int:
        """The length of vectors; 0 where there are none."""
        return self.state.dimensions

    def ids(self) -> Iterator[str]:
        """Yield the ids of all entities in the order of their numbers."""
        for number in np.flatnonzero(self.rows["alive"]):
            yield self.id_of(int(number))

    def number(self, id: str) -> int | None:
        """Return an entity's number; None: there is no such entity."""
        return self._number(id.encode("utf-8", "surrogatepass"))

    def id_of(self, number: int) -> str:
        """Return the id of an entity number."""
        row = self.rows[number]
        at = int(row["text_at"])
        return str(self.text[at : at + int(row["id_size"])].tobytes(), "utf-8")

    def title_of(self, number: int) -> str:
        """Return the title of an entity number."""
        row = self.rows[number]
        at = int(row["text_at"]) + int(row["id_size"])
        return str(self.text[at : at + int(row["title_size"])].tobytes(), "utf-8")

    def entity(self, id: str) -> Entity:
        """Return what is known about an entity; a KeyError where there is none of that id."""
        number = self.number(id)
        if number is None:
            raise KeyError(id)
        row = self.rows[number]
        links = self.links(number)
        sources = self.sources
        return Entity(
            id=id,
            number=number,
            title=self.title_of(number),
            description=self.description_of(number),
            type=TYPES[row["type"]],
            popularity=float(row["popularity"]),
            in_links=_stated(int(row["stated_in"]), int(row["in_links"])),
            out_links=_stated(int(row["stated_out"]), int(row["links"])),
            aliases=tuple(
                Alias(text, sources[source], count)
                for text, source, count in self.spellings_of(number)
            ),
            links=tuple(self.id_of(int(target)) for target in links),
        )

    def description_of(self, number: int) -> str:
        """Return the description of an entity number."""
        row = self.rows[number]
        at = int(row["text_at"]) + int(row["id_size"]) + int(row["title_size"])
        return str(self.text[at : at + int(row["description_size"])].tobytes(), "utf-8")

    def spellings_of(self, number: int) -> tuple[Spelling, ...]:
        """Return the spellings of an entity number, sources as numbers."""
        row = self.rows[number]
        end = sum(int(row[f]) for f in ("text_at", "id_size", "title_size", "description_size"))
        return unpack_spellings(self.text[end : end + int(row["spellings_size"])].tobytes())

    def candidates(self, name: str, k: int = TOP) -> tuple[Candidate, ...]:
        """Return the entities that a name may mean, likeliest first, at most k.

        Ties go to the more popular, then to the lower id.
        """
        value = self.name_value(name)
        if value is None:
            return ()
        found = value.candidates[:k].tolist()
        counts = value.counts[:k].tolist()
        return tuple(
            Candidate(self.id_of(number), number, self.title_of(number), prior, tuple(count))
            for (number, prior), count in zip(found, counts, strict=True)
        )

    def candidate_lists(self, names: Sequence[str], k: int = TOP) -> CandidateLists:
        """Return the candidates of many names as arrays: `candidates`, without the strings."""
        width = CANDIDATE.itemsize + 4 * len(self.sources)
        head, item = NAME_PAGES.size, CANDIDATE.itemsize
        parts: list[memoryview | bytes] = []
        offsets = np.zeros(len(names) + 1, np.int64)
        total = 0
        with self._guard:
            get, table = self._reading().get, self._alive().names
            for i, name in enumerate(names, 1):
                value = get(_key(name), b"", table)
                size = (len(value) - head) // width  # -1 where there is none
                if size > 0:
                    size = min(size, k)
                    parts.append(value[head : head + item * size])
                    total += size
                offsets[i] = total
            found = np.frombuffer(b"".join(parts), CANDIDATE)
        return CandidateLists(
            offsets, np.ascontiguousarray(found["entity"]), np.ascontiguousarray(found["prior"])
        )

    def name_value(self, name: str) -> NameValue | None:
        """Return all that is counted of a name in its normal form; None: never met."""
        with self._guard:
            value = self._reading().get(_key(name), None, self._alive().names)
            return None if value is None else unpack_name(bytes(value), len(self.sources))

    def link_probability(self, name: str) -> float:
        """Return the share of the pages with this name on which it is a link; NaN: not counted."""
        value = self.name_value(name)
        return value.linked / value.pages if value is not None and value.pages else float("nan")

    def names(self) -> Iterator[str]:
        """Yield every name in normal form, in the order of its bytes."""
        key = b""
        while True:  # in batches: others may look up names in between
            with self._guard:
                cursor = self._reading().cursor(self._alive().names)
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
        row = self.rows[self._numbered(entity)]
        at = int(row["links_at"])
        return self.link_targets[at : at + int(row["links"])]

    def link_lists(self, numbers: Ints) -> Lists:
        """Return the links of many entities."""
        return _lists(
            self.link_targets, self.rows["links_at"][numbers], self.rows["links"][numbers]
        )

    def near(self, entity: int | str) -> npt.NDArray[np.void]:
        """Return the entities met together with an entity, ascending, with how often."""
        row = self.rows[self._numbered(entity)]
        at = int(row["near_at"])
        return self.near_items[at : at + int(row["near"])]

    def met(self, one: int | str, other: int | str) -> int:
        """Return how often two entities were met together."""
        items, number = self.near(one), self._numbered(other)
        at = int(np.searchsorted(items["other"], number))
        return int(items["count"][at]) if at < len(items) and items["other"][at] == number else 0

    def vector(self, entity: int | str) -> Floats | None:
        """Return the unit vector of an entity; None where it has none."""
        at = int(self.rows[self._numbered(entity)]["vector"])
        return None if at < 0 else self.vector_rows[at].astype(np.float32)

    def vectors(self, numbers: Ints) -> Floats:
        """Return the vectors of many entities, zeros where there is none."""
        at = self.rows["vector"][numbers]
        result = np.zeros((len(at), self.dimensions), np.float32)
        if self.dimensions:
            result[at >= 0] = self.vector_rows[at[at >= 0]]
        return result

    def word_vector(self, word: str) -> Floats | None:
        """Return the unit vector of a word in its normal form; None where there is none."""
        with self._guard:
            value = self._reading().get(_key(word), None, self._alive().words)
        return None if value is None else self.word_rows[NUMBER.unpack(value)[0]].astype(np.float32)

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield every word that has a vector, with its row."""
        with self._guard:
            items = [
                (bytes(key), NUMBER.unpack(value)[0])
                for key, value in self._reading().cursor(self._alive().words)
            ]
        return ((key.decode(), at) for key, at in items)

    def info(self) -> dict[str, Any]:
        """Return counts and origin, for people and programs."""
        state = self.state
        return {
            "format": 1,
            "entities": state.entities,
            "names": state.names,
            "aliases": state.aliases,
            "links": state.links,
            "pairs": int(self.rows["near"][self.rows["alive"] == 1].sum()) // 2,
            "vectors": int((self.rows["vector"][self.rows["alive"] == 1] >= 0).sum()),
            "words": state.columns["words"].items,
            "dimensions": state.dimensions,
            "sources": list(state.sources),
            "generation": state.generation,
            "fingerprint": state.fingerprint,
            "bytes": sum(p.stat().st_size for p in self._folder.iterdir()),
            "origin": dict(state.origin),
        }

    def _open(self) -> None:
        for attempt in (1, 2):
            self._folder = data_folder(self.path)
            try:
                self._environment = environment.acquire(self._folder)
                break
            except KnowledgeBaseError:
                # A build may have replaced the data since the pointer was read.
                if attempt == 2 or data_folder(self.path) == self._folder:
                    raise
        self._pid = os.getpid()
        try:
            self._transaction = self._alive().lmdb.begin(buffers=True)
            self._load()
        except BaseException:
            environment.release(self._alive())
            self._environment = None
            raise

    def _load(self) -> None:
        """Map the columns as the transaction sees them, and patch the rows changed since."""
        env = self._alive()
        state = env.state(self._transaction)
        build = bytes.fromhex(state.build)
        mapped = {
            column: map_column(self._folder, column, state.columns[column], state.dimensions, build)
            for column in COLUMNS
        }
        rows = mapped["entities"]
        for key, value in self._transaction.cursor(env.rows):
            (number,) = PATCH.unpack(key)
            if number >= len(rows) or len(value) != ROW.itemsize:
                raise KnowledgeBaseError(f"{env.path}: damaged: a changed row fits no entity")
            rows[number] = np.frombuffer(value, ROW)[0]
        self.state: State = state
        self.rows = rows
        self.text, self.link_targets = mapped["text"], mapped["links"]
        self.near_items = mapped["near"]
        self.vector_rows, self.word_rows = mapped["vectors"], mapped["words"]

    def _alive(self) -> Environment:
        if self._environment is None:
            raise KnowledgeBaseError(f"{self.path}: this knowledge base was closed")
        return self._environment

    def _reading(self) -> lmdb.Transaction:
        """Return the transaction that all look-ups share, in a forked child a new one."""
        if self._pid != os.getpid():
            self._environment = None  # the parent's: not ours to close
            self._open()
        self._alive()
        return self._transaction

    def _number(self, key: bytes) -> int | None:
        if not 0 < len(key) <= MAX_KEY:
            return None
        with self._guard:
            value = self._reading().get(key, None, self._alive().ids)
            return None if value is None else int(NUMBER.unpack(value)[0])

    def _numbered(self, entity: int | str) -> int:
        if not isinstance(entity, str):
            return entity
        number = self.number(entity)
        if number is None:
            raise KeyError(entity)
        return number


def _key(name: str) -> bytes:
    """Return the key of a name; one that no name has, where it is too long or empty."""
    key = normal_name(name).encode("utf-8", "replace")
    return key if 0 < len(key) <= MAX_KEY else b"\0"


def _stated(stated: int, known: int) -> int:
    return known if stated < 0 else stated


def _lists(
    items: npt.NDArray[np.int32], at: npt.NDArray[np.int64], sizes: npt.NDArray[np.int32]
) -> Lists:
    """Gather slices into one array."""
    offsets = np.zeros(len(at) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    index = np.repeat(at - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Lists(offsets, np.asarray(items[index]))
