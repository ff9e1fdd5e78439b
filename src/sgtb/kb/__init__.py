"""The knowledge base: what is known about entities and their names, in a folder on disk."""

from sgtb.kb.entity import Alias, Candidate, Entity
from sgtb.kb.knowledge_base import KnowledgeBase

__all__ = ["Alias", "Candidate", "Entity", "KnowledgeBase"]
