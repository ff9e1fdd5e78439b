"""Updates: entities added, changed or removed in one transaction.

New text, lists and vectors are appended to the columns. Changed rows of existing entities are
stored in LMDB, from which readers patch their view. Everything becomes valid when the LMDB
transaction commits, or not at all.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt

from sgtb.core.dtypes import Ints
from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import read_limited
from sgtb.kb.block_sums import renewed_sums
from sgtb.kb.build.entity_fields import GIVEN
from sgtb.kb.build.entity_lines import EntityLine, EntityList
from sgtb.kb.build.kb_writer import pack_entity, popularity_key
from sgtb.kb.build.list_build import known_links, spellings_of
from sgtb.kb.build.type_names import OwnTypes
from sgtb.kb.columns import Appender, unit_halves
from sgtb.kb.environment import Environment, acquired, write_error
from sgtb.kb.kb_folder import data_folder, writing
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.layout import NUMBER, PATCH, ROW, TEXT_SIZES
from sgtb.kb.name_index import (
    Counts,
    Spelling,
    by_name,
    merged,
    pack_name,
    source_weights,
    unpack_name,
)
from sgtb.kb.name_variants import VARIANT, VariantRules


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
            entities.attempt(change.reserve, entities, line)
        for line in lines:
            entities.attempt(change.write, entities, line)
        for line in lines if entities.complete else ():
            entities.attempt(change.link, entities, line, skip_unknown_links)
        entities.check()
        return change.commit(added=len(lines))


def update(path: Path, entities: EntityList, *, skip_unknown_links: bool = False) -> UpdateReport:
    """Change entities; fields that a record does not have stay.

    Aliases replace those of the same sources and of "given"; the title stays a name.
    """
    lines = _lines(entities)
    with _changing(path) as change:
        for line in lines:
            entities.attempt(change.write, entities, line)
        for line in lines:
            if "links" in line.keys:
                entities.attempt(change.link, entities, line, skip_unknown_links)
        entities.check()
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
        with open(path, "rb") as file:
            text = read_limited(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise KnowledgeBaseError(f"{path}: not UTF-8; save the file as UTF-8") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _lines(entities: EntityList) -> list[EntityLine]:
    """Read a whole list before locking; a repeated id is an error."""
    lines: dict[str, EntityLine] = {}
    for line in entities.read():
        if not isinstance(line, EntityLine):
            entities.collect(entities.error(line.line, "only entities can be added or changed"))
        elif line.id in lines:
            entities.collect(entities.repeated(line, lines[line.id].line))
        else:
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
                with (
                    renewed_sums(folder),
                    appender.closing(),  # also truncates if the transaction fails at its end
                    environment.lmdb.begin(write=True) as transaction,
                ):
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
        self._names: dict[bytes, tuple[Counts, tuple[int, int]]] = {}
        self._aliases = self._links = self._unknown = 0
        self._own_types = OwnTypes(kb.state.own_types)
        self._rules = VariantRules.from_origin(kb.state.origin)
        self._digest = hashlib.blake2b(kb.state.fingerprint.encode(), digest_size=16)

    def find(self, id_: str) -> int | None:
        """Return the number of an entity, including added ones; None: unknown."""
        return self._ids[id_] if id_ in self._ids else self._kb.number(id_)

    def reserve(self, file: EntityList, line: EntityLine) -> None:
        """Assign the next number to a new entity; an existing id is an error."""
        if self.find(line.id) is not None:
            message = f"{line.id!r} already exists; `sgtb kb update` changes it"
            raise file.error(line.line, message, "id")
        number = self._first_new + len(self._id_of)
        self._ids[line.id], self._id_of[number] = number, line.id

    def write(self, file: EntityList, line: EntityLine) -> None:
        """Write an entity's text, names and vector."""
        number = self.find(line.id)
        if number is None:
            message = f"there is no entity {line.id!r}; `sgtb kb add` adds it"
            raise file.error(line.line, message, "id")
        new, kb = number >= self._first_new, self._kb

        def value(key: str, old: Callable[[int], Any]) -> Any:
            return getattr(line, key) if new or key in line.keys else old(number)

        old = () if new else kb.spellings_of(number)
        title, type_ = value("name", kb.title_of), value("type", kb.type_of)
        description = value("description", kb.description_of)
        popularity = value("popularity", lambda n: float(self._row(n)["popularity"]))
        named = self._spelled(file, line, old, title)
        spelled = merged(self._with_variants(named, title, type_))
        try:
            text, fresh = pack_entity(line.id, title, description, type_, popularity, spelled)
            fresh["own_type"] = self._own_types.number(type_)
        except KnowledgeBaseError as error:
            raise file.error(line.line, str(error)) from None
        if new:
            self._rows[number] = fresh
        row = self._row(number)
        for field in (*TEXT_SIZES, "popularity", "type", "own_type"):
            row[field] = fresh[field]
        for key, field in (("in_links", "stated_in"), ("out_links", "stated_out")):
            if key in line.keys:
                row[field] = getattr(line, key)
        row["text_at"] = self._append("text", text)
        if line.vector is not None:
            if len(line.vector) != (width := kb.dimensions):
                has = f"vectors of length {width}" if width else "no vectors"
                message = f"{len(line.vector)} numbers, but this knowledge base has {has}"
                raise file.error(line.line, message, "vector")
            row["vector"] = self._append("vectors", unit_halves(line.vector).tobytes())
        elif "vector" in line.keys:
            row["vector"] = -1
        self._set_spellings(number, old, spelled)

    def _spelled(
        self, file: EntityList, line: EntityLine, old: Sequence[Spelling], title: str
    ) -> list[Spelling]:
        """Return the spellings of an entity after a line: it replaces those of its sources."""
        sources = self._kb.sources

        def source(name: str) -> int:
            if name not in sources:
                message = f"source {name!r} is none of {', '.join(sources)}"
                raise file.error(line.line, message, "aliases")
            return sources.index(name)

        given = spellings_of(line, source, whole=True)
        replaced = {spelling.source for spelling in given}
        if "aliases" in line.keys:
            replaced.add(source(GIVEN))
        spelled = [spelling for spelling in old if spelling.source not in replaced] + given
        named = "name" in line.keys or any(spelling.text == title for spelling in old)
        if named and all(spelling.text != title for spelling in spelled):
            spelled.append(Spelling(title, source(GIVEN), 1))
        return spelled

    def _with_variants(self, spelled: Sequence[Spelling], title: str, type: str) -> list[Spelling]:
        """Make the variants anew, if the knowledge base has variants."""
        if VARIANT not in self._kb.sources:
            return list(spelled)
        source = self._kb.sources.index(VARIANT)
        kept = merged(spelling for spelling in spelled if spelling.source != source)
        names = [title, *(spelling.text for spelling in kept)]
        return [*kept, *(Spelling(name, source, 1) for name in self._rules.variants(names, type))]

    def link(self, file: EntityList, line: EntityLine, skip_unknown: bool) -> None:
        """Set the links of an entity."""
        known = known_links(file, line, self.find, skip_unknown)
        self._unknown += len(line.links) - len(known)
        number = self.find(line.id)
        if not file.failed:
            assert number is not None
            self._set_links(number, sorted({*known} - {number}))

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
        for own_type in self._own_types:
            if own_type not in kb.state.own_types:
                self._digested(own_type.encode())
        names, weights = kb.state.names, source_weights(kb.sources)
        for name, (counts, pages) in sorted(self._names.items()):
            existed = transaction.get(self._digested(name), db=env.names) is not None
            if counts:
                value = pack_name(counts, weights, pages, self._tie_key)
                transaction.put(name, self._digested(value), db=env.names)
            elif existed:
                transaction.delete(name, db=env.names)
            names += bool(counts) - existed
        before = kb.state
        state = replace(
            before,
            generation=before.generation + 1,
            fingerprint=self._digest.hexdigest(),
            columns=dict(self._appender.extents),
            entities=before.entities + added - removed,
            names=names,
            aliases=before.aliases + self._aliases,
            links=before.links + self._links,
            own_types=tuple(self._own_types),
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
        self, number: int, old: Sequence[Spelling], spelled: Sequence[Spelling]
    ) -> None:
        """Replace an entity's spellings; names that stay may change their order by popularity."""
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
