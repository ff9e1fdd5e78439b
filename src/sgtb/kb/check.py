"""Check of all offsets, counts and checksums of a knowledge base.

LMDB does not validate its pages, and a damaged one may kill the process. So the check runs in a
process of its own, whose death is a finding.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.core.errors import KnowledgeBaseError
from sgtb.core.files import scratch_folder
from sgtb.core.progress import Progress
from sgtb.kb.build.kb_writer import DEFAULT_MEMORY, NAME_TAIL, name_record
from sgtb.kb.build.sorted_runs import SortedRuns
from sgtb.kb.columns import column_path, list_items, read_extent
from sgtb.kb.entity import TYPES
from sgtb.kb.fuzzy_index import FuzzyIndex
from sgtb.kb.kb_folder import data_folder
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.layout import COLUMNS, NAME_PAGES, TEXT_SIZES, item_size
from sgtb.kb.name_index import by_name, source_weights, unpack_name
from sgtb.native import value_packer

MAX_PROBLEMS = 20
_NAMES_AT_ONCE = 100_000
_LENGTH = 2e-3  # tolerance of the length of a stored vector


@dataclass(frozen=True, slots=True)
class CheckReport:
    """At most MAX_PROBLEMS problems, and the numbers of items checked."""

    problems: tuple[str, ...]
    entities: int
    names: int
    links: int

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def check(path: Path, progress: Progress | None = None) -> CheckReport:
    """Check a knowledge base; raise a KnowledgeBaseError if it cannot be opened."""
    data_folder(path)
    command = [sys.executable, "-c", "from sgtb.kb.check import main; main()", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        message: dict[str, Any] = {}
        for line in child.stdout:
            message = json.loads(line)
            if "stage" in message and progress is not None:
                progress(message["stage"], message["done"], message["total"])
        stderr = child.stderr.read().decode(errors="replace").strip()
    if "problems" in message:
        return CheckReport(tuple(message.pop("problems")), **message)
    if "error" in message:
        raise KnowledgeBaseError(message["error"])
    reason = stderr.splitlines()[-1] if stderr else f"signal {-child.returncode}"
    raise KnowledgeBaseError(
        f"{path}: damaged: reading it ended the process ({reason}); build it again"
    )


def main() -> None:
    """Check in this process, and print progress and report as JSON lines."""

    def progress(stage: str, done: int, total: int) -> None:
        print(json.dumps({"stage": stage, "done": done, "total": total}), flush=True)

    try:
        with KnowledgeBase(sys.argv[1]) as kb:
            problems, state = tuple(islice(_problems(kb, progress), MAX_PROBLEMS)), kb.state
        report = asdict(CheckReport(problems, state.entities, state.names, state.links))
    except KnowledgeBaseError as error:
        report = {"error": str(error)}
    print(json.dumps(report), flush=True)


def _problems(kb: KnowledgeBase, progress: Progress) -> Iterator[str]:
    # Later checks rely on earlier ones.
    for part in (_checksums, _rows):
        found = list(islice(part(kb, progress), MAX_PROBLEMS))
        yield from found
        if found:
            return
    yield from chain(
        _links(kb), _near(kb), _vectors(kb), _words(kb), _fuzzy(kb), _names(kb, progress)
    )


def _checksums(kb: KnowledgeBase, progress: Progress) -> Iterator[str]:
    folder, state = kb.folder, kb.state
    for done, column in enumerate(COLUMNS):
        progress("checksums", done, len(COLUMNS))
        extent, size = state.columns[column], item_size(column, state.dimensions)
        if read_extent(folder, column, size, extent.items).crc != extent.crc:
            yield f"{column_path(folder, column)}: wrong checksum: bytes were changed"


def _rows(kb: KnowledgeBase, progress: Progress) -> Iterator[str]:
    rows, path = kb.rows, column_path(kb.folder, "entities")
    alive = rows["alive"] == 1
    if np.any(rows["alive"] > 1):
        yield f"{path}: a row is neither alive nor removed"
    sizes = [rows[field] for field in TEXT_SIZES]
    size = np.sum(sizes, axis=0, dtype=np.int64)
    fits = {
        "text": (rows["text_at"], size, len(kb.text)),
        "links": (rows["links_at"], rows["links"], len(kb.link_targets)),
        "near": (rows["near_at"], rows["near"], len(kb.near_items)),
        "vectors": (rows["vector"], np.ones(len(rows)), len(kb.vector_rows)),
    }
    wrong = {}
    for column, (at, count, end) in fits.items():
        low = -1 if column == "vectors" else 0
        beyond = (at >= 0) & (count > 0) & (at > end - count)
        wrong[f"points outside of {column}.bin"] = (at < low) | (count < 0) | beyond
    own = rows["own_type"]
    wrong |= {
        "has a text of negative length": np.min(sizes, axis=0) < 0,
        "has no known type": rows["type"] >= len(TYPES),
        "has an own type that is not stated, or two types": (own > len(kb.state.own_types))
        | (own > 0) & (rows["type"] > 0),
    }
    yield from _each(path, np.arange(len(rows)), {k: alive & where for k, where in wrong.items()})
    living = int(alive.sum())
    if living != kb.state.entities:
        yield f"{path}: {living:,} entities, but {kb.state.entities:,} are stated"


def _links(kb: KnowledgeBase) -> Iterator[str]:
    rows, path = kb.rows, column_path(kb.folder, "links")
    owner, target = list_items(rows, "links", kb.link_targets)
    bad = (target < 0) | (target >= len(rows))
    yield from _each(
        path,
        owner,
        {
            "links to a number that no entity has": bad,
            "links to itself": owner == target,
            "has links that do not ascend": _unordered(owner, target),
        },
    )
    if bad.any():
        return
    yield from _each(path, owner, {"links to a removed entity": rows["alive"][target] != 1})
    counted = np.bincount(target, minlength=len(rows))
    wrong = (counted != rows["in_links"]) & (rows["alive"] == 1)
    yield from _each(path, np.arange(len(rows)), {"has a wrong count of links to it": wrong})
    if len(target) != kb.state.links:
        yield f"{path}: {len(target):,} links, but {kb.state.links:,} are stated"


def _near(kb: KnowledgeBase) -> Iterator[str]:
    rows, path = kb.rows, column_path(kb.folder, "near")
    owner, item = list_items(rows, "near", kb.near_items)
    other, count = item["other"], item["count"]
    bad = (other < 0) | (other >= len(rows))
    yield from _each(
        path,
        owner,
        {
            "has a pair with a number that no entity has": bad,
            "has a pair with itself": owner == other,
            "has pairs that do not ascend": _unordered(owner, other),
            "has a pair with count zero": count == 0,
        },
    )
    if bad.any():
        return
    one, two = np.lexsort((other, owner)), np.lexsort((owner, other))
    same = (owner[one] == other[two]) & (other[one] == owner[two]) & (count[one] == count[two])
    yield from _each(path, owner[one], {"has a pair that its partner lacks": ~same})


def _vectors(kb: KnowledgeBase) -> Iterator[str]:
    folder = kb.folder
    for column, matrix in (("vectors", kb.vector_rows), ("words", kb.word_rows)):
        for at in range(0, len(matrix) if kb.dimensions else 0, 10_000):
            block = matrix[at : at + 10_000].astype(np.float64)
            length = np.sqrt(np.einsum("ij,ij->i", block, block))
            for row in np.flatnonzero(~(np.abs(length - 1) <= _LENGTH))[:MAX_PROBLEMS]:
                yield f"{column_path(folder, column)}: vector {at + row} has no unit length"


def _words(kb: KnowledgeBase) -> Iterator[str]:
    rows = np.array([at for _, at in kb.words()], np.int64)
    if len(rows) != len(kb.word_rows) or np.any(np.sort(rows) != np.arange(len(kb.word_rows))):
        yield f"{kb.path}: words and their vectors are not one to one"


def _fuzzy(kb: KnowledgeBase) -> Iterator[str]:
    """Check the structure of the fuzzy index, of which a search checks only what it reads."""
    index = kb.fuzzy
    wrong = {
        "offsets": _no_offsets(index.offsets, len(index.text)),
        "starts": _no_offsets(index.starts, len(index.postings)),
        "postings": bool(np.any(index.postings >= len(index.norm))),
        "weight": bool(np.any(index.weight == 0)),
        "norm": not np.all((index.norm > 0) & np.isfinite(index.norm)),
    }
    wrong["text"] = not wrong["offsets"] and not _ascend(index)
    for column in (column for column, damaged in wrong.items() if damaged):
        path = column_path(kb.folder, f"fuzzy_{column}")
        yield f"{path}: values do not fit the names of the fuzzy index"


def _ascend(index: FuzzyIndex) -> bool:
    """Return whether the names of an index are texts that ascend."""
    text, offsets, before = index.text, index.offsets, b""
    for begin in range(0, len(offsets) - 1, _NAMES_AT_ONCE):
        ends = offsets[begin : begin + _NAMES_AT_ONCE + 1].astype(np.int64)
        part = text[ends[0] : ends[-1]].tobytes()
        places = (ends - ends[0]).tolist()
        names = [before, *(part[a:b] for a, b in pairwise(places))]
        try:
            part.decode()
        except UnicodeDecodeError:
            return False
        if any(a >= b for a, b in pairwise(names)):
            return False
        before = names[-1]
    return True


def _no_offsets(offsets: npt.NDArray[np.uint32], end: int) -> bool:
    """Return whether numbers do not ascend from 0 to the end."""
    return bool(offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]))


def _names(kb: KnowledgeBase, progress: Progress) -> Iterator[str]:
    """Compare ids and names in LMDB with those of the entities."""
    folder, sources = kb.folder, len(kb.sources)
    env, transaction = kb.tables()
    with scratch_folder("check") as scratch:
        names = SortedRuns(scratch, "names", DEFAULT_MEMORY)
        aliases = 0
        alive = np.flatnonzero(kb.rows["alive"]).tolist()
        for done, number in enumerate(alive):
            if done % 10_000 == 0:
                progress("entities", done, len(alive))
            try:
                id_, spelled = kb.id_of(number), kb.spellings_of(number)
                kb.title_of(number), kb.description_of(number)
            except ValueError as error:
                yield f"{folder}: entity number {number} has text that cannot be read: {error}"
                continue
            if kb.number(id_) != number:
                yield f"{env.path}: id {id_!r} does not lead to its entity"
            aliases += len(spelled)
            for (name, source), count in by_name(spelled).items():
                if source >= sources:
                    yield f"{folder}: entity {id_!r} has a name of an unknown source"
                else:
                    names.add(name_record(name, number, source, count))
        yield from _stated(env.path, "ids", transaction.stat(env.ids)["entries"], len(alive))
        yield from _stated(env.path, "aliases", aliases, kb.state.aliases)
        stored = transaction.stat(env.names)["entries"]
        yield from _stated(env.path, "names", stored, kb.state.names)
        packer = value_packer(
            kb.rows.view(np.uint8), kb.text, np.array(source_weights(kb.sources)),
            -1, np.zeros((0, 2), np.uint32),
        )  # fmt: skip
        found = 0
        for batch in names.batches(NAME_TAIL.size):
            for name, expected in packer.pack(batch)[0]:
                problem = _value_problem(transaction.get(name, db=env.names), expected, sources)
                if problem:
                    yield f"{env.path}: the name {name.decode()!r} {problem}"
                found += 1
                if found % 10_000 == 0:
                    progress("names", found, stored)
        yield from _stated(env.path, "names", stored, found)


def _value_problem(value: memoryview | None, expected: bytes, sources: int) -> str:
    """Return what is wrong with the value of a name; its pages are not expected ones."""
    if value is None:
        return "is missing"
    try:
        known = unpack_name(value, sources)
    except ValueError as error:
        return f"cannot be read: {error}"
    same = value[NAME_PAGES.size :] == expected[NAME_PAGES.size :] and known.linked <= known.pages
    return "" if same else "has wrong candidates or counts"


def _stated(path: Path, what: str, found: int, stated: int) -> Iterator[str]:
    if found != stated:
        yield f"{path}: {found:,} {what}, but there should be {stated:,}"


def _unordered(owner: npt.NDArray[Any], item: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    wrong = np.zeros(len(owner), bool)
    if len(owner):
        wrong[1:] = (owner[1:] == owner[:-1]) & (item[1:] <= item[:-1])
    return wrong


def _each(
    path: Path, owner: npt.NDArray[Any], wrong: dict[str, npt.NDArray[np.bool_]]
) -> Iterator[str]:
    for what, where in wrong.items():
        for number in owner[np.flatnonzero(where)[:MAX_PROBLEMS]]:
            yield f"{path}: entity number {number} {what}"
