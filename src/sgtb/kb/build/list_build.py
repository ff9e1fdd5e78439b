"""List builds: a knowledge base from a list of entities, as JSON Lines or CSV."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.progress import Progress, silent
from sgtb.kb.build.entity_lines import (
    GIVEN,
    MAX_SOURCES,
    EntityLine,
    EntityList,
    HeaderLine,
    NameLine,
    PairLine,
    WordLine,
)  # fmt: skip
from sgtb.kb.build.kb_writer import KbWriter
from sgtb.kb.environment import State
from sgtb.kb.kb_folder import building
from sgtb.kb.name_index import Spelling
from sgtb.text.normalization import normal_name

_BATCH = 4096


@dataclass(frozen=True, slots=True)
class ListReport:
    """Report of a build; `unknown_links` were left out."""

    entities: int
    names: int
    aliases: int
    links: int
    unknown_links: int
    fingerprint: str

    @classmethod
    def of(cls, state: State, unknown_links: int = 0) -> "ListReport":
        """Return the report of a state."""
        return cls(
            entities=state.entities,
            names=state.names,
            aliases=state.aliases,
            links=state.links,
            unknown_links=unknown_links,
            fingerprint=state.fingerprint,
        )


def build_list(
    file: Path,
    path: Path,
    *,
    csv: bool = False,
    skip_unknown_links: bool = False,
    progress: Progress | None = None,
) -> ListReport:
    """Build a knowledge base in the folder `path` from a list of entities in a file.

    The file is read twice, three times if it has vectors: links need the numbers of all entities.
    """
    if file.exists() and not file.is_file():
        raise KnowledgeBaseError(f"{file}: not a regular file, but it is read more than once")
    entities = EntityList(file, csv=csv)
    progress = progress or silent
    size = file.stat().st_size if file.exists() else 0
    index = _ListIndex(entities)
    for line in entities.read(lambda done: progress("reading", done, size)):
        index.add(line)
    if not index.number:
        raise KnowledgeBaseError(f"{file}: no entity in it; add one")
    with building(path) as folder:
        writer = KbWriter(
            folder,
            len(index.number),
            index.sources,
            index.dimensions,
            index.header.origin
            if index.header
            else {"built from": "csv" if csv else "jsonl", "file": file.name},
            progress=progress,
        )
        try:
            links = _Links(entities, index.number, skip_unknown_links)
            for line in entities.read(lambda done: progress("writing", done, size)):
                if isinstance(line, EntityLine):
                    _write_entity(writer, index, line)
                    links.add(line)
            writer.links(*links.arrays())
            _write_pairs(writer, index)
            if index.dimensions:
                _write_vectors(writer, entities, index.number)
            pages = _name_pages(writer, index)
            state = writer.finish(pages)
        finally:
            writer.close()
    return ListReport.of(state, links.unknown)


@dataclass
class _ListIndex:
    """Result of the first pass: numbers, sources, dimensions, names and pairs."""

    file: EntityList
    number: dict[str, int] = field(default_factory=dict)
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    sources: list[str] = field(default_factory=lambda: [GIVEN])
    started: bool = False
    header: HeaderLine | None = None
    dimensions: int = 0
    first_vector: int = 0
    pages: dict[str, NameLine] = field(default_factory=dict)
    pairs: list[PairLine] = field(default_factory=list)

    def add(self, line: object) -> None:
        if isinstance(line, EntityLine):
            self._entity(line)
        elif isinstance(line, HeaderLine):
            if self.started:
                raise self.file.error(line.line, "a header must be the first line")
            self.header = line
            self.sources = list(line.sources)
            self.dimensions, self.first_vector = line.dimensions, line.line
        elif isinstance(line, NameLine):
            if known := self.pages.get(normal_name(line.name)):
                raise self.file.error(
                    line.line, f"name {line.name!r} is given twice, first in line {known.line}"
                )
            self.pages[normal_name(line.name)] = line
        elif isinstance(line, PairLine):
            self.pairs.append(line)
        elif isinstance(line, WordLine):
            self._vector(line.line, line.vector)
        self.started = True

    def _entity(self, line: EntityLine) -> None:
        number = self.number.setdefault(line.id, len(self.number))
        if number != len(self.lines):
            raise self.file.error(
                line.line, f"id {line.id!r} is given twice, first in line {self.lines[number]}"
            )
        self.lines.append(line.line)
        for _, source, _ in line.aliases:
            if source and source not in self.sources:
                if self.header:
                    raise self.file.error(
                        line.line, f"source {source!r} is not among the header's {self.sources}"
                    )
                if len(self.sources) == MAX_SOURCES:
                    raise self.file.error(
                        line.line, f"source {source!r} is one too many; {MAX_SOURCES} are possible"
                    )
                self.sources.append(source)
        if line.vector is not None:
            self._vector(line.line, line.vector)

    def _vector(self, line: int, vector: npt.NDArray[np.float32]) -> None:
        if not self.dimensions:
            self.dimensions, self.first_vector = len(vector), line
        elif len(vector) != self.dimensions:
            raise self.file.error(
                line,
                f"vector of length {len(vector)}, but that of line {self.first_vector} "
                f"is {self.dimensions}",
            )


class _Links:
    """Links between entities, collected entity by entity."""

    def __init__(self, file: EntityList, number: Mapping[str, int], skip: bool) -> None:
        self._file, self._number, self._skip = file, number, skip
        self._source, self._target = array("i"), array("i")
        self.unknown = 0

    def add(self, line: EntityLine) -> None:
        source = self._number[line.id]
        targets = set()
        for id_ in line.links:
            target = self._number.get(id_)
            if target is not None:
                targets.add(target)
            elif self._skip:
                self.unknown += 1
            else:
                raise self._file.error(
                    line.line,
                    f"links to {id_!r}, which is not in the list; add it, or skip such links "
                    "with --skip-unknown-links",
                )
        targets.discard(source)
        self._source.extend([source] * len(targets))
        self._target.extend(sorted(targets))

    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return _array(self._source), _array(self._target)


def spellings_of(line: EntityLine, source: Callable[[str], int], *, whole: bool) -> list[Spelling]:
    """Return the spellings of a line; its name is one, unless `whole` (aliases are complete)."""
    found = [Spelling(name, source(where or GIVEN), count) for name, where, count in line.aliases]
    if not whole and line.name and all(line.name != spelling.text for spelling in found):
        found.append(Spelling(line.name, source(GIVEN), 1))
    return found


def _write_entity(writer: KbWriter, index: _ListIndex, line: EntityLine) -> None:
    spellings = spellings_of(line, index.sources.index, whole=index.header is not None)
    try:
        writer.entity(
            id=line.id,
            title=line.name,
            description=line.description,
            type=line.type,
            popularity=line.popularity,
            spellings=spellings,
            stated_in=line.in_links,
            stated_out=line.out_links,
        )
    except KnowledgeBaseError as error:
        raise index.file.error(line.line, str(error)) from None


def _write_pairs(writer: KbWriter, index: _ListIndex) -> None:
    """Write pairs in both directions."""
    size = len(index.pairs)
    a, b, count = (np.empty(size, kind) for kind in (np.int32, np.int32, np.uint32))
    for i, pair in enumerate(index.pairs):
        for id_ in (pair.a, pair.b):
            if id_ not in index.number:
                raise index.file.error(pair.line, f"a pair with {id_!r}, which is not in the list")
        a[i], b[i], count[i] = index.number[pair.a], index.number[pair.b], pair.count
    source, other = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((other, source))
    source, other = source[order], other[order]
    again = np.flatnonzero((np.diff(source) == 0) & (np.diff(other) == 0))
    if len(again):
        pair = index.pairs[int(order[again[0] + 1]) % size]
        raise index.file.error(pair.line, f"the pair {pair.a!r}, {pair.b!r} is given twice")
    writer.near(source, other, np.concatenate([count, count])[order])


def _write_vectors(writer: KbWriter, entities: EntityList, number: Mapping[str, int]) -> None:
    numbers: list[int] = []
    vectors: list[npt.NDArray[np.float32]] = []
    words: list[str] = []
    word_vectors: list[npt.NDArray[np.float32]] = []
    known: set[str] = set()

    def flush() -> None:
        if numbers:
            writer.vectors(np.array(numbers, np.int32), np.array(vectors))
        if words:
            writer.words(words, np.array(word_vectors))
        for batch in (numbers, vectors, words, word_vectors):
            batch.clear()

    for line in entities:
        if isinstance(line, EntityLine) and line.vector is not None:
            numbers.append(number[line.id])
            vectors.append(line.vector)
        elif isinstance(line, WordLine):
            if line.word in known:
                raise entities.error(line.line, f"the word {line.word!r} is given twice")
            known.add(line.word)
            words.append(line.word)
            word_vectors.append(line.vector)
        if len(numbers) + len(words) >= _BATCH:
            flush()
    flush()


def _name_pages(writer: KbWriter, index: _ListIndex) -> npt.NDArray[np.uint32] | None:
    if not index.pages:
        return None
    rows = [
        (line.linked, line.pages) if (line := index.pages.pop(name, None)) else (0, 0)
        for name in writer.names()
    ]
    for line in index.pages.values():
        raise index.file.error(line.line, f"no entity has the name {line.name!r}")
    return np.array(rows, np.uint32)


def _array(values: "array[int]") -> npt.NDArray[np.int32]:
    return np.frombuffer(values, np.int32) if len(values) else np.zeros(0, np.int32)
