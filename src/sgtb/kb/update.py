"""Updates: entities added, changed or removed in one transaction.

New text, lists and vectors are appended to the columns. Changed rows of existing entities are
stored in LMDB, from which readers patch their view. Everything becomes valid when the LMDB
transaction commits, or not at all.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.kb.build.entity_lines import GIVEN, EntityLine, EntityList
from sgtb.kb.build.kb_writer import pack_entity, popularity_key
from sgtb.kb.build.list_build import spellings_of
from sgtb.kb.columns import Appender
from sgtb.kb.entity import TYPES
from sgtb.kb.environment import Environment, acquired, write_error
from sgtb.kb.kb_folder import data_folder, writing
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.layout import NUMBER, PATCH, ROW
from sgtb.kb.name_index import Counts, Spelling, by_name, merged, pack_name, unpack_name
from sgtb.kb.unit_vectors import unit_halves

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report of an update."""

    added: int
    changed: int
    removed: int
    unknown_links: int
    entities: int
    generation: int


def add(path: Path, entities: EntityList, *, skip_unknown_links: bool = False) -> UpdateReport:
    """Add the entities of a list; an existing id is an error."""
    lines = _lines(entities)
    with _changing(path) as change:
        for line in lines:
            if change.find(line.id) is not None:
                raise entities.error(
                    line.line, f"id {line.id!r} already exists; `sgtb kb update` changes it"
                )
            change.reserve(line.id)
        for line in lines:
            change.write(entities, line, new=True)
        for line in lines:
            change.link(entities, line, skip_unknown_links)
        return change.commit(added=len(lines))


def update(path: Path, entities: EntityList, *, skip_unknown_links: bool = False) -> UpdateReport:
    """Change entities; fields that a record does not have stay.

    Aliases replace those of the same sources, and those of the source "given"; the title stays a
    name.
    """
    lines = _lines(entities)
    with _changing(path) as change:
        for line in lines:
            if change.find(line.id) is None:
                raise entities.error(
                    line.line, f"there is no entity {line.id!r}; `sgtb kb add` adds it"
                )
            change.write(entities, line, new=False)
        for line in lines:
            if "links" in line.keys:
                change.link(entities, line, skip_unknown_links)
        return change.commit(changed=len(lines))


def remove(path: Path, ids: Sequence[str]) -> UpdateReport:
    """Remove entities by id, with their names and the links to them."""
    with _changing(path) as change:
        numbers: set[int] = set()
        for id_ in dict.fromkeys(ids):
            number = change.find(id_)
            if number is None:
                raise KnowledgeBaseError(f"{path}: there is no entity {id_!r}; nothing was removed")
            numbers.add(number)
        change.remove(numbers)
        return change.commit(removed=len(numbers))


def read_ids(path: Path) -> list[str]:
    """Read ids to remove: one a line, or the `id` of JSON Lines."""
    with open(path, "rb") as file:
        head = file.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        lines = EntityList(path, partial=True)
        return [line.id for line in lines if isinstance(line, EntityLine)]
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise KnowledgeBaseError(f"{path}: not UTF-8; save the file as UTF-8") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _lines(entities: EntityList) -> list[EntityLine]:
    """Read a whole list before locking; a repeated id is an error."""
    lines: dict[str, EntityLine] = {}
    for line in entities:
        if not isinstance(line, EntityLine):
            raise entities.error(line.line, "only entities can be added or changed")
        if line.id in lines:
            raise entities.error(
                line.line, f"id {line.id!r} is given twice, first in line {lines[line.id].line}"
            )
        lines[line.id] = line
    return list(lines.values())


@contextmanager
def _changing(path: Path) -> Iterator["_Change"]:
    data_folder(path)  # fail before waiting for the lock
    with writing(path):
        folder = data_folder(path)  # a build may have replaced it meanwhile
        with KnowledgeBase(path) as kb, acquired(folder) as environment:
            appender = Appender(folder, kb.state.columns, kb.dimensions)
            try:
                with environment.lmdb.begin(write=True) as transaction, appender.closing():
                    yield _Change(kb, environment, appender, transaction)
            except (lmdb.Error, OSError) as error:
                raise write_error(path, error) from None


