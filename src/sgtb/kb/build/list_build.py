"""List builds: a knowledge base from a list of entities, as JSON Lines, CSV or Excel."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.progress import Progress, silent
from sgtb.kb.build.entity_fields import GIVEN, MAX_SOURCES, shown
from sgtb.kb.build.entity_lines import (
    EntityLine,
    EntityList,
    HeaderLine,
    Line,
    LineBatch,
    NameLine,
    PairLine,
    WordLine,
)  # fmt: skip
from sgtb.kb.build.kb_writer import EntityBatch, KbWriter
from sgtb.kb.environment import State
from sgtb.kb.kb_folder import building
from sgtb.kb.layout import ROW
from sgtb.kb.name_index import Spelling
from sgtb.kb.name_variants import DEFAULT_RULES, VariantRules
from sgtb.native import EntityNumbers, pack_entity_lines, scan_entity_lines
from sgtb.text.normalization import name_table, normal_name

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
        counts = {key: getattr(state, key) for key in ("entities", "names", "aliases", "links")}
        return cls(**counts, unknown_links=unknown_links, fingerprint=state.fingerprint)


def build_list(
    file: Path,
    path: Path,
    *,
    sheet: str | None = None,
    skip_unknown_links: bool = False,
    variants: VariantRules | None = DEFAULT_RULES,
    progress: Progress | None = None,
) -> ListReport:
    """Build a knowledge base in the folder `path` from a list of entities in a file.

    variants  rules that make further names; None: no variants. An export has its own
    The file is read twice, three times if it has vectors: links need the numbers of all entities.
    If it has errors, an EntityListError names all of them, and nothing is written.
    """
    if file.exists() and not file.is_file():
        raise KnowledgeBaseError(f"{file}: not a regular file, but it is read more than once")
    stamp = _stamp(file)
    entities = EntityList(file, sheet=sheet)
    progress = progress or silent
    size = file.stat().st_size if file.exists() else 0
    index = _ListIndex(entities)
    scan = partial(scan_entity_lines, name_table())
    for part in entities.read_batches(scan, lambda done: progress("reading", done, size)):
        if not isinstance(part, LineBatch):
            entities.attempt(index.add, part)
        elif not index.add_batch(part):
            for line in entities.lines_of(part):
                entities.attempt(index.add, line)
    links = _Links(entities, index.number, skip_unknown_links)
    if entities.failed:
        links.check()
    if not len(index.number):
        raise KnowledgeBaseError(f"{file}: no entity in it; add one")
    own_origin = {"built from": entities.format, "file": file.name}
    with building(path) as folder, _unchanged(file, stamp):
        writer = KbWriter(
            folder,
            len(index.number),
            index.sources,
            index.dimensions,
            index.header.origin if index.header else own_origin,
            variants=None if index.header else variants,
            progress=progress,
        )
        with closing(writer):
            packing = writer.packing(index.number, index.header is None, skip_unknown_links)
            pack = partial(pack_entity_lines, packing)
            for part in entities.read_batches(pack, lambda done: progress("writing", done, size)):
                _write_part(writer, index, links, part)
            entities.check()
            writer.links(*links.arrays())
            _write_pairs(writer, index)
            if index.dimensions:
                _write_vectors(writer, entities, index.number)
            pages = _name_pages(writer, index)
            state = writer.finish(pages)
    return ListReport.of(state, links.unknown)


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _unchanged(file: Path, stamp: tuple[int, ...]) -> Iterator[None]:
    """Raise if the file is another one than at the first reading, whatever that has led to."""
    try:
        yield
    finally:
        if _stamp(file) != stamp:
            raise KnowledgeBaseError(f"{file}: changed while it was read; build again") from None


@dataclass
class _ListIndex:
    """Result of the first pass: numbers, sources, dimensions, names and pairs."""

    file: EntityList
    number: Any = field(default_factory=EntityNumbers)
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
                    line.line, f"{line.name!r} is given twice, first in line {known.line}", "name"
                )
            self.pages[normal_name(line.name)] = line
        elif isinstance(line, PairLine):
            self.pairs.append(line)
        elif isinstance(line, WordLine):
            self._vector(line.line, line.vector)
        self.started = True

    def add_batch(self, batch: LineBatch) -> bool:
        """Add the lines of a batch; return False, and add none, if one may be an error."""
        found = [source for source in batch.read.sources(batch.span) if source]
        new = [source for source in found if source not in self.sources]
        if new and (self.header or len(self.sources) + len(new) > MAX_SOURCES):
            return False
        if not self.number.add_span(batch.read, batch.span):
            return False
        self.lines.extend(range(batch.first, batch.first + batch.lines))
        self.sources += new
        self.started = True
        return True

    def _entity(self, line: EntityLine) -> None:
        number = self.number.add(line.id)
        if number != len(self.lines):
            raise self.file.repeated(line, self.lines[number])
        self.lines.append(line.line)
        for _, source, _ in line.aliases:
            if source and source not in self.sources:
                problem = ""
                if self.header:
                    problem = f"is not among the header's {self.sources}"
                elif len(self.sources) == MAX_SOURCES:
                    problem = f"is one too many; {MAX_SOURCES} are possible"
                if problem:
                    raise self.file.error(line.line, f"source {source!r} {problem}", "aliases")
                self.sources.append(source)
        if line.vector is not None:
            self._vector(line.line, line.vector)

    def _vector(self, line: int, vector: npt.NDArray[np.float32]) -> None:
        if not self.dimensions:
            self.dimensions, self.first_vector = len(vector), line
        elif len(vector) != self.dimensions:
            raise self.file.error(
                line,
                f"{len(vector)} numbers, but {self.dimensions} in {self.file.unit} "
                f"{self.first_vector}; all vectors have one length",
                "vector",
            )


def known_links(
    file: EntityList, line: EntityLine, find: Callable[[str], int | None], skip_unknown: bool
) -> list[int]:
    """Return the numbers of the links of a line; unknown ids are an error, or left out."""
    targets = [find(id_) for id_ in line.links]
    unknown = [id_ for id_, target in zip(line.links, targets, strict=True) if target is None]
    if unknown and not skip_unknown:
        few = ", ".join(map(shown, unknown[:5])) + (", …" if len(unknown) > 5 else "")
        message = f"no entity has the id {few}; add it, or use --skip-unknown-links"
        raise file.error(line.line, message, "links")
    return [target for target in targets if target is not None]


class _Links:
    """Links between entities, collected entity by entity."""

    def __init__(self, file: EntityList, number: Any, skip: bool) -> None:
        self._file, self._number, self._skip = file, number, skip
        self._source, self._target = array("i"), array("i")
        self.unknown = 0

    def add(self, line: EntityLine) -> None:
        source = self._number.get(line.id)
        known = known_links(self._file, line, self._number.get, self._skip)
        self.unknown += len(line.links) - len(known)
        targets = set(known) - {source}
        self._source.extend([source] * len(targets))
        self._target.extend(sorted(targets))

    def add_batch(self, batch: EntityBatch) -> None:
        """Add the links of a batch."""
        n_links = np.frombuffer(batch.rows, ROW)["links"]
        owners = np.arange(batch.first, batch.first + len(n_links), dtype=np.int32)
        self._source.frombytes(np.repeat(owners, n_links).tobytes())
        self._target.frombytes(batch.links)
        self.unknown += batch.unknown_links

    def check(self) -> None:
        """Raise the errors of a list, with unknown links if no id is missing because of another."""
        for line in self._file.read() if self._file.complete else ():
            if isinstance(line, EntityLine):
                self._file.attempt(self.add, line)
        self._file.check()

    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return np.array(self._source, np.int32), np.array(self._target, np.int32)


def spellings_of(line: EntityLine, source: Callable[[str], int], *, whole: bool) -> list[Spelling]:
    """Return the spellings of a line; its name is one, unless `whole` (aliases are complete)."""
    found = [Spelling(name, source(where or GIVEN), count) for name, where, count in line.aliases]
    if not whole and line.name and all(line.name != spelling.text for spelling in found):
        found.append(Spelling(line.name, source(GIVEN), 1))
    return found


def _write_part(writer: KbWriter, index: _ListIndex, links: _Links, part: Line | LineBatch) -> None:
    """Write a line or a batch of lines."""
    lines: Iterable[Line]
    if isinstance(part, LineBatch):
        batch = EntityBatch(*part.read.batch(part.span))
        if writer.add_batch(batch):
            links.add_batch(batch)
            return
        lines = index.file.lines_of(part)
    else:
        lines = [part]
    for line in lines:
        if isinstance(line, EntityLine):
            index.file.attempt(_write_entity, writer, index, line)
            index.file.attempt(links.add, line)


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
            if index.number.get(id_) is None:
                index.file.collect(
                    index.file.error(pair.line, f"no entity has the id {shown(id_)}; add it")
                )
        a[i], b[i] = index.number.get(pair.a) or 0, index.number.get(pair.b) or 0
        count[i] = pair.count
    index.file.check()
    source, other = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((other, source))
    source, other = source[order], other[order]
    again = np.flatnonzero((np.diff(source) == 0) & (np.diff(other) == 0))
    if len(again):
        pair = index.pairs[int(order[again[0] + 1]) % size]
        message = f"the pair {pair.a!r}, {pair.b!r} is given twice; keep one"
        index.file.collect(index.file.error(pair.line, message))
        index.file.check()
    writer.near(source, other, np.concatenate([count, count])[order])


def _write_vectors(writer: KbWriter, entities: EntityList, number: Any) -> None:
    known: set[str] = set()
    lines = iter(entities)
    while batch := [*islice(lines, _BATCH)]:
        given = [line for line in batch if isinstance(line, EntityLine) and line.vector is not None]
        words = [line for line in batch if isinstance(line, WordLine)]
        for line in words:
            if line.word in known:
                message = f"{line.word!r} is given twice; keep one"
                entities.collect(entities.error(line.line, message, "word"))
            known.add(line.word)
        if given:
            numbers = np.array([number.get(line.id) for line in given], np.int32)
            writer.vectors(numbers, np.array([line.vector for line in given]))
        if words:
            writer.words([line.word for line in words], np.array([line.vector for line in words]))
    entities.check()


def _name_pages(writer: KbWriter, index: _ListIndex) -> npt.NDArray[np.uint32] | None:
    if not index.pages:
        return None
    rows = [
        (line.linked, line.pages) if (line := index.pages.pop(name, None)) else (0, 0)
        for name in writer.names()
    ]
    for line in index.pages.values():
        message = f"no entity has the name {line.name!r}; add it there, or leave this line out"
        index.file.collect(index.file.error(line.line, message))
    index.file.check()
    return np.array(rows, np.uint32)
