"""Generated documents about the entities of a knowledge base: names in plain sentences, with gold.

A document is about an entity, its linked entities, and those linked to them.
"""

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from sgtb.core.records import Document, Mention
from sgtb.kb import KnowledgeBase
from sgtb.linking.mentions.mention_detection import token_range
from sgtb.text.tokenization import sentences, tokenize

NAMES = 16
"""Names in a document."""
_WORDS = (
    "In the last weeks of the year ", " was seen again, after a long break, near ",
    "Most people who were asked had heard of ", " before, and many of them also of ",
    "Nobody knew what had become of ", " when the talks began, a day after the visit to ",
    "It was said on Monday that ", " would agree to the plan if there was a word from ",
)  # fmt: skip
"""Text before each name; every second one ends its sentence."""


def written(kb: KnowledgeBase, count: int, seed: int = 0) -> Iterator[Document]:
    """Yield documents, the same ones for the same knowledge base and seed."""
    draw = np.random.default_rng(seed)
    for i, root in enumerate(draw.integers(0, len(kb), count).tolist()):
        yield _document(f"generated {i}", kb, _about(kb, root, draw), draw)


def _about(kb: KnowledgeBase, root: int, draw: np.random.Generator) -> list[int]:
    """Return an entity and its neighbours."""
    near = kb.link_lists(np.array([root], np.int32)).data
    further = kb.link_lists(near.astype(np.int32)).data
    around = list(dict.fromkeys([root, *near.tolist(), *further.tolist()]))
    return [around[0], *draw.permutation(around[1:]).tolist()][:NAMES]


def _document(id_: str, kb: KnowledgeBase, about: list[int], draw: np.random.Generator) -> Document:
    text = ""
    spans: list[tuple[int, int, str]] = []
    for number, words in zip(about, cycle(_WORDS), strict=False):
        spellings = kb.spellings_of(number)
        name = spellings[int(draw.integers(len(spellings)))].text
        text += words
        spans.append((len(text), len(text) + len(name), kb.id_of(number)))
        text += name + (".\n" if len(spans) % 2 == 0 else "")
    tokens = tokenize(text)
    mentions = tuple(
        Mention(start, end, *token_range(tokens, start, end), text[start:end], gold)
        for start, end, gold in spans
    )
    return Document(id_, text, tokens, sentences(text, tokens), mentions)
