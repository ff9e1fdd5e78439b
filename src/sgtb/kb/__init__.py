"""The knowledge base: what is known about entities and their names, in a folder on disk."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgtb.kb.entity import Alias, Candidate, Entity
    from sgtb.kb.knowledge_base import KnowledgeBase

__all__ = ["Alias", "Candidate", "Entity", "KnowledgeBase"]

# Names are imported when they are first used: the workers of a build need only some rules of names.
_HOMES = {
    "Alias": "sgtb.kb.entity",
    "Candidate": "sgtb.kb.entity",
    "Entity": "sgtb.kb.entity",
    "KnowledgeBase": "sgtb.kb.knowledge_base",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sgtb.kb' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