class _Change:
    """An open change: new rows, names and ids."""

    def __init__(
        self,
        kb: KnowledgeBase,
        environment: Environment,
        appender: Appender,
        transaction: "lmdb.Transaction[bytes]",
    ) -> None:
        self._kb, self._environment = kb, environment
        self._appender, self._transaction = appender, transaction
        self._first_new = len(kb.rows)
        self._rows: dict[int, npt.NDArray[np.void]] = {}
        self._ids: dict[str, int | None] = {}
        self._id_of: dict[int, str] = {}
        self._spellings: dict[int, tuple[Spelling, ...]] = {}
        self._names: dict[bytes, tuple[Counts, tuple[int, int]]] = {}
        self._aliases = self._links = self._unknown = 0
        self._digest = hashlib.blake2b(kb.state.fingerprint.encode(), digest_size=16)

    def find(self, id_: str) -> int | None:
        """Return the number of an entity, including added ones; None: unknown."""
        return self._ids[id_] if id_ in self._ids else self._kb.number(id_)

    def reserve(self, id_: str) -> None:
        """Assign the next number to a new entity."""
        number = self._first_new + len(self._id_of)
        self._ids[id_], self._id_of[number] = number, id_

    def write(self, file: EntityList, line: EntityLine, *, new: bool) -> None:
        """Write an entity's text, names and vector."""
        number = self.find(line.id)
        assert number is not None
        sources = self._kb.sources

        def source(name: str) -> int:
            if name not in sources:
                raise file.error(line.line, f"source {name!r} is none of {', '.join(sources)}")
            return sources.index(name)

        old = () if new else self._kb.spellings_of(number)
        title = line.name if new or "name" in line.keys else self._kb.title_of(number)
        given = spellings_of(line, source, whole=True)
        replaced = {spelling.source for spelling in given}
        if "aliases" in line.keys:
            replaced.add(source(GIVEN))
        spelled = [spelling for spelling in old if spelling.source not in replaced] + given
        named = "name" in line.keys or any(spelling.text == title for spelling in old)
        if named and all(spelling.text != title for spelling in spelled):
            spelled.append(Spelling(title, source(GIVEN), 1))
        row = self._row(number) if not new else None
        try:
            text, fresh = pack_entity(
                line.id,
                title,
                line.description
                if row is None or "description" in line.keys
                else self._kb.description_of(number),
                line.type if row is None or "type" in line.keys else TYPES[int(row["type"])],
                line.popularity
                if row is None or "popularity" in line.keys
                else float(row["popularity"]),
                merged(spelled),
            )
        except KnowledgeBaseError as error:
            raise file.error(line.line, str(error)) from None
        if row is None:
            row = self._rows[number] = fresh
        else:
            for field in (
                "id_size", "title_size", "description_size", "spellings_size", "popularity", "type",
            ):  # fmt: skip
                row[field] = fresh[field]
        for key, field in (("in_links", "stated_in"), ("out_links", "stated_out")):
            if key in line.keys:
                row[field] = getattr(line, key)
        row["text_at"] = self._append("text", text)
        if line.vector is not None:
            self._vector(file, line, row)
        elif "vector" in line.keys:
            row["vector"] = -1
        self._set_spellings(number, old, merged(spelled))

    def link(self, file: EntityList, line: EntityLine, skip_unknown: bool) -> None:
        """Set the links of an entity."""
        targets = set()
        for id_ in line.links:
            target = self.find(id_)
            if target is not None:
                targets.add(target)
            elif skip_unknown:
                self._unknown += 1
            else:
                raise file.error(
                    line.line,
                    f"links to {id_!r}, which is not in the knowledge base; add it, or skip such "
                    "links with --skip-unknown-links",
                )
        number = self.find(line.id)
        assert number is not None
        targets.discard(number)
        self._set_links(number, sorted(targets))

    def remove(self, numbers: Set[int]) -> None:
        """Remove entities, and links and pairs of others with them."""
        removed = np.array(sorted(numbers), np.int32)
        for owner in self._linking_to(removed).tolist():
            if owner not in numbers:
                old = self._kb.links(owner).tolist()
                self._set_links(owner, [target for target in old if target not in numbers])
        partners = {int(other) for number in numbers for other in self._kb.near(number)["other"]}
        for owner in sorted(partners.difference(numbers)):
            items = self._kb.near(owner)
            kept = items[np.array([n not in numbers for n in items["other"].tolist()], bool)]
            row = self._row(owner)
            row["near_at"], row["near"] = self._append("near", kept.tobytes()), len(kept)
        for number in removed.tolist():
            self._set_spellings(number, self._kb.spellings_of(number), ())
            self._set_links(number, [])
        for number in removed.tolist():
            self._ids[self._kb.id_of(number)] = None
            row = self._rows[number] = np.zeros((), ROW)
            row["vector"] = row["stated_in"] = row["stated_out"] = -1

    def commit(self, added: int = 0, changed: int = 0, removed: int = 0) -> UpdateReport:
        """Write rows, ids, names and state, which become valid when the transaction commits."""
        kb, env, transaction = self._kb, self._environment, self._transaction
        new = sorted(number for number in self._rows if number >= self._first_new)
        self._append("entities", b"".join(self._rows[number].tobytes() for number in new))
        for number, row in sorted(self._rows.items()):
            if number < self._first_new:
                key = self._digested(PATCH.pack(number))
                transaction.put(key, self._digested(row.tobytes()), db=env.rows)
        for id_, entity in self._ids.items():
            key = self._digested(id_.encode())
            if entity is None:
                transaction.delete(key, db=env.ids)
            else:
                transaction.put(key, NUMBER.pack(entity), db=env.ids)
        names = kb.state.names
        for name, (counts, pages) in sorted(self._names.items()):
            existed = transaction.get(self._digested(name), db=env.names) is not None
            if counts:
                value = pack_name(counts, len(kb.sources), pages, self._tie_key)
                transaction.put(name, self._digested(value), db=env.names)
            elif existed:
                transaction.delete(name, db=env.names)
            names += bool(counts) - existed
        state = replace(
            kb.state,
            generation=kb.state.generation + 1,
            fingerprint=self._digest.hexdigest(),
            columns=dict(self._appender.extents),
            entities=kb.state.entities + added - removed,
            names=names,
            aliases=kb.state.aliases + self._aliases,
            links=kb.state.links + self._links,
        )
        env.put_state(transaction, state)
        self._appender.flush()  # on disk before the commit that makes it valid
        return UpdateReport(
            added=added,
            changed=changed,
            removed=removed,
            unknown_links=self._unknown,
            entities=state.entities,
            generation=state.generation,
        )

    def _row(self, number: int) -> npt.NDArray[np.void]:
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = np.array(self._kb.rows[number], ROW)
        return row

    def _append(self, column: str, data: bytes) -> int:
        return self._appender.append(column, self._digested(data))

    def _digested(self, data: bytes) -> bytes:
        self._digest.update(NUMBER.pack(len(data)) + data)
        return data

    def _vector(self, file: EntityList, line: EntityLine, row: npt.NDArray[np.void]) -> None:
        assert line.vector is not None
        width = self._kb.dimensions
        if len(line.vector) != width:
            has = f"vectors of length {width}" if width else "no vectors"
            raise file.error(
                line.line, f"vector of length {len(line.vector)}, but this knowledge base has {has}"
            )
        row["vector"] = self._append("vectors", unit_halves(line.vector).tobytes())

    def _set_links(self, number: int, targets: list[int]) -> None:
        row = self._row(number)
        size = int(row["links"])
        old = self._kb.links(number).tolist() if size and number < self._first_new else []
        for target in set(old).difference(targets):
            self._row(target)["in_links"] -= 1
        for target in set(targets).difference(old):
            self._row(target)["in_links"] += 1
        row["links_at"] = self._append("links", np.array(targets, "<i4").tobytes())
        row["links"] = len(targets)
        self._links += len(targets) - size

    def _linking_to(self, targets: Ints) -> Ints:
        """Return the entities that link to any of some entities, by a scan over all links."""
        hits = np.flatnonzero(np.isin(self._kb.link_targets, targets))
        rows = self._kb.rows
        owners = np.flatnonzero(rows["links"])
        if not len(hits) or not len(owners):
            return np.zeros(0, np.int32)
        at, size = rows["links_at"][owners], rows["links"][owners]
        order = np.argsort(at, kind="stable")
        index = np.searchsorted(at[order], hits, "right") - 1
        found = order[np.maximum(index, 0)]
        # Items between the lists belong to lists that were replaced.
        valid = (index >= 0) & (hits < at[found] + size[found])
        return np.unique(owners[found[valid]]).astype(np.int32)

    def _set_spellings(
        self, number: int, old: Iterable[Spelling], spelled: Sequence[Spelling]
    ) -> None:
        """Replace the spellings of an entity in the index.

        Names that stay are rewritten, too: a changed popularity may change their order.
        """
        old = tuple(old)
        for (name, source), count in by_name(old).items():
            counts = self._counts(name)
            counts[number][source] -= min(count, counts[number][source])
        for (name, source), count in by_name(spelled).items():
            counts = self._counts(name)
            counts.setdefault(number, [0] * len(self._kb.sources))[source] += count
        for name in {name for name, _ in by_name(old)}:
            counts = self._counts(name)
            if not any(counts[number]):
                del counts[number]
        self._aliases += len(spelled) - len(old)

    def _counts(self, name: bytes) -> Counts:
        if name not in self._names:
            value = self._transaction.get(name, db=self._environment.names)
            if value is None:
                self._names[name] = {}, (0, 0)
            else:
                known = unpack_name(value, len(self._kb.sources))
                counts = dict(
                    zip(known.candidates["entity"].tolist(), known.counts.tolist(), strict=True)
                )
                self._names[name] = counts, (known.linked, known.pages)
        return self._names[name][0]

    def _tie_key(self, number: int) -> tuple[float, bytes]:
        row = self._rows.get(number)
        popularity = float((self._kb.rows[number] if row is None else row)["popularity"])
        id_ = self._id_of.get(number)
        return popularity_key(popularity), (self._kb.id_of(number) if id_ is None else id_).encode()
