"""Training data: annotated documents, what a knowledge base makes of them, and what fits them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.records import NIL, Document, Mention
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.training.gold import align_gold
from sgtb.linking.training.linker_training import LinkerTraining

DEV_SHARE = 0.2
"""Of the documents, where nobody gives any to choose by."""
MANY = 5_000
"""Mentions that mean a known entity, from which on there are many of them."""
FEW = 500
"""And from which on there are some; below, there is little to learn from and to choose by."""
_FEW_TREES = TreeSettings(learning_rate=0.1, depth=3, feature_share=0.3)
_MANY_TREES = TreeSettings(learning_rate=0.2, depth=5, feature_share=0.3)
_FEW = LinkerTraining(
    trees=_FEW_TREES, training=TrainingSettings(n_trees=400, patience=8),
    bits=14, topic_width=32, topic_digits=5,
)  # fmt: skip
_LITTLE = replace(
    # Dev is too small to tell how many trees are best: all are kept, and there are fewer.
    _FEW, training=TrainingSettings(n_trees=100, check_every=100, patience=None),
    description_words=True,
)  # fmt: skip
_MANY = LinkerTraining(
    trees=_MANY_TREES, training=TrainingSettings(n_trees=400, patience=8), topic_digits=5
)


@dataclass(frozen=True)
class TrainingData:
    """Documents whose gold is an entity of the knowledge base, NIL, or None: not annotated.

    unknown  the entities that annotations name and the knowledge base lacks, with their mentions;
             such a mention is NIL
    """

    documents: tuple[Document, ...]
    unknown: Counter[str]

    @classmethod
    def of(cls, kb: KnowledgeBase, documents: Iterable[Document]) -> "TrainingData":
        """Find the annotated entities in a knowledge base."""
        unknown: Counter[str] = Counter()

        def known(mention: Mention) -> Mention:
            if mention.gold is None or not mention.in_kb or kb.number(mention.gold) is not None:
                return mention
            unknown[mention.gold] += 1
            return replace(mention, gold=NIL, title=mention.title or mention.gold)

        found = tuple(
            replace(document, mentions=tuple(known(m) for m in document.mentions))
            for document in align_gold(kb, documents)
        )
        return cls(found, unknown)

    @property
    def n_mentions(self) -> int:
        """How many mentions there are, annotated or not."""
        return sum(len(document.mentions) for document in self.documents)

    @property
    def n_known(self) -> int:
        """How many of them mean an entity of the knowledge base."""
        return sum(1 for document in self.documents for _ in document.in_kb())

    @property
    def n_nil(self) -> int:
        """How many mean none of it."""
        return sum(mention.gold == NIL for d in self.documents for mention in d.mentions)


def split_off_dev(
    documents: Sequence[Document], share: float = DEV_SHARE, seed: int = 0
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return train and dev, drawn by whole documents; two stay in train, so dev may be empty.

    Documents with names that mean nothing in the knowledge base and those without are drawn apart:
    where they are few, dev has its share of them all the same.
    """
    if not 0 < share < 1:
        raise SettingsError(f"the share of dev is {share}; it must lie between 0 and 1")
    n_dev = max(1, round(share * len(documents)))
    n_dev = max(0, min(n_dev, len(documents) - 2))
    outside = [any(mention.gold == NIL for mention in d.mentions) for d in documents]
    order = np.random.default_rng(seed).permutation(len(documents))
    # Evenly by rank among their own kind: so many of those with NIL, so many of those without.
    kinds = np.array(outside, np.bool_)[order]
    rank = np.where(kinds, np.cumsum(kinds), np.cumsum(~kinds)) - 0.5
    size = np.where(kinds, kinds.sum(), (~kinds).sum())
    held = set(order[np.argsort(rank / size, kind="stable")][:n_dev].tolist())
    train = tuple(d for i, d in enumerate(documents) if i not in held)
    return train, tuple(documents[i] for i in sorted(held))


def settings_for(n_known: int, n_documents: int) -> LinkerTraining:
    """Return settings of a size that fits so many mentions of known entities in training."""
    if n_documents < 2:
        raise ProblemsError(
            f"{n_documents} training documents; a linker needs two at least, since features of "
            "one are learned from others: cut it into several"
        )
    fitting = _MANY if n_known >= MANY else _FEW if n_known >= FEW else _LITTLE
    # A row a leaf for every fifty mentions, from 10 to 100 of them; fewer where there is little.
    least = max(min(10, n_known // 10), min(100, n_known // 50), 1)
    return replace(
        fitting,
        trees=replace(fitting.trees, min_leaf=least),
        folds=min(fitting.folds, n_documents),
    )
