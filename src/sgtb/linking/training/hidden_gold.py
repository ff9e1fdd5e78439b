"""Hidden gold: annotated entities that are taken out of the candidates of their documents.

Most corpora have few names outside the knowledge base. A hidden entity makes all its mentions in a
document NIL, with the candidates that they would have if the knowledge base lacked it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sgtb.core.records import NIL, Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.candidates.candidate_table import Hidden


class HiddenGold(NamedTuple):
    """Documents in which hidden entities are NIL, and the numbers of these entities."""

    documents: list[Document]
    entities: list[Hidden]


def hide_gold(
    kb: KnowledgeBase, documents: Sequence[Document], share: float, seed: tuple[int, ...]
) -> HiddenGold:
    """Hide a share of the distinct gold entities, drawn one by one.

    The share differs by document, from none to twice as many: a knowledge base lacks more of one
    text than of another.
    """
    rng = np.random.default_rng(seed)
    hidden: list[Hidden] = []
    found: list[Document] = []
    for document in documents:
        ids = dict.fromkeys(m.gold for m in document.mentions if m.in_kb and m.gold)
        drawn = rng.random(len(ids)) < min(1.0, share * 2 * rng.random())
        gone = {id_ for id_, out in zip(ids, drawn.tolist(), strict=True) if out}
        numbers = (kb.number(id_) for id_ in gone)
        hidden.append(frozenset(number for number in numbers if number is not None))
        mentions = tuple(replace(m, gold=NIL) if m.gold in gone else m for m in document.mentions)
        found.append(replace(document, mentions=mentions) if gone else document)
    return HiddenGold(found, hidden)
