"""KbSource: the data of entities that facts are made of, and the kinds of evidence there are."""

from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Ints, Longs
from sgtb.core.ragged import Ragged, Texts
from sgtb.kb.entity import TYPES
from sgtb.kb.knowledge_base import KnowledgeBase

LINKS, DESCRIPTIONS, KNOWN_TYPES = "links", "descriptions", "types"
POPULARITY, ENTITY_VECTORS = "popularity", "entity vectors"
NAME_PRIORS, WORD_VECTORS = "name priors", "word vectors"
DESCRIBED = "links or descriptions"  # either of the two

Evidence = frozenset[str]  # kinds of evidence for features: some of these strings
ALL_EVIDENCE: Evidence = frozenset(
    [LINKS, DESCRIPTIONS, KNOWN_TYPES, POPULARITY, ENTITY_VECTORS, NAME_PRIORS, WORD_VECTORS]
)

SMALL = 64 << 20  # knowledge bases of up to so many bytes may stay mapped as a whole
_EXAMINED = 1 << 16  # entities examined to detect evidence


class EntityRows(NamedTuple):
    """Data of some entities."""

    titles: Texts
    descriptions: Texts
    types: list[str]
    in_links: Ints  # as stated by the source
    out_links: Ints  # as stated by the source
    popularity: Floats  # NaN if unknown
    degree: Longs  # links to known entities
    linked: Ragged  # numbers of linked entities, ascending
    vectors: Floats  # f4[n, D], unit norm, or zero; D is 0 without entity vectors


class KbSource:
    """Data of the entities 0 to size - 1 of a knowledge base; `linked` has outgoing links only."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    @property
    def size(self) -> int:
        """Number of entities, removed ones included."""
        return len(self._kb.rows)

    @property
    def evidence(self) -> Evidence:
        """Kinds of evidence in the knowledge base."""
        kb, rows = self._kb, self._kb.rows[:_EXAMINED]
        held = {
            LINKS: kb.state.links > 0,
            DESCRIPTIONS: bool((rows["description_size"] > 0).any()),
            KNOWN_TYPES: bool((rows["type"] > 0).any()),
            POPULARITY: bool((~np.isnan(rows["popularity"])).any()),
            ENTITY_VECTORS: bool((rows["vector"] >= 0).any()),
            NAME_PRIORS: True,
        }
        return frozenset(name for name, there in held.items() if there)

    def rows(self, numbers: Longs) -> EntityRows:
        """Return the data of some entities."""
        kb, rows = self._kb, self._kb.rows[numbers]
        return EntityRows(
            kb.titles(numbers), kb.descriptions(numbers),
            [TYPES[type_] for type_ in rows["type"].tolist()],
            np.where(rows["stated_in"] >= 0, rows["stated_in"], rows["in_links"]).astype(np.int32),
            np.where(rows["stated_out"] >= 0, rows["stated_out"], rows["links"]).astype(np.int32),
            rows["popularity"].astype(np.float32),
            np.maximum(rows["links"], rows["in_links"]).astype(np.int64),
            kb.link_lists(numbers.astype(np.int32)),
            kb.vectors(numbers.astype(np.int32)),
        )  # fmt: skip

    def titles(self, numbers: Longs) -> Texts:
        """Return titles."""
        return self._kb.titles(numbers)

    def degrees(self, numbers: Longs) -> Longs:
        """Return the number of outgoing or incoming links, whichever is more."""
        rows = self._kb.rows
        degrees: Longs = np.maximum(rows["links"][numbers], rows["in_links"][numbers])
        return degrees.astype(np.int64)

    def least_popularity(self) -> float:
        """Return the lowest popularity among the first entities."""
        popularity = self._kb.rows["popularity"][:_EXAMINED]
        known = popularity[~np.isnan(popularity)]
        return float(known.min()) if len(known) else 0.0

    def release(self) -> None:
        """Release mapped pages of a large knowledge base."""
        if self._kb.size > SMALL:
            self._kb.release()
