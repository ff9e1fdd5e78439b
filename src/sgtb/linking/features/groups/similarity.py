"""Similarity: the words of an entity compared with the words around a mention.

Entity: the words of its title, the rest of them that is not in the mention, its kind words, the
words in brackets, and its description. Text: mention, window, sentence, headline and document.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgtb.core.dtypes import Floats, Longs
from sgtb.linking.entities.entity_source import DESCRIBED, WORD_VECTORS
from sgtb.linking.features.feature_group import FeatureGroup, FeatureInputs, columns
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
    """Return the indices of side and text of each cosine."""
    sides = [name.split("_") for name in names]
    return np.array([(_SIDES.index(side), _TEXTS.index(text)) for side, text in sides], np.int64)


_LINKED = 3  # number of DESCRIPTIONS that compare word by word; the others are cosines
PAIRS = _pairs((*COSINES, *DESCRIPTIONS[_LINKED:]))


class Similarities(NamedTuple):
    """Tables of candidates."""

    overlaps: Floats  # f4[C, len(OVERLAPS)], words of the title, one by one
    cosines: Floats  # f4[C, len(COSINES)], vectors of the title's words
    descriptions: Floats  # f4[C, len(DESCRIPTIONS)], both for the titles linked with the entity


def compared_texts(inputs: FeatureInputs) -> Similarities:
    """Compare every candidate with the texts around its mention."""
    n, widths = inputs.candidates.n_candidates, map(len, (OVERLAPS, COSINES, DESCRIPTIONS))
    out = Similarities(*(np.empty((n, width), np.float32) for width in widths))
    offsets = inputs.candidates.candidate_offsets
    repeats, contexts, facts = inputs.repeats, inputs.contexts, inputs.facts
    compare_texts(offsets, repeats, contexts, facts, inputs.lexicon, PAIRS, out)
    return out


_RELATIVE = (
    "rest_in_document", "rest_weight_in_document", "rest_weight_in_headline",
    "title_sentence", "title_document",
    "kind_sentence", "kind_headline", "kind_document",
    "rest_sentence", "rest_headline", "rest_document",
    "linked_document", "linked_headline", "description_document",
)  # fmt: skip
GROUPS = (
    FeatureGroup(
        "overlap", "words in common", "Words of the title that occur in the text.",
        70, columns(OVERLAPS, relative=_RELATIVE),
        lambda inputs: inputs.by_candidate(inputs.once(compared_texts).overlaps),
    ),
    FeatureGroup(
        "similarity", "text similarity", "Word vectors of title and text compared.",
        80, columns(COSINES, [WORD_VECTORS], _RELATIVE),
        lambda inputs: inputs.by_candidate(inputs.once(compared_texts).cosines),
    ),
    FeatureGroup(
        "description", "description", "The entity's description compared with the text.",
        90,
        (
            *columns(DESCRIPTIONS[:_LINKED], [DESCRIBED], _RELATIVE),
            *columns(DESCRIPTIONS[_LINKED:], [DESCRIBED, WORD_VECTORS], _RELATIVE),
        ),
        lambda inputs: inputs.by_candidate(inputs.once(compared_texts).descriptions),
        collective=True,
    ),
)  # fmt: skip
