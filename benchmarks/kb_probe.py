"""The probe: measurements in a fresh process, printed as JSON. `benchmarks.probes` starts it.

    python -m benchmarks.kb_probe TASK WORD ...

Imports only what a reader of a knowledge base imports.
"""

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds_of
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.kb.name_variants import DEFAULT_RULES, VARIANT
from sgtb.text.normalization import normal_name

UNKNOWN_SHARE = 10
"""One in this many mixed names is not in the knowledge base."""
_SINGLES = 2  # batches that are also looked up name by name
SIMILAR = 8
"""Number of similar names searched per name."""
FUZZY_BATCHES = 2


def bare() -> dict[str, Any]:
    """Import what the other tasks import, and nothing else."""
    return {"memory": _memory()}


def build(path: str, place: str) -> dict[str, Any]:
    """Build a knowledge base from a list."""
    from sgtb.kb.build.list_build import build_list

    begin, processor = time.perf_counter(), time.process_time()
    report = build_list(Path(path), Path(place))
    return {
        "seconds": time.perf_counter() - begin,
        "processor_seconds": time.process_time() - processor,
        **asdict(report),
    }


def build_pprforned(archive: str, place: str) -> dict[str, Any]:
    """Build the knowledge base of PPRforNED."""
    from sgtb.kb.build.pprforned_build import build_pprforned as build_it

    begin = time.perf_counter()
    report = build_it(Path(archive), Path(place))
    return {"seconds": time.perf_counter() - begin, **asdict(report)}


def sizes(place: str) -> dict[str, Any]:
    """Return counts of a knowledge base, and its bytes by purpose."""
    from sgtb.kb.environment import acquired
    from sgtb.kb.kb_folder import data_folder
    from sgtb.kb.layout import COLUMNS, FUZZY_COLUMNS, HEADER

    folder = data_folder(Path(place))
    with KnowledgeBase(place) as kb, acquired(folder) as env, env.lmdb.begin() as transaction:
        info = kb.info()
        widths = np.diff(kb.candidate_lists(list(kb.names()), 1 << 30).offsets)
        pages = {
            name: _pages(transaction.stat(getattr(env, name))) for name in ("ids", "names", "words")
        }
        rows = kb.rows
        texts = sum(int(rows[f].sum()) for f in ("id_size", "title_size", "description_size"))
        spellings = int(rows["spellings_size"].sum())
    files = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    columns = {column: files[f"{column}.bin"] - HEADER.size for column in COLUMNS}
    return {
        **{key: info[key] for key in ("entities", "names", "aliases", "links", "pairs")},
        **{key: info[key] for key in ("vectors", "words", "dimensions")},
        "sources": len(info["sources"]),
        "files": files,
        "bytes": {
            "entities": columns["entities"] + texts + pages["ids"],
            "aliases": spellings + pages["names"],
            "links": columns["links"],
            "pairs": columns["near"],
            "vectors": columns["vectors"],
            "words": columns["words"] + pages["words"],
        },
        "fuzzy_bytes": sum(columns[column] for column in FUZZY_COLUMNS),
        "candidates": int(widths.sum()),
        "names_with_one": int((widths == 1).sum()),
        "names_with_30": int((widths >= 30).sum()),
        "most_candidates": int(widths.max(initial=0)),
    }


def draw(place: str, path: str, batches: str) -> dict[str, Any]:
    """Choose batches of 1,000 names to look up, as they are written, and store them.

    known      listed names, uniformly
    mixed      the same, one in ten unknown
    mentioned  a listed name of any entity: names of many entities are more likely
    crowded    listed names of 30 entities or more
    variants   names that are only variants
    """
    rng = np.random.default_rng(1)
    with KnowledgeBase(place) as kb:
        names = list(kb.names())
        made = kb.name_heads(names).variant
        widths = np.diff(kb.candidate_lists(names).offsets)
        count = 1000 * int(batches)
        some = rng.choice(np.flatnonzero(~made), count)
        known = [_as_written(kb, names[i]) for i in some.tolist()]
        mixed = [
            f"{name} {i:x} qx" if i % UNKNOWN_SHARE == 3 else name for i, name in enumerate(known)
        ]
        mentioned = []
        for number in rng.integers(0, len(kb), count).tolist():
            listed = [s.text for s in kb.spellings_of(number) if kb.sources[s.source] != VARIANT]
            mentioned.append(listed[int(rng.integers(len(listed)))])
        many = np.flatnonzero(~made & (widths == 30))
        if not len(many):
            many = np.argsort(np.where(made, 0, widths))[-1000:]
        crowded = [_as_written(kb, names[i]) for i in rng.choice(many, count).tolist()]
        variants = [names[i] for i in rng.choice(np.flatnonzero(made), count).tolist()]
    kinds = {
        "known": known, "mixed": mixed, "mentioned": mentioned, "crowded": crowded,
        "variants": variants,
    }  # fmt: skip
    Path(path).write_text(json.dumps(kinds), encoding="utf-8")
    return {"names": len(names)}


