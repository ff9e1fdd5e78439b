"""Example texts: short texts with ambiguous names of a knowledge base."""

import numpy as np

from sgtb import starter
from sgtb.kb.knowledge_base import KnowledgeBase

MAX_TEXTS = 6
_SAMPLE = 400
"""Entities looked at, spread evenly over the knowledge base."""
_NEIGHBOURS = 3
_MAX_DESCRIPTION = 160


def example_texts(kb: KnowledgeBase) -> list[dict[str, str]]:
    """Return examples as records of name and text.

    Those of the starter are written by hand. Those of another knowledge base consist of an
    ambiguous name, the description of one of its entities, and entities that it links to.
    """
    if kb.path.resolve() == starter.KB.resolve():
        lines = starter.EXAMPLES.read_text("utf-8").splitlines()
        return [dict(zip(("name", "text"), line.split("\t"), strict=True)) for line in lines]
    sample = np.unique(np.linspace(0, len(kb) - 1, min(_SAMPLE, len(kb))).astype(np.int64))
    found: dict[str, tuple[tuple[int, int, int], str]] = {}
    for number in sample.tolist():
        name = _ambiguous_name(kb, number)
        if not name:
            continue
        text, evidence = _text(kb, number, name)
        rank = (-evidence, -int(kb.rows[number]["in_links"]), number)
        found[name] = min(found.get(name, (rank, text)), (rank, text))
    best = sorted((rank, name, text) for name, (rank, text) in found.items())
    return [{"name": name, "text": text} for _, name, text in best[:MAX_TEXTS]]


def _ambiguous_name(kb: KnowledgeBase, number: int) -> str:
    """Return the first spelling of an entity that others have too; "" without one."""
    spellings = [spelling.text for spelling in kb.spellings_of(number)]
    ambiguous = (text for text in spellings if len(kb.candidates(text, 2)) > 1)
    return next(ambiguous, "")


def _text(kb: KnowledgeBase, number: int, name: str) -> tuple[str, int]:
    """Return the text about an entity and the amount of its evidence."""
    description = kb.description_of(number).strip()[:_MAX_DESCRIPTION].rstrip(" .")
    linked = [kb.title_of(int(other)) for other in kb.links(number)[:_NEIGHBOURS]]
    about = f"{name}, {description}." if description else f"{name}."
    return " ".join([about, f"See {' and '.join(linked)}." if linked else ""]).strip(), bool(
        description
    ) + len(linked)
