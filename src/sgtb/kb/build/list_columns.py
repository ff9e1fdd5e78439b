"""Columns of entity lists: which key each name stands for."""

import re
from collections.abc import Mapping
from functools import lru_cache

KEYS = (
    "id", "name", "aliases", "description", "type", "popularity", "links", "vector", "in_links",
    "out_links",
)  # fmt: skip
_SYNONYMS = {
    "label": "name",
    "title": "name",
    "alias": "aliases",
    "synonym": "aliases",
    "synonyms": "aliases",
    "desc": "description",
}
_ID = re.compile(r"(.+_)?(id|qid|uid|uuid|identifier)")
Problem = tuple[str, str]
"""Column and message."""


@lru_cache(maxsize=64)
def keys_of(columns: tuple[str, ...]) -> tuple[Mapping[str, str], tuple[Problem, ...]]:
    """Return the column of each key, and the columns that stand for none or are too many.

    Case, surrounding space, and spaces and hyphens for underscores do not matter. A single
    column that ends in `id` or `identifier` is the id.
    """
    found: dict[str, str] = {}
    problems = []
    for column in columns:
        key = key_of(column)
        if key not in KEYS:
            problems.append((column, f"unknown; known are {' '.join(KEYS)}; remove or rename it"))
        elif key in found:
            both = f"stands for {key}, and so does {found[key]!r}"
            problems.append((column, f"{both}; keep the one that is meant and remove the other"))
        else:
            found[key] = column
    return found, tuple(problems)


def key_of(column: str) -> str:
    """Return the key that a column stands for; its normal form if it is unknown."""
    normal = re.sub(r"[\s_-]+", "_", column.strip().casefold())
    return "id" if _ID.fullmatch(normal) else _SYNONYMS.get(normal, normal)