def opening(place: str, name: str) -> dict[str, Any]:
    """Open a knowledge base, look one name up."""
    begin = time.perf_counter()
    kb = KnowledgeBase.open(place)
    opened = time.perf_counter()
    kb.candidates(name)
    return {"seconds": opened - begin, "first_seconds": time.perf_counter() - opened}


def lookups(place: str, path: str) -> dict[str, Any]:
    """Look names up, in batches and one by one."""
    kb = KnowledgeBase.open(place)
    kinds = _batches(path)
    timed = _timed(
        kinds,
        {
            "batch": kb.candidate_lists,
            "single": lambda batch: [kb.candidates(name) for name in batch],
        },
    )
    return {
        kind: {
            **timed[kind],
            "candidates": float(np.diff(kb.candidate_lists(batches[0]).offsets).mean()),
            "digest": _digest(map(kb.candidate_lists, batches)),
        }
        for kind, batches in kinds.items()
    }


def sqlite(file: str, path: str) -> dict[str, Any]:
    """Look the same names up in SQLite."""
    from benchmarks.names_sqlite import SqliteNames

    rival = SqliteNames(Path(file))
    kinds = _batches(path)
    timed = _timed(
        kinds,
        {
            "one_by_one": rival.one_by_one,
            "in_one_query": rival.in_one_query,
            "single": lambda batch: [rival.titled(name) for name in batch],
        },
    )
    return {
        kind: {**timed[kind], "digest": _digest(map(_flat, map(rival.one_by_one, batches)))}
        for kind, batches in kinds.items()
    }


def similar(place: str, path: str) -> dict[str, Any]:
    """Search names that are not spelt as listed, look them up, and make their variants.

    misspelt    listed names with one letter left out
    lengthened  the same, each eight times in a row
    words       one word of listed names
    """
    kb = KnowledgeBase.open(place)
    known = _batches(path)["known"]
    misspelt = [[_misspelt(name, i) for i, name in enumerate(batch)] for batch in known]
    words = [[max(name.split(), key=len) for name in batch] for batch in known]
    kinds = {
        "misspelt": misspelt,
        "lengthened": [[" ".join([name] * 8) for name in batch] for batch in misspelt],
        "words": words,
    }
    search = partial(kb.similar_names, limit=SIMILAR)
    timed = _timed(
        {kind: batches[:FUZZY_BATCHES] for kind, batches in kinds.items()},
        {
            "similar": search,
            "containing": partial(search, containing=True),
            "exact": kb.candidate_lists,
            "variants": lambda batch: [DEFAULT_RULES.variants([name], "PER") for name in batch],
        },
    )
    found = [
        name in search([wrong]).names
        for name, wrong in zip(map(normal_name, known[0]), misspelt[0], strict=True)
    ]
    return {**timed, "recall": float(np.mean(found)), "memory": _memory()}


def cold(place: str, path: str) -> dict[str, Any]:
    """Look 1,000 names up once, after the files were dropped from the page cache."""
    kb = KnowledgeBase.open(place)
    batch = _batches(path)["known"][0]
    return {"seconds": seconds_of(lambda: kb.candidate_lists(batch)), "memory": _memory()}


def cold_sqlite(file: str, path: str) -> dict[str, Any]:
    """The same in SQLite."""
    from benchmarks.names_sqlite import SqliteNames

    rival = SqliteNames(Path(file))
    batch = _batches(path)["known"][0]
    return {"seconds": seconds_of(lambda: rival.one_by_one(batch))}


def reader(place: str, path: str) -> dict[str, Any]:
    """Open a knowledge base, look 1,000 names up in both ways, and return the memory."""
    batch = _batches(path)["known"][0]
    before = _memory()
    kb = KnowledgeBase.open(place)
    opened = _memory()
    kb.candidate_lists(batch)
    for name in batch:
        kb.candidates(name)
    return {"before": before, "opened": opened, "memory": _memory()}


