"""Export of a knowledge base as JSON Lines, from which it can be built again."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sgtb.kb.knowledge_base import KnowledgeBase


def export_lines(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the lines of an export: header, entities by number, pairs, words, names."""
    state = kb.state
    header = {
        "kind": "kb",
        "sources": list(state.sources),
        "dimensions": state.dimensions,
        "origin": state.origin,
    }
    yield _json(header)
    alive = np.flatnonzero(kb.rows["alive"])
    for number in alive.tolist():
        yield _json(_entity(kb, number))
    for number in alive.tolist():
        id_ = kb.id_of(number)
        for other, count in kb.near(number).tolist():
            if number < other:
                yield _json({"kind": "pair", "a": id_, "b": kb.id_of(other), "count": count})
    words = sorted(kb.words(), key=lambda item: item[1])
    for word, at in words:
        yield _json({"kind": "word", "word": word, "vector": _numbers(kb.word_rows[at])})
    for name in kb.names():
        value = kb.name_value(name)
        if value is not None and value.pages:
            yield _json(
                {"kind": "name", "name": name, "linked": value.linked, "pages": value.pages}
            )


def _entity(kb: KnowledgeBase, number: int) -> dict[str, Any]:
    """Return an entity as a record of a list, without unknown fields."""
    row, sources = kb.rows[number], kb.sources
    popularity = row["popularity"]
    at = int(row["vector"])
    record: dict[str, Any] = {
        "id": kb.id_of(number),
        "name": kb.title_of(number),
        "aliases": [
            {"name": text, "count": count, "source": sources[source]}
            for text, source, count in kb.spellings_of(number)
        ],
        "description": kb.description_of(number),
        "type": kb.type_of(number),
        "popularity": None if math.isnan(popularity) else float(str(popularity)),
        "links": [kb.id_of(target) for target in kb.links(number).tolist()],
        "vector": None if at < 0 else _numbers(kb.vector_rows[at]),
        "in_links": int(row["stated_in"]) if row["stated_in"] >= 0 else None,
        "out_links": int(row["stated_out"]) if row["stated_out"] >= 0 else None,
    }
    return {key: value for key, value in record.items() if value not in (None, "", [])}


def _numbers(vector: npt.NDArray[np.float16]) -> list[float]:
    """Return a vector with five digits, which identify a half-precision number."""
    return [float(f"{value:.5g}") for value in vector.tolist()]


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
