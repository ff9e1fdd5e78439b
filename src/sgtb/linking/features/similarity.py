"""Similarity: how well the words of an entity go with the words around a mention.

The entity is seen as the words of its title, those of them that the mention does not say
itself ("the rest"), those that tell its kind, those in brackets, and the titles it is linked with.
The text is seen as the mention, its window, its sentence, the headline and the document.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.linking.candidates.candidate_table import Choices
from sgtb.linking.entities.entity_facts import EntityFacts
from sgtb.linking.entities.lexicon import Lexicon
from sgtb.linking.features.contexts import Contexts
from sgtb.linking.features.repeated_mentions import Repeats
from sgtb.native import compare_texts

OVERLAPS = (
    "rest_words", "rest_in_document", "rest_weight_in_document", "rest_weight_missing",
    "rest_weight_in_sentence", "rest_weight_in_headline",
)  # fmt: skip
COSINES = (
    "title_mention", "title_window", "title_sentence", "title_headline", "title_document",
    "kind_sentence", "kind_headline", "kind_document", "bracket_headline", "bracket_document",
    "rest_sentence", "rest_headline", "rest_document",
)  # fmt: skip
DESCRIPTIONS = (
    "linked_document", "linked_headline", "linked_sentence",
    "description_window", "description_sentence", "description_headline", "description_document",
)  # fmt: skip


_SIDES = ("title", "description", "kind", "bracket", "rest")
_TEXTS = ("mention", "window", "sentence", "headline", "document")


def _pairs(names: Sequence[str]) -> Longs:
    """Return the side and the text that each cosine is of."""
    sides = [name.split("_") for name in names]
    return np.array([(_SIDES.index(side), _TEXTS.index(text)) for side, text in sides], np.int64)


_LINKED = 3
"""So many of DESCRIPTIONS compare word by word; the others are cosines, too."""
PAIRS = _pairs((*COSINES, *DESCRIPTIONS[_LINKED:]))


class Similarities(NamedTuple):
    """Tables of candidates.

    overlaps      f4[C, len(OVERLAPS)]      words of the title, one by one
    cosines       f4[C, len(COSINES)]       vectors of the title's words
    descriptions  f4[C, len(DESCRIPTIONS)]  both, for the titles that the entity is linked with
    """

    overlaps: Floats
    cosines: Floats
    descriptions: Floats


def similarities(
    choices: Choices, contexts: Contexts, repeats: Repeats, facts: EntityFacts, lexicon: Lexicon
) -> Similarities:
    """Compare every candidate with the texts around its mention."""
    widths = map(len, (OVERLAPS, COSINES, DESCRIPTIONS))
    out = Similarities(*(np.empty((choices.n_candidates, n), np.float32) for n in widths))
    compare_texts(choices.candidate_offsets, repeats, contexts, facts, lexicon, PAIRS, out)
    return out