def hold(place: str, path: str) -> dict[str, Any]:
    """Look up all batches; the process then runs until its stdin is closed."""
    global _held
    _held = KnowledgeBase.open(place)
    for batch in _batches(path)["known"]:
        _held.candidate_lists(batch)
        for name in batch:
            _held.candidates(name)
    return {}


def fill(place: str, file: str) -> dict[str, Any]:
    """Fill the SQLite file."""
    from benchmarks.names_sqlite import fill as fill_file

    with KnowledgeBase(place) as kb:
        return asdict(fill_file(kb, Path(file)))


def changes(place: str, folder: str) -> dict[str, Any]:
    """Add, change and remove twelve entities repeatedly, beside a reader."""
    from benchmarks.kb_changes import time_changes

    return time_changes(Path(place), Path(folder))


_held: KnowledgeBase | None = None


def _as_written(kb: KnowledgeBase, name: str) -> str:
    """Return a spelling of a name in normal form."""
    number = kb.candidates(name, 1)[0].number
    return next(s.text for s in kb.spellings_of(number) if normal_name(s.text) == name)


def _misspelt(name: str, i: int) -> str:
    """Return a name without one of its letters, but not the first one."""
    at = 1 + i % max(len(name) - 1, 1)
    return name[:at] + name[at + 1 :]


def _pages(stat: Mapping[str, Any]) -> int:
    """Return the bytes of a table's pages."""
    pages: int = sum(stat[f"{kind}_pages"] for kind in ("branch", "leaf", "overflow"))
    return pages * int(stat["psize"])


def _batches(path: str) -> dict[str, list[list[str]]]:
    kinds = json.loads(Path(path).read_text("utf-8"))
    return {
        kind: [names[at : at + 1000] for at in range(0, len(names), 1000)]
        for kind, names in kinds.items()
    }


def _timed(
    kinds: dict[str, list[list[str]]], ways: dict[str, Callable[[list[str]], object]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the microseconds per name, by kind of names and way to look them up.

    All are measured in turn, three times; the second and the third count. Processor time
    excludes other work on the machine.
    """
    wall: dict[tuple[str, str, int], list[float]] = {}
    processor: dict[tuple[str, str, int], list[float]] = {}
    for turn in range(3):
        for kind, batches in kinds.items():
            for way, look_up in ways.items():
                key = kind, way, min(turn, 1)
                for batch in batches[: _SINGLES if way == "single" else None]:
                    begin, scale = time.process_time(), 1e6 / len(batch)
                    wall.setdefault(key, []).append(scale * seconds_of(partial(look_up, batch)))
                    processor.setdefault(key, []).append(scale * (time.process_time() - begin))
    return {
        kind: {
            way: {
                "first_us": statistics.median(wall[kind, way, 0]),
                "us": statistics.median(wall[kind, way, 1]),
                "processor_us": statistics.median(processor[kind, way, 1]),
            }
            for way in ways
        }
        for kind in kinds
    }


def _flat(lists: Sequence[Sequence[tuple[int, float]]]) -> tuple[Any, Any, Any]:
    rows = [row for found in lists for row in found]
    offsets = np.cumsum([0, *map(len, lists)])
    return offsets, np.array([r[0] for r in rows]), np.array([r[1] for r in rows])


def _digest(answers: Any) -> str:
    """Return a digest of entities and priors."""
    digest = hashlib.blake2b(digest_size=8)
    for offsets, entity, prior, *_ in answers:
        digest.update(np.asarray(offsets, "<i8").tobytes())
        digest.update(np.asarray(entity, "<i8").tobytes())
        digest.update(np.asarray(prior, "<f4").tobytes())
    return digest.hexdigest()


def _memory() -> dict[str, float]:
    from benchmarks.resident import resident

    return asdict(resident())


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task
    for task in (
        bare, build, build_pprforned, sizes, draw, opening, lookups, similar, sqlite, cold,
        cold_sqlite, reader, hold, fill, changes,
    )
}  # fmt: skip

if __name__ == "__main__":
    name, *words = sys.argv[1:]
    print(json.dumps(_TASKS[name](*words)), flush=True)
    if name == "hold":
        sys.stdin.read()
