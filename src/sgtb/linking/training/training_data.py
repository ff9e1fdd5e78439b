"""Training data: annotated documents with resolved gold, dev split, and default settings."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgtb.boosting.trainer import TrainingSettings
from sgtb.boosting.trees.grower import TreeSettings
from sgtb.core.errors import ProblemsError, SettingsError
from sgtb.core.intervals import FEW_MENTIONS
from sgtb.core.records import NIL, Document
from sgtb.kb.knowledge_base import KnowledgeBase
from sgtb.linking.training.gold import align_gold, unknown_as_nil
from sgtb.linking.training.linker_training import LinkerTraining

DEV_SHARE = 0.2  # share of dev documents if none are given
MANY = 5_000  # mentions of known entities from which on the settings for large corpora apply
FEW = 500  # the same for medium corpora
_FEW = LinkerTraining(
    trees=TreeSettings(learning_rate=0.1, depth=3, feature_share=0.3),
    training=TrainingSettings(n_trees=400, patience=8),
    bits=14, topic_width=32, topic_digits=5, hidden=0.2,
)  # fmt: skip
_LITTLE = replace(
    # Dev is too small to choose the number of trees: fewer are grown, and all are kept.
    _FEW, training=TrainingSettings(n_trees=100, check_every=100, patience=None),
    description_words=True,
)  # fmt: skip
_MANY = LinkerTraining(
    trees=TreeSettings(learning_rate=0.2, depth=5, feature_share=0.3),
    training=TrainingSettings(n_trees=400, patience=8),
    topic_digits=5,
)


@dataclass(frozen=True)
class TrainingData:
    """Documents whose gold is an entity of the knowledge base, NIL, or None: not annotated."""

    documents: tuple[Document, ...]
    # counts of annotated entities that the knowledge base lacks; their mentions are NIL
    unknown: Counter[str]

    @classmethod
    def of(cls, kb: KnowledgeBase, documents: Iterable[Document]) -> "TrainingData":
        """Resolve the annotated entities."""
        aligned = list(align_gold(kb, documents))
        golds = (mention.gold or "" for document in aligned for mention in document.in_kb())
        unknown = Counter(gold for gold in golds if kb.number(gold) is None)
        return cls(tuple(unknown_as_nil(kb, aligned)), unknown)

    @property
    def n_mentions(self) -> int:
        """Number of mentions, annotated or not."""
        return sum(len(document.mentions) for document in self.documents)

    @property
    def n_known(self) -> int:
        """Number of mentions of known entities."""
        return sum(1 for document in self.documents for _ in document.in_kb())

    @property
    def n_nil(self) -> int:
        """Number of NIL mentions."""
        return sum(mention.gold == NIL for d in self.documents for mention in d.mentions)


def split_off_dev(
    documents: Sequence[Document], share: float = DEV_SHARE, seed: int = 0
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Split documents into train and dev, stratified by whether they have NIL mentions.

    At least two stay in train, so dev may be empty.
    """
    if not 0 < share < 1:
        raise SettingsError(f"the share of dev is {share}; it must lie between 0 and 1")
    n_dev = max(0, min(max(1, round(share * len(documents))), len(documents) - 2))
    outside = np.array([any(m.gold == NIL for m in d.mentions) for d in documents], np.bool_)
    order = np.random.default_rng(seed).permutation(len(documents))
    # Sorted by relative rank within each stratum.
    kinds = outside[order]
    rank = np.where(kinds, np.cumsum(kinds), np.cumsum(~kinds)) - 0.5
    size = np.where(kinds, kinds.sum(), (~kinds).sum())
    held = set(order[np.argsort(rank / size, kind="stable")][:n_dev].tolist())
    train = tuple(d for i, d in enumerate(documents) if i not in held)
    return train, tuple(documents[i] for i in sorted(held))


def settings_for(n_known: int, n_documents: int, n_dev: int | None = None) -> LinkerTraining:
    """Return settings for a number of training mentions of known entities.

    n_dev  the same of dev: if there are too few to choose by, all of fewer trees are kept
    """
    if n_documents < 2:
        raise ProblemsError(
            f"{n_documents} training documents; a linker needs at least two, since features of one "
            "are learned from others: split it into several"
        )
    fitting = _MANY if n_known >= MANY else _FEW if n_known >= FEW else _LITTLE
    if n_dev is not None and n_dev < FEW_MENTIONS:
        fitting = replace(fitting, training=_LITTLE.training)
    # Rows per leaf: a fiftieth of the mentions, from 10 to 30; fewer for small corpora.
    least = max(min(10, n_known // 10), min(30, n_known // 50), 1)
    trees = replace(fitting.trees, min_leaf=least)
    return replace(fitting, trees=trees, folds=min(fitting.folds, n_documents))
