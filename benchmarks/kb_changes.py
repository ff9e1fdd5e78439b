"""Changes: twelve entities added, changed and removed repeatedly, beside an open reader."""

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds_of
from sgtb.kb import update
from sgtb.kb.build.entity_lines import EntityList
from sgtb.kb.knowledge_base import KnowledgeBase

_ROUNDS = 5
_NEW = 12


def time_changes(place: Path, folder: Path) -> dict[str, float]:
    """Return the median seconds and processor seconds of each change, and of a reader's refresh."""
    rng = np.random.default_rng(2)
    kb = KnowledgeBase.open(place)
    seconds: dict[str, list[float]] = {}

    def timed(kind: str, change: Callable[[], object]) -> None:
        begin = time.process_time()
        seconds.setdefault(kind, []).append(seconds_of(change))
        seconds.setdefault(f"{kind}, processor", []).append(time.process_time() - begin)
        seconds.setdefault(f"{kind}, refresh", []).append(seconds_of(kb.refresh))

    new, changed = folder / "new.jsonl", folder / "changed.jsonl"
    for turn in range(_ROUNDS):
        records = [_new_entity(kb, rng, turn, i) for i in range(_NEW)]
        ids, first = [record["id"] for record in records], records[0]
        _write(new, records)
        _write(changed, [_change(kb, rng, record) for record in records])
        timed("add", lambda: update.add(place, EntityList(new)))
        _seen(kb.candidates(first["name"])[0].id == first["id"])
        timed("change", lambda: update.update(place, EntityList(changed, partial=True)))
        _seen(kb.entity(first["id"]).description == "changed")
        timed("remove", partial(update.remove, place, ids))
        _seen(kb.number(first["id"]) is None and not kb.candidates(first["name"]))
    return {kind: statistics.median(values) for kind, values in seconds.items()}


def _new_entity(kb: KnowledgeBase, rng: np.random.Generator, turn: int, i: int) -> dict[str, Any]:
    others = [kb.title_of(int(n)) for n in rng.integers(0, len(kb), 2)]
    links = [kb.id_of(int(n)) for n in np.unique(rng.integers(0, len(kb), 5))]
    return {
        "id": f"new-{turn}-{i}",
        "name": f"Zyx {turn} Novelty {i}",
        "type": "ORG",
        "description": "an entity that was not there when the knowledge base was built",
        "popularity": 3.5,
        "aliases": [f"Novelty {i} of {turn}", *others],
        "links": links,
    }


def _change(kb: KnowledgeBase, rng: np.random.Generator, record: dict[str, Any]) -> dict[str, Any]:
    links = [kb.id_of(int(n)) for n in np.unique(rng.integers(0, len(kb), 5))]
    aliases = [*record["aliases"][:2], f"{record['name']} Ltd"]
    return {"id": record["id"], "description": "changed", "aliases": aliases, "links": links}


def _seen(change: bool) -> None:
    if not change:
        raise RuntimeError("a reader does not see a change after its refresh")


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
